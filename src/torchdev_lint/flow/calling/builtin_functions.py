"""Python's builtin functions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling import folds
from torchdev_lint.flow.calling.callsites import Argument, CallSite, implied_items, name_given
from torchdev_lint.flow.domain.conditions import FALSE, TRUE, atoms, conjunction, disjunction
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE
from torchdev_lint.flow.domain.values import (
    NUMBER,
    UNKNOWN,
    AnyOf,
    Api,
    Class,
    DeviceValue,
    Either,
    Entries,
    Items,
    Literal,
    Many,
    Object,
    State,
    Super,
    Tensor,
    Truth,
    Value,
    counted,
    if_not_none,
    is_number,
    join_all,
)
from torchdev_lint.flow.execution import containers, truths
from torchdev_lint.flow.execution.iteration import MAX_UNROLLED, iterate, iterator_of, known_items, next_of
from torchdev_lint.flow.instances import list_classes, made_by_new
from torchdev_lint.flow.instances.classes import ClassModel
from torchdev_lint.flow.instances.objects import (
    SET_BY_ANY_NAME,
    as_tuple,
    forget_attributes,
    get_attribute,
    hide_attribute,
)
from torchdev_lint.flow.nn_modules import attached_parts, registration
from torchdev_lint.flow.torch_calls import torch_factories
from torchdev_lint.flow.torch_calls.indexing import SLICE
from torchdev_lint.torch_api.modules import SOME_MODULE


def call_builtin(frame: Frame, name: str, site: CallSite, call_value: Callable[..., Value]) -> Value:
    """The result of calling a builtin function."""
    values = [argument.value for argument in site.positional()]
    first = values[0] if values else UNKNOWN
    match name:
        case "min" | "max" if len(values) == 1:
            return iterate(frame, first)
        case "min" | "max" if any(map(is_number, values)) and not any(
            isinstance(one, Tensor) for one in values
        ):
            return NUMBER  # Python's, among which no tensor is
        case "next" if values:
            return next_of(frame, first)
        case "iter" if values:
            return iterator_of(frame, first)
        case "list" | "tuple" | "reversed" | "sorted" | "set" | "frozenset":
            held = _in_order(frame, first, site, call_value) if name == "sorted" and values else None
            if held is not None:
                return containers.with_cell(frame, site.node, held)
            return _container(frame, name, first if values else Items(()), site)
        case "zip" if site.has_star():
            return _transposed(frame, site)
        case "zip" if values:
            return _zipped(frame, values)
        case "enumerate" if values:
            start = values[1].value if len(values) > 1 and isinstance(values[1], Literal) else 0
            parts = known_items(frame, first)
            if parts is not None and isinstance(start, int):
                return Items(tuple(Items((Literal(index), item)) for index, item in enumerate(parts, start)))
            return Many(Items((UNKNOWN, iterate(frame, first))))
        case "map" if len(values) >= 2:
            return mapped(frame, first, values[1:], site, call_value)
        case "filter" if len(values) == 2:
            return Many(iterate(frame, values[1]))
        case "object" if not site.arguments:
            return frame.fresh(site.node, State("instance", UNKNOWN_DEVICE, truths.BARE))
        case "slice" if values:
            return frame.fresh(site.node, State("instance", UNKNOWN_DEVICE, SLICE))
        case "type" if len(values) == 1:
            return _type_of(frame, first, site)
        case "isinstance" if len(values) == 2:
            return Truth(truths.is_instance(frame, site.node, values[0], values[1]))
        case "all" | "any" if len(values) == 1:
            return _of_all(first, together=name == "all")
        case "hasattr" if len(values) == 2:
            return _has_attribute(frame, site, values)
        case "getattr" if len(values) > 2 and if_not_none(first) is not first:
            return UNKNOWN  # of None, the default
        case "getattr" if (
            len(values) == 2
            and first == Api("torch")
            and (path := torch_factories.named(frame, site)) is not None
        ):
            return Api(path)
        case "getattr" if len(values) == 3 and _has_attribute(frame, site, values[:2]) == Truth(FALSE):
            return values[2]
        case "getattr" if len(values) >= 2 and (called := name_given(site, 1)) is not None:
            if isinstance(first, Api):
                called = called.replace("{}d", "2d")  # `getattr(nn, f"MaxPool{n}d")`: all of them do the same
            if first == Api("torch.nn") and "{}" in called:
                return Api(SOME_MODULE)
            return get_attribute(frame, first, called, site.node)
        case "getattr" if len(values) == 2 and first == Api("torch.nn"):
            return Api(SOME_MODULE)
        case "getattr" if len(values) == 2:
            return attached_parts.part_of(frame, first, frame.result_of(site.node))
        case "object.__setattr__" if (
            isinstance(first, Object) and len(values) == 3 and (under := name_given(site, 1))
        ):
            hide_attribute(frame, first, under, values[2])
            return UNKNOWN
        case "setattr" if len(values) == 3:
            under = name_given(site, 1)
            named = UNKNOWN if under is None else Literal(under)
            registration.attach(frame, first, named, values[2], site.positional()[2].node, site.node)
            if under is None and isinstance(values[2], Tensor):
                registration.forget_where(frame, first)
            if under is None and isinstance(first, Object):
                frame.analysis.notes[SET_BY_ANY_NAME, first.key] = True
            return UNKNOWN
        case "setattr" if values:
            forget_attributes(frame, first)
            return UNKNOWN
        case "globals" if not site.arguments:
            return Entries(tuple(frame.module_frame.env.names.items()), open=True)
        case "vars" if isinstance(first, Object):
            return get_attribute(frame, first, "__dict__", site.node)
        case _ if name.startswith("list.") and list_classes.held_by(frame, first) is not None:
            assert isinstance(first, Object)
            told = replace(site, arguments=site.arguments[1:])
            return containers.call_list_class_method(frame, first, name.partition(".")[2], told) or UNKNOWN
        case "object.__new__" if isinstance(first, Class):
            return made_by_new.bare(frame, first.model, site.node)
        case "super":
            return _super(frame)
        case "str" if isinstance(first, (DeviceValue, Literal)):
            return (
                Literal(str(first.value)) if isinstance(first, Literal) else DeviceValue(first.device, False)
            )
        case "int" | "float" if isinstance(first, Literal) and isinstance(first.value, (int, float)):
            # what is no finite number has no whole part
            whole = name == "int" and math.isfinite(first.value)
            return Literal(int(first.value)) if whole else first
        case "bool" if isinstance(first, Literal) and isinstance(first.value, (int, float)):
            return Literal(bool(first.value))
        case "int" if isinstance(first, Truth):
            return first
        case "bool" if isinstance(first, (Truth, Object)):
            return Truth(truths.truth_of(frame, site.node, first))
        case "sum" if values:
            return folds.summed(frame, site)
        case "dict":
            return containers.with_cell(frame, site.node, containers.dict_of(frame, site))
        case "range":
            return _range(values)
        case "print":
            return UNKNOWN
        case "len":
            return counted(frame.result_of(site.node, frame.analysis.text(site.node)))
        case "int" | "float" if values:
            return NUMBER if first == UNKNOWN else counted(frame.result_of(site.node))
        case _:
            return frame.result_of(site.node)


def _in_order(frame: Frame, value: Value, site: CallSite, call_value: Callable[..., Value]) -> Items | None:
    """`sorted(value, key=...)` of things of which each has a number, or each a string, to be sorted by; None where that is not known."""
    parts, key, reverse = known_items(frame, value), site.keyword("key"), site.keyword("reverse")
    backwards = Literal(False) if reverse is None else reverse.value
    if not parts or not isinstance(backwards, Literal):
        return None
    found = list(parts)
    if key is not None and key.value != Literal(None):
        node = site.positional()[0].node
        found = [call_value(frame, key.value, CallSite(site.node, (Argument(part, node),))) for part in parts]
    ranks: list[Any] = [one.value for one in found if isinstance(one, Literal)]
    if len(ranks) < len(parts) or not any(
        all(isinstance(rank, sort) for rank in ranks) for sort in (str, (int, float))
    ):
        return None
    order = sorted(range(len(parts)), key=ranks.__getitem__, reverse=bool(backwards.value))
    return Items(tuple(parts[at] for at in order))


def _container(frame: Frame, name: str, value: Value, site: CallSite) -> Value:
    """`list(value)` and its like: a new container of the same things."""
    made: Items | Many
    parts = known_items(frame, value)
    if parts is not None and name in ("list", "tuple", "reversed"):
        made = Items(tuple(parts[::-1] if name == "reversed" else parts))
    elif parts is not None and "set" in name and all(isinstance(part, Literal) for part in parts):
        made = Items(tuple(dict.fromkeys(parts)))
    elif value == Items(()):
        made = Items(())
    else:
        made = Many(iterate(frame, value))
    made = replace(
        made, kind={"sorted": "list"}.get(name, name) if name in ("list", "tuple", "sorted") else ""
    )
    return containers.with_cell(frame, site.node, made) if name in ("list", "sorted", "set") else made


_MAX_ASKED = 3
"""Conditions that hang on more questions than this are given up as unknown."""


def _of_all(asked: Value, *, together: bool) -> Value:
    """Whether all (`together`), or any, of some conditions hold; of any number of them that are alike, one stands for the others."""
    match asked:
        case Items(items) if items:
            each = [one.formula for one in items if isinstance(one, Truth)]
            formula = conjunction(*each) if together else disjunction(*each)
            known = len(each) == len(items) and len(atoms(formula)) <= _MAX_ASKED
            return Truth(formula) if known else UNKNOWN
        case Many(Truth(formula)):
            known = all(atom.kind in ("available", "count", "device-type") for atom in atoms(formula))
            return asked.element if known else UNKNOWN
        case _:
            return UNKNOWN


def _transposed(frame: Frame, site: CallSite) -> Value:
    """`zip(*rows)`: the columns."""
    if len(site.arguments) != 1:
        return Many(Many(UNKNOWN))
    rows = site.arguments[0].value
    if isinstance(rows, Items) and rows.items:
        known = [known_items(frame, row) for row in rows.items]
        if all(row is not None for row in known):
            columns = zip(*(row for row in known if row is not None), strict=False)
            return Items(tuple(Items(column, kind="tuple") for column in columns))
    row = iterate(frame, rows)
    if isinstance(row, AnyOf):
        records = [as_tuple(frame, thing) for thing in row.things]
        row = join_all([record for record in records if record is not None]) if all(records) else UNKNOWN
    parts = known_items(frame, row)
    if parts is not None:
        return Items(tuple(Many(part, kind="tuple") for part in parts))
    return Many(Many(iterate(frame, row), kind="tuple"))


def _zipped(frame: Frame, values: list[Value]) -> Value:
    columns = [known_items(frame, value) for value in values]
    if all(column is not None for column in columns):
        rows = zip(*(column for column in columns if column is not None), strict=False)
        return Items(tuple(Items(row, kind="tuple") for row in rows))
    lengths = {len(column) for column in columns if column is not None}
    if len(lengths) == 1 and max(lengths) > 1:
        # what is gone through beside a few known things has as many: a part of the batch for each device
        shared = [
            column if column is not None else [iterate(frame, value)] * max(lengths)
            for column, value in zip(columns, values, strict=True)
        ]
        return Items(tuple(Items(row, kind="tuple") for row in zip(*shared, strict=True)))
    return Many(Items(tuple(iterate(frame, value) for value in values), kind="tuple"))


def mapped(
    frame: Frame, function: Value, columns: list[Value], site: CallSite, call_value: Callable[..., Value]
) -> Value:
    """`map(function, *columns)`: called for each known item, else once for all."""
    known = [known_items(frame, column) for column in columns]
    exact = all(column is not None and 0 < len(column) <= MAX_UNROLLED for column in known)
    held = [
        column if exact and column is not None else [iterate(frame, whole)]
        for column, whole in zip(known, columns, strict=True)
    ]
    given = [
        [
            Argument(value, node)
            for value, node in zip(column, implied_items(argument, len(column)), strict=True)
        ]
        for column, argument in zip(held, site.positional()[1:], strict=True)
    ]
    results = [call_value(frame, function, CallSite(site.node, row)) for row in zip(*given, strict=False)]
    return Items(tuple(results)) if exact else Many(results[0])


def _type_of(frame: Frame, value: Value, site: CallSite) -> Value:
    """`type(value)`, where calling it makes another of its kind (`type(x)(3)` of a tensor is on the CPU)."""
    match value:
        case Tensor(mapping=False, batch=False, guess=False, parameter=False):
            return Api("torch.Tensor")
        case Items(kind="tuple") | Many(kind="tuple"):
            return Api("builtins.tuple")
        case Items() | Many():
            return Api("builtins.list")
        case Entries():
            return Api("builtins.dict")
        case Object() if frame.state(value).model is not None:
            model = frame.state(value).model
            assert model is not None
            return Class(model)
        case AnyOf(things=things):
            model, *others = [frame.state(thing).model for thing in things]
            if model is not None and all(other is model for other in others):
                return Class(model)
            return frame.result_of(site.node)
        case Object(key=key, text=text):
            return Object(("type", key), f"type({text})")
        case Either(guard, then, otherwise):
            return Either(guard, _type_of(frame, then, site), _type_of(frame, otherwise, site))
        case _:
            return frame.result_of(site.node)


def _range(values: list[Value]) -> Value:
    """The numbers, where they are few and known."""
    bounds = [value.value for value in values if isinstance(value, Literal) and type(value.value) is int]
    if bounds and len(bounds) == len(values) <= 3 and 0 not in bounds[2:]:
        numbers = range(*(bound for bound in bounds if isinstance(bound, int)))
        if len(numbers) <= MAX_UNROLLED:
            return Items(tuple(Literal(number) for number in numbers))
    return Many(UNKNOWN)


def _has_attribute(frame: Frame, site: CallSite, values: list[Value]) -> Value:
    match values:
        case [
            Tensor(mapping=False, batch=False),
            Literal(value="to" | "cuda" | "cpu" | "device" | "shape" | "size"),
        ]:
            return Truth(TRUE)
        case [
            Items() | Many() | Entries(),
            Literal(value="to" | "cuda" | "cpu" | "device" | "_fields" | "_asdict"),
        ]:
            return Truth(FALSE)
        case [Object() as thing, Literal(value=str(name))] if (
            name in _OF_MODULES and frame.state(thing).kind == "module"
        ):
            return Truth(TRUE)
        case [Object() | AnyOf() as record, Literal(value=str(name))] if _is_named_tuple(frame, record):
            if name in _OF_NAMED_TUPLES or get_attribute(frame, record, name, site.node) != UNKNOWN:
                return Truth(TRUE)
            return Truth(FALSE if name in _OF_TENSORS else truths.opaque(frame, site.node))
        case [Object() as thing, Literal(value=str(name))] if (model := frame.state(thing).model) is not None:
            if model.find(name) is not None:
                return Truth(TRUE)
            if name.startswith("__"):  # what Python gives every object, or a decorator its class
                return Truth(
                    TRUE
                    if name == "__dataclass_fields__" and model.fields
                    else truths.opaque(frame, site.node)
                )
            state = frame.state(thing)
            read = not model.has_unseen_base() and model.find("__getattr__") is None
            absent = state.kind == "instance" and name not in state.attributes
            never = name in _OF_TENSORS or (
                thing.key[0] == "made" and not _is_set_somewhere(frame, model, name)
            )
            return Truth(FALSE if read and absent and never else truths.opaque(frame, site.node))
        case _:
            return Truth(truths.opaque(frame, site.node))


def _is_set_somewhere(frame: Frame, model: ClassModel, name: str) -> bool:
    """Whether a class has an attribute of its own of this name, or anybody sets one, or attributes whose names are computed."""
    if any(name in one.attributes or name in one.wrapped or name in one.replaced for one in model.lineage()):
        return True
    sets = re.compile(rf"\.{re.escape(name)}\b\s*(?::[^=\n]+)?=(?!=)|\bsetattr\(|__dict__|\bvars\(")
    return frame.analysis.says(sets) or model.frame.analysis.says(sets)


_OF_NAMED_TUPLES = frozenset({"_fields", "_asdict", "_replace", "index", "count"})
_OF_MODULES = frozenset(
    "to cuda cpu parameters buffers modules children state_dict train eval forward".split()
)
"""Methods that every `nn.Module` has (torch/nn/modules/module.py)."""
_OF_TENSORS = frozenset({"to", "cuda", "cpu", "device", "shape", "dtype", "keys", "items", "values"})
"""What a named tuple has only if one of its fields, or a method of its class, is called so."""


def _is_named_tuple(frame: Frame, value: Object | AnyOf) -> bool:
    things = value.things if isinstance(value, AnyOf) else (value,)
    return all(thing.key[0] == "made" and as_tuple(frame, thing) is not None for thing in things)


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
