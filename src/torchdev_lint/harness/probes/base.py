"""What a probe is: a few lines of PyTorch, what a real accelerator does with them, and how we know.

Written as ordinary functions, run on the simulator by the tests and on a real GPU by
`python -m torchdev_lint.harness probes --backend cuda`: the same code, the same expectations.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch

SAME = "Expected all tensors to be on the same device"
"""The beginning of the commonest message."""

Device = torch.device


@dataclass(frozen=True, slots=True)
class Probe:
    """One fact about devices.

    `run` takes what it names of `c` (3 by 4 floats on the CPU), `x` (the same on accelerator 0), `i` (three
    integers there) and `d` (accelerator 0). `raises` is a pattern that the error's message must match (None:
    no error). `source` is where the expectation comes from. `confidence` is H (PyTorch's source,
    documentation, or a message that everyone has seen), M (reasoned from the source) or L (a guess).
    """

    name: str
    area: str
    run: Callable[..., None]
    source: str
    raises: str | None = None
    confidence: str = "H"
    accelerator: str = "cuda"
    devices: int = 1
    """How many accelerators it needs."""
    since: tuple[int, int] = (2, 4)
    """The first torch that has what it uses."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a probe did: the error's type and message, or None twice."""

    error_type: str | None
    message: str | None

    def problem(self, probe: Probe) -> str | None:
        """What differs from the expectation, in words; None when nothing does."""
        if probe.raises is None:
            return None if self.error_type is None else f"raised {self.error_type}: {self.message}"
        if self.error_type is None:
            return f"raised nothing instead of {probe.raises!r}"
        if re.search(probe.raises, self.message or "", re.DOTALL):
            return None
        return f"raised {self.error_type}: {self.message}\ninstead of {probe.raises!r}"


_catalogue: dict[str, Probe] = {}


def probe(
    source: str,
    *,
    raises: str | None = None,
    confidence: str = "H",
    accelerator: str = "cuda",
    devices: int = 1,
    since: tuple[int, int] = (2, 4),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register the decorated function as a probe; its name and its module's are the probe's name and area."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        area = function.__module__.rpartition(".")[2]
        name = function.__name__
        if name in _catalogue:
            raise ValueError(f"two probes are named {name}")
        _catalogue[name] = Probe(
            name, area, function, source, raises, confidence, accelerator, devices, since
        )
        return function

    return register


def registered() -> Iterable[Probe]:
    """All probes of the modules imported so far."""
    return _catalogue.values()


def run(probe: Probe) -> Result:
    """Run a probe on the accelerator of this process, real or simulated."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            probe.run(**_arguments(probe))
        except Exception as error:
            return Result(type(error).__name__, str(error))
    return Result(None, None)


def _arguments(probe: Probe) -> dict[str, Any]:
    device = torch.device(probe.accelerator, 0)
    cpu = torch.randn(3, 4)
    values = {"c": cpu, "d": device}
    wanted = signature(probe.run).parameters
    if "x" in wanted:
        values["x"] = cpu.to(device)
    if "i" in wanted:
        values["i"] = torch.tensor([0, 1, 2], device=device)
    return {name: values[name] for name in wanted}
