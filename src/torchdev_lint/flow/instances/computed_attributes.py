"""Attributes that a method computes: `__get__` of a descriptor that the class holds, `__getattr__` for what is not there.

And those that a class derived from `dict` sets by `__setattr__`, mostly as items.

https://docs.python.org/3/reference/datamodel.html#customizing-attribute-access
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite, Unwritten
from torchdev_lint.flow.domain.values import UNKNOWN, Api, Class, Function, Literal, Object, Value
from torchdev_lint.flow.instances import dict_classes

_ITEMS = frozenset({"builtins.dict.__getitem__", "builtins.dict.get"})
_SETS_ITEM = "builtins.dict.__setitem__"


def by_descriptor(frame: Frame, thing: Object, held: Value, name: str) -> Value | None:
    """What a descriptor that the class holds under a name gives for an instance; None for any other attribute of a class."""
    descriptor = frame.state(held).model if isinstance(held, Object) else None
    method = None if descriptor is None else descriptor.find("__get__")
    if descriptor is None or method is None:
        return None
    model = frame.state(thing).model
    owner = UNKNOWN if model is None else Class(model)
    named = descriptor.find("__set_name__")
    if named is not None:  # as the class was made
        _run(frame, descriptor.function(named, "__set_name__", held), [owner, Literal(name)])
    return _run(frame, descriptor.function(method, "__get__", held), [thing, owner])


def where_there_is_none(frame: Frame, thing: Object, name: str) -> Value | None:
    """What `__getattr__` gives for an attribute that an instance does not have; None where the class does not say."""
    state = frame.state(thing)
    if state.kind != "instance" or state.model is None or thing.key[0] == "self" or name.startswith("__"):
        return None
    is_dict = dict_classes.kept_as(state.model) is not None
    if name in dict_classes.METHODS if is_dict else state.model.has_unseen_base():
        return None  # the base has it
    alias = state.model.class_attribute("__getattr__")
    held = dict_classes.held_by(frame, thing) if isinstance(alias, Api) and alias.path in _ITEMS else None
    if held is not None:
        return dict(held.entries).get(name)
    method = state.model.find("__getattr__")
    if method is None:
        return None
    found = _run(frame, state.model.function(method, "__getattr__", thing), [Literal(name)])
    return None if found == UNKNOWN else found


def set_by_class(frame: Frame, thing: Object, name: str, value: Value) -> bool:
    """Set an attribute of an instance of a class that derives from `dict` and says what becomes of it; whether it does."""
    model = frame.state(thing).model
    if model is None or dict_classes.held_by(frame, thing) is None:
        return False
    alias, method = model.class_attribute("__setattr__"), model.find("__setattr__")
    if isinstance(alias, Api) and alias.path == _SETS_ITEM:
        from torchdev_lint.flow.execution import containers

        containers.call_dict_method(frame, thing, "__setitem__", _site("__setitem__", [Literal(name), value]))
    elif method is not None:
        setter = model.function(method, "__setattr__", thing)
        if _followed(frame, setter, [Literal(name), value]) is None:
            dict_classes.forget(frame, thing)
    else:
        return False
    return True


def _run(frame: Frame, method: Function, given: list[Value]) -> Value:
    found = _followed(frame, method, given)
    return UNKNOWN if found is None else found


def _followed(frame: Frame, method: Function, given: list[Value]) -> Value | None:
    """What a method gives; None if it cannot be followed."""
    from torchdev_lint.flow.calling.functions import call, can_follow

    site = _site(method.name, given)
    if not can_follow(frame, method, site):
        return None
    alive = frame.alive
    result = call(frame, method, site)
    frame.alive = alive  # `raise AttributeError` says that there is none
    return result


def _site(name: str, given: list[Value]) -> CallSite:
    return CallSite(cst.Name(name), tuple(Argument(one, Unwritten(cst.Name("_"))) for one in given))
