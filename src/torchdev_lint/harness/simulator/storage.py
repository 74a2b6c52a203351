"""Storages, checkpoints and shared memory: where a storage is, and how its tag travels."""

from __future__ import annotations

import re
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
import torch.multiprocessing.reductions as reductions
from torch import Tensor

from torchdev_lint.harness.simulator import machine
from torchdev_lint.harness.simulator.errors import raise_device_error
from torchdev_lint.harness.simulator.machine import is_simulated, resolve
from torchdev_lint.harness.simulator.patches import Patches
from torchdev_lint.harness.simulator.tags import TAG, WILD, tag_of

_real_device = torch._C.StorageBase.device.__get__

_registered = False


def install(patches: Patches) -> None:
    """Give storages a device, make pickles carry it, and register with torch.serialization."""
    construct = torch._C.StorageBase.__new__

    def storage_new(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        if device is None:
            return construct(cls, *args, **kwargs)
        target = resolve(device)
        if not is_simulated(target):
            return construct(cls, *args, device=target, **kwargs)
        made = construct(cls, *args, **kwargs)
        made.__dict__[TAG] = target
        return made

    patches.set(torch.UntypedStorage, "__new__", staticmethod(storage_new))
    patches.set(torch.UntypedStorage, "device", property(device_of_storage))
    _install_sharing(patches)
    global _registered
    if not _registered:
        # There is no way to take a package off the registry; both functions pass when nothing is simulated.
        torch.serialization.register_package(1, _location, _restore)
        _registered = True


def device_of_storage(storage: Any) -> torch.device:
    """The device that the program sees."""
    tag = storage.__dict__.get(TAG)
    if tag is None or tag is WILD or not is_simulated(tag):
        return _real_device(storage)
    return tag


def _untyped(storage: Any) -> Any:
    return getattr(storage, "_untyped_storage", storage)


def _location(storage: Any) -> str | None:
    """torch.save's note of where a storage was."""
    tag = getattr(_untyped(storage), "__dict__", {}).get(TAG)
    if not machine.active() or tag is None or tag is WILD:
        return None
    return str(tag)


def _restore(storage: Any, location: str) -> Any:
    """torch.load's way to a location; None when it is not ours."""
    if not machine.active():
        return None
    host = machine.machine()
    match = re.fullmatch(rf"{host.type}(?::(\d+))?", location)
    if match is None:
        return None
    host.touch()
    index = host.current if match[1] is None else int(match[1])
    if index >= host.count:
        # torch/serialization.py, _validate_device
        raise_device_error(
            f"Attempting to deserialize object on {host.type.upper()} device {index} but "
            f"torch.{host.type}.device_count() is {host.count}. Please use torch.load with map_location to "
            "map your storages to an existing device."
        )
    _untyped(storage).__dict__[TAG] = host.devices[index]
    return storage


def _install_sharing(patches: Patches) -> None:
    """CUDA memory goes between processes by handles; ours goes as ordinary memory, with its tag."""
    table = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    for kind in (torch.UntypedStorage, Tensor, torch.nn.Parameter):
        reduce = table.get(kind)
        if reduce is not None:
            is_storage = kind is torch.UntypedStorage
            patches.item(table, kind, _tagged_storage(reduce) if is_storage else _untagged_tensor(reduce))
    patches.set(reductions, "reduce_storage", _tagged_storage(reductions.reduce_storage))


def _tagged_storage(reduce: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], tuple[Any, ...]]:
    def wrapper(storage: Any) -> tuple[Any, ...]:
        tag = storage.__dict__.pop(TAG, None)
        try:
            rebuild, args = reduce(storage)
        finally:
            if tag is not None:
                storage.__dict__[TAG] = tag
        if not isinstance(tag, torch.device):
            return rebuild, args
        return _rebuild_tagged, (rebuild, args, tag)

    return wrapper


def _untagged_tensor(reduce: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], tuple[Any, ...]]:
    def wrapper(tensor: Tensor) -> tuple[Any, ...]:
        if not isinstance(tag_of(tensor), torch.device) or tensor.layout is not torch.strided:
            return reduce(tensor)
        storage = tensor.untyped_storage()
        tag = storage.__dict__.pop(TAG)
        try:
            return reduce(tensor)  # holds the storage, which is reduced by itself afterwards
        finally:
            storage.__dict__[TAG] = tag

    return wrapper


def _rebuild_tagged(rebuild: Callable[..., Any], args: tuple[Any, ...], tag: torch.device) -> Any:
    storage = rebuild(*args)
    storage.__dict__[TAG] = tag
    return storage
