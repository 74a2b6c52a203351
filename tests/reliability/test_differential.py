"""Generated programs: what raises on the simulated accelerator is flagged, what passes is silent."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import differential
import programs

pytestmark = pytest.mark.untraced


def test_a_seed_gives_one_program() -> None:
    assert programs.program(5) == programs.program(5)
    assert len({programs.program(seed).text for seed in range(50)}) == 50


def test_every_program_is_python() -> None:
    for seed in range(300):
        compile(programs.program(seed).text, "program.py", "exec")


def test_the_rules_agree_with_the_simulator(capsys: pytest.CaptureFixture[str]) -> None:
    results = differential.experiment(first=5000, count=25)
    assert {"passed", "device-error"} >= {one["verdict"] for one in results}
    assert sum(one["verdict"] == "device-error" for one in results) >= 10
    assert differential.report(results, show=0) == 0, capsys.readouterr().out
