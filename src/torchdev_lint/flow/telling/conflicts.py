"""Two operands of an operation, or a tensor and its index: are they on different devices?

A conflict is met where PyTorch would raise; it is reported where the fault lies (`attribution`).
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.events import MixedOperation, Place
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import (
    Choice,
    Conflict,
    Cpu,
    Device,
    Leaf,
    Level,
    conflict,
    describe,
    is_kept_plainly,
    leaves,
)
from torchdev_lint.flow.domain.values import Either, Literal, Object, Tensor, Value, alternatives
from torchdev_lint.flow.mistakes import ambient_devices, built_for_arguments
from torchdev_lint.flow.nn_modules import registration, seen_to_work
from torchdev_lint.flow.project import settings
from torchdev_lint.flow.syntax.trees import changed_in_place, dotted, goes_to_cpu
from torchdev_lint.flow.telling.attribution import (
    Report,
    called,
    is_consequence,
    report_at,
    transfer_of,
    worth_telling,
)
from torchdev_lint.flow.telling.cures import Callee, made_by, target_expression
from torchdev_lint.flow.telling.publication import (
    publish_mixed,
    publish_model_call,
    publish_unmoved,
    publish_unregistered,
)
from torchdev_lint.flow.torch_calls.operands import Operand, place_of


def _moves_with_module(frame: Frame, operand: Operand) -> bool:
    """Whether a tensor is a parameter, or registered in the module whose method this is."""
    if isinstance(operand.value, Tensor) and operand.value.parameter:
        return True
    function = frame.function
    owner = None if function is None else function.receiver
    node = operand.node.value if isinstance(operand.node, cst.Arg) else operand.node
    path = (dotted(node) or "").split(".")
    if isinstance(operand.device, Choice) and any(map(is_kept_plainly, leaves(operand.device))):
        return False  # it is registered under a condition only
    return (
        isinstance(owner, Object)
        and len(path) == 2
        and path[0] == "self"
        and path[1] in frame.state(owner).registered
    )


def _stands_for_number(value: Value) -> bool:
    """Whether something is a number on another way, `step = 1.0` beside `step = steps[i]`: what stands for one may well be one."""
    return isinstance(value, Either) and any(
        isinstance(part, Literal)
        and isinstance(part.value, (int, float))
        and not isinstance(part.value, bool)
        for part in alternatives(value)
    )


def check_operands(
    frame: Frame,
    node: cst.CSTNode,
    operation: str,
    reference: Operand,
    other: Operand,
    *,
    found: Conflict | None = None,
) -> Device | None:
    """Two operands of an operation: publish what follows when they are certainly on different devices.

    Where the tensor at fault was handed to a module's method, or together with a module, the fault is the caller's:
    a model was given an input that is elsewhere. Else it is a mixed operation. Returns where the operation would take
    place if the fault were mended; None when there is none.
    """
    found = found or settings.meeting(frame, reference.device, other.device)
    if found is None or found.level == Level.NO:
        ambient_devices.check(frame, node, reference, other)
        seen_to_work.note_meeting(frame, node, reference.device, other.device)
        return None
    guessed = any(isinstance(one.value, Tensor) and one.value.guess for one in (reference, other))
    if guessed and seen_to_work.is_noted(frame, node):
        return None
    if found.level != Level.CERTAIN and seen_to_work.stays_on_host(frame, node):
        return None
    seen_to_work.note_failure(frame, node)
    at_fault, beside = other, reference
    if not isinstance(found.right, Cpu):
        at_fault, beside = reference, other
        found = Conflict(found.level, found.right, found.left)
    if found.level != Level.CERTAIN and _stands_for_number(beside.value):
        return None
    if found.level != Level.CERTAIN and _moves_with_module(frame, at_fault):
        built_for_arguments.publish(frame, node, found, beside)
        return beside.device  # it is where the module is that owns it
    if registration.is_late(frame, found.right):
        return beside.device
    if _is_compared_on_host(at_fault, beside):
        return at_fault.device
    report = report_at(frame, at_fault, found)
    if report is None:
        return beside.device
    if registration.publish_kept_module(frame, node, found):
        return beside.device
    if publish_unmoved(frame, node, report, found, beside):
        return beside.device
    if publish_unregistered(frame, node, found, beside, at_fault):
        return beside.device
    if found.level == Level.CERTAIN:
        for crossed in report.crossed:
            module = _module_of_activation(crossed, found.right)
            if module is not None:
                publish_model_call(frame, node, report, module[0], module[1], "model")
                return beside.device
    if (
        report.crossed
        and not frame.source.foreign
        and made_by(report.frame, node, found, beside, report.place.value_node, here=False) is None
        and target_expression(report.frame, beside.device) is None
    ):
        # the caller has no name for the device: the operation itself has the other operand
        report = Report(place_of(frame, at_fault.node, at_fault.value), frame, at_fault.device)
    publish_mixed(frame, node, operation, report, found, beside, onto=_onto(frame, at_fault, beside))
    return beside.device


def _is_compared_on_host(at_fault: Operand, beside: Operand) -> bool:
    """Whether a tensor is brought to the CPU on the spot for a part of what a model gave that cannot be read.

    `torch.equal(outputs["image"], image.cpu())`: who writes that knows that the model has brought this part there itself.
    """
    return (
        isinstance(beside.node, cst.Subscript)
        and isinstance(beside.value, Tensor)
        and beside.value.guess
        and goes_to_cpu(at_fault.node)
    )


def _onto(frame: Frame, changed: Operand, other: Operand) -> tuple[Place, str] | None:
    """How the other operand comes to one that is changed in place, and so cannot be moved itself."""
    named = node = changed_in_place(changed.node)
    while isinstance(named, cst.Subscript) and all(
        isinstance(part.slice, cst.Index)
        and isinstance(part.slice.value, (cst.Name, cst.Integer, cst.SimpleString))
        for part in named.slice
    ):
        named = named.value
    text = frame.analysis.text(node) if changed.changed and dotted(named) is not None else None
    return None if text is None else (place_of(frame, other.node, other.value), f"{text}.device")


def check_index(frame: Frame, node: cst.CSTNode, table: Operand, key: Operand) -> bool:
    """Publish a `MixedOperation` when a CPU tensor is indexed by an accelerator's tensor (the reverse is legal)."""
    found = settings.meeting(frame, key.device, table.device)
    if found is None or found.level == Level.NO or not isinstance(found.right, Cpu):
        return False
    if found.level != Level.CERTAIN and not worth_telling(frame, found):
        return False
    if any(
        leaf.origin is not None and is_consequence(frame, leaf.origin.root())
        for leaf in (found.left, found.right)
    ):
        return True
    if registration.publish_kept_module(frame, node, found):
        return True
    itself = Report(place_of(frame, table.node, table.value), frame, table.device)
    if publish_unmoved(frame, node, itself, found, key):
        return True
    if publish_unregistered(frame, node, found, key, table):
        return True
    place = place_of(frame, table.node, table.value)
    target = target_expression(frame, key.device, key)
    made = made_by(frame, node, found, key, table.node, here=True)
    moved_by = transfer_of(frame, found.left.origin.root() if found.left.origin is not None else None)
    frame.analysis.publish(
        ("mixed", id(node), id(node)) if made is None else ("factory", id(made.node)),
        MixedOperation(
            node=node,
            operation="index",
            left=found.left,
            right=found.right,
            place=replace(place, node=node),
            certain=found.level == Level.CERTAIN,
            left_device=called(found.left, moved_by),
            right_device=describe(found.right),
            other=frame.analysis.text(key.node),
            target=target,
            made=made,
        ),
    )
    return True


def _module_of_activation(frame: Frame, fault: Leaf) -> tuple[Callee, Conflict] | None:
    """The module that an activation runs (its `self`, or one given to it) and is not where the tensor at fault is."""
    function = frame.function
    if function is None:
        return None
    receiver = function.receiver
    handed = [receiver, *frame.env.names.values()] if receiver is not None else list(frame.env.names.values())
    for value in handed:
        if isinstance(value, Object) and frame.state(value).kind == "module":
            device = frame.state(value).device
            found = conflict(device, fault, frame.env.path)
            if found is not None and found.level == Level.CERTAIN:
                return Callee(function.name if value != receiver else value.text, device, value), found
    return None
