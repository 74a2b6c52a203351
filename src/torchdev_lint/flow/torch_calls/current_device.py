"""The current device: kept under a name as an index-less `cuda`, it means another device once something changes which one is current.

`torch.cuda.set_device` changes it for the thread that calls it; every new thread starts with device 0
(https://docs.pytorch.org/docs/stable/notes/cuda.html).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchdev_lint.flow.activation.events import CurrentDeviceKept
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.lattice import Accelerator, Device, leaves
from torchdev_lint.flow.domain.values import DeviceValue, Either, Function, Literal, Object, Tensor, Value
from torchdev_lint.flow.syntax.trees import dotted, walk
from torchdev_lint.flow.torch_calls import device_values

THREAD_STARTS = frozenset(
    {"threading.Thread", "asyncio.to_thread", "starlette.concurrency.run_in_threadpool"}
)
"""Calls that run a function, one of their arguments, in another thread."""

THREAD_METHODS = frozenset({"submit", "run_in_executor", "apply_async"})
"""Methods of executors and event loops that do."""

_KEPT = "current-device"


@dataclass(frozen=True, slots=True)
class _Kept:
    """A name or attribute that holds the current device: its assignment's value, and the literal in it."""

    text: str
    node: cst.BaseExpression
    literal: cst.SimpleString


def _is_current(device: Device) -> bool:
    return any(
        isinstance(leaf, Accelerator) and leaf.type == "cuda" and leaf.index is None
        for leaf in leaves(device)
    )


def note_assignment(frame: Frame, node: cst.Assign, value: Value) -> None:
    """`DEVICE = torch.device("cuda")` of a module, `self.device = "cuda"`: a device kept for later."""
    if not isinstance(value, (DeviceValue, Literal, Either)) or len(node.targets) != 1:
        return
    text = dotted(node.targets[0].target)
    if text is None or not (text.startswith("self.") or ("." not in text and frame.function is None)):
        return
    literals = [
        part
        for part in walk(node.value)
        if isinstance(part, cst.SimpleString) and part.raw_value == "cuda" and not part.prefix
    ]
    if len(literals) == 1 and _is_current(device_values.as_device(value)):
        _kept(frame)[text] = _Kept(text, node.value, literals[0])


def _kept(frame: Frame) -> dict[str, _Kept]:
    found: dict[str, _Kept] = frame.analysis.notes.setdefault(_KEPT, {})
    return found


def check_change(frame: Frame, site: CallSite) -> None:
    """`torch.cuda.set_device(...)`: what is on the current device already stays behind."""
    if not _changes(site.node) or not any(_is_placed(frame, value) for _, value in frame.visible_names()):
        return
    for kept in _kept(frame).values():
        _publish(frame, kept, site.node, "changed")


def _is_placed(frame: Frame, value: Value) -> bool:
    match value:
        case Tensor(device=device):
            return _is_current(device)
        case Object():
            state = frame.state(value)
            if state.kind == "instance":
                return any(_is_placed(frame, held) for held in state.attributes.values() if held != value)
            return state.moved and _is_current(state.device)
        case _:
            return False


def _changes(node: cst.CSTNode) -> bool:
    """Whether a call sets the current device, to another one than the first."""
    match node:
        case cst.Call(func=function, args=[cst.Arg(value=value), *_]) if (dotted(function) or "").endswith(
            "set_device"
        ):
            return not (isinstance(value, cst.Integer) and value.value == "0")
        case _:
            return False


def check_thread(frame: Frame, site: CallSite) -> None:
    """A function is run in another thread, where device 0 is current, in a program that makes another one current."""
    for argument in site.arguments:
        function = argument.value
        if not isinstance(function, Function) or not isinstance(function.node, cst.FunctionDef):
            continue
        inside = list(walk(function.node.body))
        if any(_changes(part) for part in inside):
            continue
        here = {id(part) for part in inside}
        change = next(
            (part for part in walk(frame.analysis.module) if id(part) not in here and _changes(part)), None
        )
        if change is None:
            continue
        for name in _names(inside):
            kept = _kept(frame).get(name)
            if kept is not None:
                _publish(frame, kept, site.node, "thread")


def _names(nodes: list[cst.CSTNode]) -> Iterator[str]:
    for node in nodes:
        text = dotted(node) if isinstance(node, (cst.Name, cst.Attribute)) else None
        if text is not None:
            yield text


def _publish(frame: Frame, kept: _Kept, change: cst.CSTNode, how: str) -> None:
    torch = device_values.torch_name(frame)
    pinned = None if torch is None else f'f"cuda:{{{torch}.cuda.current_device()}}"'
    frame.analysis.publish(
        ("current-device", id(kept.node)),
        CurrentDeviceKept(kept.node, kept.text, how, change, kept.literal, pinned),
    )
