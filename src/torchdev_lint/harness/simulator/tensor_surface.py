"""What a tensor says about its device, and the gradients that may be put on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torchdev_lint.harness.simulator.errors import raise_device_error
from torchdev_lint.harness.simulator.machine import CPU, is_simulated
from torchdev_lint.harness.simulator.patches import Patches
from torchdev_lint.harness.simulator.tags import device_of

_grad = torch._C.TensorBase.grad


def install(patches: Patches) -> None:
    """Replace the attributes of torch.Tensor, and the entries of torch.autograd."""
    patches.set(Tensor, "device", property(device_of))
    for name in ("cpu", "cuda", "mps"):
        patches.set(Tensor, f"is_{name}", property(_is_type(name)))
    patches.set(Tensor, "get_device", get_device)
    patches.function(torch, "get_device", get_device)
    patches.set(Tensor, "record_stream", lambda self, stream: None)
    patches.set(Tensor, "grad", property(_grad.__get__, set_grad, _grad.__delete__))
    # It remembers `Tensor.grad.__get__`.
    patches.cache(torch.overrides.get_default_nowrap_functions.cache_clear)
    _install_autograd(patches)
    _install_splits(patches)


def _is_type(name: str) -> Callable[[Tensor], bool]:
    return lambda self: bool(device_of(self).type == name)


def get_device(self: Tensor) -> int:
    """The index of its device, -1 on the CPU."""
    device = device_of(self)
    return int(device.index) if is_simulated(device) else -1


def set_grad(self: Tensor, gradient: Any) -> None:
    """`x.grad = g` (torch/csrc/autograd/python_variable.cpp, THPVariable_set_grad)."""
    if isinstance(gradient, Tensor):
        mine, its = device_of(self), device_of(gradient)
        if mine.type != its.type:
            raise_device_error(
                f"attempting to assign a gradient with device type '{its.type}' to a tensor with device type "
                f"'{mine.type}'. Please ensure that the gradient and the tensor are on the same device"
            )
        if mine != its:
            raise_device_error(
                f"attempting to assign a gradient located on device with index '{its.index}' to a tensor "
                f"located on device with index '{mine.index}'. Please ensure that the gradient and the "
                "tensor are on the same device"
            )
    _grad.__set__(self, gradient)


def check_gradients(outputs: Any, gradients: Any) -> None:
    """The engine's check of the gradients it starts from (torch/csrc/autograd/engine.cpp,
    validate_outputs).
    """
    for output, gradient in zip(_listed(outputs), _listed(gradients), strict=False):
        if not (isinstance(output, Tensor) and isinstance(gradient, Tensor)) or gradient.dim() == 0:
            continue
        wanted, got = device_of(output), device_of(gradient)
        if wanted != got:
            function = "AccumulateGrad" if output.grad_fn is None else type(output.grad_fn).__name__
            raise_device_error(
                f"Function {function} returned an invalid gradient at index 0 - expected device {wanted} "
                f"but got {got}"
            )


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _install_autograd(patches: Patches) -> None:
    method_backward = Tensor.backward
    backward, grad = torch.autograd.backward, torch.autograd.grad

    def checked_method(self: Tensor, gradient: Any = None, *args: Any, **kwargs: Any) -> Any:
        check_gradients(self, gradient)
        return method_backward(self, gradient, *args, **kwargs)

    def checked_backward(tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> Any:
        check_gradients(tensors, grad_tensors)
        return backward(tensors, grad_tensors, *args, **kwargs)

    def checked_grad(outputs: Any, inputs: Any, grad_outputs: Any = None, *args: Any, **kwargs: Any) -> Any:
        check_gradients(outputs, grad_outputs)
        return grad(outputs, inputs, grad_outputs, *args, **kwargs)

    patches.set(Tensor, "backward", checked_method)
    patches.function(torch.autograd, "backward", checked_backward)
    patches.function(torch.autograd, "grad", checked_grad)


def _install_splits(patches: Patches) -> None:
    split = torch.tensor_split

    def tensor_split(self: Tensor, indices_or_sections: Any, dim: int = 0, **kwargs: Any) -> Any:
        if isinstance(indices_or_sections, Tensor) and device_of(indices_or_sections) != CPU:
            raise_device_error(
                "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on "
                f"{device_of(indices_or_sections)}"
            )
        return split(self, indices_or_sections, dim, **kwargs)

    patches.function(torch, "tensor_split", tensor_split)
    patches.set(Tensor, "tensor_split", tensor_split)
    ctc_loss = torch.ctc_loss

    def ctc_loss_that_moves(log_probs: Tensor, *args: Any, **kwargs: Any) -> Any:
        # Its C++ moves targets and lengths to log_probs by itself (ATen/native/LossCTC.cpp), which C++ cannot
        # see here.
        device = device_of(log_probs)
        moved = [argument.to(device) if isinstance(argument, Tensor) else argument for argument in args]
        return ctc_loss(log_probs, *moved, **kwargs)

    patches.function(torch, "ctc_loss", ctc_loss_that_moves)
