"""Factories that are told no device in a function whose text, not its values, shows a tensor that may be elsewhere, or a device.

What `unstated_devices` finds is at hand by its value. Here it is at hand by what the function does with it (`written_tensors`):

* What is made meets a tensor that comes from elsewhere: in an operation, or as what that one indexes.
* It was made for one: with its size, its type, in its place, to be filled with it; or under a name that another factory was told a
  device for; or by a method of a class that keeps a device. Then it counts that it is handed on, returned, or kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.events import Made
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.placement_events import UnstatedDevice
from torchdev_lint.flow.calling.functions import called_to_build_only, parameter_key
from torchdev_lint.flow.domain.lattice import CPU, Accelerator, Conflict, Cpu, Leaf, Level, Origin, Symbol
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.mistakes.disagreeing_returns import STAYING
from torchdev_lint.flow.mistakes.returned_factories import (
    COLLECTS,
    is_filled_one_by_one,
    moved_by_caller,
    works_on_host,
)
from torchdev_lint.flow.mistakes.unstated_devices import KEPT_ON_HOST
from torchdev_lint.flow.project import caller_results
from torchdev_lint.flow.read_alone.written_evidence import GENERATOR, MAKES, path_of
from torchdev_lint.flow.read_alone.written_looks import Factory, Look
from torchdev_lint.flow.read_alone.written_tensors import Reading
from torchdev_lint.flow.syntax.naming import OWN_DEVICE
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, says_device, takes_device, walk
from torchdev_lint.flow.telling.attribution import worth_telling
from torchdev_lint.flow.telling.cures import moved_where_wanted

_BROUGHT = re.compile(r"\)\s*\.(?:type_as\(|to\(\s*\w+(?:\.\w+)*\.device\s*\))")
"""What comes of an operation is brought to where a tensor is."""
_ASKED = re.compile(r"(?:device *= *|\. *to *\()(?!self\b|cls\b)\w+ *(?:\. *\w+ *)*\. *device\b")
"""A tensor asked where it is."""


def check(frame: Frame, function: Function) -> None:
    """A function was read on its own: publish the factories that are to be told."""
    node, analysis = function.node, frame.analysis
    if (
        not isinstance(node, cst.FunctionDef)
        or not (
            analysis.options.audits
            or (analysis.says(_BROUGHT) and _BROUGHT.search(analysis.text(node)) is not None)
        )
        or analysis.muted
        or analysis.sets_default_device
        or frame.env.default_device != CPU
        or frame.building()
        or frame.source.foreign
        or not _makes_some(frame, node)  # asked first: it takes a quarter of the time of the next
        or (analysis.on_host and not _minds_devices(frame, function))
    ):
        return
    reading = Reading(frame, function, node)
    for factory in reading.factories.values():
        if ("unstated", id(factory.node)) not in analysis.events:
            _tell(frame, function, reading, factory)


def _makes_some(frame: Frame, node: cst.FunctionDef) -> bool:
    return any(isinstance(part, cst.Call) and path_of(frame, part.func) in MAKES for part in walk(node.body))


def _minds_devices(frame: Frame, function: Function) -> bool:
    """Whether a function works wherever its tensors are, whatever its file or class is called.

    A layer is on the device of its model: the transforms of a flow, augmentations. And who asks a tensor for its device
    (`device=edge_index.device`) reckons with others than the CPU.
    """
    if called_to_build_only(frame, function):
        return False
    node: cst.CSTNode = function.node
    if function.owner is not None:
        if function.owner.is_module:
            return True
        node = function.owner.node
    return _ASKED.search(frame.analysis.text(node)) is not None


def _tell(frame: Frame, function: Function, reading: Reading, factory: Factory) -> None:
    way = next(_ways(frame, function, reading, factory), None)
    if way is None:
        return
    how, goes, look = way
    late = _brought_late(frame, function.node, factory, goes) if how == "meets" else ""
    if not (late or (frame.analysis.options.audits and not factory.taken)):
        return
    leaf: Leaf = Accelerator("cuda")
    if look.root is not None:
        key = parameter_key(function.node, look.root)
        leaf = Symbol(("device", key), f"{look.root}.device", assumed=True)
    found = Conflict(Level.POSSIBLE, leaf, Cpu(Origin(factory.node, "factory", frame.uid)))
    if not worth_telling(frame, found, anywhere=_minds_devices(frame, function), by_default=False):
        return
    if moved_where_wanted(frame, factory.node, goes if how == "meets" else cst.Name(how)):
        return
    learn = frame.analysis.learn  # of the callers it is asked last
    if how == "returned" and (
        learn(moved_by_caller, frame, function.name)
        or learn(caller_results.becomes_parameter, frame, function)
    ):
        return
    target = f"{late}.device" if late else _device_of(look, factory)
    near = f"`{target or look.there}`" if look.there else "a tensor of elsewhere"
    made = Made(factory.node, target, takes_device(factory.node))
    frame.analysis.publish(("unstated", id(factory.node)), UnstatedDevice(made, near, goes, how, late))


def _brought_late(frame: Frame, function: cst.CSTNode, factory: Factory, goes: cst.CSTNode) -> str:
    """The tensor to which a statement brings what comes of an operation, of which the other operand was computed; empty if it does not.

    `index_select(torch.arange(n), 0, rank).type_as(scores)`, where `rank = scores.argsort()`: it fails before it gets there.
    """
    whole = next((node for node in walk(function) if _brings(node, goes)), None)
    if not isinstance(whole, cst.Call):
        return ""
    if _is_under_export(frame, function, whole):
        return ""
    to = whole.args[0].value
    if isinstance(to, cst.Attribute) and to.attr.value == "device":
        to = to.value
    name = dotted(to)
    if name is None or not any(part is factory.node for part in walk(whole)):
        return ""
    from_it = {name}
    for statement in walk(function):
        if isinstance(statement, cst.Assign) and any(
            dotted(part) in from_it for part in walk(statement.value)
        ):
            from_it |= {bound for one in statement.targets if (bound := dotted(one.target)) is not None}
    other = [one for one in _operands(goes) if all(part is not factory.node for part in walk(one))]
    return name if any(dotted(part) in from_it for one in other for part in walk(one)) else ""


_EXPORTS = re.compile(r"(?i)onnx|export|trac|script")


def _is_under_export(frame: Frame, function: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether something is done for a model that is exported only, `if self.onnx_trace:`, which is done on the CPU as well."""
    return any(
        isinstance(part, cst.If)
        and _EXPORTS.search(frame.analysis.text(part.test)) is not None
        and any(one is node for one in walk(part.body))
        for part in walk(function)
    )


