"""Modules that stand outside of the functions that move them: `def place(): net.to(device)`, handed to whoever calls it.

A function that is read on its own runs before such a one, or after it: where those modules are is not known.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.environment import Environment
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE
from torchdev_lint.flow.domain.values import Object, Value
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, names_bound, remembered, transfers, walk


def forget(definition: Frame, env: Environment) -> None:
    """The modules of a file, and of the functions around one, that some function moves are there, or not yet, where another one runs."""
    scope: Frame | None = definition
    while scope is not None:
        for path in _moved_within(scope):
            thing = _named(scope, env, path)
            if isinstance(thing, Object) and env.state(thing).kind == "module" and not env.state(thing).moved:
                env.set_state(thing, replace(env.state(thing), device=UNKNOWN_DEVICE))
        scope = scope.parent


def _moved_within(scope: Frame) -> frozenset[str]:
    """What functions within a file, or within a function, move that is none of theirs."""
    if scope.function is None:
        return scope.analysis.learn(_by_functions_of_module, scope.source.module)
    node = scope.function.node
    return (
        scope.analysis.learn(_by_functions_within, node) if isinstance(node, cst.FunctionDef) else frozenset()
    )


def _named(scope: Frame, env: Environment, path: str) -> Value | None:
    """What a name, or an attribute of what has a name, is in the scope in which it is bound."""
    name, *attributes = path.split(".")
    found = scope.env.names.get(name)
    for attribute in attributes:
        found = env.state(found).attributes.get(attribute) if isinstance(found, Object) else None
    return found


@remembered(cst.Module)
def _by_functions_of_module(module: cst.Module) -> frozenset[str]:
    return _moved_by_functions(module)


@remembered(cst.FunctionDef)
def _by_functions_within(function: cst.FunctionDef) -> frozenset[str]:
    return _moved_by_functions(function.body)


def _moved_by_functions(within: cst.CSTNode) -> frozenset[str]:
    """What functions somewhere in here move, `net.to(device)`, under names that they do not bind."""
    found: set[str] = set()
    for function in walk(within):
        if isinstance(function, cst.FunctionDef):
            bound = {one.name.value for one in all_parameters(function.params)}
            bound |= {name for part in walk(function.body) for name in _bound_by(part)}
            found |= {path for path in _moved_in(function) if path.partition(".")[0] not in bound}
    return frozenset(found)


def _moved_in(function: cst.FunctionDef) -> Iterator[str]:
    moved = {path for _, one in transfers(function.body) if (path := dotted(one)) is not None}
    yield from moved
    for loop in walk(function.body):  # `for net in (student, teacher.net): net.to(device)`
        if (
            isinstance(loop, cst.For)
            and isinstance(loop.target, cst.Name)
            and isinstance(loop.iter, (cst.Tuple, cst.List))
            and loop.target.value in moved
        ):
            yield from (path for one in loop.iter.elements if (path := dotted(one.value)) is not None)


def _bound_by(node: cst.CSTNode) -> set[str]:
    return (
        set(names_bound(node.target)) if isinstance(node, (cst.AssignTarget, cst.For, cst.CompFor)) else set()
    )
