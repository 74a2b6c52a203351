"""Instances of classes that derive from `list` or `UserList`: what they hold, in which order.

What `list` keeps is an attribute of the instance under a name that no program can use; `UserList` keeps it as `data`
(https://docs.python.org/3/library/collections.html#collections.UserList). It has an identity of its own, as every list has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.environment import refreshed
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.values import UNKNOWN, Items, Many, Object, Value, each_of

if TYPE_CHECKING:
    from torchdev_lint.flow.instances.classes import ClassModel

_KEPT_AS = {
    "builtins.list": "[list]",
    "typing.List": "[list]",
    "collections.UserList": "data",
}
_SAY_NOTHING = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"})
"""Bases that say nothing of what a list holds."""

METHODS = frozenset("append extend insert pop remove clear sort reverse copy index count".split())
"""Methods that the base classes have."""

CHANGING = METHODS - frozenset("copy index count sort reverse".split())
"""Those of them after which the list holds other things."""


def is_base(path: str) -> bool:
    """Whether it is one of the classes that are derived from."""
    return path in _KEPT_AS


def kept_as(model: ClassModel | None) -> str | None:
    """The attribute that holds the items of an instance; None for any other class, also where another base may say more."""
    if model is None or model.is_module:
        return None
    bases = model.imported_bases()
    if not all(path in _KEPT_AS or path in _SAY_NOTHING for path in bases):
        return None
    return next((_KEPT_AS[path] for path in bases if path in _KEPT_AS), None)


def held_by(frame: Frame, thing: Value) -> Items | Many | None:
    """The items of an instance as they are now; None for anything else, and where what it holds is not known."""
    if not isinstance(thing, Object) or thing.key[0] == "self":
        return None
    state = frame.state(thing)
    name = None if state.kind != "instance" else kept_as(state.model)
    held = None if name is None else refreshed(frame.env, state.attributes.get(name, UNKNOWN))
    return held if isinstance(held, (Items, Many)) else None


def iterated(frame: Frame, value: Value) -> Value:
    """What a loop over an instance runs over: its items, unless its class says otherwise. Any other value as it is."""
    held = held_by(frame, value)
    model = frame.state(value).model if isinstance(value, Object) else None
    says = model is not None and any(model.find(name) is not None for name in ("__iter__", "__getitem__"))
    return value if held is None or says else held


def begin(frame: Frame, thing: Object, items: Items | Many) -> None:
    """An instance is made: `items` is what it holds."""
    state = frame.state(thing)
    name = kept_as(state.model)
    if name is not None:
        cell = ("cell", thing.key, frame.salt)
        frame.env.heap.pop(cell, None)
        frame.set_state(thing, state.with_attribute(name, replace(items, cell=cell)))


def forget(frame: Frame, value: Value) -> None:
    """An instance is changed, or one of several, it is not known how."""
    for one in each_of(value):
        held = held_by(frame, one)
        if held is not None:
            from torchdev_lint.flow.execution.patterns import change

            change(frame, held, Many(UNKNOWN), None)
