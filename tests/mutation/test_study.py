"""The mutation study: how runs and findings are put together, and the published results."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mutator
import pytest
import report
import run as study
from run import Linter, Machine, Run

from torchdev_lint.harness import ForkServer, Kind, Verdict
from torchdev_lint.harness.verdict import Frame

pytestmark = pytest.mark.untraced

RESULTS: dict[str, Any] = json.loads(study.STUDY.read_text(encoding="utf-8"))
PROGRAMS = sorted(study.PROGRAMS.glob("*.py"))

GOOD = """\
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Linear(3, 1).to(device)
x = torch.randn(2, 3).to(device)
print(model(x).shape)
"""

PASSED = Run("passed", None, (), "a")
RAISED = Run("device-error", "RuntimeError: cpu, cuda:0", (7,), "a")
FAILED = Run("other-error", "ValueError: no parameters", (6,), "a")


@pytest.mark.parametrize(
    ("runs", "flagged", "cell"),
    [
        ([RAISED], True, "raised-flagged"),
        ([RAISED], False, "raised-missed"),
        ([PASSED], True, "passed-flagged"),
        ([PASSED], False, "passed-silent"),
        ([FAILED], True, "other-flagged"),
        ([FAILED], False, "other-silent"),
        ([PASSED, RAISED], True, "raised-flagged"),
        ([FAILED, RAISED], False, "raised-missed"),
        ([PASSED, FAILED], False, "other-silent"),
    ],
)
def test_the_cell_of_a_mutant(runs: list[Run], flagged: bool, cell: str) -> None:
    assert study.outcome(runs, flagged=flagged) == cell


def test_only_what_is_new_counts() -> None:
    linter = Linter()
    [mutant] = mutator.mutants(GOOD, ["tensor-to-dropped"])
    before, after = linter.check(GOOD), linter.check(mutant.source)
    assert before == []
    assert [(one.code, one.range.start.row) for one in study.new_findings(before, after)] == [("TDV001", 7)]
    assert study.new_findings(after, after) == []
    assert study.new_findings(after, after * 2) == after


def test_where_the_report_stands() -> None:
    [mutant] = mutator.mutants(GOOD, ["tensor-to-dropped"])
    found = Linter().check(mutant.source)
    assert [one.range.start.row for one in found] == [7]
    assert study.place(found, 7, set()) == "mistake"
    assert study.place(found, 6, {7}) == "traceback"
    notes = {note.range.start.row for one in found for note in one.related}
    assert study.place(found, max(notes), set()) == "note"
    assert study.place(found, 1, {2}) == "elsewhere"


class Server:
    """Stands in for the fork server: programs that do not move their input fail."""

    started = 0

    def __init__(self, backend: str) -> None:
        self.backend = backend

    def run(self, path: Path, *, timeout: float, cwd: Path) -> Verdict:
        type(self).started += 1
        text = path.read_text(encoding="utf-8")
        if text.count(".to(device)") == 2 or self.backend == "cpu":
            return Verdict(Kind.PASSED, self.backend, stdout="shape\n")
        frames = (Frame(str(path), 7, "<module>"), Frame("elsewhere.py", 3, "forward"))
        return Verdict(Kind.DEVICE_ERROR, self.backend, "RuntimeError", "two devices\nmore", frames)

    def close(self) -> None:
        pass


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    monkeypatch.setattr(study, "ForkServer", Server)
    monkeypatch.setattr(Server, "started", 0)
    machine = Machine(tmp_path / "runs.jsonl", tmp_path)
    yield machine
    machine.close()


def test_a_mutant_from_end_to_end(machine: Machine) -> None:
    [mutant] = mutator.mutants(GOOD, ["tensor-to-dropped"])
    result = study.study_mutant("good", GOOD, mutant, [], Linter(), machine)
    assert result["outcome"] == "raised-flagged"
    assert result["runs"] == {
        "simulated": {"verdict": "device-error", "error": "RuntimeError: two devices", "rows": [7]}
    }
    assert (result["program"], result["row"], result["line"]) == ("good", 6, "x = torch.randn(2, 3)")
    assert [one["code"] for one in result["findings"]] == ["TDV001"]
    assert (result["place"], result["same_output"]) == ("traceback", False)


def test_what_a_fix_comes_to(machine: Machine) -> None:
    [mutant] = mutator.mutants(GOOD, ["tensor-to-dropped"])
    linter, original = Linter(), machine.run(GOOD)
    assert study.fixed(mutant.source, original, linter, machine) == "passes"
    other = dataclasses.replace(original, output="something else")
    assert study.fixed(mutant.source, other, linter, machine) == "passes with another output"
    assert study.fixed(GOOD, original, linter, machine) == "no fix"


def test_a_fix_that_does_not_help(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    linter, original = Linter(), machine.run(GOOD)
    monkeypatch.setattr(linter, "fix", lambda text: ("print(x)\n", True))
    assert study.fixed(GOOD, original, linter, machine) == "device error, reported"
    monkeypatch.setattr(linter, "fix", lambda text: ("print(x)\n", False))
    assert study.fixed(GOOD, original, linter, machine) == "device error, missed"


def test_literals_are_also_tried_without_a_gpu(machine: Machine) -> None:
    mutant = mutator.mutants(GOOD, ["other-gpu-literal"])[0]
    result = study.study_mutant("good", GOOD, mutant, [], Linter(), machine)
    assert {backend: one["verdict"] for backend, one in result["runs"].items()} == {
        "simulated": "device-error",
        "cpu": "passed",
    }


def test_a_study_goes_on_where_it_was(machine: Machine, tmp_path: Path) -> None:
    memory = tmp_path / "runs.jsonl"
    first, other = machine.run(GOOD), machine.run("x = 1\n")
    again = Machine(memory, tmp_path)
    assert (again.run("x = 1\n"), again.run(GOOD)) == (other, first)
    assert (Server.started, again.executed) == (2, 0)
    fresh = Machine(memory, tmp_path, fresh=True)
    assert fresh.run(GOOD) == first
    assert Server.started == 3
    fresh.tidy()
    assert len(memory.read_text("utf-8").splitlines()) == 1


def test_another_accelerator_is_another_run(machine: Machine, tmp_path: Path) -> None:
    machine.run(GOOD)
    real = Machine(tmp_path / "runs.jsonl", tmp_path, accelerator="cuda")
    real.run(GOOD)
    assert (Server.started, real.executed) == (2, 1)
    [mutant] = mutator.mutants(GOOD, ["tensor-to-dropped"])
    assert list(study.study_mutant("good", GOOD, mutant, [], Linter(), real)["runs"]) == ["cuda"]


def test_runs_of_another_torch_are_not_remembered(machine: Machine, tmp_path: Path) -> None:
    machine.run(GOOD)
    memory = tmp_path / "runs.jsonl"
    memory.write_text(memory.read_text("utf-8").replace(machine.torch, "1.0.0"), encoding="utf-8")
    again = Machine(memory, tmp_path)
    again.run(GOOD)
    assert again.executed == 1


def test_the_numbers_of_the_report() -> None:
    def one(outcome: str, **more: Any) -> dict[str, Any]:
        runs = {"simulated": {"verdict": "device-error", "error": "E: m", "rows": [2, 9]}}
        common = {"program": "p", "row": 4, "operator": "a", "line": "x = `1`", "findings": []}
        return {**common, "outcome": outcome, "runs": runs, **more}

    finding = {"code": "TDV001", "row": 5, "column": 1, "message": "wrong"}
    results: dict[str, Any] = {
        "meta": {
            "tool": {"version": "9.9", "commit": "abc", "uncommitted": True, "rules": ["TDV001", "TDV002"]},
            "torch": "2.0",
            "python": "3.11",
            "operators": {"a": "does", "unused": "does not"},
        },
        "programs": [{"program": "p", "rows": 10, "findings": ["3: TDV002 bad"]}],
        "mutants": [
            one("raised-flagged", findings=[finding], place="mistake", fix="passes"),
            one("raised-missed"),
            one("raised-missed", row=6),
            one("passed-flagged", findings=[finding]),
            one("passed-silent"),
            one("other-silent"),
        ],
    }
    assert "| `a` | 6 | 1 | 2 | 1 | 1 | 1 | 1 of 3 (33.3%) | 1 of 2 (50.0%) |" in report.by_operator(results)
    assert "unused" not in report.by_operator(results)
    assert "| TDV001 | 2 | 1 | 1 | 0 |" in report.by_rule(results)
    assert "| TDV002 | 0 | 0 | 0 | 0 |" in report.by_rule(results)
    assert report.misses(results) == [
        "* p:4:a `` x = `1` `` raises at row 9: `E: m`",
        "* p:6:a `` x = `1` `` raises at row 9: `E: m`",
    ]
    assert report.false_alarms(results) == [
        "* p, without a mistake, 3: TDV002 bad",
        "* p:4:a `` x = `1` `` reported: row 5 TDV001 wrong",
    ]
    document = report.render(results)
    assert "commit abc with uncommitted changes" in document
    assert "| the row of the mistake | 1 of 1 (100.0%) |" in document
    assert "| `a` | 1 | 1 | 0 | 0 | 0 | 0 | 0 |" in report.by_fix(results)


def test_nothing_to_divide_by() -> None:
    assert (report.recall({}), report.precision({})) == ("-", "-")


# -- what is published


def test_the_report_is_that_of_the_results() -> None:
    wanted = study.document(RESULTS)
    assert study.REPORT.read_text(encoding="utf-8") == wanted, "run benchmarks/mutation/run.py --render"


def test_the_results_are_those_of_the_programs() -> None:
    published = [(one["program"], one["row"], one["column"], one["operator"]) for one in RESULTS["mutants"]]
    wanted = [
        (path.stem, one.row, one.column, one.operator)
        for path in PROGRAMS
        for one in mutator.mutants(path.read_text(encoding="utf-8"))
    ]
    assert published == wanted, "run benchmarks/mutation/run.py"


@pytest.mark.parametrize("backend", ["cpu", "simulated"])
def test_the_programs_pass(backend: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in study.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with ForkServer(backend) as server:
        verdicts = {path.stem: server.run(path, timeout=60, cwd=tmp_path) for path in PROGRAMS}
    failed = {
        name: verdict.describe() for name, verdict in verdicts.items() if verdict.kind is not Kind.PASSED
    }
    assert failed == {}
    assert all(verdict.stdout for verdict in verdicts.values())
