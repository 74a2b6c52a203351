"""The look of Ruff's `full`: message, source with carets, where it comes from, and the fix as a diff."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from torchdev_lint.diagnostics import Applicability, Diagnostic, Edit, Fix, Related
from torchdev_lint.fixes.edits import EditError, apply_edits
from torchdev_lint.report.excerpt import excerpt, place, visible
from torchdev_lint.report.sources import Sources
from torchdev_lint.report.style import Piece
from torchdev_lint.source.lines import LineIndex

_UNSAFE_NOTE = "This is an unsafe fix and may change runtime behavior"
_DISPLAY_NOTE = "This is a display-only fix and is likely to be incorrect"


def render(
    diagnostics: Iterable[Diagnostic], fixable: Collection[Applicability], sources: Sources
) -> Iterator[Piece]:
    """Every diagnostic, a blank line after each; `fixable` is what `--fix` would apply."""
    for one in diagnostics:
        if one.drawing is not None:
            yield "", one.drawing
        else:
            yield from _diagnostic(one, fixable, sources)
        yield "", "\n"


def _diagnostic(one: Diagnostic, fixable: Collection[Applicability], sources: Sources) -> Iterator[Piece]:
    yield "code", one.label
    if one.fix is not None and one.fix.applicability in fixable:
        yield "fixable", " [*]"
    yield "bold", f" {visible(one.message)}\n"
    rows = [one.range.end.row, *(related.range.end.row for related in one.related)]
    width = len(str(max(rows) + 2))
    yield "gutter", " " * width + "--> "
    yield "", f"{place(one.path, one.cell, one.range)}\n"
    lines = sources.lines(one.path, one.cell)
    if lines is not None:
        yield from excerpt(lines, one.range, width)
    for related in one.related:
        yield from _related(one, related, sources, width)
    if one.fix is not None:
        yield from _fix(one, one.fix, sources, width)


def _related(one: Diagnostic, related: Related, sources: Sources, width: int) -> Iterator[Piece]:
    path = one.path if related.path is None else related.path
    yield "note", "note"
    yield "", f": {visible(related.message)}\n"
    yield "gutter", " " * width + "--> "
    yield "", f"{place(path, related.cell, related.range)}\n"
    lines = sources.lines(path, related.cell)
    if lines is not None:
        yield from excerpt(lines, related.range, width, context=0)


def _fix(one: Diagnostic, fix: Fix, sources: Sources, width: int) -> Iterator[Piece]:
    yield "help", "help"
    yield "", f": {visible(fix.message)}\n"
    for cell in dict.fromkeys(edit.cell for edit in fix.edits):
        lines = sources.lines(one.path, cell)
        if lines is not None:
            if cell is not None:
                yield "gutter", f"{' ' * width}:::"
                yield "", f" cell {cell}\n"
            yield from diff_pieces([edit for edit in fix.edits if edit.cell == cell], lines, width)
    if fix.applicability is not Applicability.SAFE:
        note = _UNSAFE_NOTE if fix.applicability is Applicability.UNSAFE else _DISPLAY_NOTE
        yield "note", "note"
        yield "", f": {note}\n"


def diff_pieces(edits: Sequence[Edit], lines: LineIndex, width: int) -> Iterator[Piece]:
    import difflib

    try:
        fixed = LineIndex(apply_edits(lines.text, edits))
    except EditError:
        return
    old, new = _rows(lines), _rows(fixed)
    # Only what the edits reach is compared: a long file's diff would take longer than its check.
    head = max(0, min(edit.range.start.row for edit in edits) - 2)
    tail = min(len(old), max(edit.range.end.row for edit in edits) + 1)
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
