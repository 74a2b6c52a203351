"""What a loop's target is bound to: iterating over containers, tensors, loaders, modules and the file's own iterators."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.calling.functions import call, can_follow
from torchdev_lint.flow.domain.values import (
    BASE,
    UNKNOWN,
    AnyOf,
    Class,
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
    element_of,
    if_not_none,
    item_of,
    join,
    join_all,
)
from torchdev_lint.flow.instances import dict_classes, list_classes
from torchdev_lint.flow.instances.objects import as_tuple, get_attribute
from torchdev_lint.flow.syntax.trees import remembered, walk
from torchdev_lint.torch_api.modules import CONTAINERS

MAX_UNROLLED = 8
"""Loops over containers of at most this many known items are run item by item."""


def rounds(frame: Frame, source: Value) -> list[Value]:
    """What the target of a loop is bound to, iteration by iteration: each known item, or one that stands for all."""
    source = _listed(frame, source)
    if isinstance(source, Items) and 0 < len(source.items) <= MAX_UNROLLED:
        return list(source.items)
    if isinstance(source, Object):
        held = parts_of(frame, source)
        if held is not None and 0 < len(held) <= MAX_UNROLLED:
            state = frame.state(source)
            if state.api.endswith("Dict"):
                return [Literal(name[1:-1].strip("'")) for name, _ in held]
            return [value for _, value in held]
    if isinstance(source, Entries) and not source.open and 0 < len(source.entries) <= MAX_UNROLLED:
        return [Literal(key) for key, _ in source.entries]
    return [iterate(frame, source)]


def _listed(frame: Frame, source: Value) -> Value:
    """What a loop over something runs over, in the place of a record, an enumeration or an instance of a list's class."""
    return _fields_of(frame, source) or members(frame, source) or list_classes.iterated(frame, source)


def members(frame: Frame, value: Value) -> Items | None:
    """The members of an enumeration, in their order: what its class is iterated over for."""
    if not isinstance(value, Class) or not value.model.has_members:
        return None
    found = [get_attribute(frame, value, name, value.model.node) for name in value.model.attributes]
    return Items(tuple(one for one in found if isinstance(one, Object) and one.key[0] == "member"))


def _fields_of(frame: Frame, value: Value) -> Items | None:
    """What a named tuple holds, or any of several: in each place what each of them has there."""
    if isinstance(value, Object):
        return as_tuple(frame, value)
    if not isinstance(value, AnyOf):
        return None
    rows = [fields.items for thing in value.things if (fields := as_tuple(frame, thing)) is not None]
    if len(rows) < len(value.things) or len({len(row) for row in rows}) != 1:
        return None
    return Items(tuple(join_all(list(column)) for column in zip(*rows, strict=True)))


def is_exact(frame: Frame, source: Value) -> bool:
    """Whether `rounds` gives every iteration."""
    source = _listed(frame, source)
    match source:
        case Items(items):
            return 0 < len(items) <= MAX_UNROLLED
        case Entries(entries=entries):
            return not source.open and 0 < len(entries) <= MAX_UNROLLED
        case Object():
            return 0 < len(parts_of(frame, source) or ()) <= MAX_UNROLLED
        case _:
            return False


def counts_only(node: cst.CSTNode) -> bool:
    """Whether a loop over the expression gives nothing but numbers: `range(...)`."""
    match node:
        case cst.Call(func=cst.Name(value="range")):
            return True
        case cst.Call(func=cst.Name(value="reversed" | "list"), args=[cst.Arg(value=inner)]):
            return counts_only(inner)
        case _:
            return False


def indexes_with(frame: Frame, target: cst.CSTNode, code: Sequence[cst.CSTNode]) -> bool:
    """Whether code uses the number that a loop counts with to name or to pick something."""
    if not isinstance(target, cst.Name):
        return True
    key = ("indexes", id(code[0]), target.value)
    known = frame.analysis.notes.get(key)
    if known is None:
        known = any(
            isinstance(node, (cst.SubscriptElement, cst.FormattedString, cst.Comparison))
            and any(isinstance(part, cst.Name) and part.value == target.value for part in walk(node))
            for root in code
            for node in walk(root)
        ) or any(
            isinstance(node, cst.Call)
            and (
                (isinstance(node.func, cst.Name) and node.func.value in ("str", "getattr", "setattr"))
                or _gives_index(node, target.value)
            )
            for root in code
            for node in walk(root)
        )
        frame.analysis.notes[key] = known
    return bool(known)


def _gives_index(node: cst.Call, name: str) -> bool:
    """Whether a call is given the number to say which device is meant: `torch.device("cuda", i)`, `x.to(i % count)`."""
    called = (
        node.func.attr.value
        if isinstance(node.func, cst.Attribute)
        else node.func.value
        if isinstance(node.func, cst.Name)
        else ""
    )
    return called in ("device", "to", "cuda") and any(
        isinstance(part, cst.Name) and part.value == name
        for one in node.args
        if isinstance(one.value, (cst.Name, cst.BinaryOperation))
        for part in walk(one.value)
    )


ANY = "[*]"
"""The attribute of a module container that stands for each of its parts, where their number is not known."""


def container_of(frame: Frame, thing: Object) -> State | None:
    """The container of modules that a thing is, or what its base class of PyTorch's has made of it; None where it is none."""
    state = frame.state(thing)
    made = state.attributes.get(BASE)
    if state.api not in CONTAINERS and isinstance(made, Object):
        state = frame.state(made)
    return state if state.api in CONTAINERS else None