def _brings(node: cst.CSTNode, what: cst.CSTNode) -> bool:
    match node:
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="type_as")), args=[cst.Arg()]):
            pass
        case cst.Call(
            func=cst.Attribute(value=inner, attr=cst.Name(value="to")),
            args=[cst.Arg(value=cst.Attribute(attr=cst.Name(value="device")))],
        ):
            pass
        case _:
            return False
    return any(part is what for part in walk(inner))


def _operands(operation: cst.CSTNode) -> Iterator[cst.CSTNode]:
    match operation:
        case cst.Call(func=called, args=arguments):
            yield from (one.value for one in arguments)
            if isinstance(called, cst.Attribute):
                yield called.value
        case _:
            yield from operation.children


def _device_of(look: Look, factory: Factory) -> str | None:
    """An expression for the device at hand that holds where the factory is called."""
    if look.there is None or look.held:
        return None
    if _names_device(look):
        return look.there if look.root is None else None
    return f"{look.there}.device" if factory.near.get(look.there) == look else None


def _names_device(look: Look) -> bool:
    return look.there is not None and look.there.rpartition(".")[2].endswith("device")


def _ways(
    frame: Frame, function: Function, reading: Reading, factory: Factory
) -> Iterator[tuple[str, cst.CSTNode, Look]]:
    """Where what a factory makes goes, and what is at hand: the way that says most first."""
    for goes, look in factory.meets:
        yield "meets", goes, look
    at_hand = _made_for(reading, factory)
    own = None if at_hand is not None else _of_class(frame, function, factory)
    look_at = at_hand or own
    if look_at is None or factory.moved:
        return
    for call, _ in factory.given:
        if _joins_with_made(frame, function, factory, call):
            continue
        if not KEPT_ON_HOST.search((dotted(call.func) or "").rpartition(".")[2]):
            yield "handed", call, look_at
    name = function.name
    collected = (own is not None and (COLLECTS.search(name) or works_on_host(function.node))) or (
        factory.path.rpartition(".")[2] in STAYING and (own is not None or not _names_device(look_at))
    )
    one_by_one = is_filled_one_by_one(function.node, Origin(factory.node, "factory", frame.uid))
    for end, _ in () if collected or one_by_one else factory.returned:
        yield "returned", end, look_at
    # a class may say for itself what becomes of an attribute that it is given
    sets = function.owner is not None and function.owner.find("__setattr__") is not None
    for target in factory.kept:
        if sets and isinstance(target, cst.Attribute) and dotted(target.value) == "self":
            continue
        yield "kept", target, look_at


