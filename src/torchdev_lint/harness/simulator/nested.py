"""Nested tensors: made from a list on one device, which C++ would check and move by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nested
from torch import Tensor

from torchdev_lint.harness.simulator import machine
from torchdev_lint.harness.simulator.errors import UnsupportedError
from torchdev_lint.harness.simulator.machine import is_simulated, resolve
from torchdev_lint.harness.simulator.moves import to
from torchdev_lint.harness.simulator.patches import Patches
from torchdev_lint.harness.simulator.tags import device_of, set_tag, tag_for


def install(patches: Patches) -> None:
    """Replace the constructors of torch.nested."""
    for name in ("nested_tensor", "as_nested_tensor"):
        patches.function(torch.nested, name, _on_one_device(getattr(torch.nested, name)))
    wrap = Tensor._make_wrapper_subclass

    def make_wrapper_subclass(*args: Any, device: Any = None, **kwargs: Any) -> Tensor:
        # Jagged tensors and other subclasses without data of their own: C++ must not see a device it lacks.
        if device is None or not machine.active():
            return wrap(*args, **kwargs) if device is None else wrap(*args, device=device, **kwargs)
        target = resolve(device)
        tag = tag_for(target)
        if tag is None:
            return wrap(*args, device=target, **kwargs)
        made = wrap(*args, device=machine.CPU, **kwargs)
        set_tag(made, tag)
        return made

    patches.set(Tensor, "_make_wrapper_subclass", staticmethod(make_wrapper_subclass))


def _on_one_device(construct: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def wrapper(parts: Any, *args: Any, device: Any = None, **kwargs: Any) -> Tensor:
        if isinstance(parts, Tensor):
            target = device_of(parts) if device is None else resolve(device)
            parts = to(parts, target)
        else:
            tensors = [part for part in parts if isinstance(part, Tensor)]
            if device is None:
                # The first one's, to which the others are moved (torch/csrc/utils/nested.cpp).
                device = device_of(tensors[0]) if tensors else machine.CPU
            target = resolve(device)
            parts = [to(part, target) if isinstance(part, Tensor) else part for part in parts]
        if torch.jagged in (*args, kwargs.get("layout")) and is_simulated(target):
            raise UnsupportedError("nested tensors of layout torch.jagged")
        made = construct(parts, *args, **kwargs)
        if made.layout is torch.strided:
            set_tag(made, tag_for(target))
        return made

    return wrapper
