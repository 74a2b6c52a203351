"""What a function has computed of an argument before it takes the argument to a device: `mask = x != 0`, then `x = x.to(device)`.

The argument may be anywhere; but who moves it knows that it comes from the CPU, and what was computed of it before is still there.
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.functions import parameter_key
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import Accelerator, Cpu, Device, Origin, Symbol, leaves
from torchdev_lint.flow.domain.values import Tensor
from torchdev_lint.flow.project.callers_elsewhere import place_given
from torchdev_lint.flow.syntax.trees import receiver_name, remembered, walk


def leave(frame: Frame, target: cst.Name, value: Tensor) -> None:
    """`x = x.to(device)` binds `x`: what other names hold that was computed of the argument `x` stays on the CPU.

    Of a function that is read without a caller, which names the device itself: `x.to(y.device)` says nothing of where `x` was.
    """
    function, name = frame.function, target.value
    if function is None or frame.caller is not None or not _is_moved(frame, name):
        return
    held = frame.env.names.get(name)
    if not isinstance(held, Tensor) or not isinstance(held.device, Symbol) or not held.device.assumed:
        return
    if held.device.key != ("device", parameter_key(function.node, name)) or not _is_chosen(value.device):
        return
    if frame.analysis.learn(place_given, frame, parameter_key(function.node, name)) == "elsewhere":
        return  # it is moved to be sure: its callers have brought it already
    left = Cpu(Origin(target, "left"))
    masks = _masks(function.node, name)
    for other, kept in frame.env.names.items():
        if other != name and isinstance(kept, Tensor) and kept.device == held.device:
            # an argument that is worth moving has dimensions, and as many has what it is asked element by element
            scalar = False if other in masks else kept.scalar
            frame.env.names[other] = replace(kept, device=left, scalar=scalar)


@remembered(cst.FunctionDef)
def _masks_of(node: cst.FunctionDef) -> dict[str, set[str]]:
    """For each name, those that are bound to what comparing it gives: `mask = x != 0`, `mask = x.ne(0)`."""
    found: dict[str, set[str]] = {}
    for part in walk(node.body):
        match part:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name(value=bound))],
                value=cst.Comparison(left=cst.Name(value=name))
                | cst.Call(
                    func=cst.Attribute(
                        value=cst.Name(value=name), attr=cst.Name(value="ne" | "eq" | "gt" | "lt")
                    )
                ),
            ):
                found.setdefault(name, set()).add(bound)
            case _:
                pass
    return found


def _masks(node: cst.FunctionDef | cst.Lambda, name: str) -> set[str]:
    return _masks_of(node).get(name, set()) if isinstance(node, cst.FunctionDef) else set()


def _is_moved(frame: Frame, name: str) -> bool:
    """Whether the assignment that is executed moves what the name holds, and nothing else: `x = x.to(device)`."""
    match frame.assigning:
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Name(value=target))],
            value=cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value="to" | "cuda"))),
        ):
            return target == name == receiver_name(receiver)
        case _:
            return False


def _is_chosen(device: Device) -> bool:
    """Whether a device is one that the program names, and not the CPU: who takes something there says that it comes from elsewhere."""
    named = [
        isinstance(leaf, Accelerator) or (isinstance(leaf, Symbol) and not leaf.assumed)
        for leaf in leaves(device)
        if not isinstance(leaf, Cpu)
    ]
    return bool(named) and all(named)
