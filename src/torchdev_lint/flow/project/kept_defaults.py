"""Devices that a function or a class is given, that are the CPU by default, and for which nobody in the project gives another one.

    class Mesh:
        def __init__(self, points, store_device="cpu"):
            self.points = torch.as_tensor(points, device=store_device)

Somebody in the project has to call it, so that it shows what for; and the name has to be its own: `device` is given everywhere.
"""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.lattice import Leaf, Symbol
from torchdev_lint.flow.project.project_calls import argument_given, calls_of
from torchdev_lint.flow.project.reach import said
from torchdev_lint.flow.syntax.trees import all_parameters, names_cpu


def stays_default(frame: Frame, leaf: Leaf) -> bool:
    """Whether a device is that of a parameter which everybody leaves at its default, the CPU."""
    function = frame.function
    if (
        not isinstance(leaf, Symbol)
        or leaf.key[:1] != ("parameter",)
        or function is None
        or frame.source.foreign
    ):
        return False
    owner = function.owner
    built = None if owner is None else owner.methods.get("__init__")
    node = next((one for one in (function.node, built) if id(one) == leaf.key[1]), None)
    parameter = str(leaf.key[2])
    if not isinstance(node, cst.FunctionDef) or not any(
        one.name.value == parameter and one.default is not None and names_cpu(one.default)
        for one in all_parameters(node.params)
    ):
        return False
    if not frame.analysis.learn(_is_never_named, frame.analysis, parameter):
        return False
    name = owner.name if owner is not None and node is built else node.name.value
    calls = calls_of(frame, name, "" if owner is None else owner.name)
    given = [argument_given(node, call, parameter) for call, scope in calls if scope is not node]
    return bool(given) and all(one is None or names_cpu(one) for one in given)


def _is_never_named(analysis: Analysis, parameter: str) -> bool:
    """Whether nothing in the project gives an argument, or an entry of a dict, of this name but the CPU."""
    gives = re.compile(
        rf"""(?<![.\w]){parameter}\s*=\s*(?!=)(?!(?:torch\.device\()?['"]cpu['"])|['"]{parameter}['"]\s*[:\]]"""
    )
    others = analysis.imports.mentioning(parameter)
    if others is None or analysis.imports.in_notebooks(parameter):
        return False
    return not any(gives.search(said(text)) for text in (analysis.written, *(text for _, text in others)))
