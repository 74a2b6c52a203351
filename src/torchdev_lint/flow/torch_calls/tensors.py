"""Methods of tensors."""

from __future__ import annotations

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling import arrays
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.conditions import atoms
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE, Device, choose
from torchdev_lint.flow.domain.values import (
    NUMBER,
    UNKNOWN,
    DeviceValue,
    Dtype,
    Either,
    Items,
    Literal,
    Many,
    Tensor,
    Value,
)
from torchdev_lint.flow.execution import truths
from torchdev_lint.flow.execution.patterns import assign
from torchdev_lint.flow.mistakes import pinned_memory
from torchdev_lint.flow.mistakes.discarded_transfers import discarded
from torchdev_lint.flow.telling.cures import note_moved
from torchdev_lint.flow.torch_calls import device_values, operator_calls
from torchdev_lint.flow.torch_calls.dimensions import least
from torchdev_lint.flow.torch_calls.operands import Given
from torchdev_lint.flow.torch_calls.tensor_values import tensor_device
from torchdev_lint.flow.torch_calls.torch_factories import dimensions, is_new_scalar
from torchdev_lint.flow.torch_calls.transfers import (
    device_keyword,
    is_default_type,
    target_of_type,
    transfer_target,
    type_target,
)
from torchdev_lint.torch_api import factories, operators, tensor_methods
from torchdev_lint.torch_api.tensor_surface import TENSOR_NAMES


