"""Threads and child processes: a dispatch mode belongs to one thread, a patch to one process."""

from __future__ import annotations

import atexit
import multiprocessing.spawn
import threading
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed

from torchdev_lint.harness.simulator import machine
from torchdev_lint.harness.simulator.dispatch import SimulationMode
from torchdev_lint.harness.simulator.patches import Patches

_INSTALL = (
    "from torchdev_lint.harness import simulator; simulator.install({count}, {type!r}, self_test=False); "
)


def install(patches: Patches) -> None:
    """Make new threads enter the mode, and spawned processes install the simulator."""
    bootstrap = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def bootstrap_in_mode(self: Any) -> None:
        if not machine.active():
            bootstrap(self)
            return
        with SimulationMode():
            bootstrap(self)

    patches.set(threading.Thread, "_bootstrap_inner", bootstrap_in_mode)
    command_line = multiprocessing.spawn.get_command_line

    def command_line_with_simulator(**kwargs: Any) -> list[str]:
        command = command_line(**kwargs)
        if machine.active() and "-c" in command:
            host = machine.machine()
            code = command.index("-c") + 1
            command[code] = _INSTALL.format(count=host.installed, type=host.type) + command[code]
        return command

    # A forked process inherits the patches; a spawned one imports the program's modules, after what stands here.
    patches.function(multiprocessing.spawn, "get_command_line", command_line_with_simulator)
    if torch.distributed.is_available():
        _install_distributed(patches)


def _install_distributed(patches: Patches) -> None:
    """NCCL is played by Gloo, which sees CPU tensors as everything in C++ does."""
    package = torch.distributed
    core = torch.distributed.distributed_c10d

    def with_gloo(function: Callable[..., Any], position: int) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            atexit.unregister(_let_go)
            atexit.register(_let_go)
            kwargs.pop("device_id", None)
            if len(args) > position:
                args = (*args[:position], _gloo(args[position]), *args[position + 1 :])
            else:
                kwargs["backend"] = _gloo(kwargs.get("backend"))
            return function(*args, **kwargs)

        return wrapper

    for name, position in (("init_process_group", 0), ("new_group", 2)):
        replacement = with_gloo(getattr(core, name), position)
        patches.function(core, name, replacement)
        patches.function(package, name, replacement)
    for owner in (core, package):
        patches.function(owner, "is_nccl_available", lambda: True)


_MOMENT = 0.2
"""Seconds, for the threads of Gloo to let go what they were given, also where the machine has other things to do."""


def _let_go() -> None:
    """Give Gloo's threads a moment before Python ends.

    What a collective operation was given is let go by one of them, when it is done. A tensor of which only that thread still
    knows takes Python's lock to die; where Python is about to end it kills the thread instead, and with it the process ("terminate called
    without an active exception": `take_gil` in CPython's Python/ceval_gil.h, `decref` in torch/csrc/PyInterpreter.cpp).
    """
    time.sleep(_MOMENT)


def _gloo(backend: Any) -> Any:
    return "gloo" if backend is None or "nccl" in str(backend).lower() else backend
