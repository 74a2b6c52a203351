"""Threads and child processes: a dispatch mode belongs to one thread, a patch to one process."""

from __future__ import annotations

import threading
from typing import Any

from torchdev_lint.harness.simulator import machine
from torchdev_lint.harness.simulator.dispatch import SimulationMode
from torchdev_lint.harness.simulator.patches import Patches


def install(patches: Patches) -> None:
    """Make every new thread enter the mode."""
    bootstrap = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def bootstrap_in_mode(self: Any) -> None:
        if not machine.active():
            bootstrap(self)
            return
        with SimulationMode():
            bootstrap(self)

    patches.set(threading.Thread, "_bootstrap_inner", bootstrap_in_mode)
