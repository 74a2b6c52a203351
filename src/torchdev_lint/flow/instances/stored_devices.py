"""Devices that a class stores in `__init__` and never reads, although it makes tensors or runs a model that it was given."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.events import ModelCall
from torchdev_lint.flow.activation.placement_events import DeviceNotForwarded
from torchdev_lint.flow.domain.values import Api
from torchdev_lint.flow.instances.classes import ClassModel
from torchdev_lint.flow.mistakes.forwarding import (
    is_torch,
    moves_something,
    parameters,
    reads,
    says_unused,
    stays_on_host,
)
from torchdev_lint.flow.syntax.trees import says_device, walk
from torchdev_lint.torch_api.devices import DEVICE_PARAMETERS

_STANDS_IN = re.compile(r"_?(?:Mock|Fake|Dummy|Stub)")
"""Classes that stand for others in tests, and take what those take."""


def check_class(analysis: Analysis, model: ClassModel, models: Sequence[ClassModel]) -> None:
    """A class whose `__init__` stores its device where no method of it reads it."""
    initializer = model.methods.get("__init__")
    if initializer is None or model.decorators or model.has_unseen_base() or model.bases_in_file():
        return
    if _STANDS_IN.match(model.name):
        return
    if any(model in other.bases_in_file() for other in models) or _has_heirs(analysis, model.name):
        return
    declared = parameters(initializer)
    for name in DEVICE_PARAMETERS:
        if name not in declared:
            continue
        stored = _stored(initializer, name)
        if stored is None or says_unused(analysis, initializer):
            continue
        attribute, place = stored
        if _reads_attribute(analysis, attribute, place) or _getattr_is_used(model):
            continue
        calls = _unplaced_factories(model)
        run = None if calls or model.is_module else _model_that_is_run(model, initializer)
        if not calls and (run is None or _is_met_already(analysis, model)):
            continue
        node = calls[0] if calls else place
        event = DeviceNotForwarded(
            node=node,
            name=name,
            owner=model.name,
            calls=calls,
            function=analysis.text(calls[0].func) if calls else "",
            keyword="device",
            fixable=all(call.args for call in calls)
            if calls
            else run is not None and _may_be_module(run, declared),
            parameter=declared[name],
            stored=attribute,
            run=run,
        )
        analysis.unforwarded.setdefault(id(declared[name]), {})[id(node)] = event


def _has_heirs(analysis: Analysis, name: str) -> bool:
    """Whether another file of the project derives a class from this one: what it stores may be read there."""
    derived = re.compile(rf"\bclass \w+\([^)]*\b{re.escape(name)}\b[^)]*\):")
    return any(derived.search(text) for _, text in analysis.imports.mentioning(name) or ())


def _is_met_already(analysis: Analysis, model: ClassModel) -> bool:
    """Whether a call that was followed into the class shows the model that was not moved."""
    inside = {id(node) for node in walk(model.node)}
    return any(
        isinstance(event, ModelCall) and (id(event.inner) in inside or id(event.call) in inside)
        for event in analysis.events.values()
    )


def _stored(initializer: cst.FunctionDef, name: str) -> tuple[str, cst.CSTNode] | None:
    """The attribute of `self` that keeps the parameter, if it goes nowhere else."""
    found: list[tuple[str, cst.CSTNode]] = []
    inside: set[int] = set()
    for node in walk(initializer.body):
        match node:
            case cst.Assign(
                targets=[
                    cst.AssignTarget(
                        target=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=attribute))
                    )
                ],
                value=value,
            ) if attribute.lstrip("_") == name and _is_device_of(value, name):
                found.append((attribute, node))
                inside |= {id(part) for part in walk(value)}
            case _:
                pass
    others = [node for node in reads(initializer.body, name) if id(node) not in inside]
    return found[0] if len(found) == 1 and not others else None


def _is_device_of(value: cst.BaseExpression, name: str) -> bool:
    match value:
        case cst.Name(value=word):
            return word == name
        case cst.Call(func=function, args=[cst.Arg(value=cst.Name(value=word))]):
            return word == name and (isinstance(function, cst.Attribute) and function.attr.value == "device")
        case _:
            return False


def _reads_attribute(analysis: Analysis, attribute: str, place: cst.CSTNode) -> bool:
    """Whether anything in the file reads an attribute of this name: it may be this one."""
    skipped = {id(part) for part in walk(place)}
    for node in walk(analysis.module):
        match node:
            case cst.Attribute(value=value, attr=cst.Name(value=name)) if name == attribute:
                if id(node) not in skipped and not is_torch(value):
                    return True
            case _:
                pass
    return False


def _getattr_is_used(model: ClassModel) -> bool:
    return any(
        isinstance(node, cst.Name) and node.value in ("getattr", "vars", "__dict__", "__getattr__")
        for node in walk(model.node)
    )


def _unplaced_factories(model: ClassModel) -> tuple[cst.Call, ...]:
    """The tensors that methods make without saying where, if no method moves anything."""
    if any(moves_something(method) for method in model.methods.values()):
        return ()
    return tuple(
        node
        for method in model.methods.values()
        for node in walk(method.body)
        if isinstance(node, cst.Call)
        and _is_factory(model, node)
        and not stays_on_host(method, node)
        and not any(one.star for one in node.args)
        and not says_device(node.args)
    )


def _is_factory(model: ClassModel, node: cst.Call) -> bool:
    match node.func:
        case cst.Attribute(value=cst.Name(value=base), attr=cst.Name(value=name)):
            return model.frame.lookup(base) == Api("torch") and name in _FACTORY_NAMES
        case _:
            return False


_FACTORY_NAMES = frozenset("zeros ones empty full rand randn randint arange linspace eye tensor".split())


def _model_that_is_run(model: ClassModel, initializer: cst.FunctionDef) -> cst.Name | None:
    """The model that the class is given and runs, without ever moving it or what it runs on, where it is stored."""
    if any(moves_something(method) for method in model.methods.values()):
        return None
    given = parameters(initializer)
    kept = {
        node.targets[0].target.attr.value: node.value
        for node in walk(initializer.body)
        if isinstance(node, cst.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0].target, cst.Attribute)
        and isinstance(node.value, cst.Name)
        and node.value.value in given
        and re.search(r"(?i)model|net$|network|module", node.value.value)
    }
    for method in model.methods.values():
        if method is initializer:
            continue
        for node in walk(method.body):
            match node:
                case cst.Call(
                    func=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name))
                    | cst.Attribute(
                        value=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)),
                        attr=cst.Name(value="forward" | "generate"),
                    )
                ) if name in kept:
                    return kept[name]
                case _:
                    pass
    return None


def _may_be_module(run: cst.Name, declared: dict[str, cst.Param]) -> bool:
    annotation = declared[run.value].annotation
    return annotation is None or any(
        isinstance(node, cst.Name) and node.value in ("Module", "nn") for node in walk(annotation)
    )
