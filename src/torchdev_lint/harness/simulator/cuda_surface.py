"""`torch.cuda`, `torch.backends` and `torch.version` of a machine with simulated CUDA devices, or without
any.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from torchdev_lint.harness.simulator import generators, machine, streams
from torchdev_lint.harness.simulator.errors import UnsupportedError, raise_device_error
from torchdev_lint.harness.simulator.patches import Patches
from torchdev_lint.harness.simulator.tags import device_of

NAME = "Simulated CUDA device"
MEMORY = 16 << 30
"""Bytes that a simulated device claims to have; nothing is accounted."""

_NOTHING_TO_DO = (
    "synchronize",
    "empty_cache",
    "ipc_collect",
    "reset_peak_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "set_per_process_memory_fraction",
    "reset_accumulated_memory_stats",
    "reset_peak_host_memory_stats",
    "set_sync_debug_mode",
    "set_stream",
)
_ZERO = (
    "memory_allocated",
    "max_memory_allocated",
    "memory_reserved",
    "max_memory_reserved",
    "memory_cached",
    "max_memory_cached",
    "memory_usage",
    "utilization",
    "temperature",
    "power_draw",
    "clock_rate",
    "get_sync_debug_mode",
)


def install(patches: Patches) -> None:
    """Replace the functions of torch.cuda."""
    if machine.machine().type != "cuda":
        _install_absent(patches)
        return
    cuda = torch.cuda
    replace = _Replacer(patches, cuda)
    replace("_lazy_init", lambda: machine.machine().touch())
    replace("init", lambda: machine.machine().touch())
    replace("is_available", lambda: machine.machine().count > 0)
    replace("_is_compiled", lambda: True)
    replace("is_initialized", lambda: machine.machine().initialised_in is not None)
    replace("device_count", lambda: machine.machine().count)
    replace("is_bf16_supported", lambda *args, **kwargs: True)
    replace("is_tf32_supported", lambda *args, **kwargs: True)
    replace("current_device", _initialised(lambda: machine.machine().current))
    replace("set_device", _initialised(set_device))
    replace("device", CurrentDevice, is_class=True)
    replace("_DeviceGuard", CurrentDevice, is_class=True)
    replace("device_of", DeviceOf, is_class=True)
    for name in _NOTHING_TO_DO:
        replace(name, lambda *args, **kwargs: None)
    for name in _ZERO:
        replace(name, lambda *args, **kwargs: 0)
    replace("memory_stats", lambda *args, **kwargs: {})
    replace("memory_stats_as_nested_dict", lambda *args, **kwargs: {})
    replace("memory_snapshot", lambda *args, **kwargs: [])
    replace("memory_summary", lambda *args, **kwargs: "")
    replace("mem_get_info", lambda *args, **kwargs: (MEMORY, MEMORY))
    replace("get_device_name", _initialised(lambda device=None: _of(device).name))
    replace("get_device_capability", _initialised(lambda device=None: (_of(device).major, _of(device).minor)))
    replace("get_device_properties", _initialised(lambda device=None: _of(device)))
    replace("get_arch_list", lambda: ["sm_80"])
    replace("can_device_access_peer", lambda device, peer_device: True)
    _install_random(replace)
    # where these are defined, and libraries take them from
    _install_random(_Replacer(patches, torch.cuda.random))
    replace("Stream", streams.Stream, is_class=True)
    replace("ExternalStream", streams.ExternalStream, is_class=True)
    replace("Event", streams.Event, is_class=True)
    replace("current_stream", streams.device_stream)
    replace("default_stream", streams.device_stream)
    replace("stream", streams.use_stream, is_class=True)
    replace("StreamContext", streams.use_stream, is_class=True)
    replace("is_current_stream_capturing", lambda: False)
    # Types, not functions: they stand in annotations (`torch.cuda.CUDAGraph | None`).
    replace("CUDAGraph", _refusing_type("CUDAGraph", "CUDA graphs"), is_class=True)
    replace("graph", _refusing_type("graph", "CUDA graphs"), is_class=True)
    replace("make_graphed_callables", _refuse("CUDA graphs (torch.cuda.make_graphed_callables)"))
    jitted = getattr(torch.cuda.jiterator, "_JittedFunction", None)
    if jitted is not None:
        patches.set(jitted, "__call__", _refuse("CUDA code (torch.cuda.jiterator)"))
    patches.set(torch._C, "_cuda_getCurrentRawStream", lambda *args: 0)
    patches.set(torch.version, "cuda", torch.version.cuda or "12.8")
    patches.function(torch.backends.cuda, "is_built", lambda: True)
    patches.function(torch.backends.cudnn, "is_available", lambda: True)
    # Asked by recurrent networks before they pack their weights for cuDNN, which is not there.
    patches.function(torch.backends.cudnn, "is_acceptable", lambda tensor: False)


class _Replacer:
    """Replaces what this torch has, and only that: a name of a newer torch must not appear in an older
    one.
    """

    def __init__(self, patches: Patches, owner: Any) -> None:
        self._patches = patches
        self._owner = owner

    def __call__(self, name: str, value: Any, *, is_class: bool = False) -> None:
        if not hasattr(self._owner, name):
            return
        if is_class:
            self._patches.set(self._owner, name, value)
        else:
            self._patches.function(self._owner, name, value)


def _install_absent(patches: Patches) -> None:
    """No CUDA at all: what an Apple machine says."""
    replace = _Replacer(patches, torch.cuda)

    def refuse() -> None:
        raise_device_error("Torch not compiled with CUDA enabled", AssertionError)

    replace("_lazy_init", refuse)
    replace("init", refuse)
    replace("is_available", lambda: False)
    replace("_is_compiled", lambda: False)
    replace("device_count", lambda: 0)


def _install_random(replace: _Replacer) -> None:
    """The accelerator draws from the CPU's generator: one stream of numbers for all devices."""

    def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
        generators.check_state(new_state)
        torch.set_rng_state(new_state)

    def set_rng_state_all(new_states: Any) -> None:
        for state in new_states:
            set_rng_state(state)

    for name in ("manual_seed", "manual_seed_all", "seed", "seed_all"):
        # torch.manual_seed calls these after seeding the CPU.
        replace(name, lambda *args, **kwargs: None)
    replace("initial_seed", torch.initial_seed)
    replace("get_rng_state", lambda device="cuda": torch.get_rng_state())
    replace("set_rng_state", set_rng_state)
    replace("get_rng_state_all", lambda: [torch.get_rng_state() for _ in range(machine.machine().count)])
    replace("set_rng_state_all", set_rng_state_all)


