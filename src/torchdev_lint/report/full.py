"""The look of Ruff's `full`: message, source with carets, where it comes from, and the fix as a diff."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from torchdev_lint.diagnostics import Applicability, Diagnostic, Fix, Related
from torchdev_lint.fixes.edits import EditError, apply_edits
from torchdev_lint.report.excerpt import excerpt, visible
from torchdev_lint.report.style import Piece
from torchdev_lint.source.lines import LineIndex

Sources = Callable[[str], "str | None"]
"""Gives the text that positions in a path refer to, or None."""

_UNSAFE_NOTE = "This is an unsafe fix and may change runtime behavior"
_DISPLAY_NOTE = "This is a display-only fix and is likely to be incorrect"


def render(
    diagnostics: Iterable[Diagnostic], fixable: Collection[Applicability], sources: Sources
) -> Iterator[Piece]:
    """Every diagnostic, a blank line after each; `fixable` is what `--fix` would apply."""
    indexes: dict[str, LineIndex | None] = {}

    def index(path: str) -> LineIndex | None:
        if path not in indexes:
            text = sources(path)
            indexes[path] = None if text is None else LineIndex(text)
        return indexes[path]

    for one in diagnostics:
        yield from _diagnostic(one, fixable, index)
        yield "", "\n"


def _diagnostic(
    one: Diagnostic, fixable: Collection[Applicability], index: Callable[[str], LineIndex | None]
) -> Iterator[Piece]:
    yield "code", one.code
    if one.fix is not None and one.fix.applicability in fixable:
        yield "fixable", " [*]"
    yield "bold", f" {visible(one.message)}\n"
    rows = [one.range.end.row, *(related.range.end.row for related in one.related)]
    width = len(str(max(rows) + 2))
    cell = f"cell {one.cell}:" if one.cell is not None else ""
    start = one.range.start
    yield "gutter", " " * width + "--> "
    yield "", f"{visible(one.path)}:{cell}{start.row}:{start.column}\n"
    lines = index(one.path)
    if lines is not None:
        yield from excerpt(lines, one.range, width)
    for related in one.related:
        yield from _related(one, related, index, width)
    if one.fix is not None:
        yield from _fix(one.fix, lines, width)


def _related(
    one: Diagnostic, related: Related, index: Callable[[str], LineIndex | None], width: int
) -> Iterator[Piece]:
    path = one.path if related.path is None else related.path
    yield "note", "note"
    yield "", f": {visible(related.message)}\n"
    yield "gutter", " " * width + "--> "
    yield "", f"{visible(path)}:{related.range.start.row}:{related.range.start.column}\n"
    lines = index(path)
    if lines is not None:
        yield from excerpt(lines, related.range, width, context=0)


def _fix(fix: Fix, lines: LineIndex | None, width: int) -> Iterator[Piece]:
    yield "help", "help"
    yield "", f": {visible(fix.message)}\n"
    if lines is not None:
        yield from _diff(fix, lines, width)
    if fix.applicability is not Applicability.SAFE:
        note = _UNSAFE_NOTE if fix.applicability is Applicability.UNSAFE else _DISPLAY_NOTE
        yield "note", "note"
        yield "", f": {note}\n"


def _diff(fix: Fix, lines: LineIndex, width: int) -> Iterator[Piece]:
    import difflib

    try:
        fixed = LineIndex(apply_edits(lines.text, fix.edits))
    except EditError:
        return
    old, new = _rows(lines), _rows(fixed)
    # Only what the edits reach is compared: a long file's diff would take longer than its check.
    head = max(0, min(edit.range.start.row for edit in fix.edits) - 2)
    tail = min(len(old), max(edit.range.end.row for edit in fix.edits) + 1)
    shift = len(new) - len(old)
    matcher = difflib.SequenceMatcher(None, old[head:tail], new[head : tail + shift], autojunk=False)
    yield "gutter", " " * width + " |\n"
    for group in matcher.get_grouped_opcodes(1):
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                for row in range(j1, j2):
                    yield "gutter", f"{head + row + 1:<{width}} |"
                    yield "", f" {visible_line(new[head + row])}".rstrip() + "\n"
                continue
            for row in range(i1, i2):
                yield "gutter", " " * width
                yield "removed", f" - {visible_line(old[head + row])}".rstrip() + "\n"
            for row in range(j1, j2):
                yield "gutter", f"{head + row + 1:<{width}}"
                yield "added", f" + {visible_line(new[head + row])}".rstrip() + "\n"
    yield "gutter", " " * width + " |\n"


def _rows(lines: LineIndex) -> list[str]:
    """The rows, less the empty one behind a last line end."""
    rows = [lines.line(row) for row in range(1, lines.count + 1)]
    return rows if rows[-1] else rows[:-1]


def visible_line(line: str) -> str:
    """A source line of a diff: its tabs kept, other control characters made visible."""
    return "\t".join(visible(part) for part in line.split("\t"))
