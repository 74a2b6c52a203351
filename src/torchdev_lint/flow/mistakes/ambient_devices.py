"""Tensors put on the accelerator that the machine happens to have, where an argument or a module says where to be."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.placement_events import AmbientDevice
from torchdev_lint.flow.domain.lattice import (
    Accelerator,
    Choice,
    Conflict,
    Cpu,
    Device,
    Level,
    Symbol,
    describe,
    device_atoms,
    leaves,
)
from torchdev_lint.flow.mistakes import literals
from torchdev_lint.flow.telling.attribution import argument_of, root_of, worth_telling
from torchdev_lint.flow.telling.cures import expression_at
from torchdev_lint.flow.torch_calls.operands import Operand


def check(frame: Frame, node: cst.CSTNode, one: Operand, other: Operand) -> None:
    """Publish a `AmbientDevice` if one operand is on "CUDA, if there is any" and the other where an argument or the module is.

    The two differ for a model on the CPU of a machine with a GPU, or on its second GPU.
    """
    for put, beside in ((one, other), (other, one)):
        leaf = _whatever_is_there(frame, put.device)
        if leaf is None or not isinstance(beside.device, Symbol) or not _is_given(frame, beside.device):
            continue
        origin = None if leaf.origin is None else leaf.origin.root()
        if origin is None or origin.what not in ("moved", "factory") or not isinstance(origin.node, cst.Call):
            continue
        if not worth_telling(frame, Conflict(Level.POSSIBLE, beside.device, Cpu())):
            continue
        argument = _device_argument(origin.node)
        # what was put there outside of this activation cannot be told by a name of this one
        inside = origin.frame == frame.uid
        target = expression_at(frame, beside.device, beside, origin, here=True) if inside else None
        moved = origin.node.func.value if isinstance(origin.node.func, cst.Attribute) else None
        cure: tuple[cst.CSTNode, str] | None = None
        if target is not None and argument is not None:
            cure = argument, target
        elif target is not None and moved is not None and origin.what == "moved":
            cure = origin.node, f"{frame.analysis.text(moved)}.to({target})"
        frame.analysis.publish(
            ("ambient", id(origin.node)),
            AmbientDevice(
                node=origin.node,
                text=frame.analysis.text(argument) if argument is not None else ".cuda()",
                meets=node,
                device_name=describe(beside.device),
                target=target or "",
                cure=cure,
            ),
        )
        return


def _whatever_is_there(frame: Frame, device: Device) -> Accelerator | None:
    """The first accelerator, or one without an index, if the device is that where there is one and else the CPU.

    Or that in a file which does not run without one: in others the literal is told.
    """
    if isinstance(device, Accelerator) and device.index == 0 and literals.is_guarded(frame, device.type, 0):
        return device
    if not isinstance(device, Choice) or any(atom.kind != "available" for atom in device_atoms(device)):
        return None
    found: Accelerator | None = None
    for leaf in leaves(device):
        match leaf:
            case Accelerator(index=None | 0):
                found = found or leaf
            case Cpu():
                pass
            case _:
                return None
    return found


def _is_given(frame: Frame, device: Symbol) -> bool:
    """Whether it is the device of an argument, or of the module whose method this is, and others than this file decide on it.

    Calls and instances of the file itself are judged by what they are given.
    """
    if device.origin is not None and device.origin.root().what == "moved":
        return False
    key = root_of(device.key)
    if key[0] == "self":
        return device.key[0] == "device" and key[1] not in frame.analysis.built_at_top
    return bool(argument_of(frame, device)) and key not in frame.analysis.sent_to_host


def _device_argument(call: cst.Call) -> cst.BaseExpression | None:
    """What tells a factory or a transfer the device; None for `.cuda()`."""
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == "device":
            return argument.value
    is_transfer = isinstance(call.func, cst.Attribute) and call.func.attr.value == "to"
    if is_transfer and call.args and call.args[0].keyword is None and not call.args[0].star:
        return call.args[0].value
    return None
