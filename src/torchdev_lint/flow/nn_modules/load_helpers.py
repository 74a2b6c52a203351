"""Functions of the project that load a checkpoint for others: they hand a `map_location`, None by default, to what loads."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.nn_modules import checkpoints
from torchdev_lint.flow.syntax.trees import dotted, remembered, walk

_NAME = "map_location"


def note(frame: Frame, function: Function, site: CallSite) -> None:
    """A function is called: without a `map_location`, if it has one?"""
    node = function.node
    if not isinstance(node, cst.FunctionDef) or not isinstance(site.node, cst.Call) or frame.source.foreign:
        return
    position = _position(node)
    if position is None or (dotted(site.node.func) or "").rpartition(".")[2] != function.name:
        return
    checkpoints.note_unmapped(frame, site, position - (function.receiver is not None))


@remembered(cst.FunctionDef)
def _position(node: cst.FunctionDef) -> int | None:
    """The position of the parameter `map_location` that is None by default and reaches what loads as it is; None if there is none."""
    declared = [*node.params.params, *node.params.kwonly_params]
    names = [one.name.value for one in declared]
    if _NAME not in names:
        return None
    default = declared[names.index(_NAME)].default
    if not (isinstance(default, cst.Name) and default.value == "None"):
        return None
    handed = False
    for part in walk(node.body):
        match part:
            case cst.Arg(keyword=cst.Name(value="map_location"), value=cst.Name(value="map_location")):
                handed = True
            case cst.Assign(targets=targets) if any(dotted(one.target) == _NAME for one in targets):
                return None
            case _:
                pass
    return names.index(_NAME) if handed else None
