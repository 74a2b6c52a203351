"""A conflict that is reported somewhere becomes an event of one of four kinds.

A module that is not where its input is, a module that was never moved, an attribute that is not registered, and else a
mixed operation.
"""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from torchdev_lint.flow.activation.events import Built, MixedOperation, ModelCall, Place, Transfer
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import (
    ATTRIBUTE,
    Accelerator,
    Conflict,
    Cpu,
    Leaf,
    Level,
    Origin,
    Symbol,
    leaves,
)
from torchdev_lint.flow.domain.values import Object, Tensor, Value
from torchdev_lint.flow.nn_modules import placements, registration
from torchdev_lint.flow.project.callers_elsewhere import is_only_for_building
from torchdev_lint.flow.read_alone import given_attributes
from torchdev_lint.flow.read_alone.bindings import bound_at, made_in_class
from torchdev_lint.flow.syntax.trees import dotted, walk
from torchdev_lint.flow.telling.attribution import (
    Report,
    argument_of,
    called,
    report_at,
    root_of,
    transfer_of,
)
from torchdev_lint.flow.telling.cures import (
    Callee,
    beside_self,
    made_by,
    name_of_object,
    target_expression,
    tensor_named_in,
)
from torchdev_lint.flow.telling.states_made import made_together
from torchdev_lint.flow.torch_calls.operands import Operand, place_of
from torchdev_lint.torch_api.libraries import RETURN_TENSORS

WANTED = "wanted where it was moved"
"""A note of a transfer: a module was given what it moved, and so it is right, whoever else gets what comes of it."""


def publish_model_call(
    frame: Frame,
    node: cst.CSTNode,
    report: Report,
    callee: Callee,
    found: Conflict,
    against: str,
    other: Operand | None = None,
    *,
    together: str = "",
) -> None:
    """Publish the event of a module that is not where its input is."""
    given_by = transfer_of(frame, found.right.origin.root() if found.right.origin is not None else None)
    moved_by = transfer_of(frame, found.left.origin.root() if found.left.origin is not None else None)
    misplaced = isinstance(found.right, Accelerator) and isinstance(found.left, Accelerator)
    transfer = given_by if misplaced else None
    if transfer is not None and any(
        (why, id(transfer.node)) in frame.analysis.notes for why in ("moves a module", WANTED)
    ):
        transfer = None  # it is right where it is; what it gives out has to be taken along
    unmoved = (
        found.left.origin.root() if isinstance(found.left, Cpu) and found.left.origin is not None else None
    )
    whole = report.module()
    if whole is not None and unmoved is not None and not isinstance(frame.state(whole).device, Cpu):
        whole = None  # that one was moved: what stayed behind is a part of it
    callee = replace(callee, thing=whole or callee.thing)
    target = target_expression(report.frame, callee.device, other if report.frame is frame else None, callee)
    built: Built | None = None
    if unmoved is not None and unmoved.what == "made":
        # the module was never moved: the input is where it should be
        device = None if callee.thing is None else frame.state(callee.thing).device
        if isinstance(device, Cpu) and device.origin is not None and device.origin.root().what == "made":
            unmoved = device.origin.root()
        built = _built(frame, report, callee, found, unmoved)
        target = built.target
    made, made_target = made_together(report.frame, found.right) if report.place.mixed else ((), "")
    event = ModelCall(
        call=node,
        callee=callee.text,
        place=report.place,
        model=found.left,
        given=found.right,
        model_name=_name_of_module(report.frame.at_home(), callee, moved_by)
        if against == "model"
        else callee.text,
        model_device=called(found.left, moved_by),
        given_device=called(found.right, given_by),
        target=target,
        against=against,
        through=report.through or together,
        inner=node if report.crossed else None,
        is_loss=callee.is_loss,
        transfer=transfer,
        built=built,
        bound=None if built is not None or transfer is not None else _bound(frame, report, callee, found),
        made=made,
        made_target=made_target,
    )
    if built is not None:
        anchor = built.node
    elif unmoved is not None:
        anchor = node
    else:
        anchor = transfer.node if transfer is not None else report.place.node
    frame.analysis.publish(("model-call", id(anchor)), event)


def _bound(frame: Frame, report: Report, callee: Callee, found: Conflict) -> Any:
    """What gave the input its name, or made it, if PyTorch raises inside of a function or module of the program that is given it."""
    model = None if callee.thing is None else frame.state(callee.thing).model
    if not report.crossed and model is None:
        return None
    own = None if model is None else made_in_class(model.node, found.right)
    return own or _given(report, found)


