"""From two devices that differ to the event: where it is reported, why, and which expression would cure it.

A conflict is met where PyTorch would raise; it is reported where the fault lies. When the tensor at fault entered the
function through an argument, that is the argument of the call, however many calls further up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import libcst as cst

from torchdev_lint.flow import device_values, placements, registration
from torchdev_lint.flow.callsites import Argument, CallSite
from torchdev_lint.flow.conditions import Key
from torchdev_lint.flow.events import Built, Made, MixedOperation, ModelCall, Place, Transfer
from torchdev_lint.flow.evidence import TESTING
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
from torchdev_lint.flow.trees import walk
from torchdev_lint.flow.values import UNKNOWN, Either, Entries, Items, Many, Object, Tensor, Value
from torchdev_lint.torch_api.factories import TAKES_DEVICE


@dataclass(frozen=True, slots=True)
class Callee:
    """What is called: its text, where it lives, the object when it is known, what kind of thing it is."""

    text: str
    device: Device
    thing: Object | None = None
    is_loss: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """Where a conflict is reported: the place, its activation, and the activations left on the way up to it."""

    place: Place
    frame: Frame
    given: Device
    crossed: tuple[Frame, ...] = ()

    @property
    def through(self) -> str:
        """The function that the reported argument is given to; empty when none was left."""
        function = self.crossed[-1].function if self.crossed else None
        return "" if function is None else function.name

    def module(self) -> Object | None:
        """The outermost module that was entered on the way down to the conflict."""
        for crossed in self.crossed[::-1]:
            receiver = None if crossed.function is None else crossed.function.receiver
            if isinstance(receiver, Object) and crossed.state(receiver).kind == "module":
                return receiver
        return None


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


# -- operands and their places


_ATOMS = (
    cst.Name,
    cst.Attribute,
    cst.Call,
    cst.Subscript,
    cst.List,
    cst.Dict,
    cst.ListComp,
    cst.DictComp,
    cst.SimpleString,
)


def place_of(frame: Frame, node: cst.Arg | cst.BaseExpression, value: Value) -> Place:
    """The place of an argument or operand."""
    inner = node.value if isinstance(node, cst.Arg) else node
    star = str(node.star) if isinstance(node, cst.Arg) else ""
    container = ""
    if isinstance(value, (Items, Many)) or star == "*":
        container = "list"
    elif isinstance(value, Entries) or (star == "**" and not (isinstance(value, Tensor) and value.mapping)):
        container = "dict"
    return Place(
        node=node,
        value_node=inner,
        text=frame.analysis.text(inner),
        keyword="" if not isinstance(node, cst.Arg) or node.keyword is None else node.keyword.value,
        star=star,
        mapping=isinstance(value, Tensor) and value.mapping,
        container=container,
        needs_parentheses=not isinstance(inner, _ATOMS) and not inner.lpar,
        unsure=not isinstance(value, (Tensor, Either)) or (isinstance(value, Tensor) and value.batch),
    )


@dataclass(frozen=True, slots=True)
class Given:
    """A value given to an operation at a node; `inside`: the node is a container that holds it."""

    value: Value
    node: cst.BaseExpression
    inside: bool = False


def given_by(argument: Argument) -> list[Given]:
    """What an argument gives to an operation: its value, or each element of a tuple or list."""
    value, node = argument.value, argument.node.value
    if isinstance(value, Many):
        return [Given(value.element, node, inside=True)]
    if not isinstance(value, Items):
        return [Given(value, node)]
    written = node.elements if isinstance(node, (cst.Tuple, cst.List)) else ()
    if len(written) == len(value.items):
        return [Given(item, element.value) for item, element in zip(value.items, written, strict=True)]
    return [Given(item, node, inside=True) for item in value.items]


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor (or a mapping of tensors) given to a call: its value, its device, the node that gives it."""

    value: Value
    device: Device
    node: cst.Arg | cst.BaseExpression


