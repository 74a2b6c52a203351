"""Mutants of public code: what is drawn, what is kept of it, and the figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mutator
import pytest
import real

SCRIPT = """\
import torch
from torch import nn


def main(rows):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(3, 1).to(device)
    for _ in range(3):
        x = torch.randn(rows, 3)
        x = x.to(device)
        print(model(x).sum())


if __name__ == "__main__":
    main(3)
""" + "\n".join(f"N{i} = {i}" for i in range(20))


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    for owner in ("one", "two"):
        folder = tmp_path / f"{owner}+net"
        (folder / "tests").mkdir(parents=True)
        (folder / ".commit").write_text("0123456789abcdef\n", encoding="ascii")
        (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
        (folder / "tests" / "run.py").write_text(SCRIPT, encoding="utf-8")
    return tmp_path


@pytest.fixture
def drawn(checkouts: Path) -> list[dict[str, Any]]:
    return list(real.draw(checkouts, seed=1, repositories=2, number=2))


def test_what_is_drawn(drawn: list[dict[str, Any]]) -> None:
    assert {one["repository"] for one in drawn} == {"one/net", "two/net"}
    assert {one["half"] for one in drawn} == {"read", "held out"}
    assert {(one["path"], one["commit"]) for one in drawn} == {("train.py", "0123456789")}
    assert len(drawn) == 4
    assert all(one["found"] for one in drawn)
    assert not any("model(" in json.dumps(one) for one in drawn), "no code is kept"


def test_the_same_seed_draws_the_same(checkouts: Path, drawn: list[dict[str, Any]]) -> None:
    assert list(real.draw(checkouts, seed=1, repositories=2, number=2)) == drawn


def test_a_file_with_findings_is_passed_over(checkouts: Path) -> None:
    for folder in checkouts.iterdir():
        (folder / "train.py").write_text(SCRIPT.replace("x = x.to(device)", "pass"), encoding="utf-8")
    assert list(real.draw(checkouts, seed=1, repositories=2, number=2)) == []


def test_what_is_linted_again_keeps_what_was_first(
    checkouts: Path, drawn: list[dict[str, Any]], tmp_path: Path
) -> None:
    results = tmp_path / "real.jsonl"
    real.save(results, [{**one, "found": [], "verdict": "real"} for one in drawn])
    assert real.main(["again", str(checkouts), str(results), "--half", "read"]) == 0
    for one in real.load(results):
        assert one["found"] == []
        assert bool(one.get("now")) == (one["half"] == "read")


def test_another_checkout_is_told(checkouts: Path, drawn: list[dict[str, Any]]) -> None:
    (checkouts / "one+net" / "train.py").write_text("import torch\n", encoding="utf-8")
    with pytest.raises(LookupError, match=r"one/net train\.py:\d+: no such mutant"):
        real.again(checkouts, [one for one in drawn if one["repository"] == "one/net"])


def test_the_mistake_is_shown(checkouts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [mutant] = mutator.mutants(SCRIPT, ["tensor-to-dropped"])
    one = real.record(real.Repository(checkouts / "one+net"), "train.py", mutant)
    real.show(checkouts, [(0, one)], 1)
    assert "   10-         x = x.to(device)\n   10+         pass" in capsys.readouterr().out


def _judged() -> Iterator[dict[str, Any]]:
    for half, found, now, verdict in (
        ("read", [], ["3:TDV001"], "real"),
        ("read", [], [], "real"),
        ("read", ["3:TDV001"], ["3:TDV001"], "real"),
        ("held out", [], [], "harmless"),
    ):
        reason = "" if now or verdict != "real" else "too far away"
        yield {
            "half": half,
            "found": found,
            "now": now,
            "verdict": verdict,
            "reason": reason,
            "operator": "tensor-to-dropped",
        }


def test_only_real_mistakes_count() -> None:
    text = real.render(list(_judged()))
    assert "| `tensor-to-dropped` | 1 of 3 (33.3%) | 2 of 3 (66.7%) | - | - |" in text
    assert "| harmless | 0 | 1 |" in text
    assert "| too far away | 1 | 0 |" in text


def test_every_mutant_of_the_results_is_judged() -> None:
    records = real.load(real.RESULTS)
    assert {one["half"] for one in records} == {"read", "held out"}
    for one in records:
        assert one["verdict"] in real.VERDICTS, one
        assert bool(one["reason"]) == (one["verdict"] == "real" and not one["now"]), one
        assert set(one) == {
            *(
                "repository",
                "commit",
                "path",
                "row",
                "column",
                "operator",
                "found",
                "half",
                "now",
                "verdict",
                "reason",
            )
        }
