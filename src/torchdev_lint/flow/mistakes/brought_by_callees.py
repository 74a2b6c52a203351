"""Tensors that everything brings itself which is given them afterwards: that a copy is thrown away before is missed by nobody.

scales.to(device)
scale_layers(layers, scales)        # which begins with `scales = scales.to(layers[0].weight.device)`
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import Import
from torchdev_lint.flow.project.project_calls import argument_given
from torchdev_lint.flow.project.project_forwards import uses
from torchdev_lint.flow.syntax.trees import all_parameters, walk


def is_brought(frame: Frame, call: cst.BaseExpression, receiver: cst.BaseExpression) -> bool:
    """Whether a name is only handed to functions that move it first, or keep it as a parameter, and moved where it is read."""
    function = frame.function
    if function is None or not isinstance(receiver, cst.Name):
        return False
    handed = [
        (node, argument)
        for node in walk(function.node.body)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name)
        for argument in node.args
        if isinstance(argument.value, cst.Name) and argument.value.value == receiver.value
    ]
    if not handed or not all(_is_taken_along(frame, made, argument) for made, argument in handed):
        return False
    apart = {id(argument) for _, argument in handed}
    apart |= {id(part) for part in walk(call)}
    return not any(
        isinstance(node, cst.Call)
        and id(node) not in apart
        and any(
            id(argument) not in apart and "read" in uses(argument.value, receiver.value)
            for argument in node.args
        )
        for node in walk(function.node.body)
    ) and not any(
        isinstance(node, (cst.BinaryOperation, cst.AugAssign, cst.Subscript))
        and "read" in uses(node, receiver.value)
        for node in walk(function.node.body)
    )


def _is_taken_along(frame: Frame, call: cst.Call, argument: cst.Arg) -> bool:
    """Whether what is called is a function that moves the argument before it reads it, or a class that makes a parameter of it."""
    name = call.func.value if isinstance(call.func, cst.Name) else ""
    node = _definition(frame, name)
    if isinstance(node, cst.ClassDef):
        built = (
            one for one in node.body.body if isinstance(one, cst.FunctionDef) and one.name.value == "__init__"
        )
        function = next(built, None)
    else:
        function = node
    parameter = None if function is None else _parameter(function, call, argument)
    if function is None or parameter is None:
        return False
    if isinstance(node, cst.ClassDef):
        return _is_registered(function, parameter)
    return next(uses(function.body, parameter), "moved") == "moved"


def _definition(frame: Frame, name: str) -> cst.FunctionDef | cst.ClassDef | None:
    """The function or class of this name at the top of the file, or of the one of the project that it is imported from."""
    held = frame.module_frame.env.names.get(name)
    module: cst.Module | None = frame.analysis.module
    if isinstance(held, Import):
        module, name = frame.analysis.imports.tree(held), held.name
    return next(
        (
            line
            for line in (() if module is None else module.body)
            if isinstance(line, (cst.FunctionDef, cst.ClassDef)) and line.name.value == name
        ),
        None,
    )


def _parameter(function: cst.FunctionDef, call: cst.Call, argument: cst.Arg) -> str | None:
    names = (one.name.value for one in all_parameters(function.params))
    return next((name for name in names if argument_given(function, call, name) is argument.value), None)


def _is_registered(built: cst.FunctionDef, parameter: str) -> bool:
    """Whether a constructor does nothing with an argument but to make a parameter of the module of it."""
    within = {
        id(part)
        for node in walk(built.body)
        if isinstance(node, cst.Call)
        and isinstance(node.func, (cst.Name, cst.Attribute))
        and (node.func.attr if isinstance(node.func, cst.Attribute) else node.func).value
        in ("Parameter", "register_buffer")
        for part in walk(node)
    }
    named = [node for node in walk(built.body) if isinstance(node, cst.Name) and node.value == parameter]
    return bool(within) and all(id(node) in within for node in named if not _is_attribute(built, node))


def _is_attribute(built: cst.FunctionDef, name: cst.Name) -> bool:
    return any(isinstance(node, cst.Attribute) and node.attr is name for node in walk(built.body))
