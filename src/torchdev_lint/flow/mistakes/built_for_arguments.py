"""A function builds a module, never moves it, and runs it on what it was given.

The module is on the CPU, and the argument is wherever the caller put it. PyTorch raises somewhere inside of the module, but what the
function built is at fault, as a whole.
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.lattice import Conflict, Cpu, Leaf, Symbol
from torchdev_lint.flow.domain.values import Object
from torchdev_lint.flow.telling.attribution import argument_of, report_at
from torchdev_lint.flow.telling.cures import Callee
from torchdev_lint.flow.telling.publication import publish_model_call
from torchdev_lint.flow.torch_calls.operands import Operand


def is_built_for(frame: Frame, found: Conflict) -> bool:
    """Whether the function builds the module itself, on the CPU, and runs it on what it was given (a resampler, a filter), or on what
    the module whose method it is has computed (a loss with weights)."""
    origin = None if not isinstance(found.left, Cpu) or found.left.origin is None else found.left.origin
    if origin is None or frame.building():
        return False
    if origin.what == "made" and origin.frame == frame.uid:
        return bool(argument_of(frame, found.right)) or _is_of_self(found.right)
    return entered(frame) is not None and bool(argument_of(frame, found.right))


def _is_of_self(leaf: Leaf) -> bool:
    return isinstance(leaf, Symbol) and leaf.key[0] == "device" and leaf.key[1][:1] == ("self",)


def entered(frame: Frame) -> Object | None:
    """The outermost module that was entered on the way down to here, if a function on the way built it and nobody has moved it."""
    chain = [frame]
    while chain[-1].caller is not None:
        chain.append(chain[-1].caller)
    if chain[-1].function is None:
        return None  # built by the program itself
    for index in range(len(chain) - 2, -1, -1):
        function = chain[index].function
        receiver = None if function is None else function.receiver
        if not isinstance(receiver, Object) or chain[index].state(receiver).kind != "module":
            continue
        state = frame.state(receiver)
        builders = {around.uid for around in chain[index + 1 :]}
        built_here = receiver.key[0] == "made" and receiver.key[2] in builders
        return receiver if built_here and not state.moved and isinstance(state.device, Cpu) else None
    return None


def publish(frame: Frame, node: cst.CSTNode, found: Conflict, given: Operand) -> bool:
    """Publish that a module was built for an argument where a part of it, `found.right`, meets what was `given`; whether it was so."""
    module = entered(frame)
    if module is None or frame.building() or not argument_of(frame, found.left):
        return False
    whole = frame.state(module).device
    assert isinstance(whole, Cpu)
    against = Conflict(found.level, whole, found.left)
    report = report_at(frame, given, against)
    if report is not None:
        publish_model_call(frame, node, report, Callee(module.text, whole, module), against, "model")
    return True