def _given(report: Report, found: Conflict) -> cst.BaseExpression | None:
    """What gave the name, or the attribute, that is reported the tensor at fault."""
    node = report.place.value_node
    if isinstance(node, cst.Attribute):
        return given_attributes.put_at(report.frame, node, found.right)
    return bound_at(report.frame, node, found.right)


def _built(frame: Frame, report: Report, callee: Callee, found: Conflict, unmoved: Origin) -> Built:
    """The call that built a module which was never moved, and how to move it."""
    if found.level != Level.CERTAIN:
        # for an argument: the function knows where that is when it builds the module
        name = argument_of(report.frame, found.right)
        if not name:
            target = beside_self(report.frame, unmoved)
        else:
            target = None if report.frame.rebound_before(name, unmoved) else f"{name}.device"
        return Built(unmoved.node, target, at_fault=True)
    # where another file's code meets the module, what is told there would not be told here
    inside = bool(report.crossed) or report.frame.source.foreign
    at_fault = inside or _is_kept_by_class(report.frame, callee, unmoved)
    spot = placements.spot_of(frame, unmoved, callee.thing, report.given, found.right)
    if spot is not None:
        return Built(unmoved.node, spot[1], at_fault, spot[0])
    if placements.is_one_of_several(frame, unmoved.node):
        return Built(unmoved.node, None, at_fault)
    target = target_expression(report.frame, report.given)
    usable = target is not None and report.frame.bound_before(target, unmoved)
    return Built(unmoved.node, target if usable else None, at_fault)


def _is_kept_by_class(frame: Frame, callee: Callee, unmoved: Origin) -> bool:
    """Whether a class built the model for all its methods: that is where it has to be moved, once."""
    receiver = None if frame.function is None else frame.function.receiver
    if not isinstance(receiver, Object) or callee.thing is None or unmoved.frame == frame.uid:
        return False
    state = frame.state(receiver)
    if state.kind != "instance" or state.model is None or callee.thing not in state.attributes.values():
        return False
    return any(part is unmoved.node for part in walk(state.model.node))


def _name_of_module(frame: Frame, callee: Callee, moved_by: Transfer | None) -> str:
    """What the reader of the report knows the module by."""
    name = None if callee.thing is None else name_of_object(frame, callee.thing)
    if name is not None:
        return name
    if moved_by is not None and len(moved_by.receiver) <= 40:
        return moved_by.receiver
    if callee.text == "the call" and callee.thing is not None and callee.thing.text:
        return callee.thing.text  # built where it is called
    return callee.text


def publish_mixed(
    frame: Frame,
    node: cst.CSTNode,
    operation: str,
    report: Report,
    found: Conflict,
    beside: Operand,
    *,
    module: Callee | None = None,
    onto: tuple[Place, str] | None = None,
) -> None:
    """`module`: the other operand is a module that is called."""
    if found.level != Level.CERTAIN and frame.analysis.learn(is_only_for_building, report.frame):
        return  # a layer is asked for its size before anybody has moved it
    other: Operand | None = None if report.crossed or module is not None else beside
    target = target_expression(report.frame, beside.device, other, module)
    given_by = transfer_of(frame, found.right.origin.root() if found.right.origin is not None else None)
    moved_by = transfer_of(frame, found.left.origin.root() if found.left.origin is not None else None)
    made = made_by(report.frame, node, found, beside, report.place.value_node, here=report.frame is frame)
    frame.analysis.publish(
        ("mixed", id(node), id(report.place.node)) if made is None else ("factory", id(made.node)),
        MixedOperation(
            node=node,
            operation=operation,
            left=found.left,
            right=found.right,
            place=report.place,
            certain=found.level == Level.CERTAIN,
            left_device=called(found.left, moved_by) if module is None else f"the device of `{module.text}`",
            right_device=called(found.right, given_by),
            other=module.text
            if module is not None
            else ""
            if other is None
            else frame.analysis.text(other.node.value if isinstance(other.node, cst.Arg) else other.node),
            target=target,
            through=report.through,
            made=made,
            onto=None if report.crossed else onto,
            bound=_given(report, found) if report.crossed else None,
            for_module=_is_made_for_module(frame, found),
        ),
    )


