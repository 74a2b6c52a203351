"""What a file holds that was loaded to a device, `torch.load(path, map_location="cpu")`: whatever in it is a tensor is there.

Nothing is known of what the file holds, so that a part of it counts once something is done with it that only tensors can have done: a
method of theirs is called, or it is given to a function of PyTorch's. As soon as anything in it may have been exchanged
(`state[key] = value.to(device)`), nothing is known of any of it.
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import CPU, LOADED, UNKNOWN_DEVICE, Cpu, Device, Origin, with_origin
from torchdev_lint.flow.domain.values import (
    DeviceValue,
    Either,
    Entries,
    Function,
    Items,
    Literal,
    Many,
    Object,
    State,
    Tensor,
    Value,
)
from torchdev_lint.flow.torch_calls import device_values
from torchdev_lint.torch_api.callables import LOOKS_ONLY
from torchdev_lint.torch_api.checkpoints import LOADERS

_PLACE = "loaded to"
"""A note of what was loaded: where it is. None where anything in it may have been exchanged since."""


def told_place(told: Value) -> Device:
    """Where a `map_location` says that tensors are loaded to."""
    match told:
        case DeviceValue() | Literal(value=str()):
            return device_values.as_device(told)
        case Function(
            node=cst.Lambda(
                params=cst.Parameters(params=[cst.Param(name=cst.Name(value=first)), *_]),
                body=cst.Name(value=given),
            )
        ) if first == given:  # `lambda storage, location: storage`
            return CPU
        case _:
            return UNKNOWN_DEVICE


def load(frame: Frame, path: str, site: CallSite) -> Object | None:
    """What a file holds of which nothing is known but that it is loaded to the CPU; None where that is not known."""
    told = None if site.has_star() else site.get(LOADERS[path], "map_location")
    if told is None or not isinstance(told_place(told.value), Cpu):
        return None
    loaded = frame.result_of(site.node)
    origin = Origin(site.node, "moved", frame.uid, name=LOADED)
    frame.analysis.notes[_PLACE, loaded.key] = with_origin(CPU, origin)
    return loaded


def forget(frame: Frame, thing: Object) -> None:
    """Something in it may have been put elsewhere."""
    key = (_PLACE, _whole(thing).key)
    if frame.analysis.notes.get(key) is not None:
        frame.analysis.notes[key] = None


def hand_over(frame: Frame, site: CallSite) -> None:
    """A call that cannot be read is given something: it may exchange what that holds, unless it only tells of it."""
    if site.callee.rpartition(".")[2] not in LOOKS_ONLY:
        for argument in site.arguments:
            _forget_all(frame, argument.value)


def _forget_all(frame: Frame, value: Value) -> None:
    match value:
        case Object():
            forget(frame, value)
        case Items(items=items):
            for item in items:
                _forget_all(frame, item)
        case Many(element=element):
            _forget_all(frame, element)
        case Entries(entries=entries, default=default):
            for held in (*(held for _, held in entries), default):
                _forget_all(frame, held)
        case Either(then=then, otherwise=otherwise):
            _forget_all(frame, then)
            _forget_all(frame, otherwise)
        case _:
            pass


def place_of(frame: Frame, thing: Object) -> Device | None:
    """Where a thing is if it is a tensor, or holds some, and was loaded; None where it was not, or that is not known."""
    whole = _whole(thing)
    place: Device | None = frame.analysis.notes.get((_PLACE, whole.key))
    if place is None or any(_is_no_tensor(frame.state(one)) for one in (thing, whole)):
        return None
    return place


def as_tensor(frame: Frame, value: Value) -> Value:
    """What is a tensor for certain: where it was loaded to, if it was."""
    place = place_of(frame, value) if isinstance(value, Object) else None
    return value if place is None else Tensor(place, scalar=None)


def under_one_key(frame: Frame, node: cst.BinaryOperation, left: Value, right: Value) -> tuple[Value, Value]:
    """The operands of `state[k] - loaded[k]`: what is loaded holds a tensor where the other, of the same key, holds one.

    Of all the keys that a name stands for some are those of weights, which have dimensions.
    """
    if isinstance(left, Tensor) == isinstance(right, Tensor):
        return left, right
    one, other = _item(node.left), _item(node.right)
    if one is None or other is None or _key(one) is None or _key(one) != _key(other):
        return left, right
    with frame.quietly():
        loaded = frame.evaluate(other if isinstance(left, Tensor) else one)
    place = place_of(frame, loaded) if isinstance(loaded, Object) else None
    if place is None:
        return left, right
    if isinstance(left, Tensor):
        return replace(left, scalar=False), Tensor(place, scalar=False)
    assert isinstance(right, Tensor)
    return Tensor(place, scalar=False), replace(right, scalar=False)


def _item(node: cst.BaseExpression) -> cst.Subscript | None:
    """The item that an operand is, or is a multiple of: `state[k]`, `0.9 * state[k]`."""
    match node:
        case cst.Subscript():
            return node
        case cst.BinaryOperation(left=left, operator=cst.Multiply() | cst.Divide(), right=right):
            found = [part for part in (left, right) if isinstance(part, cst.Subscript)]
            return found[0] if len(found) == 1 else None
        case _:
            return None


def _key(item: cst.Subscript) -> str | None:
    match item.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.Name(value=name)))]:
            return name
        case _:
            return None


def in_place_of(frame: Frame, loaded: Object, before: Value | None) -> Value:
    """What is loaded to take a tensor's place, `self.mean = state["mean"]`, is a tensor like it; anything else is as it is."""
    place = place_of(frame, loaded) if isinstance(before, Tensor) and loaded.key[0] == "item" else None
    if place is None or not isinstance(before, Tensor):
        return loaded
    return Tensor(place, scalar=before.scalar, dims=before.dims)


def _is_no_tensor(state: State) -> bool:
    """Whether it is a module, or was moved in place, as only modules are."""
    return state.kind != "unknown" or state.moved


def _whole(thing: Object) -> Object:
    key = thing.key
    while key[0] == "item":
        key = key[1]
    return thing if key is thing.key else Object(key)
