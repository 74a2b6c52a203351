"""A simulated accelerator for any build of PyTorch ("tagged storages").

Tensors stay ordinary CPU tensors with real values and real autograd; the device they would be on is a tag on
their storage (`tags`). A dispatch mode (`dispatch`) checks every operator by the rules of its CUDA kernel
(`rules`, `native`), and replaced attributes of torch (`patches` and the surface modules) show the simulated
devices to the program.

Install it before the program's own imports: `from torch import tensor` keeps what was there.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.optim
import torch.utils.data

from torchdev_lint.harness.simulator import (
    compiling,
    cuda_surface,
    dispatch,
    factories,
    generators,
    machine,
    modules,
    moves,
    native,
    nested,
    other_surfaces,
    precision,
    processes,
    selftest,
    storage,
    tensor_surface,
)
from torchdev_lint.harness.simulator.errors import SimulatorUnavailableError, UnsupportedError
from torchdev_lint.harness.simulator.patches import Patches

__all__ = [
    "SimulatorUnavailableError",
    "UnsupportedError",
    "install",
    "installed",
    "simulate_accelerator",
    "uninstall",
]


@dataclass(frozen=True, slots=True)
class _Installation:
    patches: Patches
    mode: dispatch.SimulationMode
    finder: importlib.abc.MetaPathFinder


_installed: _Installation | None = None


def installed() -> bool:
    """Whether this process simulates an accelerator."""
    return _installed is not None


def install(devices: int = 2, accelerator: str = "cuda", *, self_test: bool = True) -> None:
    """Simulate `devices` accelerators of type `cuda` or `mps` in this process from now on, in this thread and
    new ones.

    Raises SimulatorUnavailableError, and leaves torch as it was, when the simulator does not work with this
    torch or this machine.
    """
    global _installed
    if _installed is not None:
        raise SimulatorUnavailableError("an accelerator is simulated in this process already")
    if torch.cuda.is_available():
        raise SimulatorUnavailableError('this process sees a real GPU; hide it with CUDA_VISIBLE_DEVICES=""')
    if not dispatch.declarations:
        try:
            dispatch.declarations = native.load()
        except OSError as error:
            raise SimulatorUnavailableError(
                f"torch {torch.__version__} lacks what the rules come from: {error}"
            ) from error
    patches = Patches()
    if accelerator == "mps":
        devices = 1  # Apple machines have one GPU
    host = machine.start(accelerator, devices)
    mode = dispatch.SimulationMode()
    try:
        for part in (
            tensor_surface,
            moves,
            generators,
            factories,
            storage,
            modules,
            nested,
            cuda_surface,
            other_surfaces,
            precision,
            compiling,
            processes,
        ):
            part.install(patches)
        mode.__enter__()
    except Exception as error:
        patches.undo()
        machine.stop()
        raise SimulatorUnavailableError(
            f"installation failed on torch {torch.__version__}: {error!r}"
        ) from error
    finder = compiling.finder(patches)
    sys.meta_path.insert(0, finder)
    _installed = _Installation(patches, mode, finder)
    if self_test:
        failures = selftest.run(accelerator)
        if failures:
            uninstall()
            raise SimulatorUnavailableError(
                f"the self-test failed on torch {torch.__version__}: " + "; ".join(failures)
            )
    host.initialised_in = None  # by the self-test, not by the program
    host.seen = None


def uninstall() -> None:
    """Put torch back as it was; tensors made meanwhile are plain CPU tensors from now on."""
    global _installed
    if _installed is None:
        return
    installation, _installed = _installed, None
    sys.meta_path.remove(installation.finder)
    installation.mode.__exit__(None, None, None)
    installation.patches.undo()
    machine.stop()


@contextlib.contextmanager
def simulate_accelerator(devices: int = 2, accelerator: str = "cuda") -> Iterator[None]:
    """`with simulate_accelerator(devices=2):` simulates in this process, and restores everything afterwards.

    Enter and leave it in the same thread, outside any other dispatch mode. Raises SimulatorUnavailableError.
    """
    install(devices, accelerator)
    try:
        yield
    finally:
        uninstall()
