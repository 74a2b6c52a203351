"""Hooks of modules and tensors: functions that PyTorch calls with what a module gives out, or with gradients.

A forward hook runs at each call of its module, and so does, for what it leaves behind, a backward hook: by the time that anyone reads what
it kept, the gradient has come. Both are given tensors that are where the module's output is (torch/nn/modules/module.py, `_call_impl`).
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from torchdev_lint.flow.callsites import Argument, CallSite
from torchdev_lint.flow.conditions import Key
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.lattice import Anywhere, leaves
from torchdev_lint.flow.values import Function, Items, Method, Object, Partial, Tensor, Value

CallValue = Callable[[Frame, Value, CallSite], Value]

_REGISTERED = ("hooks",)
REGISTERS = frozenset({"register_forward_hook", "register_full_backward_hook", "register_backward_hook"})
"""Methods of a module that take a hook."""


def register(frame: Frame, thing: Object, name: str, site: CallSite) -> Value | None:
    """`module.register_forward_hook(hook)`; None where the hook cannot be read."""
    given = site.get(0, "hook")
    if (
        given is None
        or not isinstance(given.value, (Function, Method, Partial))
        or not frame.env.knows(thing)
    ):
        return None
    table: dict[Key, list[tuple[str, Value]]] = frame.analysis.notes.setdefault(_REGISTERED, {})
    known = table.setdefault(thing.key, [])
    if (name, given.value) not in known:
        known.append((name, given.value))
    return frame.result_of(site.node)


def run(frame: Frame, thing: Object, result: Value, site: CallSite, call_value: CallValue) -> None:
    """A module was called and gave `result`: call the hooks of the module and of the parts that PyTorch's own containers call."""
    table: dict[Key, list[tuple[str, Value]]] | None = frame.analysis.notes.get(_REGISTERED)
    if not table:
        return
    state = frame.state(thing)
    for name, hook in table.get(thing.key, ()):
        output = result
        if not isinstance(result, Tensor):
            if all(isinstance(leaf, Anywhere) for leaf in leaves(state.device)):
                continue
            output = Tensor(state.device)
        given = Items((output,))
        last = output if name == "register_forward_hook" else given
        arguments = tuple(Argument(value, cst.Arg(cst.Name("_"))) for value in (thing, given, last))
        call_value(frame, hook, CallSite(site.node, arguments))
    if state.model is None and state.kind == "module":
        for held in state.attributes.values():
            if isinstance(held, Object) and held.key in table:
                device = frame.state(held).device
                everywhere = all(isinstance(leaf, Anywhere) for leaf in leaves(device))
                run(frame, held, result if everywhere else Tensor(device), site, call_value)


def run_on_tensor(frame: Frame, tensor: Tensor, site: CallSite, call_value: CallValue) -> Value:
    """`tensor.register_hook(hook)`: the hook is given the gradient, which is where the tensor is."""
    given = site.get(0, "hook")
    if given is not None and isinstance(given.value, (Function, Method, Partial)):
        gradient = Argument(Tensor(tensor.device, scalar=tensor.scalar), cst.Arg(cst.Name("_")))
        call_value(frame, given.value, CallSite(site.node, (gradient,)))
    return frame.result_of(site.node)
