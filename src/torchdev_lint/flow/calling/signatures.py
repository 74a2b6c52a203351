"""Calls that Python refuses: a function of the program is given what its signature does not take, and raises a `TypeError` at once.

What stands behind such a call is never run, on whatever device: a script that nobody has kept up with a class whose constructor has
changed since. Source: https://docs.python.org/3/reference/expressions.html#calls.
"""

from __future__ import annotations

import re
from collections import Counter
from inspect import Parameter, Signature

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite, Implied, Unwritten
from torchdev_lint.flow.domain.values import Function, Object
from torchdev_lint.flow.syntax.trees import last_name, remembered, walk

_EXPECTED = re.compile(r"\braises\(|assertRaises|\bsuppress\(")
"""A program that reckons with errors, other than by `except`."""
_MOVES_ABOUT = re.compile(r"\bsys\.path\b|\bchdir\(|^[%!]?cd\b|git clone", re.MULTILINE)
"""A program whose imports may mean other files than they seem to."""


def refuses(frame: Frame, function: Function, site: CallSite) -> bool:
    """Whether the call certainly raises: all that it gives is written there, and all that the function takes is known."""
    node, call = function.node, site.node
    if (
        not isinstance(node, cst.FunctionDef)
        or not isinstance(call, cst.Call)
        or len(call.args) != len(site.arguments)
        or any(one.star or isinstance(one.node, (Implied, Unwritten)) for one in site.arguments)
        or function.decorators
    ):
        return False
    bound = function.receiver is not None
    if bound != (function.owner is not None):
        return False
    given = sum(one.keyword is None for one in site.arguments) + bound
    named = {one.keyword for one in site.arguments if one.keyword is not None}
    if _takes(node, given, frozenset(named)):
        return False
    return (
        _is_called_itself(function, call)
        and _is_the_only_one(function)
        and _is_where_it_seems(frame, function)
    )


def _takes(node: cst.FunctionDef, given: int, named: frozenset[str]) -> bool:
    try:
        _signature(node).bind(*[None] * given, **dict.fromkeys(named))
    except TypeError:
        return False
    return True


@remembered(cst.FunctionDef)
def _signature(node: cst.FunctionDef) -> Signature:
    """A function's signature, with what `self` stands for among the positional parameters."""
    parameters = node.params
    kinds = [
        (parameters.posonly_params, Parameter.POSITIONAL_ONLY),
        (parameters.params, Parameter.POSITIONAL_OR_KEYWORD),
        (
            [parameters.star_arg] if isinstance(parameters.star_arg, cst.Param) else [],
            Parameter.VAR_POSITIONAL,
        ),
        (parameters.kwonly_params, Parameter.KEYWORD_ONLY),
        ([] if parameters.star_kwarg is None else [parameters.star_kwarg], Parameter.VAR_KEYWORD),
    ]
    return Signature(
        [
            Parameter(one.name.value, kind, default=Parameter.empty if one.default is None else None)
            for group, kind in kinds
            for one in group
        ]
    )


def _is_called_itself(function: Function, call: cst.Call) -> bool:
    """Whether it is this very function that runs: what a base class calls of `self` may be another class's."""
    receiver = function.receiver
    if receiver is not None and not (isinstance(receiver, Object) and receiver.key[0] == "made"):
        return False
    model = function.owner
    built = model is not None and function.name == "__init__"
    name = model.name if built and model is not None else function.name
    if not isinstance(call.func, (cst.Name, cst.Attribute)) or last_name(call.func) != name:
        return False  # a loader that asks for an item, `super().__init__(...)`, whatever a name stands for
    if model is None:
        return True
    return not model.decorators and not any(
        one.metaclass is not None or one.decorators or "__new__" in one.methods or one.replaced or one.wrapped
        for one in model.lineage()
    )


def _is_the_only_one(function: Function) -> bool:
    """Whether nothing else of this name stands where it does, under another condition, or takes its place."""
    model = function.owner
    frame = function.frame if model is None else model.frame
    if frame.function is not None:
        return False
    if _bindings(frame.source.module)[function.name if model is None else model.name] != 1:
        return False
    return model is None or all(_defined(one.node, function.name) <= 1 for one in model.lineage())


@remembered(cst.Module)
def _bindings(module: cst.Module) -> Counter[str]:
    """How often a file defines, imports or assigns each name outside of functions and classes."""
    found: Counter[str] = Counter()
    for node in walk(module, below=(cst.FunctionDef, cst.ClassDef)):
        match node:
            case cst.FunctionDef(name=cst.Name(value=name)) | cst.ClassDef(name=cst.Name(value=name)):
                found[name] += 1
            case cst.AssignTarget(target=target) | cst.AnnAssign(target=target):
                found.update(part.value for part in walk(target) if isinstance(part, cst.Name))
            case cst.ImportAlias():
                found[node.evaluated_alias or node.evaluated_name] += 1
            case _:
                pass
    return found


def _defined(node: cst.ClassDef, name: str) -> int:
    return sum(isinstance(part, cst.FunctionDef) and part.name.value == name for part in walk(node.body))


def _is_where_it_seems(frame: Frame, function: Function) -> bool:
    """Whether the program says nothing that makes its imports mean other files, or that it reckons with an error."""
    analysis = frame.analysis
    if analysis.learn(_reckons_with_errors, analysis):
        return False
    return not function.frame.source.foreign or not analysis.learn(_moves_about, analysis)


def _reckons_with_errors(analysis: Analysis) -> bool:
    return analysis.says(_EXPECTED)


def _moves_about(analysis: Analysis) -> bool:
    return analysis.says(_MOVES_ABOUT)
