"""Threads, processes, pools and event loops: functions that are handed over to be called, and what comes back from them.

What a thread does is done when it is started, as if nothing else ran meanwhile; what a task gives is known when it is submitted. What
another process changes, it changes in copies of its own (https://docs.python.org/3/library/concurrent.futures.html,
https://docs.python.org/3/library/threading.html, https://docs.python.org/3/library/asyncio-task.html).
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.builtin_functions import mapped
from torchdev_lint.flow.calling.callsites import Argument, CallSite, implied_items
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    Entries,
    Function,
    Items,
    Many,
    Method,
    Object,
    Partial,
    State,
    Value,
    join_all,
)
from torchdev_lint.flow.execution.iteration import iterate

CallValue = Callable[[Frame, Value, CallSite], Value]

_STARTED = frozenset({"threading.Thread", "multiprocessing.Process", "torch.multiprocessing.Process"})
"""Take a `target`, `args` and `kwargs`, and run it when they are started."""

_POOLS = frozenset(
    {
        "concurrent.futures.ThreadPoolExecutor",
        "concurrent.futures.ProcessPoolExecutor",
        "concurrent.futures.thread.ThreadPoolExecutor",
        "concurrent.futures.process.ProcessPoolExecutor",
        "multiprocessing.Pool",
        "multiprocessing.pool.Pool",
        "multiprocessing.pool.ThreadPool",
        "multiprocessing.dummy.Pool",
        "torch.multiprocessing.Pool",
    }
)
_TASK = "concurrent.futures.Future"
_MAPS = frozenset({"map", "imap", "imap_unordered"})
_PASSED_ON = frozenset({"asyncio.run", "asyncio.create_task", "asyncio.ensure_future", "asyncio.shield"})
"""Give what the coroutine that they are given returns, or something that does when it is awaited; so does `wait_for`."""

METHODS = frozenset({"start", "run", "submit", "apply", "apply_async", "result", "get"}) | _MAPS
"""Methods that make a worker call something, or that say what it gave."""


def call(frame: Frame, path: str, site: CallSite, call_value: CallValue) -> Value | None:
    """The result of a function or class that has others called; None when the name is none of them, or its function cannot be read."""
    given = site.positional()
    if path in _STARTED:
        target = site.get(1, "target")
        if target is None or not _is_readable(target.value) or site.has_star():
            return None
        return frame.fresh(
            site.node,
            State(
                "instance",
                UNKNOWN_DEVICE,
                path,
                attributes={
                    "[target]": target.value,
                    "[args]": _value(site, 3, "args", Items(())),
                    "[kwargs]": _value(site, 4, "kwargs", Entries(())),
                },
            ),
            path.rpartition(".")[2],
        )
    if path in _POOLS:
        return frame.fresh(site.node, State("instance", UNKNOWN_DEVICE, path), path.rpartition(".")[2])
    if path.endswith(".as_completed") and path.startswith(("concurrent.futures.", "asyncio.")) and given:
        return Many(iterate(frame, given[0].value))
    if (path in _PASSED_ON or path == "asyncio.wait_for") and given:
        return given[0].value
    if path == "asyncio.gather":
        known = all(not one.star or isinstance(one.value, Items) for one in site.arguments)
        values = [one.value for one in given]
        return Items(tuple(values)) if known else Many(_joined(frame, site))
    if path == "asyncio.to_thread" and given and _is_readable(given[0].value):
        return _called(frame, given[0].value, site, site.arguments[1:], call_value)
    return None


def _joined(frame: Frame, site: CallSite) -> Value:
    return join_all([iterate(frame, one.value) if one.star else one.value for one in site.arguments])


def _value(site: CallSite, index: int, name: str, default: Value) -> Value:
    argument = site.get(index, name)
    return default if argument is None else argument.value


def _is_readable(value: Value) -> bool:
    return isinstance(value, (Function, Method, Partial))


def is_worker(frame: Frame, thing: Object) -> bool:
    """Whether a thing is a thread, a process, a pool or a task."""
    state = frame.state(thing)
    if state.model is not None:
        return not _STARTED.isdisjoint(state.model.imported_bases())
    return state.kind == "instance" and (state.api in _STARTED or state.api in _POOLS or state.api == _TASK)


def call_method(
    frame: Frame, thing: Object, name: str, site: CallSite, call_value: CallValue
) -> Value | None:
    """What a method of a worker does and gives; None where it does nothing that matters."""
    state, given = frame.state(thing), site.positional()
    if state.model is not None:
        run = state.model.find("run")
        if name != "start" or run is None:
            return None
        separate = not any(base.endswith("Thread") for base in state.model.imported_bases())
        _called(frame, state.model.function(run, "run", thing), site, (), call_value, separate=separate)
        return NONE
    if state.api == _TASK:
        return state.attributes["[result]"] if name in ("result", "get") else None
    separate = "Thread" not in state.api and not state.api.startswith("multiprocessing.dummy")
    if state.api in _STARTED:
        if name not in ("start", "run"):
            return None
        arguments = _arguments(state)
        if arguments is None:
            return None
        _called(frame, state.attributes["[target]"], site, arguments, call_value, separate=separate)
        return NONE
    if not given or not _is_readable(given[0].value):
        return None
    if name in _MAPS:
        columns = [one.value for one in given[1:]]
        return _apart(
            frame, lambda: mapped(frame, given[0].value, columns, site, call_value), separate=separate
        )
    if name == "submit":
        rest = tuple(one for one in site.arguments if one is not site.arguments[0])
    elif name in ("apply", "apply_async"):
        rest = () if len(given) < 2 else _items(given[1].value, given[1].node) or ()
    else:
        return None
    result = _called(frame, given[0].value, site, rest, call_value, separate=separate)
    if name == "apply":
        return result
    return frame.fresh(site.node, State("instance", UNKNOWN_DEVICE, _TASK, attributes={"[result]": result}))


def _arguments(state: State) -> tuple[Argument, ...] | None:
    """What a thread gives its target; None where that is not written out."""
    positional, named = state.attributes["[args]"], state.attributes["[kwargs]"]
    first = _items(positional, cst.Arg(cst.Name("_")))
    if first is None or not isinstance(named, Entries) or named.open:
        return None
    return (
        *first,
        *(
            Argument(value, cst.Arg(cst.Name("_"), keyword=cst.Name(str(key))))
            for key, value in named.entries
        ),
    )


def _items(held: Value, node: cst.Arg) -> tuple[Argument, ...] | None:
    if not isinstance(held, Items):
        return None
    nodes = implied_items(Argument(held, node), len(held.items))
    return tuple(Argument(value, one) for value, one in zip(held.items, nodes, strict=True))


def _called(
    frame: Frame,
    function: Value,
    site: CallSite,
    arguments: tuple[Argument, ...],
    call_value: CallValue,
    *,
    separate: bool = False,
) -> Value:
    """The result of the function; that it never comes back, or raises, does not end whoever had it called."""
    result = _apart(
        frame,
        lambda: call_value(frame, function, CallSite(site.node, arguments, site.callee, site.receiver)),
        separate=separate,
    )
    return UNKNOWN if result is None else result


def _apart(frame: Frame, work: Callable[[], Value], *, separate: bool) -> Value | None:
    """What some work gives, None if it has no end; what holds for it to end need not hold for who had it done."""
    heap, path, alive = frame.env.heap, frame.env.path, frame.alive
    if separate:
        frame.env.heap = heap.copy()
    result = work()
    ended, frame.alive = frame.alive, alive
    frame.env.path = path
    if separate:
        frame.env.heap = heap
    return result if ended else None
