"""Mixed precision: the accelerator's autocast is played by the CPU's, whose lists of operators differ a
little.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.amp.autocast_mode

from torchdev_lint.harness.simulator import machine
from torchdev_lint.harness.simulator.patches import Patches


def install(patches: Patches) -> None:
    """Make `autocast("cuda")` switch the CPU's on and off as well."""
    autocast = torch.amp.autocast_mode.autocast
    enter, leave = autocast.__enter__, autocast.__exit__

    def patched_enter(self: Any) -> Any:
        result = enter(self)
        if machine.active() and self.device == machine.machine().type:
            self._torchdev_lint_before = (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
            torch.set_autocast_enabled("cpu", self._enabled)
            torch.set_autocast_dtype("cpu", self.fast_dtype)
        return result

    def patched_exit(self: Any, *exc_info: Any) -> Any:
        before = self.__dict__.pop("_torchdev_lint_before", None)
        if before is not None:
            torch.set_autocast_enabled("cpu", before[0])
            torch.set_autocast_dtype("cpu", before[1])
        return leave(self, *exc_info)

    patches.set(autocast, "__enter__", patched_enter)
    patches.set(autocast, "__exit__", patched_exit)
