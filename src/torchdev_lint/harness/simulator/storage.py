"""Storages and checkpoints: where a storage is, where `torch.save` says it is, and where `torch.load` puts
it.
"""

from __future__ import annotations

import re
from typing import Any

import torch

from torchdev_lint.harness.simulator import machine
from torchdev_lint.harness.simulator.errors import raise_device_error
from torchdev_lint.harness.simulator.patches import Patches
from torchdev_lint.harness.simulator.tags import TAG, WILD

_registered = False


def install(patches: Patches) -> None:
    """Make storages carry their tag along, and register with torch.serialization."""
    base = torch.storage._StorageBase
    clone = base.clone

    def tagged_clone(self: Any) -> Any:
        copy = clone(self)
        tag = self.__dict__.get(TAG)
        if tag is not None:
            copy.__dict__[TAG] = tag
        return copy

    patches.set(base, "clone", tagged_clone)
    global _registered
    if not _registered:
        # There is no way to take a package off the registry; both functions pass when nothing is simulated.
        torch.serialization.register_package(1, _location, _restore)
        _registered = True


def _untyped(storage: Any) -> Any:
    return getattr(storage, "_untyped_storage", storage)


def _location(storage: Any) -> str | None:
    tag = getattr(_untyped(storage), "__dict__", {}).get(TAG)
    if not machine.active() or tag is None or tag is WILD:
        return None
    return str(tag)


def _restore(storage: Any, location: str) -> Any:
    if not machine.active():
        return None
    host = machine.machine()
    match = re.fullmatch(rf"{host.type}(?::(\d+))?", location)
    if match is None:
        return None
    index = host.current if match[1] is None else int(match[1])
    if index >= host.count:
        # torch/serialization.py, _validate_device
        raise_device_error(
            f"Attempting to deserialize object on {host.type.upper()} device {index} but "
            f"torch.{host.type}.device_count() is {host.count}. Please use torch.load with map_location to "
            "map "
            "your storages to an existing device."
        )
    _untyped(storage).__dict__[TAG] = host.devices[index]
    return storage
