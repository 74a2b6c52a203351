"""The places a program can be run: each knows its environment, and how to get ready inside the child
process.
"""

from __future__ import annotations

from torchdev_lint.harness.backends.base import Backend, BackendUnavailableError
from torchdev_lint.harness.backends.cpu import CpuBackend
from torchdev_lint.harness.backends.cuda import AutoBackend, CudaBackend
from torchdev_lint.harness.backends.simulated import SimulatedBackend

NAMES = ("cpu", "simulated", "cuda", "auto")
"""What `create` accepts."""

__all__ = ["NAMES", "Backend", "BackendUnavailableError", "create"]


def create(name: str, *, devices: int = 2, accelerator: str = "cuda") -> Backend:
    """The backend of that name; `devices` and `accelerator` (`cuda` or `mps`) are for the simulated one.

    Raises ValueError for an unknown name, a number of devices below 1 or an unknown accelerator.
    """
    if name == "cpu":
        return CpuBackend()
    if name == "simulated":
        return SimulatedBackend(devices=devices, accelerator=accelerator)
    if name == "cuda":
        return CudaBackend()
    if name == "auto":
        return AutoBackend(SimulatedBackend(devices=devices, accelerator=accelerator))
    raise ValueError(f"unknown backend {name!r}: expected one of {', '.join(NAMES)}")
