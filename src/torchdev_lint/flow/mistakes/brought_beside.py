"""One argument is brought to the CPU before it is read, another is not: `y.cpu().numpy()`, and then `x.numpy()`.

Nobody says where a caller has its tensors, and a function may well be for those on the CPU only. But this one is not: it
brings an argument over, so whoever wrote it reckons with an accelerator, and the other argument comes from the same caller.
"""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, receiver_name, remembered, walk

_OF_DEVICES = re.compile(r"(?i)gpu|cuda|device|accelerat")
"""Names that speak of devices."""


def brought_beside(frame: Frame, parameter: str) -> str:
    """The argument of the function that is brought to the CPU and read, if this one never is; else empty."""
    if frame.function is None or not isinstance(frame.function.node, cst.FunctionDef):
        return ""
    return frame.analysis.learn(_brought, frame.function.node, parameter)


def result_brought_beside(frame: Frame, receiver: cst.BaseExpression) -> str:
    """The function whose result is read, if the function that is executed brings another result of it to the CPU to read it; else empty.

    `self.predict(x).cpu().numpy()`, and `self.predict(y).reshape(3, -1).numpy()`: both are where the same function leaves them.
    """
    called = _called(receiver)
    if not called or frame.function is None or not isinstance(frame.function.node, cst.FunctionDef):
        return ""
    return called if frame.analysis.learn(_brings_results, frame.function.node, called) else ""


def _called(receiver: cst.BaseExpression) -> str:
    """What is called at the beginning of a chain of methods that does not say `.cpu()`: `net` in `net(x).detach()`; empty for others."""
    if _is_brought(receiver):
        return ""
    current = receiver
    while isinstance(current, (cst.Call, cst.Attribute, cst.Subscript)):
        inner = current.func if isinstance(current, cst.Call) else current.value
        if isinstance(current, cst.Attribute) and current.attr.value in ("to", "cuda", "tolist", "item"):
            return ""
        if isinstance(current, cst.Call) and (isinstance(inner, cst.Name) or dotted(inner) is not None):
            name = dotted(inner) or ""
            if not isinstance(inner, cst.Attribute) or name.startswith("self."):
                return name
        current = inner
    return ""


def _brings_results(function: cst.FunctionDef, called: str) -> bool:
    for node in walk(function.body):
        match node:
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value="numpy"))) if _is_brought(
                receiver
            ):
                current: cst.BaseExpression = receiver
                while isinstance(current, (cst.Call, cst.Attribute, cst.Subscript)):
                    if isinstance(current, cst.Call) and dotted(current.func) == called:
                        return True
                    current = current.func if isinstance(current, cst.Call) else current.value
            case _:
                pass
    return False


def is_chosen(frame: Frame, node: cst.BaseExpression, receiver: cst.BaseExpression) -> bool:
    """Whether the other branch of a choice by a device brings what is read here: `y.cpu().numpy() if on_gpu else y.numpy()`.

    Whoever wrote it knows when the tensor is on an accelerator.
    """
    scope = frame.analysis.module if frame.function is None else frame.function.node
    name = receiver_name(receiver)
    return bool(name) and frame.analysis.learn(_is_brought_otherwise, scope, node, name)


def _is_brought_otherwise(scope: cst.CSTNode, node: cst.CSTNode, name: str) -> bool:
    for choice in _choices(scope):
        otherwise = choice.orelse
        if otherwise is None:
            continue
        for here, there in ((choice.body, otherwise), (otherwise, choice.body)):
            if any(part is node for part in walk(here)) and any(_brings(part, name) for part in walk(there)):
                return True
    return False


def _choices(scope: cst.CSTNode) -> list[cst.If | cst.IfExp]:
    """The choices by a device that also say what is done otherwise."""
    if isinstance(scope, cst.FunctionDef):
        return _choices_of_function(scope)
    return _choices_of_module(scope) if isinstance(scope, cst.Module) else _choices_in(scope)


@remembered(cst.FunctionDef)
def _choices_of_function(function: cst.FunctionDef) -> list[cst.If | cst.IfExp]:
    return _choices_in(function)


@remembered(cst.Module)
def _choices_of_module(module: cst.Module) -> list[cst.If | cst.IfExp]:
    return _choices_in(module)


def _choices_in(scope: cst.CSTNode) -> list[cst.If | cst.IfExp]:
    return [
        node
        for node in walk(scope)
        if isinstance(node, (cst.If, cst.IfExp))
        and node.orelse is not None
        and any(isinstance(part, cst.Name) and _OF_DEVICES.search(part.value) for part in walk(node.test))
    ]


def _brings(node: cst.CSTNode, name: str) -> bool:
    match node:
        case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value="numpy"))):
            return _is_brought(receiver) and receiver_name(receiver) == name
        case _:
            return False


def _brought(function: cst.FunctionDef, parameter: str) -> str:
    # what an object keeps, or computes, does not come from the caller
    names = {one.name.value for one in all_parameters(function.params)} - {"self"}
    found = ""
    for node in walk(function.body):
        match node:
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value="numpy"))) if _is_brought(
                receiver
            ):
                name = receiver_name(receiver)
                if name in names and name != parameter:
                    found = found or name
            case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="cpu" | "to")) if (
                name == parameter
            ):
                return ""
            case _:
                pass
    return found


def _is_brought(receiver: cst.BaseExpression) -> bool:
    """Whether a chain of methods brings what it is called on to the CPU: `x.detach().cpu()`."""
    current = receiver
    while isinstance(current, (cst.Call, cst.Attribute, cst.Subscript)):
        if isinstance(current, cst.Attribute) and current.attr.value == "cpu":
            return True
        current = current.func if isinstance(current, cst.Call) else current.value
    return False