def call_method(frame: Frame, tensor: Tensor, name: str, site: CallSite) -> Value:
    """The result of `tensor.name(...)`."""
    if name in ("to", "cuda", "cpu") or name in tensor_methods.ACCELERATOR_METHODS:
        target = transfer_target(frame, site, name)
        if target is None:
            return tensor
        if tensor.mapping and len(site.positional()) > 1 and isinstance(site.positional()[1].value, Literal):
            # `data.to(device, "x", "y")`: only parts of it move
            target = UNKNOWN_DEVICE
        if tensor.batch and frame.discarded is site.node and site.receiver is not None:
            # a container's `.to` may well work in place
            assign(frame, site.receiver, UNKNOWN)
            return UNKNOWN
        if frame.discarded is site.node and not tensor.mapping:
            discarded(frame, tensor.device, site, target)
        moved = replace(tensor, device=device_values.moved_to(frame, target, site.node), parameter=False)
        if frame.discarded is not site.node:
            note_moved(frame, tensor.device)
        if tensor.mapping and site.receiver is not None:
            assign(frame, site.receiver, moved)
        return moved
    if name == "astype":
        return UNKNOWN  # it is an array: somebody has made it one, or it never was a tensor
    if (tensor.batch or tensor.guess) and name == "rsample":
        return Tensor(tensor.device)  # it is a distribution, which draws where its parameters are
    if (tensor.batch or tensor.mapping) and name not in TENSOR_NAMES and name not in _MAPPING_METHODS:
        # a method of who knows what: it may move the parts
        if site.receiver is not None:
            assign(frame, site.receiver, UNKNOWN)
        return UNKNOWN
    if name in ("items", "keys") and not (tensor.mapping or tensor.batch) and site.receiver is not None:
        # what a loader gave is a dict: its items may be replaced by moved ones
        tensor = replace(tensor, batch=True)
        assign(frame, site.receiver, tensor)
    if name in ("items", "values", "keys") and (tensor.mapping or tensor.batch or tensor.guess):
        part = Tensor(tensor.device, guess=tensor.guess)
        if name == "keys":
            return UNKNOWN
        return Many(part) if name == "values" else Many(Items((UNKNOWN, part)))
    if tensor.guess and name not in TENSOR_NAMES and name not in _TAKES_A_PART:
        return UNKNOWN  # whatever has that method is no tensor
    if name in _TAKES_A_PART and (tensor.mapping or tensor.batch or tensor.guess):
        return Tensor(tensor.device, guess=tensor.guess)
    if name in factories.NEW_METHODS:
        argument = device_keyword(frame, site)
        return Tensor(
            tensor.device
            if argument is None
            else device_values.made_on(
                frame, device_values.as_device(argument.value), site.node, following=True
            ),
            scalar=is_new_scalar(frame, name, site),
            dims=dimensions(frame, f"torch.{name.removeprefix('new_')}", site),
        )
    if name == "type_as":
        other = site.get(0, "other")
        device = None if other is None else tensor_device(frame, other.value)
        moved_there = UNKNOWN_DEVICE if device is None else device_values.moved_to(frame, device, site.node)
        return Tensor(moved_there, scalar=tensor.scalar is True, dims=tensor.dims)
    if name == "type":
        return _type(frame, tensor, site)
    if name == "get_device":
        return DeviceValue(tensor.device, is_object=False, is_index=True, node=site.node)
    if name == "numpy" or name in tensor_methods.ON_HOST_ONLY:
        on_host = truths.device_is(frame, tensor.device, "cpu")
        if on_host is not None and not any(atom.kind in ("available", "count") for atom in atoms(on_host)):
            # From here on: what cannot be read there has raised. What the machine has is no such thing: the mistake is reported,
            # and what else is wrong there is to be seen without curing it first.
            frame.env.assume(on_host)
    if name == "backward":
        from torchdev_lint.flow.torch_calls import gradients

        gradients.check_method(frame, tensor, site)
    if name == "numpy" and least(tensor):
        return arrays.of_tensor(frame, site.node, least(tensor))
    if name in tensor_methods.HOST_METHODS:
        return UNKNOWN
    if name == "tolist" and least(tensor):
        return Many(NUMBER)
    if name == "pin_memory":
        pinned_memory.check_tensor(frame, tensor, site)
    if name in tensor_methods.IN_PLACE_SAME_RECEIVER:
        return tensor
    if name in tensor_methods.MAY_RETURN_RECEIVER and tensor.parameter:
        return tensor
    guess = tensor.guess and name in tensor_methods.ARRAYS_TOO and site.keyword("dim") is None
    operator = operators.method(name)
    if operator is None or site.receiver is None:
        return Tensor(tensor.device, scalar=tensor.scalar, guess=guess)
    result = operator_calls.call(frame, operator, site, Given(tensor, site.receiver))
    if tensor.parameter and name.endswith("_") and name in TENSOR_NAMES:
        return tensor  # `nn.Parameter(x).fill_(0)` is that parameter
    if isinstance(result, Tensor):
        return replace(result, guess=guess, element=tensor.element and result.scalar is None)
    return Tensor(tensor.device, scalar=None, guess=guess) if result is None else result


_TAKES_A_PART = frozenset({"get", "pop"})
_MAPPING_METHODS = frozenset({"items", "values", "keys"}) | _TAKES_A_PART


def _type(frame: Frame, tensor: Tensor, site: CallSite) -> Value:
    argument = site.get(0, "dtype")
    if argument is None:
        return UNKNOWN
    if isinstance(argument.value, Dtype):
        return tensor if type_target(frame, argument) is None else Tensor(UNKNOWN_DEVICE)
    return _of_type(frame, tensor, argument.value, site)


def _of_type(frame: Frame, tensor: Tensor, given: Value, site: CallSite) -> Tensor:
    match given:
        case Dtype():
            return tensor
        case Either(guard, then, otherwise):
            # `Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor`
            left, right = (_of_type(frame, tensor, one, site) for one in (then, otherwise))
            return _as_it_is(tensor, choose(guard, left.device, right.device))
        case _:
            target = UNKNOWN_DEVICE if is_default_type(frame, given) else target_of_type(given)
            if target is None or target == UNKNOWN_DEVICE:
                return Tensor(UNKNOWN_DEVICE)
            return _as_it_is(tensor, device_values.moved_to(frame, target, site.node))


def _as_it_is(tensor: Tensor, device: Device) -> Tensor:
    """The tensor on another device: 0-dim if it was that, certainly."""
    return Tensor(device, scalar=tensor.scalar is True)
