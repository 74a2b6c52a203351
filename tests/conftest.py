"""For all tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings


def _measure_no_processes() -> None:
    """`coverage run` measures this worker; what the tests start from here is not to be slowed down, nor to be found importing
    what only coverage imports."""
    for name in ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"):
        os.environ.pop(name, None)


if "PYTEST_XDIST_WORKER" in os.environ:
    _measure_no_processes()

# how fast examples are made says something about the machine, not about the code
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

OUTSIDE = (
    "CI",
    "CI_PROJECT_DIR",
    "COLUMNS",
    "FORCE_COLOR",
    "LINES",
    "NO_COLOR",
    "PYTHONWARNINGS",
    "PYTHON_COLORS",
    "RUFF_CACHE_DIR",
    "RUFF_CONFIG",
    "RUFF_NO_CACHE",
    "RUFF_OUTPUT_FILE",
    "RUFF_OUTPUT_FORMAT",
    "TERM",
)
"""What is said to programs about the terminal, the job and themselves."""


@pytest.fixture(autouse=True, scope="session")
def _quiet_environment() -> Iterator[None]:
    """What the user of this machine or its CI has set is meant for others than the programs that are tested."""
    with pytest.MonkeyPatch.context() as patch:
        for name in OUTSIDE:
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(autouse=True)
def _untraced(request: pytest.FixtureRequest) -> Iterator[None]:
    """Pauses coverage where the marker asks for it: tracing takes twice the time of the programs that such tests read many times over."""
    coverage = sys.modules.get("coverage")
    measuring = (
        coverage.Coverage.current() if coverage and request.node.get_closest_marker("untraced") else None
    )
    if measuring is None:
        yield
        return
    measuring.stop()
    try:
        yield
    finally:
        measuring.start()
        _measure_no_processes()
