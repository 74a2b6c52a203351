"""What the callers of a function do with its result, and which of its parameters they give at all, in all files of the project.

They are looked at, not executed. Who moves what a function returns has everything that is in it on the CPU until then; what becomes
a parameter or a buffer of a module moves with the module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.project.callers_elsewhere import moved_by, owner_of, place_given
from torchdev_lint.flow.project.project_calls import argument_given, calls_by_others, calls_of
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, parents, walk

MAX_DEPTH = 3
"""Callers of callers."""

_TAKES = re.compile(
    r"(?i)(?:^|_)(?:(?:to|move)_(?:to_)?|2)(?:cuda|gpus?|devices?)$|^(?:cuda|gpu|device)(?:ize|_put)$"
)
"""Functions, by name, that bring what they are given to an accelerator: `x, y = to_cuda(x, y)`."""

_JOINS = frozenset("stack cat concat concatenate vstack hstack dstack pad_sequence list tuple".split())
"""Functions, by name, that put together what they are given, on the device where it is."""

_REGISTERS = frozenset({"Parameter", "Buffer", "register_buffer", "register_parameter"})


def is_moved_then(frame: Frame, key: Key) -> bool:
    """Whether what is computed here is moved to a device by the function that has this parameter, or by all that call it.

    `patched = place(image, patch).to(device)`: all that `place` works with is on the CPU. Unless they give it something that is not.
    """
    function = owner_of(frame, key)
    owner = None if function is None else function.owner
    if function is None or (owner is not None and owner.is_module):
        return False
    current = frame
    while current.function is not None and current.function.node is not function.node:
        caller = current.caller
        if caller is None or caller.function is None or not isinstance(current.call, cst.Call):
            return False
        if _is_moved_in(caller.function.node, current.call)[0]:
            return True
        current = caller
    if place_given(frame, key) == "elsewhere":
        return False
    return _are_moved(frame, function.node, "" if owner is None else owner.name, 0)


def _are_moved(frame: Frame, node: cst.FunctionDef, owner: str, depth: int) -> bool:
    calls = list(calls_by_others(frame, node, owner))
    return bool(calls) and all(
        _is_moved(frame, frame.analysis.module if scope is None else scope, call, depth)
        for call, scope in calls
    )


def becomes_parameter(frame: Frame, function: Function) -> bool:
    """Whether every caller registers what the function returns in a module."""
    if not isinstance(function.node, cst.FunctionDef):
        return False
    calls = list(calls_by_others(frame, function.node, "" if function.owner is None else function.owner.name))
    return bool(calls) and all(
        _is_registered(frame.analysis.module if scope is None else scope, call) for call, scope in calls
    )


def nobody_gives(frame: Frame, function: Function, parameter: str) -> bool:
    """Whether the function is called in the project, and nobody gives it this parameter, or only what nobody gave them."""
    node = function.node
    return isinstance(node, cst.FunctionDef) and _nobody(
        frame, node, parameter, "" if function.owner is None else function.owner.name, 0
    )


def _nobody(frame: Frame, node: cst.FunctionDef, parameter: str, owner: str, depth: int) -> bool:
    name = owner if node.name.value == "__init__" and owner else node.name.value
    if depth >= MAX_DEPTH or (name != owner and name.startswith("__")):
        return False
    called = False
    for call, scope in calls_of(frame, name, owner):
        if any(one.star for one in call.args):
            return False
        called = True
        given = argument_given(node, call, parameter)
        if given is None or (isinstance(given, cst.Name) and given.value == "None"):
            continue
        if not isinstance(given, cst.Name) or scope is None or scope is node:
            return False
        if given.value not in {one.name.value for one in all_parameters(scope.params)}:
            return False
        if not _nobody(frame, scope, given.value, "", depth + 1):
            return False
    return called


def _around(scope: cst.CSTNode) -> dict[int, cst.CSTNode]:
    """For each node of a scope, by `id`, the node that it is a part of."""
    nodes = {id(node): node for node in walk(scope)}
    return {node: nodes[above] for node, above in parents(scope).items() if above in nodes}


def _is_moved(frame: Frame, scope: cst.CSTNode, call: cst.Call, depth: int) -> bool:
    """Whether what a call gives is moved by the scope that it stands in, or by whoever calls the function that returns it."""
    moved, returned = _is_moved_in(scope, call)
    if moved or not returned or depth >= MAX_DEPTH or not isinstance(scope, cst.FunctionDef):
        return moved
    return _are_moved(frame, scope, "", depth + 1)


def _is_moved_in(scope: cst.CSTNode, call: cst.Call) -> tuple[bool, bool]:
    """Whether what a call gives is moved, at once or under the name it is given or stored in; and whether that is returned."""
    above = _around(scope)
    current: cst.CSTNode = call
    parent = above.get(id(current))
    while parent is not None and _is_part(current, parent):
        if isinstance(parent, cst.Call) and parent.func is current and _moves(parent):
            return True, False
        current, parent = parent, above.get(id(parent))
    names: set[str] = set()
    if isinstance(parent, cst.Assign):
        names = {name for target in parent.targets for name in _names(target.target)}
    met, returned = False, isinstance(parent, cst.Return)
    for node in walk(scope):
        met = met or node is call
        match node:
            case cst.Call(func=cst.Attribute(value=cst.Name(value=name))) if (
                met and name in names and _moves(node)
            ):
                return True, False
            case cst.Call(
                func=cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)), args=given
            ) if (
                met
                and _TAKES.search(name)
                and any(name in names for one in given for name in _names(one.value))
            ):
                return True, False
            case cst.Return(value=cst.Name(value=name)) if name in names:
                returned = True
            case _:
                pass
    return False, returned


def _is_part(node: cst.CSTNode, whole: cst.CSTNode) -> bool:
    """Whether what `whole` gives holds what `node` gives, or is computed from it where it is."""
    match whole:
        case cst.Call(func=func):
            return func is node or (
                isinstance(node, cst.Arg) and (dotted(func) or "").rpartition(".")[2] in _JOINS
            )
        case cst.ListComp(elt=elt) | cst.GeneratorExp(elt=elt):
            return elt is node
        case cst.Arg(value=value):
            return value is node
        case _:
            return isinstance(whole, (cst.Attribute, cst.Element, cst.List, cst.Tuple))


def _names(target: cst.BaseExpression) -> Iterator[str]:
    """The names that hold what is assigned to a target, or to a part of it."""
    match target:
        case cst.Name(value=name) | cst.Subscript(value=cst.Name(value=name)):
            yield name
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                yield from _names(element.value)
        case _:
            pass


def _moves(call: cst.Call) -> bool:
    return (
        isinstance(call.func, cst.Attribute)
        and call.func.attr.value in ("to", "cuda")
        and moved_by(call.func.attr.value, call.args) == "elsewhere"
    )


def _is_registered(scope: cst.CSTNode, call: cst.Call) -> bool:
    above = _around(scope)
    argument = above.get(id(call))
    outer = above.get(id(argument)) if isinstance(argument, cst.Arg) else None
    return isinstance(outer, cst.Call) and (dotted(outer.func) or "").rpartition(".")[2] in _REGISTERS
