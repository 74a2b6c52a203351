"""Where a module can be moved as soon as it exists, and by what name of the device.

A module that was never moved is found out in the middle of some computation, often when the activation that built it is over. So
what names for devices there were is written down where a module is built, and where it is assigned to a name or an attribute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import (
    Accelerator,
    Cpu,
    Device,
    Leaf,
    Origin,
    Symbol,
    device_atoms,
    leaves,
)
from torchdev_lint.flow.domain.values import (
    Class,
    DeviceValue,
    Either,
    Entries,
    Items,
    Object,
    Value,
    each_of,
)
from torchdev_lint.flow.torch_calls import device_values


@dataclass(frozen=True, slots=True)
class Spot:
    """An expression that gives a module, and what could be said there: names of devices, names of other things."""

    node: Any
    devices: tuple[tuple[str, Device], ...]
    things: tuple[tuple[str, Key], ...]


def _spot(frame: Frame, node: cst.BaseExpression) -> Spot:
    things = tuple((name, value.key) for name, value in frame.visible_names() if isinstance(value, Object))
    return Spot(node, tuple(device_values.device_names(frame)), things)


def _inside_module(frame: Frame) -> bool:
    """Whether a module is being initialised: its parts move with it."""
    current: Frame | None = frame
    while current is not None:
        function = current.function
        receiver = None if function is None or function.name != "__init__" else function.receiver
        if isinstance(receiver, Object) and current.state(receiver).kind == "module":
            return True
        current = current.caller
    return False


def note_built(frame: Frame, node: cst.BaseExpression) -> None:
    """A module is built by `node`."""
    if frame.source.foreign:
        return
    if not _inside_module(frame) or any(isinstance(value, DeviceValue) for value in frame.env.names.values()):
        frame.analysis.spots[id(node), frame.uid] = _spot(frame, node)


_AMONG = "built among others"


def is_one_of_several(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether the call that a module counts as built by gave other things with it: `net, loss = build(cfg)`."""
    return (_AMONG, id(node)) in frame.analysis.notes


def built_with(
    frame: Frame, whole: Object, node: cst.BaseExpression, done: set[Object] | None = None
) -> None:
    """What was built for a module counts as built with it, by `node`: to move the whole is to move the parts.

    Parts that are `done` are not gone through again: one may be there in very many ways.
    """
    done = set() if done is None else done
    done.add(whole)
    state = frame.state(whole)
    if _just_built(state.device):
        frame.set_state(whole, replace(state, device=device_values.built_on(frame, state.device, node)))
    for name in state.registered:
        held = state.attributes.get(name)
        if isinstance(held, Object) and held not in done and _just_built(frame.state(held).device):
            built_with(frame, held, node, done)


def returned(frame: Frame, value: Value, node: cst.CSTNode, child: Frame) -> None:
    """The call `node` of a function has given what its activation returned: where another place to move that is none, it was built here."""
    if frame.source.foreign or not isinstance(node, cst.BaseExpression):
        return
    if child.source.foreign or _builds_what_it_is_told(frame, value, child):
        _built_by_call(frame, value, node, child.uid)


def _built_by_call(
    frame: Frame, value: Value, node: cst.BaseExpression, first: int, *, among: bool = False
) -> None:
    """A function of another file returned what it built in an activation since the `first`: in the file that is checked its call did.

    That file has no other place where the module could be moved, and what is told of the other file is told where that is checked.
    `among`: it is one of several things that the call gave, which cannot be moved as a whole.
    """
    match value:
        case Object():
            state = frame.state(value)
            origin = state.device.origin if isinstance(state.device, Cpu) else None
            made_there = origin is not None and origin.what == "made" and origin.frame >= first
            if state.kind == "module" and not state.moved and made_there:
                if among:
                    frame.analysis.notes[_AMONG, id(node)] = True
                else:
                    note_built(frame, node)
                built_with(frame, value, node)
        case Items(items):
            for item in items:
                _built_by_call(frame, item, node, first, among=True)
        case Entries():
            for entry in value.values():
                _built_by_call(frame, entry, node, first, among=True)
        case Either(_, then, otherwise):
            _built_by_call(frame, then, node, first, among=among)
            _built_by_call(frame, otherwise, node, first, among=among)
        case _:
            pass


