"""Which expression would cure a conflict: a device that has a name where it is needed."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.events import Made
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.immutable import dataclass
from torchdev_lint.flow.domain.lattice import (
    Conflict,
    Cpu,
    Device,
    Leaf,
    Origin,
    Symbol,
    leaves,
)
from torchdev_lint.flow.domain.values import UNKNOWN, Items, Many, Object, Tensor
from torchdev_lint.flow.syntax.trees import (
    SCOPES,
    bound_to,
    dotted,
    holds,
    receiver_name,
    says_device,
    takes_device,
    walk,
)
from torchdev_lint.flow.torch_calls import device_values
from torchdev_lint.flow.torch_calls.operands import Operand
from torchdev_lint.torch_api.modules import CONTAINERS, WITHOUT_PARAMETERS


@dataclass(frozen=True, slots=True)
class Callee:
    """What is called: its text, where it lives, the object when it is known, what kind of thing it is."""

    text: str
    device: Device
    thing: Object | None = None
    is_loss: bool = False


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
    if other is not None and isinstance(other.value, Many) and not other.changed:
        return None if written is None else _device_of_parts(frame, written)
    if other is not None:
        text = tensor_named_in(frame, other.node, other.device)
        if text is not None and _begins_as_number(frame, text):
            return None
        return _module_called_in(frame, other) if text is None else f"{text}.device"
    if callee is None or callee.is_loss or callee.thing is None:
        return None
    module = name_of_object(frame, callee.thing)
    return None if module is None else f"next({module}.{_tensors_of(frame, callee.thing)}()).device"


def _begins_as_number(frame: Frame, name: str) -> bool:
    """Whether what has this name is a number at first, `total = 0.0` before a loop: a number has no device."""
    scope = frame.source.module if frame.function is None else frame.function.node.body
    return any(isinstance(value, (cst.Integer, cst.Float)) for value in bound_to(scope, name))


def _tensors_of(frame: Frame, module: Object) -> str:
    """`buffers` for a module of which buffers are known and no parameters, `parameters` for any other."""
    pending, seen, buffers = [module], set(), False
    while pending:
        thing = pending.pop()
        state = frame.state(thing)
        if thing.key in seen:
            continue
        seen.add(thing.key)
        if state.model is None and state.api not in CONTAINERS | WITHOUT_PARAMETERS:
            return "parameters"
        for name in state.registered:
            held = state.attributes.get(name)
            if isinstance(held, Object):
                pending.append(held)
            elif not isinstance(held, Tensor) or held.parameter:
                return "parameters"
            else:
                buffers = True
    return "buffers" if buffers else "parameters"


def _device_of_parts(frame: Frame, written: str) -> str | None:
    """The device of what a list, or a distribution, of this name holds."""
    value = frame.lookup(written) if written.isidentifier() else UNKNOWN
    if isinstance(value, Items | Many):
        return f"{written}[0].device"
    if isinstance(value, Object) and frame.state(value).api.startswith("torch.distributions."):
        return f"{written}.mean.device"
    return None


def _module_called_in(frame: Frame, other: Operand) -> str | None:
    """The device of the parameters of a module that is called in the expression of an operand and is where the operand is."""
    for part in walk(
        other.node, below=(cst.Lambda, cst.GeneratorExp, cst.ListComp, cst.SetComp, cst.DictComp)
    ):
        text = dotted(part.func) if isinstance(part, cst.Call) else None
        if text is None:
            continue
        value = frame.lookup(text.partition(".")[0])
        for name in text.split(".")[1:]:
            value = frame.state(value).attributes.get(name, UNKNOWN) if isinstance(value, Object) else UNKNOWN
        if not isinstance(value, Object) or frame.state(value).kind != "module":
            continue
        if device_values.same_device(frame.state(value).device, other.device):
            return f"next({text}.{_tensors_of(frame, value)}()).device"
    return None


def name_of_object(frame: Frame, thing: Object) -> str | None:
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


def made_by(
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
    arguments = origin.node.args
    if maker is None and _is_state_of_optimizer(frame, found, origin.node):
        return Made(origin.node, None, bool(arguments))
    if maker is None or (maker is not frame and maker.function is None):
        return None
    if says_device(arguments):
        return None
    decision = ("kept on the host", id(node), id(origin.node))
    if decision not in frame.analysis.notes:  # reading the function once more must not report elsewhere
        frame.analysis.notes[decision] = moved_where_wanted(maker, origin.node, fault)
    if frame.analysis.notes[decision]:
        return None
    target = None
    if not _wanted_elsewhere(maker, origin.node, fault):
        target = expression_at(maker, found.left, beside, origin, here=here and maker is frame)
    return Made(origin.node, target, takes_device(origin.node), holds(node, origin.node))


def _is_state_of_optimizer(frame: Frame, found: Conflict, made: cst.Call) -> bool:
    """Whether a method of an optimizer made what another of its methods brings together with the parameters or their gradients.

    Those are wherever the model is, whoever calls the methods: what is kept for each of them has to be made there.
    """
    receiver = None if frame.function is None else frame.function.receiver
    model = frame.state(receiver).model if isinstance(receiver, Object) else None
    if model is None or not model.is_optimizer or not isinstance(receiver, Object):
        return False
    if not isinstance(found.left, Symbol) or found.left.key != ("device", receiver.key):
        return False
    if frame.analysis.notes.get((MOVED_BY_CALLEE, id(made))) or says_device(made.args):
        return False
    return any(part is made for one in model.lineage() for part in walk(one.node))


MOVED_BY_CALLEE = "moved by a callee"


def note_moved(frame: Frame, device: Device) -> None:
    """Note of what a call made that a function takes to another device, to which it was given or which finds it in a scope around it."""
    for leaf in leaves(device):
        origin = leaf.origin
        if isinstance(leaf, Cpu) and origin is not None and frame.function is not None:
            root = origin.root()
            if root.what == "factory" and root.frame != frame.uid:
                frame.analysis.notes[MOVED_BY_CALLEE, id(root.node)] = True


def moved_where_wanted(maker: Frame, made: cst.CSTNode, fault: cst.CSTNode) -> bool:
    """Whether what a call made stays on the CPU under a name, of which another use takes it to a device (`net(x.to(device))`).

    Then it is the use without that which is at fault.
    """
    if any(part is made for part in walk(fault)):
        return False
    if maker.analysis.notes.get((MOVED_BY_CALLEE, id(made))):
        return True
    scope: cst.CSTNode = maker.source.module if maker.function is None else maker.function.node
    nodes = list(walk(scope, below=SCOPES)) if maker.function is None else list(walk(scope))
    name = next((found for node in nodes if (found := _name_given(node, made)) is not None), None)
    if name is None:
        return False
    idle: set[int] = set()
    for node in nodes:
        match node:
            case cst.Expr(value=cst.Tuple(elements=parts)):
                idle |= {id(part.value) for part in parts}
            case cst.Expr(value=value):
                idle.add(id(value))
            case cst.Assign(value=value, targets=targets) if any(
                isinstance(part, cst.Name) and part.value == name for part in walk(targets[0])
            ):
                idle.add(id(value))
            case _:
                pass
    return any(
        isinstance(node, cst.Call)
        and id(node) not in idle
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in ("to", "cuda")
        and not any((dotted(given.value) or "").startswith("torch.") for given in node.args)
        and receiver_name(node.func.value) == name
        for node in nodes
    )


def _name_given(node: cst.CSTNode, made: cst.CSTNode) -> str | None:
    """The name to which an assignment binds what a call made, or what was taken from that."""
    if not isinstance(node, cst.Assign) or len(node.targets) != 1:
        return None
    whole = node.targets[0].target
    pairs: list[tuple[cst.BaseExpression, cst.BaseExpression]] = [(whole, node.value)]
    if isinstance(whole, cst.Tuple) and isinstance(node.value, cst.Tuple):
        elements = zip(whole.elements, node.value.elements, strict=False)
        pairs = [(one.value, other.value) for one, other in elements]
    for target, value in pairs:
        if isinstance(target, cst.Name) and any(part is made for part in walk(value)):
            return target.value
    return None


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


def tensor_named_in(frame: Frame, node: cst.CSTNode, device: Device) -> str | None:
    """In the expression of an operand: the name of a tensor that is where the operand is."""
    inner = node.value if isinstance(node, cst.Arg) else node
    written = dotted(inner)
    if written is not None:
        return written
    if isinstance(node, cst.BaseExpression) and _is_written_item(inner):
        return frame.analysis.text(inner)
    for part in walk(inner, below=(cst.Lambda, cst.GeneratorExp, cst.ListComp, cst.SetComp, cst.DictComp)):
        text = dotted(part)
        if isinstance(part, cst.Subscript) and _is_written_item(part):
            text = frame.analysis.text(part)
            with frame.quietly():
                value = frame.evaluate(part)
        elif text is None:
            continue
        else:
            value = frame.lookup(text.partition(".")[0])
            for name in text.split(".")[1:]:
                held = frame.state(value).attributes if isinstance(value, Object) else {}
                value = held.get(name, UNKNOWN)
        if isinstance(value, Tensor) and not value.batch and device_values.same_device(value.device, device):
            return text
    return None


def _is_written_item(node: cst.CSTNode) -> bool:
    """Whether it is an item under a key that is written out, `args[0]`, which may be read again."""
    match node:
        case cst.Subscript(value=whole, slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
            return dotted(whole) is not None and isinstance(key, (cst.Integer, cst.SimpleString))
        case _:
            return False


def expression_at(frame: Frame, wanted: Leaf, beside: Operand, origin: Origin, *, here: bool) -> str | None:
    """An expression for a device that holds already where `origin` happened in this activation."""
    plain = dotted(beside.node.value if isinstance(beside.node, cst.Arg) else beside.node)
    written = tensor_named_in(frame, beside.node, beside.device) if here else None
    for device in (beside.device, wanted):
        local = frame.function is not None and here and plain is not None
        named = device_values.name_of_device(frame, device, local=local)
        if named is not None and frame.bound_before(named, origin):
            return named
    if (
        written is not None
        and isinstance(beside.value, Tensor)
        and frame.bound_before(written, origin)
        and not _is_given_between(frame, written, origin.node, beside.node)
    ):
        return f"{written}.device"
    for name, value in frame.env.names.items():
        there = isinstance(value, Tensor) and value.device in (wanted, beside.device)
        if there and frame.bound_before(name, origin):
            return f"{name}.device"
    if isinstance(wanted, Symbol) and frame.function is not None and wanted.key[0] == "device":
        key = wanted.key[1]
        if key[:2] == ("parameter", id(frame.function.node)) and not frame.rebound_before(key[2], origin):
            return device_values.device_of(frame, key[2])
        if key[0] == "self":
            return beside_self(frame, origin)
    return None


def _is_given_between(frame: Frame, written: str, made: cst.CSTNode, used: cst.CSTNode) -> bool:
    """Whether an attribute gets another value between two places of a function: before, it may have been None."""
    if frame.function is None or "." not in written:
        return False
    behind = False
    for node in walk(frame.function.node.body):
        if node is made:
            behind = True
        elif node is used:
            return False
        elif (
            behind
            and isinstance(node, cst.Assign)
            and any(dotted(one.target) == written for one in node.targets)
            and not any(part is used for part in walk(node.value))
        ):
            return True
    return False


def beside_self(frame: Frame, origin: Origin) -> str | None:
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
            if (
                isinstance(value, Tensor)
                and name in frame.state(receiver).registered
                and name.isidentifier()  # not under a computed one
            ):
                return f"self.{name}.device"
    return None
