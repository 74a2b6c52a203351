"""Pinned memory is the host's: only what is on the CPU can be pinned (aten/src/ATen/native/Memory.cpp, `_pin_memory`).

A loader with `pin_memory=True` pins its batches, once there is an accelerator (torch/utils/data/dataloader.py).
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.placement_events import HostArgument
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.conditions import Formula
from torchdev_lint.flow.domain.lattice import CPU, Accelerator, Conflict, Device, Level, conflict, describe
from torchdev_lint.flow.domain.values import Items, Literal, Object, Tensor, Truth, Value
from torchdev_lint.flow.torch_calls import operands


def check_tensor(frame: Frame, tensor: Tensor, site: CallSite) -> None:
    """`tensor.pin_memory()`."""
    found = _elsewhere(tensor.device, frame.env.path)
    if found is None or tensor.guess or tensor.batch or site.receiver is None:
        return
    text = operands.place_of(frame, site.receiver, tensor).text
    _publish(frame, site, found, site.node, "pin_memory", "tensor", text)


def check_loader(frame: Frame, site: CallSite) -> None:
    """`DataLoader(TensorDataset(x, y), pin_memory=True)` of tensors that were moved before."""
    pins, dataset = site.keyword("pin_memory"), site.get(0, "dataset")
    path = None if pins is None else _path_where_true(frame, pins.value)
    if path is None or dataset is None or not isinstance(dataset.value, Object):
        return
    held = frame.state(dataset.value).attributes.get("tensors")
    tensors = held.items if isinstance(held, Items) else ()
    places = (_elsewhere(tensor.device, path) for tensor in tensors if isinstance(tensor, Tensor))
    found = next((one for one in places if one is not None), None)
    if found is not None:
        text = operands.place_of(frame, dataset.node, dataset.value).text
        _publish(frame, site, found, dataset.node, f"{site.callee}(pin_memory=...)", "dataset", text)


def _publish(
    frame: Frame, site: CallSite, found: Conflict, node: cst.CSTNode, function: str, parameter: str, text: str
) -> None:
    frame.analysis.publish(
        ("pinned", id(site.node)),
        HostArgument(
            node=node,
            value_node=None,
            call=site.node,
            function=function,
            parameter=parameter,
            device=found.right,
            device_name=describe(found.right),
            text=text,
        ),
    )


def _elsewhere(device: Device, path: tuple[Formula, ...]) -> Conflict | None:
    found = conflict(CPU, device, path)
    certain = found is not None and found.level == Level.CERTAIN and isinstance(found.right, Accelerator)
    return found if certain else None


def _path_where_true(frame: Frame, value: Value) -> tuple[Formula, ...] | None:
    """The conditions under which batches are pinned; None where nothing says that they ever are."""
    match value:
        case Literal(value=True):
            return frame.env.path
        case Truth(formula=formula):
            return (*frame.env.path, formula)
        case _:
            return None
