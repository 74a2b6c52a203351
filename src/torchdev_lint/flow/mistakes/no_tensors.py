"""Things taken for tensors, or for functions that make devices: lists that are moved, `torch.cuda(0)`, legacy constructors told where.

What a list holds is moved piece by piece; `torch.cuda` is a module; and `torch.FloatTensor([0., 1.], device=device)` is refused for any
device but the CPU (torch/csrc/utils/tensor_new.cpp, `check_legacy_ctor_device`).
"""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.events import DeviceMisuse
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.lattice import Accelerator, Symbol, leaves
from torchdev_lint.flow.domain.values import NONE, Items, Many, Tensor, Value
from torchdev_lint.flow.syntax.trees import dotted
from torchdev_lint.flow.torch_calls.device_values import as_device
from torchdev_lint.torch_api.factories import LEGACY_DTYPES

_MOVES = frozenset({"to", "cuda", "cpu"})


def check_method(frame: Frame, receiver: Value, name: str, site: CallSite) -> None:
    """`batch.to(device)` of what is a list or a tuple here: it has no such method."""
    if (
        name not in _MOVES
        or not isinstance(receiver, (Items, Many))
        or receiver.kind not in ("list", "tuple")
    ):
        return
    thing = site.receiver
    if thing is None or frame.source.foreign or not isinstance(thing, (cst.Name, cst.Attribute)):
        return
    text = frame.analysis.text(thing)
    if _is_asked_what_it_is(frame, text):
        return
    held = [receiver.element] if isinstance(receiver, Many) else list(receiver.items)
    if not held or not all(isinstance(one, Tensor) for one in held):
        return
    assert isinstance(site.node, cst.Call)
    replacement = None
    if frame.discarded is not site.node:  # else it was meant to be in place
        each = f"one.{name}({', '.join(_arguments(frame, site.node))}) for one in {text}"
        replacement = f"[{each}]" if receiver.kind == "list" else f"tuple({each})"
    _publish(
        frame, site.node, DeviceMisuse(site.node, "container", text, receiver.kind, site.node, replacement)
    )


def _arguments(frame: Frame, call: cst.Call) -> list[str]:
    return [frame.analysis.text(one).rstrip(", ") for one in call.args]


def _publish(frame: Frame, call: cst.Call, misuse: DeviceMisuse) -> None:
    frame.analysis.publish((misuse.form, id(call)), misuse)


def _is_asked_what_it_is(frame: Frame, text: str) -> bool:
    """Whether the code asks for the type of the thing: then it may be another on the way that is taken."""
    whole = frame.analysis.module if frame.function is None else frame.function.node
    asks = re.compile(rf"\b(?:isinstance|hasattr|is_tensor|type)\(\s*{re.escape(text)}\b")
    return asks.search(frame.analysis.text(whole)) is not None


def check_call(frame: Frame, path: str, site: CallSite) -> None:
    """`torch.cuda(rank)`, and `torch.LongTensor([0], device=device)` where the device may be another than the CPU."""
    dtype = LEGACY_DTYPES.get(path)
    if dtype is None and path != "torch.cuda":
        return  # nearly all calls
    if not isinstance(site.node, cst.Call) or frame.source.foreign:
        return
    call, called = site.node, frame.analysis.text(site.node.func)
    if dtype is None:
        given = _arguments(frame, call)
        device = f'torch.device("cuda", {given[0]})' if len(given) == 1 else None
        _publish(frame, call, DeviceMisuse(call, "module", called, "", call, device))
        return
    argument = site.keyword("device")
    if argument is None or argument.value == NONE:
        return
    if any(isinstance(leaf, (Accelerator, Symbol)) for leaf in leaves(as_device(argument.value))):
        told = frame.analysis.text(argument.node.value)
        made = _with_factory(frame, call, dtype, told)
        _publish(frame, call, DeviceMisuse(argument.node, "legacy", called, told, call, made))


def _with_factory(frame: Frame, call: cst.Call, dtype: str, device: str) -> str | None:
    """`torch.tensor([0, 1], dtype=torch.float32, device=device)`, for data that is written out; else nothing is known of what it is."""
    data = [one.value for one in call.args if one.keyword is None]
    torch = (dotted(call.func) or "").rpartition(".")[0]
    if (
        len(data) != 1
        or len(call.args) != 2
        or not torch
        or not isinstance(data[0], (cst.List, cst.ListComp))
    ):
        return None
    return f"{torch}.tensor({frame.analysis.text(data[0])}, dtype={torch}.{dtype}, device={device})"
