"""Default devices that a constructor keeps in an attribute which nothing reads: `self.device = device`, and no more."""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.project.overridden_defaults import class_of
from torchdev_lint.flow.project.reach import said
from torchdev_lint.flow.syntax.trees import dotted, walk

_ACCELERATOR = re.compile(r"['\"](?:cuda|xpu|mps|hpu|npu)\b")


def is_only_kept(frame: Frame, node: cst.FunctionDef | cst.Lambda, parameter: cst.Param) -> bool:
    """Whether an argument of `__init__` that an accelerator is the default of changes nothing: who has the instance does not ask either."""
    if not isinstance(node, cst.FunctionDef) or node.name.value != "__init__" or parameter.default is None:
        return False
    analysis = frame.analysis
    if frame.source.foreign or _ACCELERATOR.search(analysis.text(parameter.default)) is None:
        return False
    attribute = analysis.learn(_kept_as, node, parameter.name.value)
    owner = class_of(analysis.module, node)
    return bool(attribute and owner) and analysis.learn(_is_read_by_nobody, analysis, owner, attribute)


def _kept_as(node: cst.FunctionDef, name: str) -> str:
    """The attribute of `self` that a function gives an argument to, if it does nothing else with it; else empty."""
    kept = [
        part.targets[0].target
        for part in walk(node.body)
        if isinstance(part, cst.Assign) and len(part.targets) == 1 and dotted(part.value) == name
    ]
    uses = sum(isinstance(part, cst.Name) and part.value == name for part in walk(node.body))
    match kept:
        case [cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=attribute))]:
            return attribute if uses == 1 + (attribute == name) else ""
        case _:
            return ""


def _is_read_by_nobody(analysis: Analysis, owner: str, attribute: str) -> bool:
    others = analysis.imports.mentioning(owner)
    notebooks = analysis.imports.notebooks(owner)
    if others is None or notebooks is None or not analysis.imports.is_searched():
        return False
    word = re.escape(attribute)
    named = re.compile(rf"(?<!\btorch)\.{word}\b|getattr\(|__dict__|vars\(")
    of_instances = re.compile(rf"(?<![\w.])(?!(?:torch|self|args|opt|cfg|config)\b)\w+\.{word}\b")
    return len(named.findall(said(analysis.written))) == 1 and not any(
        of_instances.search(said(text)) for _, text in (*others, *notebooks)
    )
