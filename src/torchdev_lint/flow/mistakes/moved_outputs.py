"""A model's output taken to the model's own device: it is there already, and what was meant was the input."""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.events import OutputMoved
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.lattice import Symbol
from torchdev_lint.flow.domain.values import Object, Tensor
from torchdev_lint.flow.syntax.trees import dotted, walk
from torchdev_lint.flow.torch_calls import device_values


def check(frame: Frame, site: CallSite) -> None:
    """`model(x).to(d)`, where `d` was read off `model`'s parameters and `x` was not moved."""
    called = site.receiver
    argument = site.keyword("device") or (site.positional()[0] if site.positional() else None)
    if not isinstance(called, cst.Call) or argument is None or len(called.args) != 1 or called.args[0].star:
        return
    target = device_values.as_device(argument.value)
    if not isinstance(target, Symbol) or not target.assumed or isinstance(argument.value, Tensor):
        return
    with frame.quietly():
        callee = frame.evaluate(called.func)
        given = frame.evaluate(called.args[0].value)
    if not isinstance(callee, Object) or frame.state(callee).moves_inputs:
        return
    if (
        frame.state(callee).device != target
        or _is_placed(frame, given)
        or _is_no_tensor(called.args[0].value)
        or (isinstance(given, Tensor) and given.device == target)
        or _is_own(frame, target, argument.node.value)
    ):
        return
    frame.analysis.publish(
        ("output-moved", id(site.node)),
        OutputMoved(
            node=site.node,
            given=called.args[0].value,
            given_text=frame.analysis.text(called.args[0].value),
            call=called,
            model=frame.analysis.text(called.func),
            target=frame.analysis.text(argument.node.value),
        ),
    )


def _is_no_tensor(node: cst.BaseExpression) -> bool:
    """Whether it is a list of texts, say, as a tokenizer is given."""
    return isinstance(node, (cst.List, cst.Tuple, cst.Dict, cst.BaseString))


def _is_own(frame: Frame, target: Symbol, written: cst.BaseExpression) -> bool:
    """Whether a module takes what a part of it made to its own device: to be sure, not because it was read off the part.

    `self.device`, or `device = next(self.parameters()).device` before it.
    """
    function = frame.function
    if function is None or not isinstance(function.receiver, Object):
        return False
    if target.key != ("device", function.receiver.key):
        return False
    if isinstance(written, cst.Attribute):
        return isinstance(written.value, cst.Name)
    return isinstance(written, cst.Name) and any(
        _OWN.fullmatch(frame.analysis.text(node.value)) is not None
        for node in walk(function.node.body)
        if isinstance(node, cst.Assign) and any(dotted(one.target) == written.value for one in node.targets)
    )


_OWN = re.compile(r"self\.device|next\((?:iter\()?self\.parameters\(\)\)?\)\.device")
"""Where a module is, as one of its own methods asks."""


def _is_placed(frame: Frame, given: object) -> bool:
    """Whether the input was moved, or made, where somebody wanted it."""
    if isinstance(given, Object):
        return frame.state(given).moved
    if isinstance(given, Tensor):
        origin = given.device.origin if isinstance(given.device, Symbol) else None
        return origin is not None and origin.root().what in ("moved", "factory")
    return False