def _builds_what_it_is_told(frame: Frame, value: Value, child: Frame) -> bool:
    """Whether a function builds a module of whatever class it has looked up (`return REGISTRY[name](**options)`), and knows no device.

    Others call it for other things, so that its call is where this one is built.
    """
    device = frame.state(value).device if isinstance(value, Object) else None
    origin = device.origin if isinstance(device, Cpu) else None
    if origin is None or origin.what != "made" or origin.frame != child.uid:
        return False
    if any(isinstance(held, DeviceValue) for held in child.env.names.values()):
        return False
    match origin.node:
        case cst.Call(func=cst.Subscript() | cst.Call()):
            return True
        case cst.Call(func=cst.Name(value=name)):
            held = child.env.names.get(name)
            return isinstance(held, Class) and held.model.node.name.value != name
        case _:
            return False


def has_moved_part(frame: Frame, whole: Object) -> bool:
    """Whether something registered in a module was moved by itself, or built on another device (`nn.Linear(2, 2, device=device)`)."""
    state = frame.state(whole)
    held = [state.attributes.get(name) for name in state.registered]
    parts = [frame.state(part) for part in held if isinstance(part, Object)]
    return any(
        part.moved or any(isinstance(leaf, Accelerator | Symbol) for leaf in leaves(part.device))
        for part in parts
    )


def _just_built(device: Device) -> bool:
    return all(leaf.origin is not None and leaf.origin.what == "made" for leaf in leaves(device))


def note_assigned(frame: Frame, node: cst.BaseExpression, value: Value) -> None:
    """The value of `node` is assigned: if it is a module that is still where it was built, whichever of several, it could be moved here."""
    if type(node) not in (cst.Name, cst.Attribute, cst.Call) or frame.source.foreign:
        return
    ways = list(each_of(value))
    things = [one for one in ways if isinstance(one, Object)]
    states = [frame.state(one) for one in things]
    if len(things) < len(ways) or _inside_module(frame):
        return
    if any(state.kind != "module" or state.moved for state in states):
        return
    spot = _spot(frame, node)
    for one, state in zip(things, states, strict=True):
        if isinstance(state.device, Cpu):
            frame.analysis.spots.setdefault(one.key, spot)


def spot_of(
    frame: Frame, origin: Origin, thing: Object | None, wanted: Device, leaf: Leaf
) -> tuple[Any, str] | None:
    """The expression after which `.to(...)` puts a module where `wanted` is, and what to write there.

    `origin` is where it was built; `leaf` is what `wanted` is on the machine on which it fails.
    """
    spots = [frame.analysis.spots.get((id(origin.node), origin.frame))]
    spots.append(None if thing is None else frame.analysis.spots.get(thing.key))
    known = [spot for spot in spots if spot is not None]
    for named in (_exactly, _likely):
        for spot in known:
            text = named(spot, wanted, leaf)
            if text is not None:
                return spot.node, text
    if known and isinstance(wanted, Accelerator):
        index = "" if wanted.index is None else f":{wanted.index}"
        return known[0].node, f'"{wanted.type}{index}"'
    torch = device_values.torch_name(frame)
    if (
        known
        and isinstance(leaf, Accelerator)
        and leaf.type == "cuda"
        and torch is not None
        and _asks(wanted)
    ):
        # what it meets is there if there is one
        index = "" if leaf.index is None else f":{leaf.index}"
        return known[0].node, f'"cuda{index}" if {torch}.cuda.is_available() else "cpu"'
    return None


def _asks(wanted: Device) -> bool:
    """Whether it depends on nothing else than the presence of CUDA where something is."""
    return {(atom.kind, atom.key) for atom in device_atoms(wanted)} == {("available", ("cuda",))}


def _exactly(spot: Spot, wanted: Device, leaf: Leaf) -> str | None:
    for device in (wanted, leaf):
        found = [name for name, held in spot.devices if device_values.same_device(held, device)]
        if found:
            return device_values.preferred(found)
        if isinstance(device, Symbol):
            for name, key in spot.things:
                attribute = device.text.rpartition(".")[2]
                if device.key == ("attr", key, attribute) or (
                    device.key == ("device", key) and attribute == "device"
                ):
                    return f"{name}.{attribute}"
    return None


def _likely(spot: Spot, wanted: Device, leaf: Leaf) -> str | None:
    """The name of a device that is the same on the machine on which it fails."""
    found = [
        name for name, held in spot.devices if leaf in leaves(held) and device_values.speaks_of_device(name)
    ]
    return device_values.preferred(found) if found else None
