"""What devices this machine has, and what of a project's device literals it lacks.

Asked of a fresh process: the answer depends on the environment in which torch is imported, and torch may not be
importable at all.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_PROBE = "from torchdev_lint.harness.doctor import probe; probe()"
_TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Health:
    """The state of this machine, as torch sees it.

    `torch` is None when it cannot be imported, and `problem` says why. `cuda_devices` are the names of the GPUs.
    `simulator` is "available" or the reason why it is not.
    """

    python: str
    torch: str | None
    problem: str | None
    cuda_build: str | None
    cuda_devices: tuple[str, ...]
    cuda_visible_devices: str | None
    mps: bool
    default_device: str | None
    simulator: str

    def has(self, device: str) -> bool:
        """Whether a device string (`cuda:1`, `mps`, `cpu`) names something that is there."""
        kind, _, index = device.partition(":")
        if kind == "cuda":
            return int(index or 0) < len(self.cuda_devices)
        if kind == "mps":
            return self.mps and int(index or 0) == 0
        return kind in ("cpu", "meta")

    def describe(self) -> str:
        """The lines that `doctor` prints."""
        if self.torch is None:
            return (
                f"Python {self.python}\ntorch: not importable ({self.problem})\nsimulator: {self.simulator}"
            )
        visible = self.cuda_visible_devices
        lines = [
            f"Python {self.python}",
            f"torch {self.torch}, "
            + (f"built for CUDA {self.cuda_build}" if self.cuda_build else "without CUDA"),
            f"CUDA_VISIBLE_DEVICES: {'not set' if visible is None else repr(visible)}",
            *(f"cuda:{index}: {name}" for index, name in enumerate(self.cuda_devices)),
        ]
        if not self.cuda_devices:
            lines.append("no CUDA device" + (f" ({self.problem})" if self.problem else ""))
        lines.append("mps: available" if self.mps else "mps: not available")
        lines.append(f"default device: {self.default_device}")
        lines.append(f"simulator: {self.simulator}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The same as data."""
        return asdict(self)


def examine(python: str | None = None) -> Health:
    """Ask a fresh process of this (or another) interpreter."""
    try:
        done = subprocess.run(
            [python or sys.executable, "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
        data = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError) as error:
        return _without_torch(f"the examination failed: {error}")
    data["cuda_devices"] = tuple(data["cuda_devices"])
    return Health(**data)


def probe() -> None:
    """In the fresh process: print the health as the last line of standard output."""
    print(json.dumps(asdict(_look())))


def _look() -> Health:
    try:
        import torch
    except Exception as error:  # a broken installation raises anything
        return _without_torch(f"{type(error).__name__}: {error}")
    problem = None
    names: tuple[str, ...] = ()
    try:
        if torch.cuda.is_available():
            names = tuple(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    default = str(torch.get_default_device()) if hasattr(torch, "get_default_device") else "cpu"
    return Health(
        python=sys.version.split()[0],
        torch=str(torch.__version__),
        problem=problem,
        cuda_build=torch.version.cuda,
        cuda_devices=names,
        cuda_visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES"),
        mps=bool(torch.backends.mps.is_available()),
        default_device=default,
        simulator=_simulator_status(bool(names)),
    )


def _simulator_status(has_gpu: bool) -> str:
    if has_gpu:
        return "available in processes that do not see the GPU (the harness hides it)"
    from torchdev_lint.harness import simulator

    try:
        with simulator.simulate_accelerator():
            return "available"
    except simulator.SimulatorUnavailableError as error:
        return f"unavailable: {error}"


def _without_torch(problem: str) -> Health:
    return Health(
        python=sys.version.split()[0],
        torch=None,
        problem=problem,
        cuda_build=None,
        cuda_devices=(),
        cuda_visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES"),
        mps=False,
        default_device=None,
        simulator="unavailable: it needs torch",
    )


@dataclass(frozen=True, slots=True)
class Literal:
    """A device literal in a source file, at a 1-based row."""

    path: str
    row: int
    device: str


_LITERAL = re.compile(r"""(?<![\w"'])[rRuU]?(["'])((?:cuda|mps|xpu)(?::\d+)?)\1""")


def literals(paths: Iterable[Path]) -> list[Literal]:
    """The device strings in these Python files; files that cannot be read are left out.

    By text, not by syntax: a literal in a comment counts too, which is as well for a list to look through.
    """
    found = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        for row, line in enumerate(text.splitlines(), start=1):
            found += [Literal(str(path), row, match[2]) for match in _LITERAL.finditer(line)]
    return found


def lacking(health: Health, found: Iterable[Literal]) -> list[Literal]:
    """The literals whose device this machine does not have."""
    return [literal for literal in found if not health.has(literal.device)]
