"""What is shown under the mouse: the device of a name, and the documentation of a rule that was broken there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from torchdev_lint.diagnostics import Position
from torchdev_lint.lsp.view import View
from torchdev_lint.rules.registry import rule_by_code

if TYPE_CHECKING:
    from torchdev_lint.lsp.knowledge import Knowledge, Known, Seen


def hover(
    view: View, knowledge: Knowledge, uri: str, at: types.Position, *, markdown: bool
) -> types.Hover | None:
    """What there is to say about a position of one part; None when there is nothing."""
    program = view.analysis.program
    part = program.part_at(uri)
    if part is None:
        return None
    place = view.places(part).own(at)
    broken = [
        one
        for one in view.analysis.placed
        if one.cell == part.cell and one.range.start <= place <= one.range.end
    ]
    sections = []
    known = knowledge.at(_in_text(view, part.cell, place))
    if known is not None:
        sections.append(_devices(view, known))
    for code in dict.fromkeys(one.code for one in broken):
        rule = rule_by_code(code)
        if rule is not None:
            sections.append(f"## {code} {rule.name}\n\n{rule.documentation().partition(':')[2].strip()}")
    if not sections:
        return None
    kind = types.MarkupKind.Markdown if markdown else types.MarkupKind.PlainText
    return types.Hover(types.MarkupContent(kind, "\n\n---\n\n".join(sections)))


def _in_text(view: View, cell: int | None, place: Position) -> Position:
    """The position in the whole program's text."""
    cells = view.analysis.program.cells
    if cells is None or cell is None:
        return place
    return Position(cells.first_row(cell) + place.row - 1, place.column)


def _devices(view: View, known: Known) -> str:
    told = [seen for seen in known.seen if seen.text]
    both = len({seen.ran for seen in told}) > 1
    lines = dict.fromkeys(_line(view, seen, both=both) for seen in told)
    return "\n\n".join(lines)


def _line(view: View, seen: Seen, *, both: bool) -> str:
    parts = [seen.text]
    for step in seen.steps:
        found = view.analysis.program.in_part(step.place)
        if found is not None:
            part, place = found
            where = f"line {place.row}" if part.cell is None else f"line {place.row} of cell {part.cell}"
            parts.append(f"{step.what} on {where}")
    alone = " (when the function is read alone)" if both and not seen.ran else ""
    return f"{', '.join(parts)}{alone}"
