"""Indexing: `x[key]`."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow import (
    conflicts,
)
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.lattice import (
    Device,
    Symbol,
)
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
                and (key.scalar is False or (key.scalar is None and _comes_from_caller(key.device)))
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
        scalar=False if keeps or any(isinstance(key, Tensor) for key in keys) else None,
        guess=tensor.guess,
    )


def _comes_from_caller(device: Device) -> bool:
    """Whether the device is that of a parameter itself."""
    return isinstance(device, Symbol) and device.assumed and device.key[1][:1] in (("parameter",), ("item",))


def _keeps_a_dimension(part: cst.BaseSlice) -> bool:
    """Whether the result of `x[part]` has a dimension for certain: a slice, `...` or `None`."""
    match part:
        case cst.Slice() | cst.Index(value=cst.Ellipsis() | cst.Name(value="None")):
            return True
        case _:
            return False
