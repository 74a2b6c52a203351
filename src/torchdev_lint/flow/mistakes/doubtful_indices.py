"""Indices that stay where they came from, while what came with them is brought to the tensor that they index.

A tensor on an accelerator takes indices from the CPU, one on the CPU takes none from an accelerator (`torch.Tensor.index`): who moves
`chosen.ids` to the device of `self.history` reckons with two devices, and `self.history[chosen.rows]` raises on one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchdev_lint.flow.activation.placement_events import DoubtfulDevice
from torchdev_lint.flow.read_alone.device_spellings import Scope
from torchdev_lint.flow.read_alone.evidence import ONLY_TENSORS
from torchdev_lint.flow.syntax.trees import dotted, walk

_CONVERTS = frozenset(
    "long int bool view reshape flatten squeeze unsqueeze expand contiguous nonzero".split()
)
"""What is done with indices that are tensors."""


@dataclass(frozen=True)
class _Moved:
    """A part of `thing` that is brought to a device, which is written `target`."""

    thing: str
    part: str
    target: str


def check_function(scope: Scope, node: cst.FunctionDef) -> Iterator[DoubtfulDevice]:
    """`table[chosen.rows.long()]` beside `chosen.ids.to(table.device)`."""
    indexed = [
        part for part in scope.nodes if isinstance(part, cst.Subscript) and dotted(part.value) is not None
    ]
    if not indexed:
        return
    moved = list(_moved(scope))
    for part in indexed:
        table = dotted(part.value) or ""
        for one in moved:
            if one.thing == table or not _is_device_of(scope, one.target, table):
                continue
            index = _left(part, one)
            if index is not None:
                text = scope.analysis.text(index)
                yield DoubtfulDevice(
                    index, "index left", text, table, replaced=index, replacement=f"{text}.to({one.target})"
                )
                break


def _moved(scope: Scope) -> Iterator[_Moved]:
    for part in scope.nodes:
        match part:
            case cst.Call(
                func=cst.Attribute(value=base, attr=cst.Name(value="to")), args=[cst.Arg(value=target), *_]
            ) if (written := dotted(target)) is not None:
                found = _part_of(base)
                if found is not None:
                    yield _Moved(*found, written)
            case _:
                pass


def _part_of(node: cst.BaseExpression) -> tuple[str, str] | None:
    """A thing and its part that a chain of methods begins with: `chosen.ids.view(-1)`. A method's own instance is no such thing."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        node = node.func.value
    if not isinstance(node, cst.Attribute):
        return None
    thing = dotted(node.value)
    return None if thing is None or thing in ("self", "cls") else (thing, node.attr.value)


def _is_device_of(scope: Scope, target: str, table: str) -> bool:
    """Whether a device is that of a tensor: `table.device`, or a name for it, or for the CPU where it has none (`get_device() == -1`)."""
    own = (f"{table}.device", f"{table}.get_device()")
    if target in own:
        return True
    bound = scope.bound.get(target, [])
    texts = ["" if value is None else scope.analysis.text(value) for value in bound]
    return any(text in own for text in texts) and all(
        text in own or text.strip("\"'") == "cpu" or text in ("torch.device('cpu')", 'torch.device("cpu")')
        for text in texts
    )


def _left(node: cst.Subscript, moved: _Moved) -> cst.BaseExpression | None:
    """The index of a subscript that is another part of the same thing, a tensor, and is not moved."""
    for one in node.slice:
        if not isinstance(one.slice, cst.Index):
            continue
        index = one.slice.value
        found = _part_of(index)
        if found is None or found[0] != moved.thing or found[1] == moved.part:
            continue
        methods = {part.attr.value for part in walk(index) if isinstance(part, cst.Attribute)}
        if not methods.isdisjoint(_CONVERTS | ONLY_TENSORS) and methods.isdisjoint(("to", "cpu", "cuda")):
            return index
    return None
