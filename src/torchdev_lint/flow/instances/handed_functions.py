"""What can happen to the models of a program where a function is handed to code that cannot be read, and may be called there.

`signal.signal(SIGINT, stop)`, `LambdaLR(optimizer, lambda step: rate(step))`, `study.optimize(objective)`: what cannot be read does
not have the model, so that all that may become of it is what the function says, and the functions and methods that it calls.
"""

from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from torchdev_lint.flow.domain.values import Api, Class, Function, Namespace, Object, Partial, Value
from torchdev_lint.flow.instances.confinement import only_computes
from torchdev_lint.flow.syntax.trees import all_parameters, names_bound, receiver_name, remembered, walk
from torchdev_lint.torch_api import callables
from torchdev_lint.torch_api.modules import IN_PLACE_MOVES
from torchdev_lint.torch_api.tensor_surface import TENSOR_NAMES

MAX_DEPTH = 4
"""Calls on the way down; what is called further down may do anything."""
_MOVES_PARTS = frozenset("apply _apply".split())
_EXECUTES = frozenset("builtins.eval builtins.exec builtins.globals builtins.locals builtins.vars".split())
_ALSO_OF_MODULES = IN_PLACE_MOVES | frozenset("bfloat16 double float half type requires_grad_".split())
"""Methods that tensors and modules have, and that return a module of one."""


def may_move(value: Function | Partial) -> bool:
    """Whether calling a function of the project may move a module that it did not make itself."""
    return _may_move(value, ())


def _may_move(value: Value, within: tuple[cst.CSTNode, ...]) -> bool:
    if isinstance(value, Partial):
        return _may_move(value.function, within)
    if not isinstance(value, Function) or len(within) > MAX_DEPTH:
        return True
    if any(value.node is one for one in within):
        return False
    if only_computes(value.node):
        return False
    deeper = (*within, value.node)
    for node in walk(value.node.body):
        match node:
            case cst.AssignTarget(target=cst.Attribute(attr=cst.Name(value="data"))):
                return True
            case cst.Call(func=cst.Name(value=name)):
                called = value.frame.lookup(name)
                if _calling_may_move(called, value, node, deeper):
                    return True
            case cst.Call(func=cst.Attribute(value=whole, attr=cst.Name(value=name))):
                if name in IN_PLACE_MOVES | _MOVES_PARTS:
                    if not _is_own(whole, value):
                        return True
                elif _method_may_move(whole, name, value, node, deeper):
                    return True
            case cst.Call():
                return True
            case _:
                pass
    return False


def _calling_may_move(
    called: Value,
    function: Function,
    call: cst.Call,
    within: tuple[cst.CSTNode, ...],
) -> bool:
    match called:
        case Api(path=path):
            safe = path.startswith(("builtins.", "torch.")) and path not in _EXECUTES
            return not safe and _is_given_something(function, call)
        case Function() | Partial():
            return _may_move(called, within)
        case Class(model=model):
            begun = model.find("__init__")
            return begun is not None and _may_move(model.function(begun, "__init__", None), within)
        case _:
            return True


def _method_may_move(
    whole: cst.BaseExpression,
    name: str,
    function: Function,
    call: cst.Call,
    within: tuple[cst.CSTNode, ...],
) -> bool:
    root = receiver_name(whole)
    held = function.frame.lookup(root) if root and root not in _names_of(function)[0] else None
    if isinstance(held, Api):
        return not held.path.startswith("torch") and _is_given_something(function, call)
    if isinstance(held, Namespace):
        return True
    called = _methods(function.frame.source.module).get(name, ())
    return any(_may_move(Function(one, name, function.frame), within) for one in called) or (
        not called and name not in TENSOR_NAMES | callables.LOGS and _is_given_something(function, call)
    )


def _is_given_something(function: Function, call: cst.Call) -> bool:
    """Whether an argument may be or hold a module from outside of the function."""
    local, _ = _names_of(function)
    for argument in call.args:
        root = receiver_name(argument.value)
        if root and root not in local and isinstance(function.frame.lookup(root), Object):
            return True
    return False


def _is_own(whole: cst.BaseExpression, function: Function) -> bool:
    """Whether what is moved is what the function has just made, or no module at all: `Net().to(device)`, `x.detach().cpu()`."""
    made = (
        function.frame.lookup(receiver_name(whole))
        if isinstance(whole, cst.Call) and receiver_name(whole)
        else None
    )
    if isinstance(made, Api) and made.path.startswith("torch"):
        return True
    while isinstance(whole, cst.Call) and isinstance(whole.func, cst.Attribute):
        name = whole.func.attr.value
        if name in TENSOR_NAMES and name not in _ALSO_OF_MODULES:
            return True
        whole = whole.func.value
    if isinstance(whole, cst.Call):
        return isinstance(whole.func, cst.Name) and isinstance(made, Class)
    return isinstance(whole, cst.Name) and whole.value in _names_of(function)[1]


_Names: TypeAlias = tuple[frozenset[str], frozenset[str]]


def _names_of(function: Function) -> _Names:
    """The names that a function binds, and those of them that it only gives what it has called for, or what a loop gives."""
    node = function.node
    if isinstance(node, cst.FunctionDef):
        return _bound(node)
    return frozenset(one.name.value for one in all_parameters(node.params)), frozenset()


@remembered(cst.FunctionDef)
def _bound(function: cst.FunctionDef) -> _Names:
    other = {one.name.value for one in all_parameters(function.params)}
    made: set[str] = set()
    outside: set[str] = set()
    for node in walk(function.body):
        match node:
            case cst.Assign(targets=targets, value=value):
                names = {name for target in targets for name in names_bound(target.target)}
                (made if isinstance(value, cst.Call) else other).update(names)
            case cst.For(target=target, iter=cst.Tuple() | cst.List()):
                other.update(names_bound(target))  # `for net in (student, teacher): net.to(device)`
            case cst.For(target=target):
                made.update(names_bound(target))
            case cst.NameItem(name=cst.Name(value=name)):
                outside.add(name)
            case cst.NamedExpr(target=cst.Name(value=name)):
                other.add(name)
            case _:
                pass
    return frozenset((made | other) - outside), frozenset(made - other - outside)


@remembered(cst.Module)
def _methods(module: cst.Module) -> dict[str, tuple[cst.FunctionDef, ...]]:
    """The functions and methods of a file by their names."""
    found: dict[str, tuple[cst.FunctionDef, ...]] = {}
    for node in walk(module):
        if isinstance(node, cst.FunctionDef):
            found[node.name.value] = (*found.get(node.name.value, ()), node)
    return found
