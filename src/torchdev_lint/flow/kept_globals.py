"""Globals that a function fills when it is asked for the first time: `if _model is None: _model = load().to(device)`.

Who reads another function on its own does not know who has asked before, nor for which device.
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.evidence import tested_for_none
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.trees import remembered, walk
from torchdev_lint.flow.values import UNKNOWN


def forget(module: Frame) -> None:
    """What such globals hold after the top level has run is not what they hold whenever a function is called."""
    for name in _filled(module.analysis.module):
        if name in module.env.names:
            module.env.names[name] = UNKNOWN


@remembered(cst.Module)
def _filled(module: cst.Module) -> frozenset[str]:
    return frozenset(
        name for line in module.body if isinstance(line, cst.FunctionDef) for name in _filled_by(line)
    )


def _filled_by(function: cst.FunctionDef) -> set[str]:
    declared = {
        item.name.value for node in walk(function.body) if isinstance(node, cst.Global) for item in node.names
    }
    return {
        name
        for node in (walk(function.body) if declared else ())
        if isinstance(node, cst.If)
        for name in tested_for_none(node.test) & declared
        if any(_assigns(part, name) for part in walk(node.body))
    }


def _assigns(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Assign) and any(
        isinstance(target.target, cst.Name) and target.target.value == name for target in node.targets
    )
