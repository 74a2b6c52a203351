"""Real tracebacks of fixtures, one of each rule that the simulated accelerator can break: the right finding explains them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fixture_files import ROOT

from torchdev_lint.config import Config
from torchdev_lint.engine.settings import Settings
from torchdev_lint.explain.explanation import explain
from torchdev_lint.explain.places import Finder
from torchdev_lint.harness import ForkServer, Kind

pytest.importorskip("torch")

FIXTURES = (
    "TDV001/autoregressive_loop",
    "TDV003/dict_entries",
    "TDV004/made_in_a_helper",
    "TDV005/prompt_padding",
    "TDV010/isnan_of_the_loss",
    "TDV011/multinomial",
    "TDV012/flag_called",
    "TDV012/first_index_is_false",
    "TDV013/lengths_with_the_batch",
    "TDV016/parameters_asked",
    "TDV017/causal_mask",
    "TDV102/changed_after_a_move",
)


@pytest.fixture(scope="module")
def simulated() -> Iterator[ForkServer]:
    with ForkServer("simulated") as server:
        yield server


@pytest.mark.parametrize("name", FIXTURES)
def test_a_fixture_s_own_traceback_is_explained(name: str, simulated: ForkServer) -> None:
    program: Path = ROOT / "tests/fixtures" / f"{name}_bad.py"
    verdict = simulated.run(program, cwd=program.parent)
    assert verdict.kind is Kind.DEVICE_ERROR
    assert "Traceback" in verdict.stderr
    answer = explain(verdict.stderr, Finder(), Settings(Config(root=str(ROOT))).for_file)
    assert answer is not None
    assert answer.complaint is not None
    assert answer.places[-1].row == verdict.row
    assert answer.findings[0].diagnostic.code == name[:6]