def _initialised(function: Callable[..., Any]) -> Callable[..., Any]:
    """For functions that initialise CUDA first."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        machine.machine().touch()
        return function(*args, **kwargs)

    return wrapper


def _refuse(what: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(what)

    return refuse


def _refusing_type(name: str, what: str) -> type:
    return type(name, (), {"__module__": "torch.cuda", "__new__": staticmethod(_refuse(what))})


def set_device(device: Any) -> None:
    """`torch.cuda.set_device`: a negative index means no change."""
    index = machine.index_of(device)
    if index >= 0:
        machine.machine().current = machine.resolve(index).index


def _of(device: Any) -> SimpleNamespace:
    index = machine.resolve(machine.index_of(device)).index
    return SimpleNamespace(
        name=NAME,
        major=8,
        minor=0,
        total_memory=MEMORY,
        multi_processor_count=108,
        max_threads_per_multi_processor=2048,
        warp_size=32,
        is_integrated=False,
        is_multi_gpu_board=False,
        gcnArchName="",
        L2_cache_size=40 << 20,
        regs_per_multiprocessor=65536,
        shared_memory_per_block=49152,
        shared_memory_per_multiprocessor=167936,
        uuid=f"simulated-{index}",
    )


class CurrentDevice:
    """`with torch.cuda.device(i):`."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else machine.index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = machine.machine().current
        set_device(self.idx)

    def __exit__(self, *exc_info: object) -> None:
        if machine.active():
            machine.machine().current = self.prev_idx


class DeviceOf(CurrentDevice):
    """`with torch.cuda.device_of(tensor):`."""

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__(device_of(tensor) if tensor.is_cuda else None)
