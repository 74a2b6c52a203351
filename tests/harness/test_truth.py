"""The facts of a machine can be collected, and those of real GPUs are held against the simulator."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the runtime half needs torch")

from torchdev_lint.harness import probes, simulator
from torchdev_lint.harness.probes import base

RECORDED = sorted((Path(__file__).parents[1] / "data" / "gpu").glob("*.json"))


def collect(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torchdev_lint.harness", "truth", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_facts_of_the_simulator(tmp_path):
    done = collect(
        "--backend", "simulated", "--no-operators", "--output", str(tmp_path / "deep" / "facts.json")
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 simulated cuda devices, torch" in done.stdout
    facts = json.loads((tmp_path / "deep" / "facts.json").read_text())
    assert len(facts["probes"]) > 200
    assert facts["probes"]["add_mixed"]["error_type"] == "RuntimeError"


def test_without_a_gpu_it_says_so():
    done = collect("--backend", "cuda", "--no-operators")
    if done.returncode != 2:
        pytest.skip("THERE IS A GPU HERE: store its facts in tests/data/gpu")
    assert done.stderr.startswith("unavailable: torch")


@pytest.mark.skipif(not RECORDED, reason="NO FACTS OF A REAL GPU ARE RECORDED in tests/data/gpu")
@pytest.mark.parametrize("path", RECORDED, ids=[path.stem for path in RECORDED])
def test_the_simulator_does_what_the_gpu_did(path):
    facts = json.loads(path.read_text())["probes"]
    differences = {}
    with simulator.simulate_accelerator(devices=2):
        for probe in probes.catalogue():
            fact = facts.get(probe.name)
            if fact is None:
                continue
            mine = base.run(probe)
            if mine.error_type != fact["error_type"]:
                differences[probe.name] = (fact["error_type"], mine.error_type)
    assert differences == {}
