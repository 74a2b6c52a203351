"""Tensors that methods of a module compute once and keep in a dict for later calls: `self.cache[key] = ...`.

What was computed where the module was stays there when the module is moved, unless its place is a part of the key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from torchdev_lint.flow.attribute_uses import Reading, comes_of
from torchdev_lint.flow.classes import ClassModel
from torchdev_lint.flow.evidence import resolved_path
from torchdev_lint.flow.evident_tensors import Scope, assigned_values, is_tensor_type, returned_by, source_of
from torchdev_lint.flow.trees import walk
from torchdev_lint.flow.values import Function
from torchdev_lint.torch_api.factories import FACTORIES

_DEVICE = re.compile(r"(?i)device")


def caches(
    reading: Reading,
    model: ClassModel,
    initializer: cst.FunctionDef,
    methods: Sequence[tuple[ClassModel, cst.FunctionDef]],
) -> Iterator[tuple[cst.Assign | cst.AnnAssign, str]]:
    """The dicts that `__init__` leaves empty and methods fill with tensors: where, and the name."""
    for node in walk(initializer.body, below=(cst.FunctionDef, cst.ClassDef, cst.Lambda)):
        match node:
            case (
                cst.Assign(
                    targets=[
                        cst.AssignTarget(
                            target=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name))
                        )
                    ],
                    value=value,
                )
                | cst.AnnAssign(
                    target=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)),
                    value=cst.BaseExpression() as value,
                )
            ):
                if isinstance(value, cst.Dict) and _has_items(reading, initializer, name, methods):
                    yield node, name
            case _:
                pass


def _has_items(
    reading: Reading,
    initializer: cst.FunctionDef,
    name: str,
    methods: Sequence[tuple[ClassModel, cst.FunctionDef]],
) -> bool:
    """Whether methods put tensors into it, and nothing else, under keys that say nothing of a device."""
    found = looked = False  # filled, and asked for what is in it
    for model, method in methods:
        if method is initializer:
            continue
        for node in walk(method.body):
            match node:
                case cst.Assign(
                    targets=[
                        cst.AssignTarget(
                            target=cst.Subscript(
                                value=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=own)),
                                slice=[cst.SubscriptElement(slice=cst.Index(value=key))],
                            )
                        )
                    ],
                    value=value,
                ) if own == name:
                    if _says_device(method, key) or not _is_tensor(reading, model, method, value):
                        return False
                    found = True
                case cst.Attribute(
                    value=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=own)),
                    attr=cst.Name(value="get" | "pop"),
                ) if own == name:
                    looked = True
                case cst.ComparisonTarget(
                    operator=cst.In() | cst.NotIn(),
                    comparator=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=own)),
                ) if own == name:
                    looked = True
                case _:
                    pass
    return found and looked


def _says_device(method: cst.FunctionDef, key: cst.BaseExpression) -> bool:
    texts = [cst.Module([]).code_for_node(key)]
    if isinstance(key, cst.Name):
        values = assigned_values(method).get(key.value, ())
        texts += [cst.Module([]).code_for_node(value) for value in values if value is not None]
    return any(map(_DEVICE.search, texts))


def _is_tensor(
    reading: Reading, model: ClassModel, method: cst.FunctionDef, value: cst.BaseExpression, depth: int = 0
) -> bool:
    """Whether a value evidently is a tensor, wherever it is."""
    scope = Scope(model.frame, method, model)
    if source_of(scope, value) is not None or comes_of(
        model, value, reading.tensors(model, method), reading.submodules(model)
    ):
        return True
    if depth > 2:
        return False
    match value:
        case cst.Call(func=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name))):
            called = model.find(name)
        case cst.Call(func=cst.Name(value=name)):
            known = model.frame.lookup(name)
            called = (
                known.node
                if isinstance(known, Function) and isinstance(known.node, cst.FunctionDef)
                else None
            )
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="to"))):
            return _is_tensor(reading, model, method, inner, depth + 1) or _to_dtype(value)
        case cst.Call(func=cst.Attribute(value=inner)) if resolved_path(model.frame, value.func) is None:
            return _is_tensor(reading, model, method, inner, depth + 1)
        case cst.Call(func=function):
            return resolved_path(model.frame, function) in FACTORIES
        case cst.Name(value=name):
            values = [one for one in assigned_values(method).get(name, ()) if one is not None]
            return bool(values) and all(_is_tensor(reading, model, method, one, depth + 1) for one in values)
        case _:
            return False
    if called is None:
        return False
    if called.returns is not None and is_tensor_type(called.returns.annotation):
        return True
    returned = returned_by(called)
    return bool(returned) and all(
        one is not None and _is_tensor(reading, model, called, one, depth + 1) for one in returned
    )


def _to_dtype(call: cst.Call) -> bool:
    """`.to(x.dtype)`: only tensors have that, among what has no parameters."""
    return any(
        isinstance(argument.value, cst.Attribute) and argument.value.attr.value == "dtype"
        for argument in call.args
    )