def operands_of(frame: Frame, argument: Argument) -> Iterator[Operand]:
    """The tensors in an argument: itself, or the elements of a tuple, list or dict that is written out or known."""
    from torchdev_lint.flow.tensors import tensor_device

    value, node = argument.value, argument.node
    match value:
        case Items(items):
            written = node.value.elements if isinstance(node.value, (cst.Tuple, cst.List)) else ()
            for index, item in enumerate(items):
                device = tensor_device(frame, item)
                if isinstance(item, (Tensor, Either)) and device is not None:
                    element = written[index].value if len(written) == len(items) else node
                    yield Operand(item if element is not node else value, device, element)
        case Entries(entries=entries):
            for _, item in entries:
                device = tensor_device(frame, item)
                if isinstance(item, (Tensor, Either)) and device is not None:
                    yield Operand(value, device, node)
        case Object():
            state = frame.state(value)
            if state.kind == "unknown" and state.moved:
                yield Operand(value, state.device, node)
        case Tensor() | Either() | Many():
            device = tensor_device(frame, value)
            if device is not None:
                yield Operand(value, device, node)
        case _:
            pass


# -- what is checked


def check_model_call(frame: Frame, site: CallSite, callee: Callee) -> None:
    """Publish a `ModelCall` for each input that is certainly not where the module (or another input) is."""
    from torchdev_lint.flow.tensors import is_scalar

    inputs = [
        operand
        for argument in site.arguments
        if not _may_be_lengths(frame, argument, callee)
        for operand in operands_of(frame, argument)
        if not is_scalar(operand.value)
    ]
    if not all(isinstance(leaf, Anywhere) for leaf in leaves(callee.device)):
        for operand in inputs:
            found = conflict(callee.device, operand.device, frame.env.path)
            if found is not None and found.level != Level.NO:
                _input_elsewhere(frame, site, callee, operand, found)
        return
    for operand in inputs:
        for other in inputs:
            found = conflict(other.device, operand.device, frame.env.path)
            # of two inputs, the one left on the CPU is at fault
            if found is None or found.level == Level.NO or not isinstance(found.right, Cpu):
                continue
            report = report_at(frame, operand, found)
            if report is not None and not _publish_unregistered(frame, site.node, found, other):
                if found.level == Level.CERTAIN:
                    beside = Callee(callee.text, other.device, None, is_loss=callee.is_loss)
                    publish_model_call(frame, site.node, report, beside, found, "input", other)
                else:
                    _publish_mixed(frame, site.node, callee.text, report, found, other)
            break


def check_part(frame: Frame, thing: Object, site: CallSite) -> None:
    """A part of the module that is being read, of a class that cannot be read, is given first what was just made."""
    function = frame.function
    first = site.positional()[0] if site.positional() else None
    if function is None or first is None or not isinstance(function.receiver, Object):
        return
    value = first.value
    if not isinstance(value, Tensor) or value.scalar is not False:
        return
    origins = [leaf.origin for leaf in leaves(value.device)]
    if not all(o is not None and o.what == "factory" and o.frame == frame.uid for o in origins):
        return
    whole = frame.state(function.receiver)
    operand = Operand(value, value.device, first.node)
    found = conflict(whole.device, value.device, frame.env.path)
    if found is not None and found.level != Level.NO and isinstance(found.right, Cpu):
        _input_elsewhere(frame, site, Callee(site.callee, whole.device, thing), operand, found)


