"""Instances of classes that derive from `dict` or `UserDict`: what they hold, and under which key.

What `dict` keeps is an attribute of the instance under a name that no program can use; `UserDict` keeps it as `data`
(https://docs.python.org/3/library/collections.html#collections.UserDict). It has an identity of its own, as every dict has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.environment import refreshed
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.values import UNKNOWN, Api, Entries, Object, Value, each_of

if TYPE_CHECKING:
    from torchdev_lint.flow.instances.classes import ClassModel

ITSELF = "[dict]"
"""The attribute under which an instance keeps what it holds as a dict: `cfg[key]`."""

_KEPT_AS = {
    "builtins.dict": ITSELF,
    "typing.Dict": ITSELF,
    "collections.OrderedDict": ITSELF,
    "typing.OrderedDict": ITSELF,
    "collections.UserDict": "data",
}
DICTS = frozenset(path for path, kept in _KEPT_AS.items() if kept == ITSELF)
"""Those of which the instances are dicts."""
METHODS = frozenset("items values keys get pop setdefault update popitem clear copy".split())
"""Methods that the base classes have."""

CHANGING = frozenset("pop setdefault update popitem clear".split())
"""Those of them that change what is held."""

_TYPES_OF_DICTS = frozenset({"typing.TypedDict", "typing_extensions.TypedDict"})

UNREAD = Entries((), UNKNOWN, open=True)
"""What an instance holds whose `__init__` says nothing of it."""


def is_base(path: str) -> bool:
    """Whether it is one of the classes that are derived from."""
    return path in _KEPT_AS


def is_type_of_dicts(model: ClassModel) -> bool:
    """Whether a class is a `TypedDict`: what it makes are plain dicts (https://docs.python.org/3/library/typing.html#typing.TypedDict)."""
    return any(path in _TYPES_OF_DICTS for path in model.imported_bases())


def kept_as(model: ClassModel | None) -> str | None:
    """The attribute that holds the entries of an instance; None for any other class."""
    if model is None:
        return None
    return next((_KEPT_AS[path] for path in model.imported_bases() if path in _KEPT_AS), None)


def held_by(frame: Frame, thing: Value) -> Entries | None:
    """The entries of an instance as they are now; None for anything else, and where what it holds is not known."""
    if not isinstance(thing, Object) or thing.key[0] == "self":
        return None
    state = frame.state(thing)
    name = None if state.kind != "instance" else kept_as(state.model)
    held = None if name is None else refreshed(frame.env, state.attributes.get(name, UNKNOWN))
    return held if isinstance(held, Entries) else None


def as_dict(frame: Frame, value: Value) -> Value:
    """The entries of an instance; any other value as it is."""
    held = held_by(frame, value)
    return value if held is None else held


def begin(frame: Frame, thing: Object, entries: Entries) -> None:
    """An instance is made: `entries` is what it holds."""
    state = frame.state(thing)
    name = kept_as(state.model)
    if name is not None and state.model is not None:
        alias = state.model.class_attribute("__setattr__")
        if alias != UNKNOWN and not (isinstance(alias, Api) and alias.path.startswith("builtins.dict.")):
            entries = entries.opened(UNKNOWN)  # setting an attribute may well set an item
        kept = replace(entries, cell=("cell", thing.key, frame.salt))
        assert kept.cell is not None
        frame.env.heap.pop(kept.cell, None)
        frame.set_state(thing, state.with_attribute(name, kept))


def forget(frame: Frame, value: Value) -> None:
    """One of several instances is changed, it is not known which."""
    for one in each_of(value):
        if isinstance(one, Object) and held_by(frame, one) is not None:
            begin(frame, one, UNREAD)
