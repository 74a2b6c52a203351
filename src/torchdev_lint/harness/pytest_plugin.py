"""Runs any test suite on the CPU, on a simulated accelerator or on a real GPU.

    pytest --accelerator=simulated[:N] | mps | cpu | cuda | auto

Without the option nothing is touched and torch is not imported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from typing import Any

import pytest

from torchdev_lint.harness import backends
from torchdev_lint.harness.child import without_harness
from torchdev_lint.harness.classify import is_device_error

_HELP = (
    "where torch's accelerator is: 'simulated' or 'simulated:N' (N simulated CUDA devices, default 2), 'mps' "
    "(a simulated Apple GPU), 'cpu' (none), 'cuda' (a real GPU, which must be there) or 'auto' (a real GPU "
    "if "
    "there is one, else simulated)"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--accelerator`."""
    group = parser.getgroup("torchdev-lint", "PyTorch devices")
    group.addoption("--accelerator", metavar="KIND", default=None, help=_HELP)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Prepare the backend before any conftest or test module can import from torch."""
    spec = early_config.known_args_namespace.accelerator
    if spec is None:
        return
    backend = parse(spec)
    os.environ.update(backend.environment())
    try:
        backend.prepare()
    except backends.BackendUnavailableError as error:
        raise pytest.UsageError(f"--accelerator={spec} is unavailable: {error}") from error
    early_config.stash[_BACKEND] = backend


_BACKEND = pytest.StashKey[backends.Backend]()


def parse(spec: str) -> backends.Backend:
    """The backend that the option names; UsageError when there is none."""
    match = re.fullmatch(r"(simulated|mps|cpu|cuda|auto)(?::(\d+))?", spec)
    if match is None or (match[2] is not None and match[1] not in ("simulated", "auto")):
        raise pytest.UsageError(
            f"--accelerator={spec} is not understood: expected simulated[:N], mps, cpu, cuda or auto[:N]"
        )
    devices = 2 if match[2] is None else int(match[2])
    if devices < 1:
        raise pytest.UsageError(f"--accelerator={spec}: there must be at least one device")
    if match[1] == "mps":
        return backends.create("simulated", accelerator="mps")
    return backends.create(match[1], devices=devices)


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marker."""
    config.addinivalue_line(
        "markers",
        "device_error(match=None): the test must fail with a device error whose message matches the "
        "pattern; it is "
        "skipped where there is no accelerator",
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """One line that says what is simulated, if anything is."""
    backend = config.stash.get(_BACKEND, None)
    if backend is None:
        return None
    import torch

    note = "" if "simulated" not in backend.describe() else "; values are computed on the CPU"
    return f"accelerator: {backend.describe()} (torch {torch.__version__}{note})"


def accelerator() -> str | None:
    """The type of the accelerator that torch sees now, `cuda` or `mps`, or None."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else None


@pytest.fixture(scope="session")
def accelerator_device() -> Any:
    """A torch.device: the first accelerator, real or simulated, or the CPU where there is none."""
    import torch

    kind = accelerator()
    return torch.device("cpu") if kind is None else torch.device(kind, 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Turn the expected device error into a pass, and its absence into a failure."""
    marker = item.get_closest_marker("device_error")
    if marker is None:
        if item.config.stash.get(_BACKEND, None) is None:
            return (yield)
        try:
            return (yield)
        except BaseException as error:
            raise error.with_traceback(without_harness(error.__traceback__)) from error.__cause__
    if accelerator() is None:
        pytest.skip("there is no accelerator to raise a device error (try --accelerator=simulated)")
    pattern = marker.kwargs.get("match", marker.args[0] if marker.args else None)
    try:
        yield
    except Exception as error:
        if not is_device_error(error):
            raise
        if pattern is not None and re.search(pattern, str(error)) is None:
            pytest.fail(f"the device error does not match {pattern!r}:\n{type(error).__name__}: {error}")
        return None
    pytest.fail("the test did not raise a device error")
