"""Defaults that nobody takes: every call in sight gives the argument, so that what stands there for it is never used."""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.project.project_calls import argument_given, calls_of
from torchdev_lint.flow.project.untaken import is_only_called
from torchdev_lint.flow.syntax.trees import SCRIPT, is_main_guard, walk

_ACCELERATOR = re.compile(r"\b(?:cuda|xpu|npu|mlu|musa|hpu|mps)\b(?!\.)|\btorch\.device\(\s*\d")


def is_overridden(frame: Frame, node: cst.FunctionDef | cst.Lambda, parameter: cst.Param) -> bool:
    """Whether a default that names an accelerator is there for nobody.

    Only where all that may call the function is in sight: in a program, in a notebook, or in a file that is run and in no package. Of a
    library's functions somebody in the project has to call it, so that it shows what for. A function that is handed on, or a class that
    others inherit from, may be called by anybody; one that is found by its name in a string is called as that place does. What its own
    file does when it is run alone tries it out, if others call it.
    """
    if (
        parameter.default is None
        or not isinstance(node, cst.FunctionDef)
        or frame.source.foreign
        or not _ACCELERATOR.search(frame.analysis.text(parameter.default))
    ):
        return False
    return _is_overridden(frame, node, parameter.name.value)


def _is_overridden(frame: Frame, node: cst.FunctionDef, parameter: str) -> bool:
    analysis = frame.analysis
    alone = (not analysis.imports.stands_in_package() and analysis.says(SCRIPT)) or analysis.options.in_cells
    owner = class_of(analysis.module, node)
    name = owner if node.name.value == "__init__" else node.name.value
    if not name or name.startswith("__") or not is_only_called(analysis, name, spelt=False, plain=not owner):
        return False
    calls = [call for call, scope in calls_of(frame, name, owner) if scope is not node]
    tried = frame.analysis.learn(_calls_of_self_test, analysis.module)
    calls = [call for call in calls if id(call) not in tried] or calls
    if not calls and not (alone or analysis.imports.in_program()):
        return False
    return not any(argument_given(node, call, parameter) is None for call in calls)


def _calls_of_self_test(module: cst.Module) -> frozenset[int]:
    """The calls that a file makes only where it is the script."""
    guarded = (line for line in module.body if isinstance(line, cst.If) and is_main_guard(line.test))
    return frozenset(id(node) for line in guarded for node in walk(line.body) if isinstance(node, cst.Call))


def class_of(module: cst.Module, method: cst.FunctionDef) -> str:
    for line in module.body:
        if isinstance(line, cst.ClassDef) and any(one is method for one in line.body.body):
            return line.name.value
    return ""
