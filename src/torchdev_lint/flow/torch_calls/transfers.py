"""Where `.to(...)`, `.cuda(...)` and their like move to."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.lattice import (
    CPU,
    UNKNOWN_DEVICE,
    Accelerator,
    Cpu,
    Device,
    choose,
)
from torchdev_lint.flow.domain.values import (
    UNKNOWN,
    Api,
    Dtype,
    Either,
    Literal,
    Value,
)
from torchdev_lint.flow.mistakes import device_objects, literals, lost_index
from torchdev_lint.flow.project import tensor_types
from torchdev_lint.flow.torch_calls import device_values
from torchdev_lint.flow.torch_calls.tensor_values import tensor_device
from torchdev_lint.torch_api import tensor_methods
from torchdev_lint.torch_api.factories import LEGACY_DEFAULT_TYPE


def transfer_target(frame: Frame, site: CallSite, name: str, *, sure: bool = True) -> Device | None:
    """Where `.to(...)`, `.cuda(...)` or `.cpu()` moves to; None when it only changes the dtype.

    `sure`: the receiver is a tensor or a module, so that an integer can only be a device's index.
    """
    if name == "cpu":
        return Cpu()
    if name == "cuda":
        return cuda_argument(frame, site)
    if name in tensor_methods.ACCELERATOR_METHODS:
        return Accelerator(name)
    argument = device_keyword(frame, site)
    if any(isinstance(a.value, Literal) and isinstance(a.value.value, str) for a in site.positional()[1:]):
        return UNKNOWN_DEVICE  # `data.to(device, "x", "y")`: only some of its parts move
    if argument is not None:
        return None if _is_none(argument.value) else device_values.as_device(argument.value)
    other = site.keyword("other")
    if other is not None:
        return tensor_device(frame, other.value) or UNKNOWN_DEVICE
    if site.has_unknown_star():
        return UNKNOWN_DEVICE
    positional = site.positional()
    if not positional:
        return None
    first = positional[0]
    if sure:
        see_integer(frame, first, "integer", site)
        device_objects.check_name(frame, first)
    device_objects.check_index(frame, first)
    lost_index.check_device_argument(frame, first)
    literals.see_current(frame, first)
    if _is_none(first.value):
        return None
    return device_values.target_of(frame, first.value, first.node.value)


def type_target(frame: Frame, given: Argument) -> Device | None:
    """Where `.type(given)` takes a tensor, or a module with all that it has (torch/nn/modules/module.py, `type`).

    None: nowhere, as it is a dtype. Of what is not known it is not known.
    """
    target = target_of_type(given.value)
    if target is None and tensor_types.holds_type(frame.analysis, given.node.value):
        return UNKNOWN_DEVICE
    return target


def is_default_type(frame: Frame, given: Value) -> bool:
    """Whether `.type(torch.Tensor)` is the type that `torch.set_default_tensor_type` sets, wherever that is."""
    return given == Api(LEGACY_DEFAULT_TYPE) and (
        frame.analysis.sets_default_device or frame.default_device() != CPU
    )


def target_of_type(given: Value) -> Device | None:
    """The same of a value, whatever the program calls it."""
    match given:
        case Dtype():
            return None
        case Api(path=path) if path.startswith("torch.cuda."):
            return Accelerator("cuda")
        case Api(path=path) if path.startswith("torch.") and path.endswith("Tensor"):
            return Cpu()
        case Literal(value=str(text)):
            return Accelerator("cuda") if ".cuda." in text else Cpu()
        case Either(guard, then, otherwise):
            # `Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor`
            left, right = target_of_type(then), target_of_type(otherwise)
            return UNKNOWN_DEVICE if left is None or right is None else choose(guard, left, right)
        case _:
            return UNKNOWN_DEVICE


def cuda_argument(frame: Frame, site: CallSite) -> Device:
    """The device of `.cuda(...)`: its argument, else the current CUDA device."""
    argument = site.get(0, "device")
    if argument is None or argument.keyword == "non_blocking":
        if isinstance(site.node, cst.Call) and site.receiver is not None:
            receiver = frame.analysis.text(site.receiver)
            literals.see(frame, site.node, "cuda-method", "cuda", None, receiver, site.node)
        return Accelerator("cuda")
    if isinstance(argument.value, Literal) and isinstance(argument.value.value, bool):
        return Accelerator("cuda")
    see_integer(frame, argument, "cuda-method", site)
    lost_index.check_device_argument(frame, argument)
    if isinstance(argument.value, Literal) and argument.value.value is None:
        return Accelerator("cuda")
    if argument.value == UNKNOWN:
        return device_values.numbered(frame, argument.node.value)
    return device_values.as_device(argument.value)


def see_integer(frame: Frame, argument: Argument, form: str, site: CallSite) -> None:
    """An argument that names a device: record it if it is an integer that is written out."""
    value, node = argument.value, argument.node.value
    if (
        isinstance(value, Literal)
        and isinstance(value.value, int)
        and not isinstance(value.value, bool)
        and isinstance(node, cst.Integer)
        and isinstance(site.node, cst.Call)
    ):
        literals.see(frame, node, form, "cuda", value.value, node.value, site.node)


def device_keyword(frame: Frame, site: CallSite) -> Argument | None:
    """The `device=` argument, after any integer literal in it was noted."""
    argument = site.keyword("device")
    if argument is not None:
        see_integer(frame, argument, "integer", site)
        device_objects.check_index(frame, argument)
        lost_index.check_device_argument(frame, argument)
        literals.see_current(frame, argument)
        device_objects.check_name(frame, argument)
    return argument


def _is_none(value: Value) -> bool:
    return isinstance(value, Literal) and value.value is None
