"""From a conflict of devices to the event: where it is reported, why, and which expression would cure it."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from torchdev_lint.flow import device_values
from torchdev_lint.flow.callsites import Argument, CallSite
from torchdev_lint.flow.events import MixedOperation, ModelCall, Place, Transfer
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.lattice import (
    Accelerator,
    Anywhere,
    Conflict,
    Cpu,
    Device,
    Leaf,
    Level,
    Origin,
    Symbol,
    conflict,
    describe,
    leaves,
)
from torchdev_lint.flow.values import Either, Entries, Items, Many, Object, Tensor, Value


@dataclass(frozen=True, slots=True)
class Callee:
    """What is called: its text, the object when it is known, where it lives, what kind of thing it is."""

    text: str
    device: Device
    thing: Object | None = None
    is_loss: bool = False
    node: cst.BaseExpression | None = None


def dotted(node: cst.CSTNode | None) -> str | None:
    """The text of a name or of a chain of attributes of a name; None for anything else."""
    match node:
        case cst.Name(value=name):
            return name
        case cst.Attribute(value=value, attr=cst.Name(value=name)):
            base = dotted(value)
            return None if base is None else f"{base}.{name}"
        case _:
            return None


def input_devices(frame: Frame, value: Value) -> Device | None:
    """The device of a value given to a module; None when nothing says that it is a tensor or a mapping of tensors."""
    from torchdev_lint.flow.tensors import tensor_device

    match value:
        case Entries(entries=entries, default=default):
            found = [tensor_device(frame, held) for held in (*(held for _, held in entries), default)]
            known = [device for device in found if device is not None]
            first = known[0] if known else None
            return first if all(device == first for device in known) else None
        case Object():
            state = frame.state(value)
            return state.device if state.kind == "unknown" and state.moved else None
        case Tensor() | Either() | Items() | Many():
            return tensor_device(frame, value)
        case _:
            return None


def check_model_call(frame: Frame, site: CallSite, callee: Callee) -> None:
    """Publish a `ModelCall` for each input that is certainly not where the module (or another input) is."""
    from torchdev_lint.flow.tensors import is_scalar

    inputs = [
        (argument, device)
        for argument in site.arguments
        if (device := input_devices(frame, argument.value)) is not None and not is_scalar(argument.value)
    ]
    anywhere = all(isinstance(leaf, Anywhere) for leaf in leaves(callee.device))
    if not anywhere:
        for argument, device in inputs:
            found = conflict(callee.device, device, frame.env.path)
            if found is not None and found.level == Level.CERTAIN:
                _report(frame, site, callee, argument, callee.device, found, against="model")
        return
    for argument, device in inputs:
        for other, other_device in inputs:
            if other is argument:
                continue
            found = conflict(other_device, device, frame.env.path)
            # of two inputs, the one left on the CPU is at fault
            if found is not None and found.level == Level.CERTAIN and isinstance(found.right, Cpu):
                _report(frame, site, callee, argument, other_device, found, against="input", other=other)
                break


_ATOMS = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.List, cst.Dict, cst.ListComp, cst.DictComp, cst.SimpleString)


def _needs_parentheses(node: cst.BaseExpression) -> bool:
    return not isinstance(node, _ATOMS) and not node.lpar


def _place(frame: Frame, node: cst.Arg, value: Value) -> Place:
    container = ""
    if isinstance(value, (Items, Many)) or node.star == "*":
        container = "list"
    elif isinstance(value, Entries):
        container = "dict"
    return Place(
        node=node,
        value_node=node.value,
        text=frame.analysis.text(node.value),
        star=str(node.star),
        mapping=isinstance(value, Tensor) and value.mapping,
        container=container,
        needs_parentheses=_needs_parentheses(node.value),
        unsure=not isinstance(value, Tensor) or value.batch,
    )


def _transfer(frame: Frame, origin: Origin | None) -> Transfer | None:
    """The transfer that an origin speaks of."""
    if origin is None or origin.what != "moved":
        return None
    match origin.node:
        case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=method)), args=arguments):
            given = next((a.value for a in arguments if a.keyword is None or a.keyword.value == "device"), None)
            return Transfer(origin.node, frame.analysis.text(receiver), given, method)
        case _:
            return None


def _called(frame: Frame, leaf: Leaf, transfer: Transfer | None) -> str:
    """What a message calls a device: the name that was used for it, and what it stands for."""
    plain = describe(leaf)
    name = dotted(transfer.argument) if transfer is not None else None
    if name is None or plain == f"`{name}`":
        return plain
    return f"`{name}`" if isinstance(leaf, Symbol) else f"`{name}` ({plain.strip('`')})"


def _report(
    frame: Frame,
    site: CallSite,
    callee: Callee,
    argument: Argument,
    wanted: Device,
    found: Conflict,
    *,
    against: str,
    other: Argument | None = None,
) -> None:
    root = found.right.origin.root() if found.right.origin is not None else None
    if root is not None and _is_consequence(frame, root):
        return
    place, reporting, through, inner = _place(frame, argument.node, argument.value), frame, "", None
    origin = found.right.origin
    while (
        origin is not None
        and origin.what == "argument"
        and origin.frame == reporting.uid
        and reporting.caller is not None
        and isinstance(origin.node, cst.Arg)
    ):
        inner = inner or site.node
        through = reporting.function.name if reporting.function is not None else ""
        if root is not None:
            reporting.caller.faults.add((id(reporting.call), id(root.node)))
        reporting = reporting.caller
        place = _place(reporting, origin.node, argument.value)
        origin = origin.inner
    given_by = _transfer(frame, root)
    moved_by = _transfer(frame, found.left.origin.root() if found.left.origin is not None else None)
    misplaced = isinstance(found.right, Accelerator) and isinstance(found.left, Accelerator)
    transfer = given_by if misplaced else None
    event = ModelCall(
        call=site.node,
        callee=callee.text,
        place=place,
        model=found.left,
        given=found.right,
        model_name=moved_by.receiver if moved_by is not None and against == "model" else callee.text,
        model_device=_called(frame, found.left, moved_by),
        given_device=_called(frame, found.right, given_by),
        target=_target(frame, reporting, callee, wanted, other),
        against=against,
        through=through,
        inner=inner,
        is_loss=callee.is_loss,
        transfer=transfer,
    )
    anchor = transfer.node if transfer is not None else place.node
    frame.analysis.publish(("model-call", id(anchor)), event)


def _is_consequence(frame: Frame, root: Origin) -> bool:
    """Whether the same tensor was already found at fault in this very call: the program does not get here."""
    child = frame
    while child.caller is not None:
        if (id(child.call), id(root.node)) in child.caller.faults:
            return True
        child = child.caller
    return False


def _target(
    frame: Frame, reporting: Frame, callee: Callee, wanted: Device, other: Argument | None
) -> str | None:
    """An expression for the wanted device that holds in the activation where the conflict is reported."""
    name = device_values.name_of_device(reporting, wanted)
    if name is not None:
        return name
    if other is not None and reporting is frame:
        text = dotted(other.node.value)
        return None if text is None else f"{text}.device"
    if callee.is_loss or callee.thing is None:
        return None
    module = _name_of_object(reporting, callee.thing)
    return None if module is None else f"next({module}.parameters()).device"


def _name_of_object(frame: Frame, thing: Object) -> str | None:
    for name, value in frame.visible_names():
        if value == thing:
            return name
    for name, value in frame.visible_names():
        if isinstance(value, Object):
            for attribute, held in frame.state(value).attributes.items():
                if held == thing and attribute.isidentifier():
                    return f"{name}.{attribute}"
    return None


def check_handed_together(frame: Frame, site: CallSite, callee: str) -> None:
    """A function that cannot be read gets a moved module and a tensor that is certainly elsewhere."""
    from torchdev_lint.flow.tensors import is_scalar

    models = [
        argument
        for argument in site.arguments
        if isinstance(argument.value, Object)
        and frame.state(argument.value).moved
        and frame.state(argument.value).kind == "module"
        and not frame.state(argument.value).moves_inputs
    ]
    if len(models) != 1 or not isinstance(models[0].value, Object):
        return
    thing = models[0].value
    state = frame.state(thing)
    for argument in site.arguments:
        if not isinstance(argument.value, Tensor) or is_scalar(argument.value) or argument.value.batch:
            continue
        found = conflict(state.device, argument.value.device, frame.env.path)
        if found is not None and found.level == Level.CERTAIN:
            handed = Callee(callee, state.device, thing)
            _report(frame, site, handed, argument, state.device, found, against="model")


def mixed_operation(
    frame: Frame,
    node: cst.CSTNode,
    operation: str,
    reference: tuple[Device, bool, cst.CSTNode],
    other: tuple[Device, cst.CSTNode],
) -> None:
    """Publish a `MixedOperation` when two operands are certainly on different devices."""
    found = conflict(reference[0], other[0], frame.env.path)
    if found is None or found.level == Level.NO:
        return
    for leaf in (found.left, found.right):
        if leaf.origin is not None and _is_consequence(frame, leaf.origin.root()):
            return
    at_fault = other[1] if isinstance(found.right, Cpu) else reference[2]
    wanted = reference[0] if isinstance(found.right, Cpu) else other[0]
    frame.analysis.publish(
        ("mixed", id(node), id(at_fault)),
        MixedOperation(
            node=node,
            operation=operation,
            left=found.left,
            right=found.right,
            place=Place(at_fault, at_fault, frame.analysis.text(at_fault)),
            certain=found.level == Level.CERTAIN,
            target=device_values.name_of_device(frame, wanted),
        ),
    )


def index_operation(frame: Frame, node: cst.CSTNode, receiver: Device, key: Device) -> None:
    """Publish a `MixedOperation` when a CPU tensor is indexed by an accelerator's tensor (the reverse is legal)."""
    found = conflict(receiver, key, frame.env.path)
    if found is None or found.level == Level.NO or not isinstance(found.left, Cpu):
        return
    frame.analysis.publish(
        ("mixed", id(node), id(node)),
        MixedOperation(
            node=node,
            operation="index",
            left=found.left,
            right=found.right,
            place=Place(node, node, frame.analysis.text(node)),
            certain=found.level == Level.CERTAIN,
        ),
    )