def _is_made_for_module(frame: Frame, found: Conflict) -> bool:
    """Whether a function that a method of a module calls has made what is at fault, and the other operand is where the module is.

    Or a tokenizer has, in the method itself, for a part of the module.
    """
    function = frame.function
    receiver = None if function is None else function.receiver
    root = None if found.right.origin is None else found.right.origin.root()
    if (
        function is None
        or not isinstance(receiver, Object)
        or not isinstance(found.left, Symbol)
        or root is None
    ):
        return False
    if root.what == "made" and _says_tensors(root.node):
        return root_of(found.left.key) == receiver.key and any(
            part is root.node for part in walk(function.node.body)
        )
    return (
        found.left.key == ("device", receiver.key)
        and root.what == "factory"
        and root.frame > frame.uid  # what was made before this activation began is kept somewhere
    )


def _says_tensors(node: cst.CSTNode) -> bool:
    """Whether a call says that it gives tensors, as tokenizers are asked: `tokenizer(texts, return_tensors="pt")`."""
    return isinstance(node, cst.Call) and any(
        one.keyword is not None and one.keyword.value == RETURN_TENSORS for one in node.args
    )


def publish_unregistered(
    frame: Frame, node: cst.CSTNode, found: Conflict, beside: Operand, at_fault: Operand | None = None
) -> bool:
    """Whether the tensor at fault is an attribute of a module that is not registered; then that is published."""
    site = registration.attribute_site(frame, found.right)
    if site is None:
        return False
    moved_by = transfer_of(frame, found.left.origin.root() if found.left.origin is not None else None)
    met = frame.analysis.text(beside.node.value if isinstance(beside.node, cst.Arg) else beside.node)
    target = site.target
    if target is None and site.late and site.frame == frame.uid:
        target = target_expression(frame, beside.device)
    if target is None and site.late and site.frame == frame.uid:
        target = beside_self(frame, Origin(site.node, ATTRIBUTE, frame.uid, step=1))
    if target is None and site.late:
        # another method of the module's: what it computes with is there when this one is called, too
        written = tensor_named_in(frame, beside.node, beside.device)
        held = written is not None and re.fullmatch(r"self\.[a-z]\w*", written) is not None
        target = f"{written}.device" if held and written != f"self.{site.name}" else None
    use = None
    if at_fault is not None and not at_fault.changed and not frame.source.foreign:
        named = tensor_named_in(frame, beside.node, beside.device)
        there = f"{named}.device" if named is not None else target_expression(frame, beside.device, beside)
        place = place_of(frame, at_fault.node, at_fault.value)
        use = None if there is None or place.container or place.mixed else (place, there)
    registration.publish_tensor(
        frame, node, site, found, met=met, met_device=called(found.left, moved_by), target=target, use=use
    )
    return True


def publish_unmoved(
    frame: Frame, node: cst.CSTNode, report: Report, found: Conflict, beside: Operand
) -> bool:
    """Whether the tensor at fault is registered in a module that was never moved; then the module is at fault."""
    if found.level != Level.CERTAIN:
        return False
    holder = _holder(report.frame, report.place.value_node) or _holding(report.frame, found.right)
    whole = None if holder is None else report.frame.state(holder).device
    if (
        holder is None
        or not isinstance(whole, Cpu)
        or whole.origin is None
        or whole.origin.root().what != "made"
    ):
        return False
    against = Conflict(found.level, whole, found.left)
    there = report_at(frame, beside, against)
    if there is not None:
        publish_model_call(frame, node, there, Callee(holder.text, whole, holder), against, "model")
    return True


def _holding(frame: Frame, fault: Leaf) -> Object | None:
    """The module whose method is read, if it is not moved and has what is at fault, or what that was made of, registered."""
    thing = None if frame.function is None else frame.function.receiver
    root = None if fault.origin is None else fault.origin.root()
    if not isinstance(thing, Object) or root is None:
        return None
    state = frame.state(thing)
    if state.kind != "module" or state.moved:
        return None
    held = (state.attributes.get(name) for name in state.registered)
    made = [leaf.origin for one in held if isinstance(one, Tensor) for leaf in leaves(one.device)]
    return thing if any(one is not None and one.root().node is root.node for one in made) else None


def _holder(frame: Frame, node: cst.CSTNode) -> Object | None:
    """The module that is not moved and has this expression registered as a parameter or buffer."""
    path = (dotted(node) or "").split(".")
    value: Value | None = frame.lookup(path[0]) if len(path) > 1 else None
    for name in path[1:-1]:
        value = frame.state(value).attributes.get(name) if isinstance(value, Object) else None
    if not isinstance(value, Object):
        return None
    state = frame.state(value)
    return value if state.kind == "module" and not state.moved and path[-1] in state.registered else None