def _input_elsewhere(frame: Frame, site: CallSite, callee: Callee, operand: Operand, found: Conflict) -> None:
    """An input and the module that is called with it are on different devices."""
    if registration.is_late(frame, found.left):
        return
    kept = registration.attribute_site(frame, found.left)
    if kept is not None:
        if found.level != Level.CERTAIN and not worth_telling(frame, found):
            return
        registration.publish_module(frame, site.node, kept, found, describe(found.right))
        return
    if found.level == Level.CERTAIN:
        report = report_at(frame, operand, found)
        module = Operand(operand.value, callee.device, site.node)
        if report is not None and not _publish_unregistered(frame, site.node, found, module):
            publish_model_call(frame, site.node, report, callee, found, "model")
    elif isinstance(found.right, Cpu) and isinstance(operand.value, Tensor):
        # a part of the module that is being read: it is wherever the whole was moved to
        report = report_at(frame, operand, found)
        module = Operand(callee.thing or operand.value, callee.device, site.node)
        if report is not None and not _publish_unregistered(frame, site.node, found, module):
            _publish_mixed(frame, site.node, callee.text, report, found, module, module=callee)


LENGTHS = re.compile(r"(?i)(?:^|_)(?:len|lens|lengths?|seq_?lens?|sizes?|num|n)(?:$|_)|lengths?$")
"""Names that speak of lengths."""


def _may_be_lengths(frame: Frame, argument: Argument, callee: Callee) -> bool:
    """Whether a module whose `forward` is not known may want this argument on the CPU: `pack_padded_sequence` does."""
    if callee.thing is None or frame.state(callee.thing).api.startswith("torch.nn."):
        return False
    name = argument.keyword or (dotted(argument.node.value) or "").rpartition(".")[2]
    return LENGTHS.search(name) is not None


def check_handed_together(frame: Frame, site: CallSite, callee: str) -> None:
    """A function that cannot be read gets a moved module and a tensor that is certainly elsewhere."""
    from torchdev_lint.flow.tensors import is_scalar

    models = [argument.value for argument in site.arguments if _is_moved_module(frame, argument.value)]
    if len(models) != 1 or not isinstance(models[0], Object):
        return
    thing = models[0]
    for argument in site.arguments:
        if not isinstance(argument.value, Tensor) or is_scalar(argument.value) or argument.value.batch:
            continue
        operand = Operand(argument.value, argument.value.device, argument.node)
        found = conflict(frame.state(thing).device, operand.device, frame.env.path)
        if found is not None and found.level == Level.CERTAIN:
            report = report_at(frame, operand, found)
            if report is not None:
                handed = Callee(callee, frame.state(thing).device, thing)
                publish_model_call(frame, site.node, report, handed, found, "model", together=callee)


def _is_moved_module(frame: Frame, value: Value) -> bool:
    if not isinstance(value, Object):
        return False
    state = frame.state(value)
    return state.moved and state.kind == "module" and not state.moves_inputs


def check_operands(
    frame: Frame, node: cst.CSTNode, operation: str, reference: Operand, other: Operand
) -> Device | None:
    """Two operands of an operation: publish what follows when they are certainly on different devices.

    Where the tensor at fault was handed to a module's method, or together with a module, the fault is the caller's:
    a model was given an input that is elsewhere. Else it is a mixed operation. Returns where the operation would take
    place if the fault were mended; None when there is none.
    """
    found = conflict(reference.device, other.device, frame.env.path)
    if found is None or found.level == Level.NO:
        return None
    at_fault, beside = other, reference
    if not isinstance(found.right, Cpu):
        at_fault, beside = reference, other
        found = Conflict(found.level, found.right, found.left)
    report = report_at(frame, at_fault, found)
    if report is None:
        return beside.device
    if _publish_unmoved(frame, node, report, found, beside):
        return beside.device
    if _publish_unregistered(frame, node, found, beside):
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
        and _made(report.frame, node, found, beside, report.place.value_node, here=False) is None
        and target_expression(report.frame, beside.device) is None
    ):
        # the caller has no name for the device: the operation itself has the other operand
        report = Report(place_of(frame, at_fault.node, at_fault.value), frame, at_fault.device)
    _publish_mixed(frame, node, operation, report, found, beside)
    return beside.device


