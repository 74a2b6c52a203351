"""Parts of what a function is given that it shows to be tensors: `x, y = batch`, and then `x.size(0)`.

A parameter is taken for a tensor on the evidence of the whole body (`evidence`). A part of one is first seen where it is taken out, so
that what the function does with it counts from there on: from a method that only tensors have, or a function of PyTorch's that
takes nothing else.
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.lattice import Symbol
from torchdev_lint.flow.domain.values import Either, Object, Tensor, Value
from torchdev_lint.flow.read_alone.evidence import ONLY_TENSORS
from torchdev_lint.flow.telling.attribution import root_of


def note_method(frame: Frame, receiver: cst.BaseExpression | None, thing: Object, name: str) -> None:
    """A method is called on a thing: from here on it is a tensor, if nothing else has such a method."""
    if name in ONLY_TENSORS:
        note(frame, receiver, thing)


def note(frame: Frame, node: cst.CSTNode | None, value: Value) -> None:
    """The thing that the name `node` stands for is a tensor: where the argument has it that it was taken out of."""
    held = frame.env.names.get(node.value) if isinstance(node, cst.Name) else None
    if held is None or not isinstance(node, cst.Name) or not isinstance(value, Object):
        return
    key = value.key
    state = frame.state(value)
    if (
        key[0] not in ("item", "attr")
        or root_of(key)[:1] != ("parameter",)
        or state.kind != "unknown"
        or state.moved
    ):
        return
    if isinstance(state.device, Symbol) and state.device.assumed:
        # the name holds what it held: nothing is bound
        frame.env.names[node.value] = _with(held, value, Tensor(state.device, scalar=None))


def _with(held: Value, thing: Object, tensor: Tensor) -> Value:
    """What a name holds, with the tensor that a thing turned out to be, in each case in which it holds the thing."""
    if held == thing:
        return tensor
    if isinstance(held, Either):
        return Either(held.guard, _with(held.then, thing, tensor), _with(held.otherwise, thing, tensor))
    return held
