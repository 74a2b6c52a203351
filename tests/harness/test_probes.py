"""The catalogue of facts about devices holds on the simulated accelerator, in this very process."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the runtime half needs torch")

from torchdev_lint.harness import probes, simulator
from torchdev_lint.harness.probes import base
from torchdev_lint.harness.simulator.rules import release

CATALOGUE = sorted(probes.catalogue(), key=lambda probe: probe.accelerator)


@pytest.fixture(scope="module")
def accelerator(request):
    with simulator.simulate_accelerator(devices=2, accelerator=request.param):
        yield request.param


@pytest.mark.parametrize(
    ("accelerator", "probe"),
    [pytest.param(probe.accelerator, probe, id=f"{probe.area}-{probe.name}") for probe in CATALOGUE],
    indirect=["accelerator"],
)
def test_the_simulator_does_what_the_probe_says(accelerator, probe):
    if release() < probe.since:
        pytest.skip(f"torch {probe.since[0]}.{probe.since[1]} brought what it uses")
    problem = base.run(probe).problem(probe)
    assert problem is None, problem


def test_a_wrong_expectation_is_noticed():
    works = base.Probe("works", "here", lambda: None, "", raises="anything")
    assert base.Result(None, None).problem(works) == "raised nothing instead of 'anything'"
    assert "instead of 'anything'" in (base.Result("ValueError", "other").problem(works) or "")
    quiet = base.Probe("quiet", "here", lambda: None, "")
    assert base.Result("ValueError", "x").problem(quiet) == "raised ValueError: x"
