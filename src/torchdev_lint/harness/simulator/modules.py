"""`torch.nn` and `torch.optim`: the places that ask C++ for devices, or have C++ check them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.modules.rnn
from torch import Tensor
from torch.utils._pytree import tree_map

from torchdev_lint.harness.simulator import machine
from torchdev_lint.harness.simulator.errors import raise_device_error
from torchdev_lint.harness.simulator.machine import CPU
from torchdev_lint.harness.simulator.moves import to
from torchdev_lint.harness.simulator.patches import Patches
from torchdev_lint.harness.simulator.tags import device_of, set_tag


def install(patches: Patches) -> None:
    """Replace them."""
    _install_parse_to(patches)
    _install_grouping(patches)
    _install_rnn(patches)
    patches.set(torch.nn, "DataParallel", DataParallel)
    patches.set(torch.nn.parallel, "DataParallel", DataParallel)


def _install_parse_to(patches: Patches) -> None:
    """`Module.to` parses its arguments in C++, which knows no accelerator for `to(0)` and `to(tensor)`."""
    parse = torch._C._nn._parse_to

    def parse_to(*args: Any, **kwargs: Any) -> Any:
        other = args[0] if args and isinstance(args[0], Tensor) else kwargs.get("tensor", kwargs.get("other"))
        if isinstance(other, Tensor):
            _, dtype, non_blocking, memory_format = parse(*args, **kwargs)
            return device_of(other), dtype, non_blocking, memory_format
        if args and type(args[0]) is int:
            args = (torch.device(machine.machine().type, args[0]), *args[1:])
        if type(kwargs.get("device")) is int:
            kwargs["device"] = torch.device(machine.machine().type, kwargs["device"])
        return parse(*args, **kwargs)

    patches.function(torch._C._nn, "_parse_to", parse_to)


def _install_grouping(patches: Patches) -> None:
    """Optimizers and clip_grad_norm_ group tensors by device in C++."""

    def group(tensor_lists: Any, with_indices: bool = False) -> dict[Any, Any]:
        groups: dict[Any, Any] = {}
        for position, tensor in enumerate(tensor_lists[0]):
            key = (CPU, None) if tensor is None else (device_of(tensor), tensor.dtype)
            lists, indices = groups.setdefault(key, ([[] for _ in tensor_lists], []))
            for column, tensors in enumerate(tensor_lists):
                if tensors:
                    lists[column].append(tensors[position])
            if with_indices:
                indices.append(position)
        return groups

    patches.function(torch._C, "_group_tensors_by_device_and_dtype", group)


def _install_rnn(patches: Patches) -> None:
    """The recurrent networks' own check (ATen/native/RNN.h, check_attributes)."""
    functions = torch._VF
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        checked = _checked_rnn(getattr(functions, name))
        patches.set(functions, name, checked)
        if name.startswith("rnn_"):
            patches.item(torch.nn.modules.rnn._rnn_impls, name.upper(), checked)
    patches.set(functions, "_pad_packed_sequence", _with_host_lengths(functions._pad_packed_sequence))


def _with_host_lengths(unpack: Callable[..., Any]) -> Callable[..., Any]:
    """The lengths are made where the batch sizes are, which is the CPU (aten/src/ATen/native/PackedSequence.cpp): C++ does it unseen."""

    def wrapper(*args: Any) -> Any:
        data, lengths = unpack(*args)
        set_tag(lengths, None)
        return data, lengths

    return wrapper


def _checked_rnn(run: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any) -> Any:
        data = args[0]
        # packed: (data, batch_sizes, hx, params, ...), else (data, hx, params, ...)
        packed = isinstance(args[1], Tensor) and isinstance(args[3], (list, tuple))
        hidden, parameters = (args[2], args[3]) if packed else (args[1], args[2])
        device = device_of(data)
        for kind, tensors in (("hidden", hidden), ("parameter", parameters)):
            for tensor in tensors if isinstance(tensors, (list, tuple)) else (tensors,):
                if isinstance(tensor, Tensor) and device_of(tensor) != device:
                    raise_device_error(
                        f"Input and {kind} tensors are not at the same device, found input tensor at "
                        f"{device} "
                        f"and {kind} tensor at {device_of(tensor)}"
                    )
        return run(*args)

    return wrapper


class DataParallel(torch.nn.Module):  # type: ignore[misc]
    """`torch.nn.DataParallel` on its first device only: it scatters the inputs, checks the module, does not
    replicate.
    """

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        host = machine.machine()
        self.module = module
        self.dim = dim
        self.device_ids = (
            list(range(host.count)) if device_ids is None else [machine.index_of(i) for i in device_ids]
        )
        self.output_device = self.device_ids[0] if output_device is None else machine.index_of(output_device)
        self.src_device_obj = host.devices[self.device_ids[0]]
        # As the original does (torch/nn/parallel/data_parallel.py) when there is one device only.
        if len(self.device_ids) == 1:
            self.module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run the module on the moved inputs."""
        for tensor in itertools.chain(self.module.parameters(), self.module.buffers()):
            if device_of(tensor) != self.src_device_obj:
                raise_device_error(
                    "module must have its parameters and buffers on device "
                    f"{self.src_device_obj} (device_ids[0]) but found one of them on device: "
                    f"{device_of(tensor)}"
                )
        inputs, kwargs = tree_map(self._scatter, (inputs, kwargs))
        return self.module(*inputs, **kwargs)

    def _scatter(self, value: Any) -> Any:
        return to(value, self.src_device_obj) if isinstance(value, Tensor) else value
