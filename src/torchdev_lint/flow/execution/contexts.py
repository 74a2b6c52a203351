"""The `with` statement: what a context manager gives, and what it undoes at the end."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TypeAlias

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame, statement
from torchdev_lint.flow.calling import exit_stacks
from torchdev_lint.flow.calling.calls import call_value
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.calling.functions import call
from torchdev_lint.flow.domain.environment import Environment
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE, Device, choose
from torchdev_lint.flow.domain.values import DeviceValue, Either, Many, Object, Value
from torchdev_lint.flow.execution.patterns import assign
from torchdev_lint.flow.instances.objects import move
from torchdev_lint.flow.project import defaults_elsewhere
from torchdev_lint.flow.torch_calls.device_values import as_device
from torchdev_lint.torch_api.libraries import CONTEXTS_THAT_EXPECT_FAILURE

Suspended: TypeAlias = tuple[Environment, Environment]


@statement(cst.With)
def visit_With(frame: Frame, node: cst.With) -> None:
    default = frame.env.default_device
    expects_failure = False
    leaving: list[Suspended | Object] = []
    for item in node.items:
        before = frame.env.default_device
        with frame.quietly() if _is_text_context(item.item) else nullcontext():
            value, suspended = frame.evaluate(item.item), frame.suspended
        frame.suspended = None
        entered = _default_within(value, before)
        if entered is not before:
            frame.env.default_device = entered
        elif (
            suspended is None
            and frame.env.default_device == before
            and not _is_torch_context(frame, item.item)
            and (frame.analysis.sets_default_device or _is_called_like_manager(frame, item.item))
        ):
            frame.env.default_device = UNKNOWN_DEVICE
        if isinstance(item.item, cst.Call):
            text = frame.analysis.text(item.item.func)
            expects_failure = expects_failure or text.endswith(CONTEXTS_THAT_EXPECT_FAILURE)
        if suspended is not None:
            leaving.append(suspended)
        elif isinstance(value, Object) and (
            _method(frame, value, "__exit__") or exit_stacks.enter(frame, value)
        ):
            leaving.append(value)
        value = _entered(frame, item.item, value)
        if item.asname is not None:
            assign(frame, item.asname.name, value)
    if expects_failure:
        frame.analysis.muted += 1
        frame.handlers += 1
    returned = len(frame.returns)
    loop = frame.loops[-1] if frame.loops else None
    broken, continued = (len(loop.breaks), len(loop.continues)) if loop is not None else (0, 0)
    frame.execute(node.body.body)
    if expects_failure:
        frame.analysis.muted -= 1
        frame.handlers -= 1
    if leaving:
        here, alive = frame.env, frame.alive
        early = [env for _, env in frame.returns[returned:]]
        early += loop.breaks[broken:] if loop is not None else []
        for env in [*early, *([here] if alive else [])]:
            frame.env = env
            for left in reversed(leaving):
                _leave(frame, left, node)
        frame.env, frame.alive = here, alive
    frame.env.default_device = default
    flows = [env for _, env in frame.returns[returned:]]
    if loop is not None:
        flows += [*loop.breaks[broken:], *loop.continues[continued:]]
    for env in flows:  # `return nn.Linear(2, 2)` on the way out, too
        env.default_device = default


def _is_called_like_manager(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether it is called as a context of the project is that sets the default device: `with settings().scope():`."""
    match node:
        case cst.Call(func=cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name))):
            return name in frame.analysis.learn(defaults_elsewhere.managers, frame.analysis)
        case _:
            return False


def _default_within(manager: Value, outside: Device) -> Device:
    """The default device in a block: a device may be entered on one way only, `torch.device("cuda") if use_gpu else nullcontext()`."""
    if isinstance(manager, DeviceValue):
        return as_device(manager)
    if isinstance(manager, Either):
        then, otherwise = _default_within(manager.then, outside), _default_within(manager.otherwise, outside)
        if then is not outside or otherwise is not outside:
            return choose(manager.guard, then, otherwise)
    return outside


def _method(frame: Frame, manager: Object, name: str) -> bool:
    model = frame.state(manager).model
    return model is not None and model.find(name) is not None


def _entered(frame: Frame, node: cst.BaseExpression, manager: Value) -> Value:
    """What `__enter__` returns."""
    if isinstance(manager, Object):
        model = frame.state(manager).model
        method = None if model is None else model.find("__enter__")
        if model is not None and method is not None:
            return call(frame, model.function(method, "__enter__", manager), CallSite(node))
        return manager
    # a generator made into a context manager yields once
    return manager.element if isinstance(manager, Many) and isinstance(node, cst.Call) else manager


def _leave(frame: Frame, manager: Suspended | Object, node: cst.With) -> None:
    """`__exit__`, or what a generator does after its `yield`: what that moves is moved now."""
    if isinstance(manager, Object):
        model = frame.state(manager).model
        method = None if model is None else model.find("__exit__")
        if model is not None and method is not None:
            call(frame, model.function(method, "__exit__", manager), CallSite(node.items[0].item))
            frame.alive = True
        exit_stacks.leave(frame, manager, node.items[0].item, call_value)
        return
    at_yield, at_end = manager
    for key, state in at_end.heap.items():
        known = at_yield.heap.get(key)
        if known is None or known is state or key not in frame.env.heap:
            continue
        if known.device != state.device:
            move(frame, Object(key), state.device)
        changed = {
            name: value for name, value in state.attributes.items() if known.attributes.get(name) != value
        }
        if changed:
            now = frame.state(Object(key))
            frame.set_state(Object(key), replace(now, attributes={**now.attributes, **changed}))


def _is_torch_context(frame: Frame, node: cst.BaseExpression) -> bool:
    text = frame.analysis.text(node)
    return text.startswith(("torch.", "open(")) or text.endswith(("no_grad()", "autocast()"))


def _is_text_context(node: cst.BaseExpression) -> bool:
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="raises" | "warns" | "subTest"))):
            return True
        case _:
            return False