def _joins_with_made(frame: Frame, function: Function, factory: Factory, call: cst.Call) -> bool:
    """Whether a method of the same class is called that brings the argument together with what it makes on the CPU: it is wanted there."""
    called = dotted(call.func) or ""
    owner = function.owner
    method = None if owner is None or not called.startswith("self.") else owner.find(called[len("self.") :])
    places = [index for index, one in enumerate(call.args) if one.value is factory.node]
    if method is None or not places or call.args[places[0]].keyword is not None:
        return False
    name = next((one.name.value for one in all_parameters(method.params)[places[0] + 1 :]), "")
    for node in walk(method.body):
        if isinstance(node, cst.BinaryOperation):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if _root(one) == name and _makes_on_host(frame, other):
                    return True
    return False


def _makes_on_host(frame: Frame, node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Call) and path_of(frame, node.func) in MAKES and not says_device(node.args)


def _root(node: cst.BaseExpression) -> str:
    """The name that an expression begins with: `starts.unsqueeze(1)`, `starts[:, None]`."""
    while not isinstance(node, cst.Name):
        match node:
            case (
                cst.Call(func=cst.Attribute(value=inner))
                | cst.Attribute(value=inner)
                | cst.Subscript(value=inner)
            ):
                node = inner
            case _:
                return ""
    return node.value


def _made_for(reading: Reading, factory: Factory) -> Look | None:
    """The tensor that a factory's result was made for, or the device that another one under its name was told."""
    names = sorted(factory.stands_for)
    for name in names:
        for told in sorted(reading.elsewhere.get(name, ())):
            if told.partition(".")[0] not in factory.names:
                return Look(there=told)
    if factory.converted:
        return None
    if factory.typed in factory.near:
        return factory.near[factory.typed]
    if factory.sized in factory.near:
        return factory.near[factory.sized]
    for name in names:
        given = reading.at_first.get(name)
        if given is not None and given.there is not None and (given.held or not _is_made_of(factory, name)):
            return given
    if factory.filled is not None:
        return factory.filled
    if factory.path == GENERATOR:
        return next((look for _, look in factory.given if look is not None), None)
    return None


def _is_made_of(factory: Factory, name: str) -> bool:
    return any(
        isinstance(part, cst.Name) and part.value == name
        for argument in factory.node.args
        for part in walk(argument.value)
    )


def _of_class(frame: Frame, function: Function, factory: Factory) -> Look | None:
    """The device that the class of a method keeps."""
    owner = function.owner
    if (
        owner is None
        or factory.converted
        or factory.path == GENERATOR
        or not {"staticmethod", "classmethod"}.isdisjoint(function.decorators)
    ):
        return None
    named = OWN_DEVICE.search(frame.analysis.text(owner.node))
    return None if named is None else Look(there=named[0].replace(" ", ""))
