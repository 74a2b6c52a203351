"""Pinned memory is the host's: only what is on the CPU can be pinned (aten/src/ATen/native/Memory.cpp, `_pin_memory`).

A loader with `pin_memory=True` pins its batches, once there is an accelerator (torch/utils/data/dataloader.py).
"""

from __future__ import annotations

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
    place = operands.place_of(frame, site.receiver, tensor)
    frame.analysis.publish(
        ("pinned", id(site.node)),
        HostArgument(
            node=site.node,
            value_node=None,
            call=site.node,
            function="pin_memory",
            parameter="tensor",
            device=found.right,
            device_name=describe(found.right),
            text=place.text,
        ),
    )


def check_loader(frame: Frame, site: CallSite) -> None:
    """`DataLoader(TensorDataset(x, y), pin_memory=True)` of tensors that were moved before."""
    pins, dataset = site.keyword("pin_memory"), site.get(0, "dataset")
    path = None if pins is None else _path_where_true(frame, pins.value)
    if path is None or dataset is None or not isinstance(dataset.value, Object):
        return
    held = frame.state(dataset.value).attributes.get("tensors")
    for tensor in held.items if isinstance(held, Items) else ():
        found = _elsewhere(tensor.device, path) if isinstance(tensor, Tensor) else None
        if found is None:
            continue
        place = operands.place_of(frame, dataset.node, dataset.value)
        frame.analysis.publish(
            ("pinned", id(site.node)),
            HostArgument(
                node=dataset.node,
                value_node=None,
                call=site.node,
                function=f"{site.callee}(pin_memory=...)",
                parameter="dataset",
                device=found.right,
                device_name=describe(found.right),
                text=place.text,
            ),
        )
        return


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