def _publish_unregistered(frame: Frame, node: cst.CSTNode, found: Conflict, beside: Operand) -> bool:
    """Whether the tensor at fault is an attribute of a module that is not registered; then that is published."""
    site = registration.attribute_site(frame, found.right)
    if site is None:
        return False
    moved_by = transfer_of(frame, found.left.origin.root() if found.left.origin is not None else None)
    met = frame.analysis.text(beside.node.value if isinstance(beside.node, cst.Arg) else beside.node)
    target = target_expression(frame, beside.device) if site.late and site.frame == frame.uid else None
    if target is None and site.late and site.frame == frame.uid:
        target = _beside_self(frame, Origin(site.node, registration.ATTRIBUTE, frame.uid, step=1))
    registration.publish_tensor(
        frame, node, site, found, met=met, met_device=called(found.left, moved_by), target=target
    )
    return True


def _publish_unmoved(
    frame: Frame, node: cst.CSTNode, report: Report, found: Conflict, beside: Operand
) -> bool:
    """Whether the tensor at fault is registered in a module that was never moved; then the module is at fault."""
    if found.level != Level.CERTAIN:
        return False
    holder = _holder(report.frame, report.place.value_node)
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


def _publish_mixed(
    frame: Frame,
    node: cst.CSTNode,
    operation: str,
    report: Report,
    found: Conflict,
    beside: Operand,
    *,
    module: Callee | None = None,
) -> None:
    """`module`: the other operand is a module that is called."""
    other: Operand | None = None if report.crossed or module is not None else beside
    target = target_expression(report.frame, beside.device, other, module)
    given_by = transfer_of(frame, found.right.origin.root() if found.right.origin is not None else None)
    moved_by = transfer_of(frame, found.left.origin.root() if found.left.origin is not None else None)
    made = _made(report.frame, node, found, beside, report.place.value_node, here=report.frame is frame)
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
            else frame.analysis.text(other.node),
            target=target,
            through=report.through,
            made=made,
        ),
    )


def _wanted_elsewhere(maker: Frame, made: cst.CSTNode, fault: cst.CSTNode) -> bool:
    """Whether what a call made is known by a name of its own that is used besides what the operand at fault was taken from."""
    if any(part is made for part in walk(fault)):
        return False
    scope: cst.CSTNode = maker.source.module if maker.function is None else maker.function.node
    name = None
    for node in walk(scope):
        if isinstance(node, cst.Assign) and len(node.targets) == 1:
            target = node.targets[0].target
            if isinstance(target, cst.Name) and any(part is made for part in walk(node.value)):
                name = target.value
    if name is None or any(isinstance(part, cst.Name) and part.value == name for part in walk(fault)):
        return False
    uses = sum(isinstance(node, cst.Name) and node.value == name for node in walk(scope))
    return uses > 2


def _made(
    frame: Frame, node: cst.CSTNode, found: Conflict, beside: Operand, fault: cst.CSTNode, *, here: bool
) -> Made | None:
    """The call that made the operand `fault`, if it stands in this activation or in one that encloses it.

    `here`: the other operand is named in this activation.
    """
    origin = None if found.right.origin is None else found.right.origin.root()
    if origin is None or origin.what != "factory" or not isinstance(origin.node, cst.Call):
        return None
    maker: Frame | None = frame
    while maker is not None and maker.uid != origin.frame:
        maker = maker.parent if maker.function is not None else None
    if maker is None or (maker is not frame and maker.function is None):
        return None
    arguments = origin.node.args
    if any(a.keyword is not None and a.keyword.value == "device" for a in arguments):
        return None
    name = (dotted(origin.node.func) or "").rpartition(".")[2]
    keyword = bool(arguments) and name in TAKES_DEVICE
    target = None
    if not _wanted_elsewhere(maker, origin.node, fault):
        target = _expression_at(maker, found.left, beside, origin, here=here and maker is frame)
    return Made(origin.node, target, keyword, any(part is origin.node for part in walk(node)))


