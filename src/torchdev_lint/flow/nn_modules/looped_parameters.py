"""Loops over the parameters of a module that give each of them other data: `for p in net.parameters(): p.data = p.data.cpu()`.

The module is then where that data is, as it is for the time that an average is put in the place of the weights.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.lattice import UnknownDevice, leaves
from torchdev_lint.flow.domain.values import Object, Tensor, Value
from torchdev_lint.flow.instances.objects import move
from torchdev_lint.flow.syntax.trees import dotted, walk

Owners = dict[str, Value]
"""By the name that a loop binds a parameter to: the module that has it."""


def owners(frame: Frame, node: cst.For) -> Owners:
    """Whose parameters the targets of a loop are, as its text says."""
    return {name: frame.evaluate(owner) for name, owner in _owners(node.target, node.iter)}


def give(frame: Frame, receiver: cst.BaseExpression, value: Value) -> None:
    """`parameter.data = value` in such a loop: the module is where that is."""
    if not isinstance(receiver, cst.Name) or not isinstance(value, Tensor):
        return
    owner = next(
        (loop.owners[receiver.value] for loop in frame.loops[::-1] if receiver.value in loop.owners), None
    )
    if not isinstance(owner, Object) or any(isinstance(one, UnknownDevice) for one in leaves(value.device)):
        return
    state = frame.state(owner)
    if state.kind == "module" and state.device != value.device:
        move(frame, owner, value.device)


def has_some(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether an expression gives the parameters of something known as a module, `net.parameters()`: those end, but not at once."""
    match node:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="parameters")), args=[]):
            with frame.quietly():
                thing = frame.evaluate(owner)
            return isinstance(thing, Object) and frame.state(thing).kind == "module"
        case _:
            return False


def takes_first(frame: Frame, body: cst.CSTNode) -> bool:
    """Whether all that a block takes from an iterator is the first parameter of a module, `next(self.parameters())`."""
    taken = [
        part.args
        for part in walk(body)
        if isinstance(part, cst.Call) and isinstance(part.func, cst.Name) and part.func.value == "next"
    ]
    return bool(taken) and all(len(args) == 1 and has_some(frame, args[0].value) for args in taken)


def _owners(
    target: cst.BaseExpression, source: cst.BaseExpression
) -> Iterator[tuple[str, cst.BaseExpression]]:
    match target, source:
        case (
            cst.Name(value=name),
            cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="parameters"))),
        ) if dotted(owner) is not None:
            yield name, owner
        case (
            cst.Tuple(elements=[_, cst.Element(value=cst.Name(value=name))]),
            cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="named_parameters"))),
        ) if dotted(owner) is not None:
            yield name, owner
        case cst.Tuple(elements=targets), cst.Call(func=cst.Name(value="zip"), args=args) if len(
            targets
        ) == len(args):
            for one, arg in zip(targets, args, strict=True):
                if not arg.star:
                    yield from _owners(one.value, arg.value)
        case _:
            pass
