"""For all tests."""

from __future__ import annotations

import os

if "PYTEST_XDIST_WORKER" in os.environ:
    # `coverage run` measures this worker; what the tests start from here is not to be slowed down, nor to be
    # found importing what only coverage imports.
    for name in ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"):
        os.environ.pop(name, None)

from hypothesis import HealthCheck, settings

# how fast examples are made says something about the machine, not about the code
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