def _tensor_named_in(frame: Frame, node: cst.CSTNode, device: Device) -> str | None:
    """In the expression of an operand: the name of a tensor that is where the operand is."""
    inner = node.value if isinstance(node, cst.Arg) else node
    written = dotted(inner)
    if written is not None:
        return written
    for part in walk(inner, below=(cst.Lambda, cst.GeneratorExp, cst.ListComp, cst.SetComp, cst.DictComp)):
        text = dotted(part)
        if text is None:
            continue
        value = frame.lookup(text.partition(".")[0])
        for name in text.split(".")[1:]:
            value = frame.state(value).attributes.get(name, UNKNOWN) if isinstance(value, Object) else UNKNOWN
        if isinstance(value, Tensor) and not value.batch and device_values.same_device(value.device, device):
            return text
    return None


def _expression_at(frame: Frame, wanted: Leaf, beside: Operand, origin: Origin, *, here: bool) -> str | None:
    """An expression for a device that holds already where `origin` happened in this activation."""
    plain = dotted(beside.node.value if isinstance(beside.node, cst.Arg) else beside.node)
    written = _tensor_named_in(frame, beside.node, beside.device) if here else None
    for device in (beside.device, wanted):
        local = frame.function is not None and here and plain is not None
        named = device_values.name_of_device(frame, device, local=local)
        if named is not None and frame.bound_before(named, origin):
            return named
    if written is not None and isinstance(beside.value, Tensor) and frame.bound_before(written, origin):
        return f"{written}.device"
    for name, value in frame.env.names.items():
        there = isinstance(value, Tensor) and value.device in (wanted, beside.device)
        if there and frame.bound_before(name, origin):
            return f"{name}.device"
    if isinstance(wanted, Symbol) and frame.function is not None and wanted.key[0] == "device":
        key = wanted.key[1]
        if key[:2] == ("parameter", id(frame.function.node)) and not frame.rebound_before(key[2], origin):
            return f"{key[2]}.device"
        if key[0] == "self":
            return _beside_self(frame, origin)
    return None


def _beside_self(frame: Frame, origin: Origin) -> str | None:
    """In a module's method: the device of a tensor given to it, else of a parameter of `self`."""
    for name, value in frame.env.names.items():
        if isinstance(value, Tensor) and isinstance(value.device, Symbol):
            key = value.device.key[1] if value.device.key[0] == "device" else ()
            if key[:1] == ("parameter",) and frame.bound_before(name, origin):
                return f"{name}.device"
    function = frame.function
    receiver = None if function is None else function.receiver
    if isinstance(receiver, Object):
        for name, value in frame.state(receiver).attributes.items():
            if isinstance(value, Tensor) and name in frame.state(receiver).registered:
                return f"self.{name}.device"
    return None


def check_index(frame: Frame, node: cst.CSTNode, table: Operand, key: Operand) -> bool:
    """Publish a `MixedOperation` when a CPU tensor is indexed by an accelerator's tensor (the reverse is legal)."""
    found = conflict(key.device, table.device, frame.env.path)
    if found is None or found.level == Level.NO or not isinstance(found.right, Cpu):
        return False
    if found.level != Level.CERTAIN and not worth_telling(frame, found):
        return False
    if any(
        leaf.origin is not None and _is_consequence(frame, leaf.origin.root())
        for leaf in (found.left, found.right)
    ):
        return True
    itself = Report(place_of(frame, table.node, table.value), frame, table.device)
    if _publish_unmoved(frame, node, itself, found, key):
        return True
    if _publish_unregistered(frame, node, found, key):
        return True
    place = place_of(frame, table.node, table.value)
    target = target_expression(frame, key.device, key)
    made = _made(frame, node, found, key, table.node, here=True)
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


# -- where it is reported


_OF_DATASETS = re.compile(r"(?i)(?:^|_)(?:dataset|datasets|data_?loader|loader)$|dataset$")
"""Parameters, by name, that are on the CPU with all that they hold."""


