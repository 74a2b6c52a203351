"""Facts about devices in PyTorch, each with a few lines that show it."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchdev_lint.harness.probes.base import Probe


def catalogue() -> list[Probe]:
    """Every probe. Imports torch."""
    base = importlib.import_module(f"{__name__}.base")
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return list(base.registered())
