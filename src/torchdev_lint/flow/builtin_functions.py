"""Python's builtin functions and the methods of its containers and strings."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from torchdev_lint.flow import truths
from torchdev_lint.flow.callsites import Argument, CallSite
from torchdev_lint.flow.conditions import FALSE, TRUE
from torchdev_lint.flow.expressions import iterate
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.objects import forget_attributes, get_attribute, set_attribute
from torchdev_lint.flow.patterns import assign
from torchdev_lint.flow.values import (
    UNKNOWN,
    DeviceValue,
    Entries,
    Function,
    Items,
    Literal,
    Many,
    Object,
    Super,
    Tensor,
    Truth,
    Value,
    element_of,
    join,
)


def call_builtin(frame: Frame, name: str, site: CallSite, call_value: Callable[..., Value]) -> Value:
    """The result of calling a builtin function."""
    values = [argument.value for argument in site.positional()]
    first = values[0] if values else UNKNOWN
    match name:
        case "next" | "min" | "max" if len(values) == 1:
            return iterate(frame, first)
        case "next" if values:
            return iterate(frame, first)
        case "iter" | "list" | "tuple" | "reversed" | "sorted" | "set" | "frozenset":
            return _container(frame, first) if values else Items(())
        case "zip" if values and all(isinstance(value, Items) for value in values):
            columns = [value.items for value in values if isinstance(value, Items)]
            return Items(tuple(Items(row) for row in zip(*columns, strict=False)))
        case "zip":
            return Many(Items(tuple(iterate(frame, value) for value in values)))
        case "enumerate" if isinstance(first, Items):
            return Items(tuple(Items((Literal(index), item)) for index, item in enumerate(first.items)))
        case "enumerate":
            return Many(Items((UNKNOWN, iterate(frame, first))))
        case "map" if len(values) >= 2:
            parts = tuple(Argument(iterate(frame, value), _anonymous(site)) for value in values[1:])
            return Many(call_value(frame, first, CallSite(site.node, parts)))
        case "filter" if len(values) == 2:
            return Many(iterate(frame, values[1]))
        case "isinstance" if len(values) == 2:
            return Truth(truths.is_instance(frame, site.node, values[0], values[1]))
        case "hasattr" if len(values) == 2:
            return _has_attribute(frame, site, values)
        case "getattr" if len(values) >= 2 and isinstance(values[1], Literal):
            return get_attribute(frame, first, str(values[1].value), site.node)
        case "setattr" if len(values) == 3 and isinstance(values[1], Literal):
            set_attribute(frame, first, str(values[1].value), values[2])
            return UNKNOWN
        case "setattr" if values:
            forget_attributes(frame, first)
            return UNKNOWN
        case "vars" if isinstance(first, Object):
            return Object(("attr", first.key, "__dict__"))
        case "super":
            return _super(frame)
        case "str" if isinstance(first, (DeviceValue, Literal)):
            return (
                Literal(str(first.value)) if isinstance(first, Literal) else DeviceValue(first.device, False)
            )
        case "int" | "float" | "bool" if isinstance(first, Literal) and isinstance(first.value, (int, float)):
            return first
        case "int" if isinstance(first, Truth):
            return first
        case "bool" if isinstance(first, (Truth, Object)):
            return Truth(truths.truth_of(frame, site.node, first))
        case "sum" if values:
            element = iterate(frame, first)
            return element if isinstance(element, Tensor) else UNKNOWN
        case "dict":
            return _dict(first, site)
        case "range":
            return Many(UNKNOWN)
        case "print":
            return UNKNOWN
        case _:
            return frame.result_of(site.node)


def _anonymous(site: CallSite) -> cst.Arg:
    return site.arguments[-1].node


def _container(frame: Frame, value: Value) -> Value:
    match value:
        case Items() | Many():
            return value
        case Object():
            return value if frame.state(value).element == UNKNOWN else Many(frame.state(value).element)
        case _:
            return Many(element_of(value))


def _dict(first: Value, site: CallSite) -> Value:
    result = first if isinstance(first, Entries) else Entries(())
    for argument in site.arguments:
        if argument.keyword is not None:
            result = result.updated(argument.keyword, argument.value)
    return result


def _has_attribute(frame: Frame, site: CallSite, values: list[Value]) -> Value:
    match values:
        case [
            Tensor(mapping=False, batch=False),
            Literal(value="to" | "cuda" | "cpu" | "device" | "shape" | "size"),
        ]:
            return Truth(TRUE)
        case [Items() | Many() | Entries(), Literal(value="to" | "cuda" | "cpu" | "device")]:
            return Truth(FALSE)
        case _:
            return Truth(truths.opaque(frame, site.node))


def _super(frame: Frame) -> Value:
    current: Frame | None = frame
    while current is not None and (current.function is None or current.function.owner is None):
        current = current.parent
    if current is None or current.function is None:
        return UNKNOWN
    node = current.function.node
    if not isinstance(node, cst.FunctionDef) or not node.params.params:
        return UNKNOWN
    receiver = current.env.names.get(node.params.params[0].name.value, UNKNOWN)
    return Super(receiver, current.function.owner)


def call_container_method(frame: Frame, receiver: Value, name: str, site: CallSite) -> Value:
    """The effect and result of a method of a list, tuple, dict or string."""
    first = site.positional()[0].value if site.positional() else UNKNOWN
    match receiver, name:
        case Items(items), "append":
            _rebind(
                frame,
                site,
                Items((*items, first)) if len(items) < 16 else Many(join(None, element_of(receiver), first)),
            )
        case Many(element), "append" | "add" | "appendleft":
            _rebind(frame, site, Many(first if element == UNKNOWN else join(None, element, first)))
        case ((Items() | Many()), "extend"):
            _rebind(frame, site, Many(join(None, element_of(receiver), iterate(frame, first))))
        case ((Items() | Many()), "insert") if len(site.positional()) > 1:
            _rebind(frame, site, Many(join(None, element_of(receiver), site.positional()[1].value)))
        case ((Items() | Many()), "pop" | "popleft"):
            return element_of(receiver)
        case ((Items() | Many()), "copy"):
            return receiver
        case Entries(entries=entries, default=default), "items":
            if default == UNKNOWN:
                return Items(tuple(Items((Literal(key), value)) for key, value in entries))
            return Many(Items((UNKNOWN, _joined([*(value for _, value in entries), default]))))
        case Entries(entries=entries, default=default), "values":
            if default == UNKNOWN:
                return Items(tuple(value for _, value in entries))
            return Many(_joined([*(value for _, value in entries), default]))
        case Entries(), "get" | "pop" | "setdefault" if isinstance(first, Literal):
            return receiver.get(str(first.value))
        case Entries(), "update":
            changed = receiver
            if isinstance(first, Entries):
                for key, value in first.entries:
                    changed = changed.updated(key, value)
            for argument in site.arguments:
                if argument.keyword is not None:
                    changed = changed.updated(argument.keyword, argument.value)
            _rebind(frame, site, changed)
        case Entries(), "copy":
            return receiver
        case Literal(value=str(text)), "format":
            given = [argument.value for argument in site.arguments]
            if all(isinstance(value, Literal) for value in given) and not site.has_star():
                try:
                    return Literal(
                        text.format(*(value.value for value in given if isinstance(value, Literal)))
                    )
                except (IndexError, KeyError, ValueError, AttributeError):
                    return UNKNOWN
        case Literal(value=str(text)), "lower" | "strip":
            return Literal(text.lower() if name == "lower" else text.strip())
        case Function(), _:
            return UNKNOWN
        case _:
            pass
    return UNKNOWN


def _joined(values: list[Value]) -> Value:
    if not values:
        return UNKNOWN
    result = values[0]
    for value in values[1:]:
        result = join(None, result, value)
    return result


def _rebind(frame: Frame, site: CallSite, value: Value) -> None:
    if isinstance(site.receiver, (cst.Name, cst.Attribute)):
        assign(frame, site.receiver, value)
