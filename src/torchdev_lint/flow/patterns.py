"""Assigning a value to a target: names, attributes, items, tuples, starred targets."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.objects import forget_attributes, forget_unmoved, set_attribute
from torchdev_lint.flow.values import (
    UNKNOWN,
    Either,
    Entries,
    Items,
    Literal,
    Many,
    Object,
    Tensor,
    Value,
    element_of,
    join,
)


def assign(frame: Frame, target: cst.CSTNode, value: Value) -> None:
    """Bind the target."""
    match target:
        case cst.Name(value=name):
            if isinstance(value, Object) and not value.text:
                value = replace(value, text=name)
            frame.bind(name, value)
        case cst.Attribute(value=receiver, attr=cst.Name(value=name)):
            _assign_attribute(frame, receiver, name, value)
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            _unpack(frame, list(elements), value)
        case cst.Subscript():
            _assign_item(frame, target, value)
        case cst.StarredElement(value=inner):
            assign(frame, inner, value)
        case _:
            pass


def _assign_attribute(frame: Frame, receiver: cst.BaseExpression, name: str, value: Value) -> None:
    holder = frame.evaluate(receiver)
    match holder:
        case Tensor(parameter=True) if name == "data":
            # the module that owns the parameter is moved behind its back
            forget_unmoved(frame)
        case Tensor() if name == "data" and isinstance(value, Tensor):
            assign(frame, receiver, replace(holder, device=value.device))
        case Tensor(batch=True) | Tensor(mapping=True):
            assign(frame, receiver, UNKNOWN)
        case _:
            set_attribute(frame, holder, name, value)


def _unpack(frame: Frame, elements: list[cst.BaseElement], value: Value) -> None:
    starred = next((i for i, element in enumerate(elements) if isinstance(element, cst.StarredElement)), None)
    parts = [part_of(value, i, None if starred is not None else len(elements)) for i in range(len(elements))]
    if starred is not None:
        if isinstance(value, Items) and len(value.items) >= len(elements) - 1:
            after = len(elements) - starred - 1
            middle = value.items[starred : len(value.items) - after]
            tail = value.items[len(value.items) - after :] if after else ()
            parts = [*value.items[:starred], Items(middle), *tail]
        else:
            parts = [Many(part) if i == starred else part for i, part in enumerate(parts)]
    for element, part in zip(elements, parts, strict=True):
        assign(frame, element.value, part)


def part_of(value: Value, index: int, count: int | None) -> Value:
    """The part that unpacking gives to the target at `index` (of `count`, None when there is a star)."""
    match value:
        case Items(items):
            return (
                items[index]
                if (count is None or len(items) == count) and index < len(items)
                else element_of(value)
            )
        case Object(key=key, text=text):
            return Object(("item", key, repr(index)), f"{text}[{index}]" if text else "")
        case Tensor(device=device):
            # unpacking a module's output or a batch: a tuple of tensors
            return Tensor(device)
        case Either(guard, then, otherwise):
            return join(guard, part_of(then, index, count), part_of(otherwise, index, count))
        case Many(element):
            return element
        case _:
            return UNKNOWN


def _assign_item(frame: Frame, target: cst.Subscript, value: Value) -> None:
    container = frame.evaluate(target.value)
    key: Value = UNKNOWN
    if len(target.slice) == 1 and isinstance(target.slice[0].slice, cst.Index):
        with frame.quietly():
            key = frame.evaluate(target.slice[0].slice.value)
    match container:
        case Entries():
            if isinstance(key, Literal) and isinstance(key.value, str):
                assign(frame, target.value, container.updated(key.value, value))
            else:
                merged = tuple((name, join(None, entry, value)) for name, entry in container.entries)
                default = value if container.default == UNKNOWN else join(None, container.default, value)
                assign(frame, target.value, replace(container, entries=merged, default=default))
        case Items(items):
            if (
                isinstance(key, Literal)
                and isinstance(key.value, int)
                and -len(items) <= key.value < len(items)
            ):
                changed = list(items)
                changed[key.value] = value
                assign(frame, target.value, Items(tuple(changed)))
            else:
                assign(frame, target.value, Many(join(None, element_of(container), value)))
        case Many(element):
            assign(frame, target.value, Many(join(None, element, value)))
        case Object(key=("attr", owner, "__dict__")):
            forget_attributes(frame, Object(owner))
        case Object() if isinstance(key, Literal):
            state = frame.state(container)
            frame.set_state(container, state.with_attribute(f"[{key.value!r}]", value))
        case Object():
            # any item may have changed
            state = frame.state(container)
            kept = {name: held for name, held in state.attributes.items() if not name.startswith("[")}
            frame.set_state(container, replace(state, attributes=kept))
        case Tensor(batch=True) | Tensor(mapping=True):
            assign(frame, target.value, UNKNOWN)
        case _:
            pass  # a tensor: `x[i] = y` copies, the tensor stays where it is
