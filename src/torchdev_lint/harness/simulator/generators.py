"""`torch.Generator` with a simulated device, and the check that operators make of it."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import Generator as _CGenerator

from torchdev_lint.harness.simulator import machine
from torchdev_lint.harness.simulator.errors import raise_device_error
from torchdev_lint.harness.simulator.machine import CPU
from torchdev_lint.harness.simulator.patches import Patches
from torchdev_lint.harness.simulator.tags import WILD, set_tag, tag_of

_devices: dict[int, torch.device] = {}
"""The simulated device of a C++ generator, by its address: Python objects are remade when one comes back from
C++.
"""


def is_generator(value: object) -> bool:
    """Whether it is a generator, simulated or not."""
    return isinstance(value, _CGenerator)


class SimulatedGenerator(_CGenerator):  # type: ignore[misc]
    """A CPU generator that says it is on `device`."""

    def __new__(cls, device: Any = "cpu") -> SimulatedGenerator:
        resolved = machine.resolve(device) if machine.active() else torch.device(device)
        self: SimulatedGenerator = _CGenerator.__new__(cls, CPU)
        self._device = resolved
        if machine.active() and machine.is_simulated(resolved):
            address = self._cdata
            _devices[address] = resolved
            # The address may be used again once the generator is gone.
            weakref.finalize(self, _devices.pop, address, None)
        return self

    def __init__(self, device: Any = "cpu") -> None:
        """Everything is done in __new__, as in C."""

    @property
    def device(self) -> torch.device:
        """Where it says it is."""
        return self._device

    def set_state(self, new_state: torch.Tensor) -> SimulatedGenerator:
        """As in C, where a state on an accelerator is refused (ATen/core/Generator.h, check_rng_state)."""
        check_state(new_state)
        super().set_state(new_state)
        return self


class _GeneratorType(type(_CGenerator)):  # type: ignore[misc]
    """Makes generators that C++ hands out instances of the stand-in."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _CGenerator)


def check(generator: Any, device: Any) -> None:
    """The operator's check (ATen/core/Generator.h, check_generator): device types, not indices."""
    found = _devices.get(generator._cdata, CPU).type
    wanted = CPU.type if device is None or device is WILD else device.type
    if found != wanted:
        raise_device_error(f"Expected a '{wanted}' device type for generator but found '{found}'")


def check_state(state: Any) -> None:
    """Generator states are CPU byte tensors, also those of an accelerator's generator."""
    if isinstance(state, torch.Tensor) and tag_of(state) is not None:
        raise_device_error("RNG state must be a torch.ByteTensor", TypeError)


def install(patches: Patches) -> None:
    """Replace `torch.Generator`, the setters of the default generator's state, and what draws points for a Sobol engine."""
    patches.set(
        torch, "Generator", _GeneratorType("Generator", (SimulatedGenerator,), {"__module__": "torch"})
    )
    set_rng_state = torch.random.set_rng_state

    def checked_set_rng_state(new_state: torch.Tensor) -> None:
        check_state(new_state)
        set_rng_state(new_state)

    patches.function(torch.random, "set_rng_state", checked_set_rng_state)
    patches.function(torch, "set_rng_state", checked_set_rng_state)
    draw = torch._sobol_engine_draw

    def drawn_where_its_state_is(quasi: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        # C++ makes the points from the options of the state, and fills them past the dispatcher (native/SobolEngineOps.cpp)
        points, state = draw(quasi, *args, **kwargs)
        for made in (points, state):
            if tag_of(made) is WILD:
                set_tag(made, tag_of(quasi))
        return points, state

    patches.function(torch, "_sobol_engine_draw", drawn_where_its_state_is)
