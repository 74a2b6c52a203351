"""Findings that repeat one of a line before: `model(x)`, then `score(x, y)`. PyTorch has raised for `x` by then.

Only what certainly stands behind the other one counts: a later statement of the same block, with the same name, of the same value, which no
statement in between gives to anything else, beside the same device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from torchdev_lint.flow.activation.events import Event, MixedOperation, ModelCall
from torchdev_lint.flow.domain.lattice import Cpu, Leaf, Origin
from torchdev_lint.flow.syntax.trees import changed_in_place, walk

_Told = tuple[str, Origin, Leaf]
"""What an event tells of: a name, what put its value where it is, and the device of the other side."""

_SOMETIMES = (
    cst.IfExp,
    cst.BooleanOperation,
    cst.Lambda,
    cst.ListComp,
    cst.SetComp,
    cst.DictComp,
    cst.GeneratorExp,
)
"""What may leave out a part of itself."""


_BINDS = (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For, cst.NamedExpr, cst.Del)


def repeated(module: cst.Module, events: Sequence[Event], *, cells: bool) -> set[int]:
    """The `id`s of those events that repeat what another one tells; `cells`: the module's own statements are a notebook's."""
    told: dict[int, _Told] = {}
    places: dict[int, int] = {}
    for event in events:
        about = _about(event)
        if about is not None and isinstance(event, (ModelCall, MixedOperation)):
            told[id(event)] = about
            places[id(event.place.node)] = id(event)
    if len({name for name, _, _ in told.values()}) == len(told):
        return set()
    found: set[int] = set()
    for block in _blocks(module, cells=cells):
        before: dict[_Told, int] = {}
        for line in block:
            nodes = list(walk(line))
            here = [places[id(node)] for node in nodes if id(node) in places]
            for key in here:
                if told[key] in before:
                    found.add(key)
            if isinstance(line, cst.SimpleStatementLine) and not any(
                isinstance(node, _SOMETIMES) for node in nodes
            ):
                before |= {told[key]: key for key in here}
            bound = set(_bound(nodes))
            before = {about: key for about, key in before.items() if about[0] not in bound}
    return found


def _about(event: Event) -> _Told | None:
    match event:
        case ModelCall(
            place=place, given=Cpu(origin=Origin() as origin), model=other, built=None, transfer=None
        ):
            pass
        case MixedOperation(
            place=place, right=Cpu(origin=Origin() as origin), left=other, made=None, certain=True
        ):
            pass
        case _:
            return None
    name = changed_in_place(place.value_node)
    return (name.value, origin.root(), other) if isinstance(name, cst.Name) else None


def _blocks(module: cst.Module, *, cells: bool) -> Iterator[Sequence[cst.CSTNode]]:
    if not cells:
        yield module.body
    for node in walk(module):
        if isinstance(node, cst.IndentedBlock):
            yield node.body


def _bound(nodes: Sequence[cst.CSTNode]) -> Iterator[str]:
    """The names that are given a value, in whatever way."""
    for node in nodes:
        target: cst.CSTNode | None = None
        if isinstance(node, _BINDS):
            target = node.target
        elif isinstance(node, cst.AsName):
            target = node.name
        if target is not None:
            yield from (part.value for part in walk(target) if isinstance(part, cst.Name))
