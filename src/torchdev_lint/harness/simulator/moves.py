"""Transfers: `to`, `cuda`, `cpu`, `copy_`, assignment between devices, and the way to the host."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function_unary

from torchdev_lint.harness.simulator import machine
from torchdev_lint.harness.simulator.dispatch import moving
from torchdev_lint.harness.simulator.errors import UnsupportedError, raise_device_error
from torchdev_lint.harness.simulator.machine import CPU, is_simulated, resolve
from torchdev_lint.harness.simulator.patches import Patches
from torchdev_lint.harness.simulator.rules import type_name
from torchdev_lint.harness.simulator.tags import WILD, device_of, set_tag, tag_for, tag_of, untyped_storage

_to = torch._C.TensorBase.to
_numpy = torch._C.TensorBase.numpy
_copy = torch._C.TensorBase.copy_
_set_item = torch._C.TensorBase.__setitem__
_type = torch._C.TensorBase.type
_as_subclass = torch._C.TensorBase.as_subclass

_UNINITIALISED = (torch.nn.UninitializedParameter, torch.nn.UninitializedBuffer)

PINNED = "_torchdev_lint_pinned"
"""On a storage: it plays page-locked memory."""


def move(
    tensor: Tensor, device: torch.device, dtype: Any = None, memory_format: Any = torch.preserve_format
) -> Tensor:
    """A copy of the tensor on another (resolved) device; gradients go back to where it came from."""
    if device.type == "mps" and (dtype or tensor.dtype) is torch.float64:
        raise_device_error(machine.FLOAT64_ON_MPS, TypeError)
    if tensor.layout is torch.jagged:
        raise UnsupportedError("nested tensors of layout torch.jagged")
    if tensor.requires_grad and torch.is_grad_enabled():
        out = _Transfer.apply(tensor, device, dtype or tensor.dtype, memory_format)
        set_tag(out, tag_for(device))
        return out
    return _copy_to(tensor, device, dtype, memory_format)


def _copy_to(tensor: Tensor, device: torch.device, dtype: Any, memory_format: Any) -> Tensor:
    options: dict[str, Any] = {"copy": True}
    if dtype is not None:
        options["dtype"] = dtype
    if tensor.layout is torch.strided and not tensor.is_nested:
        options["memory_format"] = memory_format
    with moving(), torch.no_grad():
        out = _to(tensor, **options)
    set_tag(out, tag_for(device))
    return out


class _Transfer(torch.autograd.Function):  # type: ignore[misc]
    """`to(device)` with the way back: C++'s own ToCopyBackward sees the CPU at both ends."""

    generate_vmap_rule = True

    @staticmethod
    def forward(tensor: Tensor, device: torch.device, dtype: Any, memory_format: Any) -> Tensor:
        return _copy_to(tensor, device, dtype, memory_format)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.source = device_of(inputs[0])
        ctx.target = inputs[1]
        ctx.dtype = inputs[0].dtype
        ctx.target_dtype = inputs[2]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        return move(gradient, ctx.source, ctx.dtype), None, None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: Any) -> Tensor:
        return move(tangent, ctx.target, ctx.target_dtype)


def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`Tensor.to`."""
    if isinstance(self, _UNINITIALISED):
        # They refuse all but a few functions, by identity (torch/nn/parameter.py).
        with torch._C.DisableTorchFunctionSubclass():
            moved = _to_anywhere(self, args, kwargs)
        return moved if moved is self else as_subclass(moved, type(self))
    if has_torch_function_unary(self):
        return handle_torch_function(to, (self,), self, *args, **kwargs)
    return _to_anywhere(self, args, kwargs)


def _to_anywhere(self: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    device, dtype, copy, memory_format = _parse_to(args, kwargs)
    current = device_of(self)
    target = current if device is None else resolve(device)
    if "meta" in (current.type, target.type):
        if is_simulated(target) or (current.type == "meta" and target.type == "cpu"):
            raise_device_error(
                "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                "torch.nn.Module.to() when moving module from meta to a different device.",
                NotImplementedError,
            )
        return _to(self, *args, **kwargs)
    if target != current:
        return move(self, target, dtype, torch.preserve_format if memory_format is None else memory_format)
    options: dict[str, Any] = {}
    if dtype is not None:
        if current.type == "mps" and dtype is torch.float64:
            raise_device_error(machine.FLOAT64_ON_MPS, TypeError)
        options["dtype"] = dtype
    if memory_format is not None:
        options["memory_format"] = memory_format
    return _to(self, copy=copy, **options) if options or copy else self


def _parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, copy, memory_format) of any of the signatures of `Tensor.to`."""
    device = kwargs.get("device")
    dtype = kwargs.get("dtype")
    copy = bool(kwargs.get("copy", False))
    other = kwargs.get("other", kwargs.get("tensor"))
    rest = list(args)
    if rest:
        head = rest.pop(0)
        if isinstance(head, Tensor):
            other = head
        elif isinstance(head, torch.dtype):
            dtype = head
        else:
            device = head if head is not None else device
            if rest and (rest[0] is None or isinstance(rest[0], torch.dtype)):
                dtype = rest.pop(0)
    if len(rest) > 1:
        copy = bool(rest[1])
    if other is not None:
        device, dtype = device_of(other), other.dtype
    return device, dtype, copy, kwargs.get("memory_format")


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """`Tensor.cuda`."""
    if machine.machine().type != "cuda":
        raise_device_error("Torch not compiled with CUDA enabled", AssertionError)
    target = resolve("cuda" if device is None else device)
    if target.type != "cuda":
        raise_device_error("Invalid device, must be cuda device")
    return _to_with_format(self, target, memory_format)


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """`Tensor.cpu`."""
    return _to_with_format(self, CPU, memory_format)


