"""TDV900: suppression comments that silence nothing, and their removal.

Only what is certainly ours is judged: codes that begin with TDV, and what stands in a `# torchdev:` comment. A code whose
rules were not all run may have its use, and so may a bare `# noqa`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchdev_lint.config import UNUSED_SUPPRESSION, Config
from torchdev_lint.diagnostics import Applicability, Diagnostic, Edit, Fix, Position, Range
from torchdev_lint.rules.registry import all_rules
from torchdev_lint.source.lines import LineIndex
from torchdev_lint.source.suppression import Directive, Suppressions, stands_for

NAME = "unused-suppression"
_FAMILY = "TDV"
_OWN = re.compile(r"#\s*torchdev:", re.IGNORECASE)


def unused_suppressions(
    text: str, path: str, config: Config, suppressions: Suppressions, found: Sequence[Diagnostic]
) -> list[Diagnostic]:
    """A diagnostic for each comment with codes that silence none of `found`, the findings before any were silenced."""
    used = {
        (id(directive), code)
        for one in found
        for directive in suppressions.all_suppressing(one)
        for code in directive.codes or ()
        if stands_for(code, one)
    }
    lines = LineIndex(text)
    diagnostics = []
    for directive in suppressions.directives:
        useless = tuple(
            code
            for code in directive.codes or ()
            if (id(directive), code) not in used and _is_judged(code, directive, path, config)
        )
        if useless:
            diagnostics.append(_diagnostic(directive, useless, path, lines))
    return diagnostics


def _is_judged(code: str, directive: Directive, path: str, config: Config) -> bool:
    """Whether it is for us to say that `code` is of no use."""
    start, end = directive.span
    if not code.upper().startswith(_FAMILY) and not _OWN.match(directive.comment.text[start:end]):
        return False
    meant = [rule.code for rule in all_rules() if rule.code.startswith(code.upper()) or rule.name == code]
    return all(config.selects(one, path) for one in meant)  # a code that no rule has is of no use to anybody


def _diagnostic(directive: Directive, useless: tuple[str, ...], path: str, lines: LineIndex) -> Diagnostic:
    row, column = directive.comment.start.row, directive.comment.start.column
    text = directive.comment.text
    start, end = directive.span
    end = start + len(text[start:end].rstrip())
    where = "in this file" if directive.first == 0 else "here"
    codes = ", ".join(f"`{code}`" for code in useless)
    silences = "silences" if len(useless) == 1 else "silence"
    return Diagnostic(
        path,
        UNUSED_SUPPRESSION,
        NAME,
        f"{codes} {silences} nothing {where}",
        Range(Position(row, column + start), Position(row, column + end)),
        fix=Fix((_removal(directive, useless, lines),), Applicability.SAFE, f"Remove {codes}"),
        noqa_row=row,
    )


def _removal(directive: Directive, useless: tuple[str, ...], lines: LineIndex) -> Edit:
    """The edit that takes the codes out: of the list, or with the whole comment when none is left."""
    comment, text = directive.comment, directive.comment.text
    kept = [code for code in directive.codes or () if code not in useless]
    if kept:
        first, last = directive.listed
        listed = text[first:last]
        words = list(re.finditer(r"[^,\s]+", listed))
        between = listed[words[0].end() : words[1].start()]
        return _edit(comment.start, first + words[0].start(), first + words[-1].end(), between.join(kept))
    start, end = directive.span
    following = re.compile(r"#").search(text, end)
    if following:
        return _edit(comment.start, start, following.start(), "")
    # What is left of the comment is the reason of the suppression.
    row, column = comment.start.row, comment.start.column
    line = lines.line(row)
    head = line[: column - 1 + start].rstrip()
    if head or row == lines.count:
        return Edit(Range(Position(row, len(head) + 1), Position(row, len(line) + 1)), "")
    return Edit(Range(Position(row, 1), Position(row + 1, 1)), "")


def _edit(at: Position, start: int, end: int, content: str) -> Edit:
    return Edit(Range(Position(at.row, at.column + start), Position(at.row, at.column + end)), content)
