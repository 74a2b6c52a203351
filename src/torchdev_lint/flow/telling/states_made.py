"""The states that a method of a module makes for it, several at once: `init_hidden` returns the two of an LSTM.

Whoever hands them over holds a tuple, which has no `.to`, and may hold None instead: they are cured where they are made.
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.lattice import Leaf
from torchdev_lint.flow.domain.values import Class
from torchdev_lint.flow.read_alone.bindings import made_in_class
from torchdev_lint.flow.syntax.trees import (
    SCOPES,
    bound_to,
    holds,
    last_name,
    says_device,
    takes_device,
    walk,
)


def made_together(frame: Frame, given: Leaf) -> tuple[tuple[cst.Call, ...], str]:
    """The factories that made what a method of a module of this file returns, and where that is; none for anything else."""
    for line in frame.source.module.body:
        if isinstance(line, cst.ClassDef) and (made := made_in_class(line, given)) is not None:
            methods = [one for one in line.body.body if isinstance(one, cst.FunctionDef) and holds(one, made)]
            return _returned(line, methods[0]) if methods and _is_module(frame, line) else ((), "")
    return (), ""


def _is_module(frame: Frame, node: cst.ClassDef) -> bool:
    """Whether it is a module, which has `parameters`; an agent that keeps one makes states for it, too."""
    value = frame.module_frame.lookup(node.name.value)
    return isinstance(value, Class) and value.model.is_module


def _returned(owner: cst.ClassDef, method: cst.FunctionDef) -> tuple[tuple[cst.Call, ...], str]:
    ways = [one.value for one in walk(method.body, below=SCOPES) if isinstance(one, cst.Return)]
    if len(ways) != 1 or method.decorators or not method.params.params or not _registers(owner):
        return (), ""
    match ways[0]:
        case cst.Tuple(elements=elements):
            made = [_made(method, element.value) for element in elements]
        case _:
            return (), ""
    calls = tuple(call for call in made if call is not None)
    receiver = method.params.params[0].name.value
    return (calls, f"next({receiver}.parameters()).device") if len(calls) == len(made) else ((), "")


def _made(method: cst.FunctionDef, value: cst.BaseExpression) -> cst.Call | None:
    """The factory that gives a part of what is returned, here or where its only name was bound."""
    if isinstance(value, cst.Name):
        bound = list(bound_to(method.body, value.value))
        value = bound[0] if len(bound) == 1 else value
    match value:
        case cst.Call(args=[cst.Arg(value=inner), *_]) if last_name(value.func) == "Variable":
            value = inner  # gives back the tensor that it is given (torch/csrc/autograd/python_legacy_variable.cpp)
        case _:
            pass
    if isinstance(value, cst.Call) and takes_device(value):
        return None if says_device(value.args) else value
    return None


def _registers(owner: cst.ClassDef) -> bool:
    """Whether a class makes layers: then it has parameters."""
    return any(
        isinstance(part, cst.Call)
        and isinstance(part.func, cst.Attribute)
        and isinstance(part.func.value, cst.Name)
        and part.func.value.value == "nn"
        for part in walk(owner)
    )