def worth_telling(frame: Frame, found: Conflict) -> bool:
    """Whether a conflict that is only possible is to be told: with what a function is given, or a module holds."""
    if frame.analysis.on_host or frame.analysis.at_top or not TESTING.isdisjoint(frame.analysis.imported):
        return False
    for leaf in (found.left, found.right):
        if isinstance(leaf, Symbol):
            root = root_of(leaf.key)
            if leaf.origin is not None and leaf.origin.root().what == "moved":
                continue  # it was taken to another thing's device on purpose
            if root[:1] not in (("parameter",), ("self",)) or frame.analysis.only_on_host(root):
                return False
            if root[0] == "parameter" and _OF_DATASETS.search(str(root[2])):
                return False
            if root[0] == "self" and frame.state(Object(root)).kind != "module":
                return False
    return True


def root_of(key: Key) -> Key:
    """The parameter, or whatever else, that a value with this identity was taken from."""
    while key and key[0] in ("device", "attr", "item"):
        key = key[1]
    return key


def report_at(frame: Frame, operand: Operand, found: Conflict) -> Report | None:
    """Where to report a conflict whose right side is at fault; None for the consequence of one already reported.

    An argument's origin leads up to the call. It is not followed out of an activation in which the other side was moved:
    the caller cannot know the device. But a function of another file is always left: what the file does with it fails.
    """
    root = found.right.origin.root() if found.right.origin is not None else None
    if root is not None and _is_consequence(frame, root):
        return None
    if root is not None and ("model-call", id(root.node)) in frame.analysis.events:
        return None  # computed by a module that was never moved, which is told already
    if found.level != Level.CERTAIN and not worth_telling(frame, found):
        return None
    if not frame.analysis.blame(root, certain=found.level == Level.CERTAIN):
        return None
    moved = found.left.origin.root() if found.left.origin is not None else None
    place, current = place_of(frame, operand.node, operand.value), frame
    crossed: list[Frame] = []
    origin = found.right.origin
    while origin is not None and origin.what == "factory" and origin.inner is not None:
        origin = origin.inner  # made on the device of another tensor: the fault is that one's
    while (
        origin is not None
        and origin.what == "argument"
        and origin.frame == current.uid
        and current.caller is not None
        and not (
            moved is not None
            and not current.source.foreign
            and moved.what == "moved"
            and moved.frame in {current.uid, *(f.uid for f in crossed)}
        )
    ):
        if root is not None:
            current.caller.faults.add((id(current.call), id(root.node)))
        crossed.append(current)
        current = current.caller
        value = operand.value if not isinstance(operand.value, (Items, Many)) else Tensor(operand.device)
        if isinstance(origin.node, cst.Arg):
            place = place_of(current, origin.node, value if origin.node.star != "**" else operand.value)
        origin = origin.inner
    return Report(place, current, operand.device, tuple(crossed))


def _is_consequence(frame: Frame, root: Origin) -> bool:
    """Whether the same tensor was already found at fault in this very call: the program does not get here."""
    child = frame
    while child.caller is not None:
        if (id(child.call), id(root.node)) in child.caller.faults:
            return True
        child = child.caller
    return False


# -- what is said


def transfer_of(frame: Frame, origin: Origin | None) -> Transfer | None:
    """The transfer that an origin speaks of."""
    if origin is None or origin.what != "moved":
        return None
    match origin.node:
        case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=method)), args=arguments):
            given = next(
                (a.value for a in arguments if a.keyword is None or a.keyword.value == "device"), None
            )
            return Transfer(origin.node, frame.analysis.text(receiver), given, method)
        case _:
            return None


