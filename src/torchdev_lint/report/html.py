"""One self-contained page: a summary, filters, and each finding with its source and its device story drawn.

It loads nothing from anywhere: styles and script are in the page, and its content security policy allows no others.
Without the script it is a plain document, every finding open.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources

from torchdev_lint.diagnostics import Applicability, Diagnostic, Range
from torchdev_lint.report.context import TOOL, Context, is_note
from torchdev_lint.report.excerpt import display, place, visible
from torchdev_lint.report.full import diff_pieces
from torchdev_lint.report.markdown import inline, to_html
from torchdev_lint.report.story import Step, Story, story_of
from torchdev_lint.source.lines import LineIndex

CONTEXT_ROWS = 2
MAX_ROWS = 12
"""How many rows of a long place are shown."""

_FIXES = {
    None: ("none", "no fix"),
    Applicability.SAFE: ("safe", "safe fix"),
    Applicability.UNSAFE: ("unsafe", "unsafe fix"),
    Applicability.DISPLAY_ONLY: ("shown", "suggestion"),
}


def render(diagnostics: Sequence[Diagnostic], context: Context) -> str:
    """The page."""
    style, script = _asset("report.css"), _asset("report.js")
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    count = sum(not is_note(one) for one in diagnostics)
    title = f"{TOOL}: {count} finding{'' if count == 1 else 's'}"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#findings">Skip to the findings</a>
{_head(diagnostics, context)}
<main>
{_filters(diagnostics) if diagnostics else '<p class="clean">All checks passed.</p>'}
<div id="findings" tabindex="-1">
{"".join(_finding(number, one, context) for number, one in enumerate(diagnostics, 1))}
</div>
{_rules(diagnostics, context)}
</main>
<script>{script}</script>
</body>
</html>
"""


def _head(diagnostics: Sequence[Diagnostic], context: Context) -> str:
    findings = [one for one in diagnostics if not is_note(one)]
    files = Counter(one.path for one in findings)
    safe = sum(one.fix is not None and one.fix.applicability is Applicability.SAFE for one in findings)
    risky = sum(one.fix is not None and one.fix.applicability is Applicability.UNSAFE for one in findings)
    tiles = [
        (len(findings), "finding" if len(findings) == 1 else "findings"),
        (len(files), "file" if len(files) == 1 else "files"),
        (safe, "safe fix" if safe == 1 else "safe fixes"),
        (risky, "unsafe fix" if risky == 1 else "unsafe fixes"),
    ]
    shown = "".join(f"<div><dd>{number}</dd><dt>{name}</dt></div>" for number, name in tiles)
    version = f" {escape(context.version)}" if context.version else ""
    return (
        '<header><div class="title"><h1>PyTorch device report</h1>'
        f"<p>{TOOL}{version}</p></div>"
        '<button type="button" id="theme" hidden>Dark</button>'
        f'<dl class="tiles">{shown}</dl></header>'
    )


def _filters(diagnostics: Sequence[Diagnostic]) -> str:
    codes = Counter((one.code, one.name) for one in diagnostics)
    chips = "".join(
        f'<button type="button" class="chip" data-code="{code}" aria-pressed="true" title="{escape(name)}">'
        f"{code} <b>{count}</b></button>"
        for (code, name), count in sorted(codes.items())
    )
    kinds = Counter(_FIXES[one.fix.applicability if one.fix else None] for one in diagnostics)
    options = "".join(
        f'<option value="{key}">{text} ({count})</option>' for (key, text), count in sorted(kinds.items())
    )
    return (
        '<form id="filters" hidden role="search" aria-label="Filter the findings">'
        '<label class="search"><span>Search</span>'
        '<input type="search" id="query" placeholder="file, message, code" autocomplete="off"></label>'
        f'<label><span>Fix</span><select id="fix"><option value="">any</option>{options}</select></label>'
        '<div class="buttons"><button type="button" id="open">Open all</button>'
        '<button type="button" id="close">Close all</button></div>'
        f'<div class="chips" role="group" aria-label="Rules">{chips}</div>'
        '<p id="shown" aria-live="polite"></p>'
        '<p class="keys"><kbd>j</kbd> <kbd>k</kbd> next and previous, <kbd>/</kbd> search, <kbd>Enter</kbd> open or close</p>'
        "</form>"
    )


def _finding(number: int, one: Diagnostic, context: Context) -> str:
    key, fix = _FIXES[one.fix.applicability if one.fix else None]
    where = place(one.path, one.cell, one.range)
    story = story_of(one)
    parts = [
        f'<details class="finding" id="f{number}" open data-code="{one.code}" data-fix="{key}">'
        f'<summary><span class="code">{one.code}</span> <span class="message">{inline(visible(one.message))}</span>'
        f'<span class="where">{escape(where)}</span><span class="fix {key}">{fix}</span></summary>',
        '<div class="body">',
        _story(story, context) if story else _code(one.path, one.cell, one.range, context, CONTEXT_ROWS),
        "".join(_fix(one, context)),
        "</div></details>\n",
    ]
    return "".join(parts)


