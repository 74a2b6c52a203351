"""The simulated machine: which accelerator, how many of them, and which one is current.

There is at most one per process. Everything else asks here.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field

import torch

from torchdev_lint.harness.simulator.errors import raise_device_error

CPU = torch.device("cpu")

_INVALID_ORDINAL = (
    "CUDA error: invalid device ordinal\n"
    "GPU device may be out of range, do you have enough GPUs?\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below "
    "might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
)

FLOAT64_ON_MPS = (
    "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
    "Please use float32 instead."
)


@dataclass
class Machine:
    """`installed` accelerators of one `type`, `cuda` or `mps`."""

    type: str
    installed: int
    devices: tuple[torch.device, ...] = ()
    initialised_in: int | None = None
    seen: int | None = None
    """How many there were when one was first used."""
    """The process that first used an accelerator: CUDA cannot be used in a fork of it."""
    _thread: threading.local = field(default_factory=threading.local)

    def __post_init__(self) -> None:
        self.devices = tuple(torch.device(self.type, index) for index in range(self.installed))

    @property
    def count(self) -> int:
        """How many accelerators the program can see: CUDA reads CUDA_VISIBLE_DEVICES when it is first used.

        The backend hides the real devices by an empty list, which is not the program's own.
        """
        if self.seen is not None:
            return self.seen
        listed = os.environ.get("CUDA_VISIBLE_DEVICES", "") if self.type == "cuda" else ""
        if not listed:
            return self.installed
        visible = 0
        for name in listed.split(","):
            # an index that is no device's ends the list (CUDA C++ Programming Guide, environment variables)
            if not (name.strip().isdigit() and int(name) < self.installed):
                break
            visible += 1
        return visible

    @property
    def current(self) -> int:
        """The current device's index; CUDA keeps one for each thread and starts at 0."""
        return int(getattr(self._thread, "index", 0))

    @current.setter
    def current(self, index: int) -> None:
        self._thread.index = index

    def touch(self) -> None:
        """An accelerator is about to be used: what `torch.cuda._lazy_init` does, its refusal in a fork
        included.
        """
        process = os.getpid()
        if self.initialised_in is None:
            if self.count == 0:
                raise_device_error("No CUDA GPUs are available")
            self.seen = self.count
            self.initialised_in = process
        elif self.initialised_in != process and self.type == "cuda":
            raise_device_error(
                "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must "
                "use the 'spawn' start method"
            )


_machine: Machine | None = None


notes: list[str] = []
"""What a person should know about how a program was run."""


def note(text: str) -> None:
    """Say something once."""
    if text not in notes:
        notes.append(text)


def start(type_: str, count: int) -> Machine:
    """Make the process's machine."""
    global _machine
    notes.clear()
    _machine = Machine(type_, count)
    return _machine


def stop() -> None:
    """There is no machine any more."""
    global _machine
    _machine = None


def active() -> bool:
    """Whether a machine is simulated now."""
    return _machine is not None


def machine() -> Machine:
    """The simulated machine; RuntimeError when there is none."""
    if _machine is None:
        raise RuntimeError("no accelerator is simulated in this process")
    return _machine


def is_simulated(device: torch.device) -> bool:
    """Whether the device is one of the simulated type."""
    return _machine is not None and bool(device.type == _machine.type)


def resolve(spec: object) -> torch.device:
    """Any spelling of a device (object, string, index) as a device with an index, checked against the
    machine.

    Raises what PyTorch raises for a device that this machine lacks.
    """
    if isinstance(spec, bool):
        raise_device_error("cuda(): argument 'device' (position 1) must be torch.device, not bool", TypeError)
    if type(spec) is int:
        device = torch.device(machine().type, spec)
    elif isinstance(spec, torch.device):
        device = spec
    else:
        device = torch.device(spec)
    kind = device.type
    if kind == "cpu":
        return CPU
    if kind == "meta":
        return device
    host = machine()
    if kind == host.type:
        host.touch()
        index = host.current if device.index is None else device.index
        if not 0 <= index < host.count:
            if kind == "cuda":
                raise_device_error(_INVALID_ORDINAL, getattr(torch, "AcceleratorError", RuntimeError))
            raise_device_error(f"Invalid device index {index}: there is one mps device")
        return host.devices[index]
    if kind == "cuda":
        raise_device_error("Torch not compiled with CUDA enabled", AssertionError)
    if kind == "mps":
        raise_device_error("PyTorch is not linked with support for mps devices")
    if kind == "xpu":
        raise_device_error("Torch not compiled with XPU enabled", AssertionError)
    return device


def index_of(spec: object) -> int:
    """The index that an argument of `torch.cuda` means; None and index-less devices mean the current one."""
    if spec is None:
        return machine().current
    if isinstance(spec, int):
        return spec
    device = spec if isinstance(spec, torch.device) else torch.device(spec)
    if device.type != machine().type:
        raise_device_error(f"Expected a {machine().type} device, but got: {device}", ValueError)
    return machine().current if device.index is None else int(device.index)