def called(leaf: Leaf, transfer: Transfer | None) -> str:
    """What a message calls a device: the name that was used for it, and what it stands for."""
    plain = describe(leaf)
    name = dotted(transfer.argument) if transfer is not None else None
    if name is None or plain == f"`{name}`":
        return plain
    return f"`{name}`" if isinstance(leaf, Symbol) else f"`{name}` ({plain.strip('`')})"


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
    unmoved = (
        found.left.origin.root() if isinstance(found.left, Cpu) and found.left.origin is not None else None
    )
    callee = replace(callee, thing=report.module() or callee.thing)
    target = target_expression(report.frame, callee.device, other if report.frame is frame else None, callee)
    built: Built | None = None
    if unmoved is not None and unmoved.what == "made":
        # the module was never moved: the input is where it should be
        whole = None if callee.thing is None else frame.state(callee.thing).device
        if isinstance(whole, Cpu) and whole.origin is not None and whole.origin.root().what == "made":
            unmoved = whole.origin.root()
        built = _built(frame, report, callee, found, unmoved)
        target = built.target
    event = ModelCall(
        call=node,
        callee=callee.text,
        place=report.place,
        model=found.left,
        given=found.right,
        model_name=_name_of_module(report.frame, callee, moved_by) if against == "model" else callee.text,
        model_device=called(found.left, moved_by),
        given_device=called(found.right, given_by),
        target=target,
        against=against,
        through=report.through or together,
        inner=node if report.crossed else None,
        is_loss=callee.is_loss,
        transfer=transfer,
        built=built,
    )
    if built is not None:
        anchor = built.node
    elif unmoved is not None:
        anchor = node
    else:
        anchor = transfer.node if transfer is not None else report.place.node
    frame.analysis.publish(("model-call", id(anchor)), event)


def _built(frame: Frame, report: Report, callee: Callee, found: Conflict, unmoved: Origin) -> Built:
    """The call that built a module which was never moved, and how to move it."""
    at_fault = bool(report.crossed)
    spot = placements.spot_of(frame, unmoved, callee.thing, report.given, found.right)
    if spot is not None:
        return Built(unmoved.node, spot[1], at_fault, spot[0])
    target = target_expression(report.frame, report.given)
    usable = target is not None and report.frame.bound_before(target, unmoved)
    return Built(unmoved.node, target if usable else None, at_fault)


def _name_of_module(frame: Frame, callee: Callee, moved_by: Transfer | None) -> str:
    """What the reader of the report knows the module by."""
    name = None if callee.thing is None else _name_of_object(frame, callee.thing)
    if name is not None:
        return name
    if moved_by is not None and len(moved_by.receiver) <= 40:
        return moved_by.receiver
    return callee.text


def target_expression(
    frame: Frame, wanted: Device, other: Operand | None = None, callee: Callee | None = None
) -> str | None:
    """An expression for a device that holds in an activation.

    A name that holds it; else the other operand's `.device`; else the device of the module's parameters.
    """
    # what a caller handed in may be elsewhere in another call: then only the activation's own names are sure
    handed_in = frame.caller is not None and callee is not None and callee.thing in frame.env.names.values()
    written = (
        None if other is None else dotted(other.node.value if isinstance(other.node, cst.Arg) else other.node)
    )
    own_only = handed_in or (callee is None and frame.function is not None and written is not None)
    name = device_values.name_of_device(frame, wanted, local=own_only)
    if name is not None:
        return name
    if other is not None:
        text = _tensor_named_in(frame, other.node, other.device)
        return None if text is None else f"{text}.device"
    if callee is None or callee.is_loss or callee.thing is None:
        return None
    module = _name_of_object(frame, callee.thing)
    return None if module is None else f"next({module}.parameters()).device"


def _name_of_object(frame: Frame, thing: Object) -> str | None:
    """A name, or an attribute of a named thing, that holds the object."""
    holders: list[tuple[str, Object]] = []
    for name, value in frame.visible_names():
        if value == thing:
            return name
        if isinstance(value, Object):
            holders.append((name, value))
    for name, value in holders:
        for attribute, held in frame.state(value).attributes.items():
            if held == thing and attribute.isidentifier():
                return f"{name}.{attribute}"
    return None