def _to_with_format(tensor: Tensor, device: torch.device, memory_format: Any) -> Tensor:
    return to(tensor, device) if memory_format is None else to(tensor, device, memory_format=memory_format)


def numpy(self: Tensor, *, force: bool = False) -> Any:
    """`Tensor.numpy` (torch/csrc/utils/tensor_numpy.cpp)."""
    device = device_of(self)
    if is_simulated(device):
        if not force:
            raise_device_error(
                f"can't convert {device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                "host memory first.",
                TypeError,
            )
        self = move(self.detach(), CPU)
    return _numpy(self, force=force)


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """`Tensor.copy_`: crosses devices, and so does the gradient of the source."""
    if isinstance(src, Tensor) and src.requires_grad and torch.is_grad_enabled():
        target = device_of(self)
        if device_of(src) != target:
            src = move(src, target)
    return _copy(self, src, non_blocking)


def set_item(self: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`: without tensor indices it is a copy_, which crosses devices."""
    if isinstance(value, Tensor):
        target, source = tag_of(self), tag_of(value)
        if (
            target != source
            and WILD not in (target, source)
            and (value.dim() == 0 or not _has_tensor_index(index))
        ):
            value = move(value, device_of(self))
    _set_item(self, index, value)


def _has_tensor_index(index: Any) -> bool:
    for item in index if isinstance(index, (tuple, list)) else (index,):
        if isinstance(item, list):
            return True
        # 0-dim integers are read and select (applySlicing in
        # torch/csrc/autograd/python_variable_indexing.cpp).
        if isinstance(item, Tensor) and not (item.dim() == 0 and item.dtype is not torch.bool):
            return True
    return False


LEGACY_DTYPES = {
    "Float": torch.float32,
    "Double": torch.float64,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Long": torch.int64,
    "Int": torch.int32,
    "Short": torch.int16,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Bool": torch.bool,
}
"""The element types of `torch.FloatTensor` and its like."""

_LEGACY_NAME = re.compile(r"(?:<class ')?torch\.(?:(cuda|mps)\.)?(\w+)Tensor")


def parse_legacy_type(spec: object) -> tuple[str, Any] | None:
    """('cuda', torch.float32) for `torch.cuda.FloatTensor` or its name; None for anything else."""
    match = _LEGACY_NAME.match(str(spec))
    if match is None or match[2] not in LEGACY_DTYPES:
        return None
    return match[1] or "cpu", LEGACY_DTYPES[match[2]]


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """`Tensor.type`: the legacy name without an argument, else a conversion that may move."""
    if dtype is None:
        return type_name(self, device_of(self))
    if isinstance(dtype, torch.dtype):
        return to(self, dtype)
    legacy = parse_legacy_type(dtype)
    if legacy is None:
        return _type(self, dtype, non_blocking, **kwargs)
    return to(self, torch.device(legacy[0]), legacy[1])


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """`Tensor.type_as`: dtype and device of the other."""
    return to(self, device_of(other), other.dtype)


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """`Tensor.pin_memory`: only from the CPU; a marked copy."""
    if is_simulated(device_of(self)):
        raise_device_error(
            f"cannot pin '{type_name(self, device_of(self))}' only dense CPU tensors can be pinned"
        )
    if is_pinned(self):
        return self
    pinned = self.detach().clone()
    setattr(untyped_storage(pinned), PINNED, True)
    return pinned


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """`Tensor.is_pinned`."""
    try:
        return bool(untyped_storage(self).__dict__.get(PINNED))
    except Exception:
        return False


def as_subclass(self: Tensor, cls: type) -> Tensor:
    """`Tensor.as_subclass` out of the mode's sight: torch 2.4 cannot change the class of what passed a mode."""
    with torch._C._DisableTorchDispatch():
        return _as_subclass(self, cls)


def install(patches: Patches) -> None:
    """Replace the methods of torch.Tensor."""
    methods: dict[str, Any] = {
        "to": to,
        "cuda": cuda,
        "cpu": cpu,
        "numpy": numpy,
        "copy_": copy_,
        "__setitem__": set_item,
        "type": type_,
        "type_as": type_as,
        "pin_memory": pin_memory,
        "is_pinned": is_pinned,
        "as_subclass": as_subclass,
    }
    if machine.machine().type == "mps":
        methods["mps"] = lambda self, *args, **kwargs: to(self, "mps")
    for name, method in methods.items():
        patches.set(Tensor, name, method)
