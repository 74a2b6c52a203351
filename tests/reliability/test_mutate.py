"""Odd variants of the test programs: no crash, and fixes, suppressions and faces keep their promises."""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from pathlib import Path
from typing import Any

import isolated
import mutate
import pytest
import scan

pytestmark = pytest.mark.untraced

PROGRAMS = Path(__file__).parents[1] / "programs"


def test_variants_of_the_programs() -> None:
    texts = mutate.read_texts([str(PROGRAMS)])
    results = mutate.experiment(texts, first=0, count=80, limit=60)
    assert [(seed, result) for seed, result in results if result.get("died") or result["wrong"]] == []
    assert sum(result["compiles"] for _, result in results) > 20
    assert sum(result["found"] > 0 for _, result in results) > 10


def test_what_dies_costs_itself_only() -> None:
    def work(number: int) -> dict[str, Any]:
        if number == 2:
            faulthandler.disable()  # What it would print looks as if the tests had died.
            os.kill(os.getpid(), signal.SIGSEGV)
        if number == 4:
            time.sleep(30)
        return {"number": number}

    results = list(isolated.isolated(range(7), lambda: work, limit=1))
    assert [thing for thing, _ in results] == list(range(7))
    assert [result["number"] for _, result in results if "number" in result] == [0, 1, 3, 5, 6]
    assert results[2][1] == {"died": "exit status -11"}
    assert results[4][1] == {"died": "more than 1 s"}


def test_a_scan_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        (PROGRAMS / "dcgan_bad.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    (tmp_path / "broken.py").write_text("import torch\n(")
    bad, broken = scan.scan(str(tmp_path), limit=60)
    assert bad["codes"]["TDV001"] == 1
    assert bad["fixed"]
    assert not bad["errors"]
    assert broken["skipped"]
