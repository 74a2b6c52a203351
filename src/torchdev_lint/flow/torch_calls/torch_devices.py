"""PyTorch's functions that speak of devices: `torch.device`, tests of availability, defaults."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.conditions import Atom
from torchdev_lint.flow.domain.lattice import (
    CPU,
    LAST,
    UNKNOWN_DEVICE,
    Accelerator,
    Symbol,
)
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    Api,
    DeviceValue,
    Either,
    Items,
    Literal,
    Object,
    Tensor,
    Truth,
    Value,
)
from torchdev_lint.flow.mistakes import device_objects, literals, lost_index
from torchdev_lint.flow.torch_calls import current_device, device_values, generators, transfers
from torchdev_lint.torch_api import devices


def call(frame: Frame, path: str, site: CallSite) -> Value | None:
    if path in devices.NEEDS_CUDA:
        literals.see_needed(frame, site.node, path)
    if path == "torch.device":
        made = _device(frame, site)
        lost_index.check_device_object(frame, site.node, made)
        return made
    if path == "torch.cuda.device":
        return Object((device_objects.CONTEXT, id(site.node)), frame.analysis.text(site.node))
    if path in devices.AVAILABILITY:
        return Truth(Atom("available", (devices.AVAILABILITY[path],), f"{path}()"))
    if path in devices.DEVICE_COUNTS:
        return Object(("device-count", devices.DEVICE_COUNTS[path]), f"{path}()")
    if path in devices.CURRENT_ACCELERATOR:
        return DeviceValue(Symbol(("accelerator",), "torch.accelerator.current_accelerator()"))
    if path == "torch.cuda.current_device":
        return DeviceValue(Accelerator("cuda"), is_object=False, is_index=True)
    if path == "torch._C._nn._parse_to":
        # how `Module.to` reads its arguments (torch/nn/modules/module.py): the device, the dtype, whether to block, the memory format
        target = transfers.transfer_target(frame, site, "to", sure=False)
        return Items((NONE if target is None else DeviceValue(target), UNKNOWN, UNKNOWN, UNKNOWN))
    if path == "torch.get_default_device":
        return DeviceValue(frame.default_device())
    if path == "torch.set_default_device":
        argument = site.get(0, "device")
        none = argument is None or argument.value == NONE
        frame.env.default_device = (
            CPU if none or argument is None else device_values.as_device(argument.value)
        )
        generators.note_default(frame)
        return UNKNOWN
    if path == "torch.distributed.get_rank" and not site.arguments:
        return Object(lost_index.GLOBAL_RANK, site.callee + "()")
    if path == "torch.cuda.set_device" and site.positional():
        lost_index.check_device_argument(frame, site.positional()[0])
        transfers.see_integer(frame, site.positional()[0], "current", site)
        current_device.check_change(frame, site)
        return UNKNOWN
    if path == "torch.set_default_tensor_type":
        return _set_default_tensor_type(frame, site)
    return None


def _set_default_tensor_type(frame: Frame, site: CallSite) -> Value:
    argument = site.get(0, "t")
    match argument and argument.value:
        case Api(path=name) | Literal(value=str(name)):
            frame.env.default_device = Accelerator("cuda") if ".cuda." in name else CPU
            if ".cuda." in name and argument is not None and not _was_another_for_a_while(frame):
                literals.see(frame, argument.node.value, "default-type", "cuda", None, name)
        case _:
            frame.env.default_device = UNKNOWN_DEVICE
    generators.note_default(frame)
    return UNKNOWN


def _was_another_for_a_while(frame: Frame) -> bool:
    """Whether the function sets the default tensor type several times: it puts back what somebody else has chosen."""
    return (
        frame.function is not None
        and frame.analysis.text(frame.function.node).count("set_default_tensor_type(") > 1
    )


def last_index(frame: Frame, node: cst.BinaryOperation, left: Value, right: Value) -> Value | None:
    """`torch.cuda.device_count() - 1`; None for anything else."""
    match left, right:
        case Object(key=("device-count", kind)), Literal(value=1) if isinstance(node.operator, cst.Subtract):
            return Object((LAST, kind), frame.analysis.text(node))
        case _:
            return None


_MOST = 3
"""Up to this number, it is said which device a remainder means."""


def remainder(node: cst.BinaryOperation, left: Value, right: Value) -> Value | None:
    """`i % torch.cuda.device_count()` for a number that is known: `i` where there are more devices; None for anything else."""
    match left, right:
        case Literal(value=int(number)), Object(key=("device-count", kind)) if (
            isinstance(node.operator, cst.Modulo) and 0 <= number < _MOST
        ):
            # of 1 and 2, nothing is left where there are no more devices than that: 2 % 1 and 2 % 2 are 0
            more = Atom("count", (kind, number), right.text)
            return Literal(0) if number == 0 else Either(more, Literal(number), Literal(0))
        case _:
            return None


def _device(frame: Frame, site: CallSite) -> Value:
    """`torch.device(...)`."""
    first, second = site.get(0, "type") or site.keyword("device"), site.get(1, "index")
    if first is None:
        return DeviceValue(UNKNOWN_DEVICE)
    if frame.discarded is site.node:
        frame.analysis.redeemed.add(
            id(first.node.value)
        )  # shown, and not used: making one asks for no such device
        return DeviceValue(UNKNOWN_DEVICE)
    if second is not None:
        kind, index = first.value, second.value
        if isinstance(kind, Literal) and isinstance(kind.value, str):
            if isinstance(index, Literal) and isinstance(index.value, int):
                if isinstance(second.node.value, cst.Integer) and kind.value in devices.ACCELERATOR_TYPES:
                    literals.see(
                        frame, site.node, "call", kind.value, index.value, f"{kind.value}:{index.value}"
                    )
                return DeviceValue(device_values.literal_device(f"{kind.value}:{index.value}"))
            if (chosen := device_values.of_chosen_index(kind.value, index)) is not None:
                return DeviceValue(chosen)
            lost_index.check_device_argument(frame, second)
            key = index.key if isinstance(index, Object) else ("node", id(site.node))
            if kind.value in devices.ACCELERATOR_TYPES:
                return DeviceValue(Symbol(("format", kind.value, key), frame.analysis.text(site.node)))
        return DeviceValue(UNKNOWN_DEVICE)
    transfers.see_integer(frame, first, "integer", site)
    device_objects.check_name(frame, first)
    device_objects.check_index(frame, first)
    lost_index.check_device_argument(frame, first, of_device=True)
    if isinstance(first.value, Tensor):
        return DeviceValue(first.value.device)
    node = first.value.node if isinstance(first.value, Literal) else None
    return DeviceValue(device_values.as_device(first.value), node=node)
