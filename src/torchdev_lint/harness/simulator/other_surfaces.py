"""`torch.mps` and `torch.accelerator`."""

from __future__ import annotations

from typing import Any

import torch

from torchdev_lint.harness.simulator import machine, streams
from torchdev_lint.harness.simulator.cuda_surface import set_device
from torchdev_lint.harness.simulator.patches import Patches


def install(patches: Patches) -> None:
    """Replace what this torch has of them."""
    if machine.machine().type == "mps":
        _install_mps(patches)
    accelerator = getattr(torch, "accelerator", None)  # since 2.6
    if accelerator is not None:
        _install_accelerator(patches, accelerator)


def _install_mps(patches: Patches) -> None:
    for owner, name in (
        (torch.backends.mps, "is_available"),
        (torch.backends.mps, "is_built"),
        (torch.mps, "is_available"),
    ):
        if hasattr(owner, name):
            patches.function(owner, name, lambda: True)
    patches.function(torch.mps, "device_count", lambda: 1)
    for name in ("synchronize", "empty_cache", "manual_seed", "seed", "set_per_process_memory_fraction"):
        patches.function(torch.mps, name, lambda *args, **kwargs: None)
    for name in ("current_allocated_memory", "driver_allocated_memory", "recommended_max_memory"):
        patches.function(torch.mps, name, lambda: 0)
    patches.function(torch.mps, "get_rng_state", torch.get_rng_state)
    patches.function(torch.mps, "set_rng_state", torch.set_rng_state)


def _install_accelerator(patches: Patches, accelerator: Any) -> None:
    def current_accelerator(check_available: bool = False) -> torch.device:
        return torch.device(machine.machine().type)

    functions: dict[str, Any] = {
        "is_available": lambda: True,
        "current_accelerator": current_accelerator,
        "device_count": lambda: machine.machine().count,
        "current_device_index": lambda: machine.machine().current,
        "current_device_idx": lambda: machine.machine().current,
        "set_device_index": set_device,
        "set_device_idx": set_device,
        "current_stream": streams.device_stream,
        "set_stream": lambda stream: None,
        "synchronize": lambda device=None: None,
        "empty_cache": lambda: None,
        "memory_allocated": lambda device=None: 0,
        "max_memory_allocated": lambda device=None: 0,
        "memory_reserved": lambda device=None: 0,
        "max_memory_reserved": lambda device=None: 0,
        "memory_stats": lambda device=None: {},
        "reset_peak_memory_stats": lambda device=None: None,
        "reset_accumulated_memory_stats": lambda device=None: None,
    }
    for name, function in functions.items():
        if hasattr(accelerator, name):
            patches.function(accelerator, name, function)
    for name, value in (("_accelerator_isAvailable", lambda: True),):
        if hasattr(torch._C, name):
            patches.set(torch._C, name, value)
