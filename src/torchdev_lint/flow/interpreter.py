"""Reading a whole file: the module from top to bottom, then each function on its own."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow import calls, expressions, statements  # registers the handlers
from torchdev_lint.flow.classes import symbolic_self
from torchdev_lint.flow.environment import Environment
from torchdev_lint.flow.events import DeviceLiteral, Event
from torchdev_lint.flow.frame import Analysis, Frame, Options
from torchdev_lint.flow.functions import bind_symbolically, run_body
from torchdev_lint.flow.lattice import CPU, UNKNOWN_DEVICE
from torchdev_lint.flow.trees import walk
from torchdev_lint.flow.values import Function
from torchdev_lint.torch_api.devices import DEVICE_NAME

__all__ = ["calls", "expressions", "read_module", "statements"]


def read_module(module: cst.Module, options: Options) -> list[Event]:
    """All events of a parsed file.

    The module's statements run first, with the file's own functions followed into at each call. Then every function and
    method runs on its own, with parameters that may hold anything: what fails there fails for every caller.
    """
    analysis = Analysis(module, options, sets_default_device=_sets_default_device(module))
    frame = Frame(analysis, Environment())
    frame.execute(module.body)
    frame.alive = True
    seen: set[int] = set()
    while analysis.pending:
        function = analysis.pending.pop(0)
        if id(function.node) not in seen:
            seen.add(id(function.node))
            read_alone(analysis, function)
    return [*analysis.events.values(), *settle_literals(analysis)]


def _sets_default_device(module: cst.Module) -> bool:
    """Whether a function or class of the file sets the default device."""
    for statement in module.body:
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            for node in walk(statement):
                if isinstance(node, cst.Name) and node.value in (
                    "set_default_device",
                    "set_default_tensor_type",
                ):
                    return True
    return False


def read_alone(analysis: Analysis, function: Function) -> None:
    """Run a function with symbolic parameters."""
    definition = function.frame
    env = Environment({}, dict(definition.env.heap), (), definition.env.default_device)
    if definition.parent is None:
        env.default_device = CPU
    if function.owner is not None:
        receiver, env_of_self = symbolic_self(function.owner)
        if function.name == "__init__":
            return  # was run for `self`
        env = env_of_self.copy()
        env.names = {}
        function = Function(
            function.node, function.name, definition, receiver, function.owner, function.decorators
        )
    if any(DEVICE_NAME.search(decorator) for decorator in function.decorators):
        env.default_device = UNKNOWN_DEVICE  # `@torch.device(...)`
    child = Frame(analysis, env, parent=definition, function=function)
    child.env.names = bind_symbolically(function)
    analysis.budget = max(analysis.budget, 2_000)
    run_body(child, function)


def _stand_alone(module: cst.Module) -> frozenset[int]:
    """The expressions (by id) in whose place a conditional expression needs no parentheses."""
    found: set[int] = set()
    for node in walk(module):
        match node:
            case (
                cst.Arg()
                | cst.Assign()
                | cst.AnnAssign()
                | cst.Element()
                | cst.DictElement()
                | cst.Return()
                | cst.Index()
            ):
                found.add(id(node.value))
            case cst.Param():
                found.add(id(node.default))
            case _:
                pass
    return frozenset(found)


def settle_literals(analysis: Analysis) -> list[DeviceLiteral]:
    """One event for each literal: its use is guarded when every way that leads to it is."""
    settled = []
    bare = _stand_alone(analysis.module) if analysis.literals else frozenset()
    for uses in analysis.literals.values():
        called = [use for use in uses if use.inlined]
        decisive = called or uses
        guarded = (
            id(uses[0].node) in analysis.redeemed
            or all(use.guarded for use in decisive)
            or (bool(called) and all(u.guarded for u in uses if not u.inlined))
        )
        shown = next((use for use in uses if not use.inlined), uses[0])
        settled.append(
            DeviceLiteral(
                node=shown.node,
                form=shown.form,
                type=shown.type,
                index=shown.index,
                text=shown.text,
                guarded=guarded,
                inlined=shown.inlined,
                scope_device=shown.scope_device,
                torch_name=shown.torch_name,
                call=shown.call,
                parenthesize=id(shown.node) not in bare,
            )
        )
    return settled
