"""Objects: reading and setting attributes, and moving a thing with all that moves with it."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from torchdev_lint.flow.conditions import Atom
from torchdev_lint.flow.device_values import as_device
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.lattice import UNKNOWN_DEVICE, Anywhere, Device, leaves
from torchdev_lint.flow.truths import device_is, opaque
from torchdev_lint.flow.values import (
    UNKNOWN,
    AnyOf,
    Api,
    Class,
    DeviceType,
    DeviceValue,
    Dtype,
    Either,
    Entries,
    Function,
    Items,
    Literal,
    Many,
    Method,
    Object,
    Partial,
    Super,
    Tensor,
    Truth,
    Value,
    join,
    unknown_tensor,
)
from torchdev_lint.torch_api import dtypes, tensor_methods
from torchdev_lint.torch_api.modules import IN_PLACE_MOVES


def get_attribute(frame: Frame, receiver: Value, name: str, node: cst.CSTNode) -> Value:
    """The value of `receiver.name`."""
    match receiver:
        case Api(path=path):
            full = f"{path}.{name}"
            return Dtype() if full in dtypes.DTYPES else Api(full)
        case Tensor():
            return _tensor_attribute(frame, receiver, name, node)
        case DeviceValue(device=device):
            return DeviceType(device) if name == "type" else UNKNOWN
        case Object():
            return _object_attribute(frame, receiver, name)
        case Class(model=model):
            found = model.find(name)
            if found is not None:
                function = model.function(found, name, None)
                return (
                    replace(function, receiver=receiver) if "classmethod" in function.decorators else function
                )
            return model.class_attribute(name)
        case Super(receiver=instance, owner=owner) if owner is not None:
            for base in owner.bases_in_file():
                found = base.find(name)
                if found is not None:
                    return base.function(found, name, instance)
            return Method(receiver, name)
        case Either(guard, then, otherwise):
            return join(
                guard, get_attribute(frame, then, name, node), get_attribute(frame, otherwise, name, node)
            )
        case Items() | Many() | Entries() | Literal() | Super() | Function():
            return Method(receiver, name)
        case _:
            return UNKNOWN


def _tensor_attribute(frame: Frame, tensor: Tensor, name: str, node: cst.CSTNode) -> Value:
    if name == "device":
        return DeviceValue(tensor.device)
    if name == "dtype":
        return Dtype()
    if name == "is_cuda":
        return Truth(device_is(frame, tensor.device, "cuda") or opaque(frame, node))
    if name == "is_cpu":
        return Truth(device_is(frame, tensor.device, "cpu") or opaque(frame, node))
    if name in tensor_methods.METADATA_ATTRIBUTES:
        return UNKNOWN
    return Tensor(tensor.device, scalar=tensor.scalar and name in ("data", "T", "grad"))


def _object_attribute(frame: Frame, thing: Object, name: str) -> Value:
    state = frame.state(thing)
    held = state.attributes.get(name)
    if held is not None:
        return held
    if state.model is not None:
        found = state.model.find(name)
        if found is not None:
            function = state.model.function(found, name, thing)
            if "property" in function.decorators or "cached_property" in function.decorators:
                from torchdev_lint.flow.functions import call_without_arguments

                return call_without_arguments(frame, function)
            return function
        shared = state.model.class_attribute(name)
        if shared != UNKNOWN:
            return shared
    text = f"{thing.text}.{name}" if thing.text else ""
    if name in IN_PLACE_MOVES and state.kind == "module":
        return Method(thing, name)
    match name:
        case "weight" | "bias" if state.kind == "module" and state.api.startswith("torch.nn."):
            return Tensor(state.device, parameter=True)
        case "device":
            if state.kind == "module" or state.moved:
                return DeviceValue(state.device)
            return Object(("attr", thing.key, name), text)
        case "dtype":
            return Dtype()
        case "type" if state.kind == "unknown":
            return DeviceType(as_device(thing))
        case "is_cuda":
            return Truth(Atom("device-type", (("device", thing.key), "cuda"), text))
        case "is_cpu":
            return Truth(Atom("device-type", (("device", thing.key), "cpu"), text))
        case _:
            return Object(("attr", thing.key, name), text)


def set_attribute(frame: Frame, receiver: Value, name: str, value: Value) -> None:
    """The effect of `receiver.name = value`."""
    match receiver:
        case Object():
            state = frame.state(receiver).with_attribute(name, value)
            if moves_with_owner(frame, value):
                state = replace(state, registered=state.registered | {name})
            else:
                state = replace(state, registered=state.registered - {name})
            frame.set_state(receiver, state)
        case Either(_, then, otherwise):
            set_attribute(frame, then, name, value)
            set_attribute(frame, otherwise, name, value)
        case Class(model=model):
            model.attributes[name] = value
        case _:
            pass


def moves_with_owner(frame: Frame, value: Value) -> bool:
    """Whether an attribute with this value moves when the module that holds it does: submodules and parameters."""
    match value:
        case Tensor(parameter=parameter):
            return parameter
        case Object():
            state = frame.state(value)
            return state.kind == "module" or (state.kind == "unknown" and bool(state.api))
        case Either(_, then, otherwise):
            return moves_with_owner(frame, then) and moves_with_owner(frame, otherwise)
        case _:
            return False


def move(frame: Frame, thing: Object, device: Device, seen: frozenset[object] = frozenset()) -> None:
    """Move an object and all that is registered in it, in place."""
    if thing.key in seen:
        return
    state = frame.state(thing)
    attributes = dict(state.attributes)
    for name in state.registered:
        held = attributes.get(name)
        if held is not None:
            attributes[name] = _moved_attribute(frame, held, device, seen | {thing.key})
    if state.model is not None and state.model.find("_apply") is not None:
        # the class says for itself what moves with it
        attributes = {
            name: unknown_tensor() if isinstance(held, Tensor) else held for name, held in attributes.items()
        }
    without_tensors = all(isinstance(leaf, Anywhere) for leaf in leaves(state.device))
    # a module of the file that moves itself in `__init__` has its parameters already
    stays = state.kind == "module" and without_tensors and not (state.model is not None and state.registered)
    frame.set_state(
        thing, replace(state, device=state.device if stays else device, attributes=attributes, moved=True)
    )
    derived = ("attr", thing.key)
    for key in [key for key in frame.env.heap if key[:2] == derived]:
        move(frame, Object(key), device, seen | {thing.key})


def _moved_attribute(frame: Frame, held: Value, device: Device, seen: frozenset[object]) -> Value:
    match held:
        case Tensor():
            return replace(held, device=device)
        case Object():
            move(frame, held, device, seen)
            return held
        case Either(guard, then, otherwise):
            return Either(
                guard,
                _moved_attribute(frame, then, device, seen),
                _moved_attribute(frame, otherwise, device, seen),
            )
        case _:
            return held


def forget_attributes(frame: Frame, thing: Value) -> None:
    """Any attribute may have been set: none is known any more."""
    if isinstance(thing, Object):
        state = frame.state(thing)
        names = [*state.attributes, *(state.model.attributes if state.model is not None else ())]
        frame.set_state(thing, replace(state, attributes=dict.fromkeys(names, UNKNOWN)))


def forget_device(frame: Frame, thing: Object, *, even_moved: bool = False) -> None:
    """Something unseen may have moved the object: what was not written down explicitly is no longer known."""
    state = frame.state(thing)
    if (
        state.kind in ("module", "unknown")
        and thing.key in frame.env.heap
        and (even_moved or not state.moved)
    ):
        move(frame, thing, UNKNOWN_DEVICE)
        frame.set_state(thing, replace(frame.state(thing), moved=False))


def escape(frame: Frame, value: Value, depth: int = 3) -> None:
    """A value is handed to code that cannot be read: modules in it, or reached by a function, may be moved there."""
    if depth == 0:
        return
    match value:
        case Object():
            if frame.state(value).kind in ("instance", "loader"):
                for held in list(frame.state(value).attributes.values()):
                    escape(frame, held, depth - 1)
            else:
                forget_device(frame, value)
        case AnyOf(things=things):
            for thing in things:
                forget_device(frame, thing)
        case Items(items):
            for item in items:
                escape(frame, item, depth - 1)
        case Many(element):
            escape(frame, element, depth - 1)
        case Entries(entries=entries, default=default):
            for _, entry in entries:
                escape(frame, entry, depth - 1)
            escape(frame, default, depth - 1)
        case Either(_, then, otherwise):
            escape(frame, then, depth - 1)
            escape(frame, otherwise, depth - 1)
        case Method(receiver=receiver):
            escape(frame, receiver, depth)
        case Function() | Partial():
            forget_unmoved(frame)
        case _:
            pass


def forget_unmoved(frame: Frame) -> None:
    """Any module that was not moved explicitly may be moved by code that cannot be followed."""
    for key in [key for key, state in frame.env.heap.items() if state.kind == "module" and not state.moved]:
        forget_device(frame, Object(key))