def parts_of(frame: Frame, thing: Object) -> list[tuple[str, Value]] | None:
    """The parts of a `ModuleList` and its like, in order, by the names of the attributes that hold them.

    None where the thing is no such container, or what it holds is not known.
    """
    state = container_of(frame, thing)
    if state is None:
        return None
    held = [(name, value) for name, value in state.attributes.items() if name.startswith("[")]
    if not held or any(name == ANY for name, _ in held):
        return None
    return held


def part_for_all(frame: Frame, thing: Object) -> Value | None:
    """What stands for each part of a module container; None where it is no such container or empty."""
    state = container_of(frame, thing)
    if state is None:
        return None
    held = [value for name, value in state.attributes.items() if name.startswith("[")]
    return join_all(held) if held else None


def iterate(frame: Frame, value: Value) -> Value:
    """What a `for` over the value binds its target to."""
    value = if_not_none(value)
    match value:
        case Object():
            state = frame.state(value)
            if state.element != UNKNOWN:
                return state.element
            fields = as_tuple(frame, value)
            if fields is not None:
                return element_of(fields)
            if state.model is not None:
                held = _held_by_class(frame, value)
                if held is not None:
                    return iterate(frame, held)
                found = _own_iterator(frame, value)
                if found is not None:
                    return found
            container = container_of(frame, value)
            if container is not None and not container.api.endswith("Dict"):
                part = part_for_all(frame, value)
                if part is not None:
                    return part
            return item_of(value)
        case AnyOf(things=things):
            return join_all([iterate(frame, thing) for thing in things])
        case Either(guard, then, otherwise):
            return join(guard, iterate(frame, then), iterate(frame, otherwise))
        case Class() if (held := members(frame, value)) is not None:
            return element_of(held)
        case Tensor(mapping=True):
            return UNKNOWN
        case Entries():
            return UNKNOWN if value.open else join_all([Literal(key) for key, _ in value.entries])
        case _:
            return element_of(value)


def _held_by_class(frame: Frame, thing: Object) -> Value | None:
    """What a loop over an instance runs over, since its class derives from `dict` or `list` and says nothing else."""
    model = frame.state(thing).model
    if model is None or model.find("__iter__") is not None:
        return None
    held = list_classes.iterated(frame, thing)
    return dict_classes.held_by(frame, thing) if held is thing else held


@remembered(cst.FunctionDef)
def _gives_one_by_one(function: cst.FunctionDef) -> bool:
    """Whether a function is a generator."""
    return any(isinstance(part, cst.Yield) for part in walk(function.body))


def opened(frame: Frame, value: Value) -> Value:
    """What the `__iter__` of an instance gives where that is a generator; any other value as it is."""
    if not isinstance(value, Object) or frame.state(value).model is None:
        return value
    model = frame.state(value).model
    found = None if model is None else model.find("__iter__")
    if found is None or not _gives_one_by_one(found):
        return value
    made = _call_method(frame, value, "__iter__")
    return made if isinstance(made, Many) else value


def iterator_of(frame: Frame, value: Value) -> Value:
    """`iter(value)`, as something that gives the same things when it is iterated over."""
    if isinstance(value, Object) and frame.state(value).model is not None:
        made = _call_method(frame, value, "__iter__")
        if made is not None and made != UNKNOWN:
            return made
    return value


def next_of(frame: Frame, value: Value) -> Value:
    """`next(value)`."""
    if isinstance(value, Object) and frame.state(value).model is not None:
        found = _call_method(frame, value, "__next__")
        if found is not None:
            return found
    return iterate(frame, value)


def _own_iterator(frame: Frame, thing: Object) -> Value | None:
    """What iterating over an instance of a class of the file gives; None when the class does not say."""
    made = _call_method(frame, thing, "__iter__")
    if made is None:
        return _call_method(frame, thing, "__getitem__")
    if made == thing:
        found = _call_method(frame, thing, "__next__")
        return UNKNOWN if found is None else found
    if isinstance(made, Object) and made.key[:1] == thing.key[:1]:
        return next_of(frame, made)
    return iterate(frame, made)


def _call_method(frame: Frame, thing: Object, name: str) -> Value | None:
    """The result of a special method of an instance, called with nothing known of its arguments."""
    model = frame.state(thing).model
    found = None if model is None else model.find(name)
    if model is None or found is None:
        return None
    function: Function = model.function(found, name, thing)
    if not can_follow(frame, function):
        return UNKNOWN
    alive = frame.alive
    result = call(frame, function, CallSite(cst.Name(name)))
    frame.alive = alive  # `raise StopIteration` ends the loop, not the program
    return result


def known_items(frame: Frame, value: Value) -> list[Value] | None:
    """The things that iterating over a value gives, where each is known."""
    match value:
        case Items(items):
            return list(items)
        case Class():
            shown = members(frame, value)
            return None if shown is None else list(shown.items)
        case Entries(entries=entries) if not value.open:
            return [Literal(key) for key, _ in entries]
        case Object():
            fields = as_tuple(frame, value)
            if fields is not None:
                return list(fields.items)
            held = _held_by_class(frame, value)
            if held is not None:
                return known_items(frame, held)
            parts = parts_of(frame, value)
            if parts is None or frame.state(value).api.endswith("Dict"):
                return None
            return [part for _, part in parts]
        case AnyOf():
            fields = _fields_of(frame, value)
            return None if fields is None else list(fields.items)
        case _:
            return None
