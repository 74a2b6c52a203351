"""Arguments that nobody gives: `def augment(img, p, matrix=None)`, where every call of the program leaves `matrix` at None.

What is None is no tensor, so that it meets none on another device. Callers hand on what they have been given themselves
(`apply(img, p, matrix)`, `apply(img, p, matrices[0])`): they are followed upwards, as far as all of them are plain functions of the
checked file, and whoever calls those is in sight, in the other files, too.
"""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.project.callers_elsewhere import owner_of
from torchdev_lint.flow.project.project_calls import argument_given, calls_of, module_name
from torchdev_lint.flow.project.reach import said, without_imports
from torchdev_lint.flow.syntax.trees import all_parameters, walk

MAX_DEPTH = 4
"""Callers of callers."""

_STRINGS = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")


def is_never_given(frame: Frame, key: Key) -> bool:
    """Whether every call of a program leaves the parameter with this key at None."""
    function = owner_of(frame, key)
    if function is None or function.owner is not None or not isinstance(function.node, cst.FunctionDef):
        return False
    known: dict[Key, bool] = frame.analysis.notes.setdefault("never given", {})
    if key not in known:
        known[key] = frame.analysis.imports.in_program() and _is_left_out(frame, function.node, str(key[2]))
    return known[key]


def _is_left_out(
    frame: Frame, node: cst.FunctionDef, parameter: str, item: int | None = None, depth: int = 0
) -> bool:
    """Whether every call leaves a parameter at a default that is None, or has None at this place; somebody has to call it."""
    default = next((one.default for one in all_parameters(node.params) if one.name.value == parameter), None)
    if depth >= MAX_DEPTH or not _is_plain(frame.analysis, node):
        return False
    calls = [(call, scope) for call, scope in calls_of(frame, node.name.value, "") if scope is not node]
    return bool(calls) and all(
        not any(one.star for one in call.args)
        and _is_none(frame, argument_given(node, call, parameter) or default, item, call, scope, depth)
        for call, scope in calls
    )


def _is_none(
    frame: Frame,
    given: cst.BaseExpression | None,
    item: int | None,
    call: cst.Call,
    scope: cst.FunctionDef | None,
    depth: int,
) -> bool:
    """Whether what a call gives is None, or what its function was given and nobody gives that."""
    match given:
        case cst.Name(value="None"):
            return item is None
        case cst.Tuple(elements=elements) if item is not None and item < len(elements):
            return _is_none(frame, elements[item].value, None, call, scope, depth)
        case cst.Name(value=name) if scope is not None and not _is_bound(scope, name, call):
            return _has_parameter(scope, name) and _is_left_out(frame, scope, name, item, depth + 1)
        case cst.Subscript(
            value=cst.Name(value=name),
            slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer() as index))],
        ) if scope is not None and item is None and not _is_bound(scope, name, call):
            place = index.evaluated_value
            return _has_parameter(scope, name) and _is_left_out(frame, scope, name, place, depth + 1)
        case _:
            return False


def _has_parameter(function: cst.FunctionDef, name: str) -> bool:
    return any(one.name.value == name for one in all_parameters(function.params))


def _is_bound(function: cst.FunctionDef, name: str, call: cst.Call) -> bool:
    """Whether a function gives a name to something else, but for what comes of this very call, which stands in no loop."""
    for node in walk(function.body):
        match node:
            case cst.For() | cst.While() if any(part is call for part in walk(node)):
                return True
            case cst.Assign(targets=targets, value=value) if not any(part is call for part in walk(value)):
                if any(_names(one.target, name) for one in targets):
                    return True
            case (
                cst.NamedExpr(target=target)
                | cst.AugAssign(target=target)
                | cst.AnnAssign(target=target)
                | cst.For(target=target)
                | cst.AsName(name=target)
            ):
                if _names(target, name):
                    return True
            case _:
                pass
    return False


def _names(target: cst.BaseExpression, name: str) -> bool:
    return any(isinstance(part, cst.Name) and part.value == name for part in walk(target))


def _is_plain(analysis: Analysis, node: cst.FunctionDef) -> bool:
    """Whether a function stands at the top of the checked file, and nobody does anything with its name but call it."""
    return (
        any(line is node for line in analysis.module.body)
        and not node.decorators
        and is_only_called(analysis, node.name.value)
    )


def is_only_called(analysis: Analysis, name: str) -> bool:
    """Whether no file hands the function on, by its name or in a string; an attribute of something else (`args.augment`) is not it."""
    others = analysis.imports.mentioning(name)
    if others is None or analysis.imports.in_notebooks(name):
        return False
    stem = module_name(analysis)
    named = re.compile(rf"(?<![\w.])(?<!def )(?<!--){re.escape(name)}\b(?!\s*\(|\s*=(?!=))")
    held = re.compile(rf"\b{re.escape(stem)}\.{re.escape(name)}\b(?!\s*\()|\b{re.escape(stem)}\s+as\b")
    quoted = re.compile(rf"[\"']{re.escape(name)}[\"']")
    for text in (analysis.written, *(text for _, text in others)):
        words = said(text)
        code = _STRINGS.sub("", without_imports(words))
        if named.search(code) or held.search(words) or quoted.search(words):
            return False
    return True
