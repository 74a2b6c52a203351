"""Inlay hints: where a tensor or a module is, behind the name that it is assigned to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from torchdev_lint.diagnostics import Position
from torchdev_lint.lsp.places import Places
from torchdev_lint.lsp.programs import Part
from torchdev_lint.lsp.view import View

if TYPE_CHECKING:
    from torchdev_lint.lsp.knowledge import Knowledge

MARK = "@ "
"""Not a colon: another server may well tell the type at the same place."""


def inlay_hints(view: View, knowledge: Knowledge, uri: str, within: types.Range) -> list[types.InlayHint]:
    """The hints for a range of one part of the program."""
    part = view.analysis.program.part_at(uri)
    if part is None:
        return []
    places = view.places(part)
    first, last = within.start.line + 1, within.end.line + 1
    hints = []
    for known in knowledge.targets():
        seen = known.device
        found = view.analysis.program.in_part(knowledge.lines.position(known.end))
        if seen is None or found is None or found[0] is not part or not first <= found[1].row <= last:
            continue
        place = next((step.place for step in reversed(seen.steps)), None)
        origin = None if place is None else view.analysis.program.in_part(place)
        label = types.InlayHintLabelPart(
            value=MARK + seen.device,
            tooltip=seen.text,
            location=None if origin is None else _location(view.places(origin[0]), *origin),
        )
        hints.append(types.InlayHint(places.position(found[1]), [label], padding_left=True))
    return hints


def _location(places: Places, part: Part, place: Position) -> types.Location:
    position = places.position(place)
    return types.Location(part.uri, types.Range(position, position))
