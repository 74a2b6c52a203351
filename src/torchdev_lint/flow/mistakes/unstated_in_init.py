"""Factories in a module's `__init__` that meet the buffers that a caller gave it: `self.marginal(torch.tensor([t_max]))`.

What a module makes when it is built is moved with it, so that nothing is said there. A buffer that is registered of an argument is
where its caller put it, long before `Module.to` is called; a method of the module's own that computes with such a buffer, and is handed
what `__init__` has just made on the CPU, mixes the two.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.events import Made
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.placement_events import UnstatedDevice
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.read_alone.evidence import TENSOR_ANNOTATION
from torchdev_lint.flow.read_alone.written_looks import Factory
from torchdev_lint.flow.read_alone.written_tensors import Reading
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, takes_device, walk


def check(frame: Frame, function: Function) -> None:
    """A function was read on its own: publish the factories of an `__init__` that methods get which compute with what it was given."""
    owner, node, analysis = function.owner, function.node, frame.analysis
    if (
        function.name != "__init__"
        or owner is None
        or not isinstance(node, cst.FunctionDef)
        or not analysis.options.audits
        or analysis.muted
        or analysis.sets_default_device
        or frame.source.foreign
    ):
        return
    buffers = dict(_given_buffers(frame, node))
    if not buffers:
        return
    for factory in Reading(frame, function, node).factories.values():
        if factory.taken or factory.moved or factory.scalar:
            continue
        for call, buffer in _handed(function, factory, buffers):
            there = f"self.{buffer}.device"
            made = Made(factory.node, there, takes_device(factory.node))
            event = UnstatedDevice(made, f"`{there}`", call, "handed")
            analysis.publish(("unstated", id(factory.node)), event)
            break


def _given_buffers(frame: Frame, node: cst.FunctionDef) -> Iterator[tuple[str, str]]:
    """The buffers of which an argument is registered that may be a tensor: their names, and the argument's."""
    tensors = {
        one.name.value
        for one in all_parameters(node.params)
        if one.annotation is not None
        and TENSOR_ANNOTATION.search(frame.analysis.text(one.annotation.annotation)) is not None
    }
    for part in walk(node.body) if tensors else ():
        match part:
            case cst.Call(
                func=cst.Attribute(
                    value=cst.Name(value="self"),
                    attr=cst.Name(value="register_buffer" | "register_parameter"),
                ),
                args=[cst.Arg(value=cst.SimpleString() as name), cst.Arg(value=value), *_],
            ) if (given := _begins_with(value)) in tensors:
                yield str(name.evaluated_value), given
            case _:
                pass


def _begins_with(node: cst.BaseExpression) -> str:
    """The name that a chain of methods begins with: `mean` of `mean.clone().detach()`, which stays where `mean` is."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        if node.func.attr.value in ("to", "cpu", "cuda"):
            return ""
        node = node.func.value
    return node.value if isinstance(node, cst.Name) else ""


def _handed(function: Function, factory: Factory, buffers: dict[str, str]) -> Iterator[tuple[cst.Call, str]]:
    """The methods of its own that are handed what a factory made, and the buffer that each computes with."""
    assert function.owner is not None
    for call, _ in factory.given:
        called = dotted(call.func) or ""
        if not called.startswith("self.") or not any(one.value is factory.node for one in call.args):
            continue
        method = function.owner.find(called[len("self.") :])
        if method is None:
            continue
        for part in walk(method.body):
            if not isinstance(part, cst.BinaryOperation):
                continue
            used = {dotted(one) for one in walk(part) if isinstance(one, cst.Attribute)}
            buffer = next((one for one in buffers if f"self.{one}" in used), None)
            if buffer is not None:
                yield call, buffer
                break