def _story(story: Story, context: Context) -> str:
    count = len(story.origins)
    origins = "".join(f"<li>{_step(step, context)}</li>" for step in story.origins)
    then = "".join(
        f'<div class="arrow" aria-hidden="true"></div>{_step(step, context, "then")}' for step in story.then
    )
    joined = f'<ol class="origins n{min(count, 4)}">{origins}</ol>' if count else ""
    arrow = '<div class="arrow" aria-hidden="true"></div>' if count else ""
    return (
        '<section class="story" aria-label="Where the devices come from">'
        f"{joined}{arrow}{_step(story.meeting, context, 'meeting')}{then}</section>"
    )


def _step(step: Step, context: Context, role: str = "origin") -> str:
    kind = "cpu" if step.on_cpu else "accelerator" if step.device else "neutral"
    if role == "meeting":
        chip = '<span class="device clash">two devices</span>' if step.device or step.reported else ""
        chip = chip or '<span class="device clash">they meet</span>'
        kind = "clash"
    else:
        chip = f'<span class="device {kind}">{escape(step.device)}</span>' if step.device else ""
    here = ' <span class="here">reported here</span>' if step.reported else ""
    where = escape(place(step.path, step.cell, step.range))
    code = _code(step.path, step.cell, step.range, context, CONTEXT_ROWS if step.reported else 0)
    return (
        f'<div class="step {kind}">{chip}<p>{inline(visible(step.message))}{here}</p>'
        f'<p class="where">{where}</p>{code}</div>'
    )


def _code(path: str, cell: int | None, where: Range, context: Context, around: int) -> str:
    lines = context.sources.lines(path, cell)
    if lines is None or not lines.text:
        return ""
    first = max(1, where.start.row - around)
    last = min(lines.count, where.end.row + around, first + MAX_ROWS - 1)
    while first < where.start.row and not lines.line(first).strip():
        first += 1
    while last > where.end.row and not lines.line(last).strip():
        last -= 1
    shown = range(first, last + 1)
    indent = min((_indent(lines.line(row)) for row in shown if lines.line(row).strip()), default=0)
    rows = "".join(_row(lines, row, where, min(indent, where.start.column - 1)) for row in shown)
    cut = '<span class="row"><span class="number">&#8942;</span></span>' if last < where.end.row else ""
    return f'<pre class="code" tabindex="0"><code>{rows}{cut}</code></pre>'


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _row(lines: LineIndex, row: int, where: Range, indent: int) -> str:
    """A row with its number, the first `indent` characters left out."""
    text = lines.line(row)
    if where.start.row <= row <= where.end.row:
        start = where.start.column - 1 if row == where.start.row else len(text) - len(text.lstrip())
        end = where.end.column - 1 if row == where.end.row else len(text)
        shown = f"{_shown(text[indent:start])}<mark>{_shown(text[start:end])}</mark>{_shown(text[end:])}"
    else:
        shown = _shown(text[indent:])
    return f'<span class="row"><span class="number">{row}</span>{shown}\n</span>'


def _shown(text: str) -> str:
    return escape(display(text)[0])


def _fix(one: Diagnostic, context: Context) -> Iterator[str]:
    if one.fix is None:
        return
    key, kind = _FIXES[one.fix.applicability]
    yield f'<section class="change"><h3>Fix: {inline(visible(one.fix.message))} <span class="fix {key}">{kind}</span></h3>'
    for cell in dict.fromkeys(edit.cell for edit in one.fix.edits):
        lines = context.sources.lines(one.path, cell)
        if lines is None:
            continue
        edits = [edit for edit in one.fix.edits if edit.cell == cell]
        width = len(str(lines.count))
        pieces = [piece for piece in diff_pieces(edits, lines, width) if not piece[1].endswith(" |\n")]
        shown = "".join(f'<span class="{style or "same"}">{escape(text)}</span>' for style, text in pieces)
        yield f'<pre class="diff" tabindex="0"><code>{shown}</code></pre>'
    yield "</section>"


def _rules(diagnostics: Sequence[Diagnostic], context: Context) -> str:
    codes = sorted({one.code for one in diagnostics} & set(context.rules))
    if not codes:
        return ""
    documented = "".join(
        f'<details class="rule" id="{code}"><summary><span class="code">{code}</span> {escape(rule.name)}: '
        f"{inline(rule.summary)}</summary><div>{to_html(rule.explanation)}</div></details>"
        for code in codes
        for rule in [context.rules[code]]
    )
    return f'<section class="rules"><h2>The rules</h2>{documented}</section>'


def _asset(name: str) -> str:
    return (resources.files("torchdev_lint.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
