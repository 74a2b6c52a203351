"""Indexing: `x[key]`."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow import (
    conflicts,
)
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.lattice import Symbol
from torchdev_lint.flow.operands import Operand
from torchdev_lint.flow.values import (
    Tensor,
    Value,
)


def index(frame: Frame, node: cst.CSTNode, tensor: Tensor, keys: list[Value]) -> Value:
    """`x[key]`: a CPU index may index an accelerator's tensor, not the other way round."""
    if isinstance(node, cst.Subscript):
        table = Operand(tensor, tensor.device, node.value)
        for element, key in zip(node.slice, keys, strict=False):
            # a 0-dim index is read as a number; what a caller hands in is a batch of indices as a rule
            if (
                isinstance(key, Tensor)
                and (key.scalar is False or (key.scalar is None and _is_handed_in(key)))
                and isinstance(element.slice, cst.Index)
            ):
                operand = Operand(key, key.device, element.slice.value)
                if conflicts.check_index(frame, node, table, operand):
                    return Tensor(key.device, scalar=None)
    keeps = isinstance(node, cst.Subscript) and any(
        _keeps_a_dimension(element.slice) for element in node.slice
    )
    return Tensor(
        tensor.device,
        scalar=False if keeps or any(_keeps_dimensions(key) for key in keys) else None,
        guess=tensor.guess,
    )


def _keeps_dimensions(key: Value) -> bool:
    """Whether what `x[key]` gives has a dimension for certain: a number, or a 0-dim tensor, takes one away."""
    return isinstance(key, Tensor) and key.scalar is not True and not key.element


def _is_handed_in(key: Tensor) -> bool:
    """Whether an index is, or follows, what a caller gave, not just an element of it."""
    device = key.device
    if key.element or not (isinstance(device, Symbol) and device.assumed):
        return False
    return device.key[1][:1] in (("parameter",), ("item",))


def _keeps_a_dimension(part: cst.BaseSlice) -> bool:
    """Whether the result of `x[part]` has a dimension for certain: a slice, `...` or `None`."""
    match part:
        case cst.Slice() | cst.Index(value=cst.Ellipsis() | cst.Name(value="None")):
            return True
        case _:
            return False
