"""The mutation study: what the linter says about programs with one device mistake, and what happens when they are run.

    python benchmarks/mutation/run.py [--jobs 1] [--json FILE] [--report FILE] [--only PROGRAM] [--fresh]

Every program in programs/ is mutated (mutator.py); every mutant is **executed** on the simulated accelerator and linted. What
was executed is remembered in results/runs.jsonl by the text of the program, so that an interrupted study goes on where it was,
and a new version of the linter is measured in a minute. `--fresh` forgets it: do that when the harness has changed.
`--backend cuda` does the same on a real GPU, for comparison; its results stand beside the others, without a report.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mutator
import real
import report
from mutator import Mutant

from torchdev_lint import __version__
from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.parsing import parses
from torchdev_lint.engine.settings import Settings
from torchdev_lint.fixes.fixpoint import fix_text
from torchdev_lint.harness import ForkServer, Kind, Verdict
from torchdev_lint.rules.registry import all_rules, rule_by_code

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = HERE / "programs"
RUNS = HERE / "results" / "runs.jsonl"
STUDY = HERE / "results" / "study.json"
REPORT = ROOT / "docs" / "mutation.md"

TIMEOUT = 20.0
WITHOUT_GPU = "other-gpu-literal"
"""The operator whose mistake shows on a machine without a GPU, too: its mutants are also run there."""

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
"""For the programs: one thread each, so that small programs are fast beside other work and print the same every time."""


@dataclass(frozen=True)
class Run:
    """What is remembered of an execution; `rows` are those of the program's frames, outermost first."""

    verdict: str
    error: str | None
    rows: tuple[int, ...]
    output: str

    @property
    def raised(self) -> bool:
        """Whether it was a device error."""
        return self.verdict == Kind.DEVICE_ERROR.value


class Machine:
    """Runs texts as programs, each (backend, text) once; several threads may use it."""

    def __init__(
        self, memory: Path, folder: Path, *, accelerator: str = "simulated", fresh: bool = False
    ) -> None:
        self.accelerator = accelerator
        self.torch = version("torch")
        self.executed = 0
        self._memory = memory
        self._folder = folder
        self._lock = threading.Lock()
        self._local = threading.local()
        self._servers: list[ForkServer] = []
        self._used: set[str] = set()
        self._known: dict[str, Run] = {}
        if memory.exists() and not fresh:
            for line in memory.read_text(encoding="utf-8").splitlines():
                data = json.loads(line)
                key, torch = data.pop("key"), data.pop("torch")
                if torch == self.torch:
                    self._known[key] = Run(**{**data, "rows": tuple(data["rows"])})

    def run(self, text: str, backend: str | None = None) -> Run:
        """Execute the text, on the accelerator unless told, or remember what happened to it."""
        backend = backend or self.accelerator
        key = f"{backend}:{hashlib.sha256(text.encode()).hexdigest()[:20]}"
        self._used.add(key)
        known = self._known.get(key)
        if known is not None:
            return known
        folder = self._folder / str(threading.get_ident())
        folder.mkdir(exist_ok=True)
        path = folder / "program.py"
        path.write_text(text, encoding="utf-8")
        verdict = self._server(backend).run(path, timeout=TIMEOUT, cwd=folder)
        if verdict.kind is Kind.UNAVAILABLE:
            raise SystemExit(f"{backend}: {verdict.message}")
        run = _summary(verdict, path)
        with self._lock:
            self._known[key] = run
            self.executed += 1
            with self._memory.open("a", encoding="utf-8") as memory:
                memory.write(self._line(key))
        return run

    def _line(self, key: str) -> str:
        return json.dumps({"key": key, "torch": self.torch, **asdict(self._known[key])}) + "\n"

    def _server(self, backend: str) -> ForkServer:
        servers: dict[str, ForkServer] = vars(self._local).setdefault("servers", {})
        if backend not in servers:
            servers[backend] = ForkServer(backend)
            with self._lock:
                self._servers.append(servers[backend])
        return servers[backend]

    def tidy(self) -> None:
        """Keep in the memory what this study has used, sorted: the same file by whatever way it came about."""
        text = "".join(self._line(key) for key in sorted(self._used))
        self._memory.write_text(text, encoding="utf-8")

    def close(self) -> None:
        """End all servers."""
        for server in self._servers:
            server.close()


def _summary(verdict: Verdict, path: Path) -> Run:
    rows = tuple(frame.row for frame in verdict.frames if frame.filename == str(path))
    message = (verdict.message or "").strip().split("\n", 1)[0]
    error = f"{verdict.error_type}: {message}" if verdict.error_type else message or None
    output = hashlib.sha256(verdict.stdout.encode()).hexdigest()[:12]
    return Run(verdict.kind.value, error and error[:300], rows, output)


class Linter:
    """The linter with all its default rules, in this process: what it remembers of texts is for one thread at a time."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._config = Settings(fixed=Config(root=str(PROGRAMS))).for_directory(str(PROGRAMS))

    def check(self, text: str) -> list[Diagnostic]:
        """What `torchdev-lint` reports."""
        with self._turn:
            return findings(text, str(PROGRAMS / "program.py"), self._config)

    def fix(self, text: str) -> tuple[str, bool]:
        """What `torchdev-lint --fix --unsafe-fixes` makes of it, and whether something is left to report."""
        done = fix_text(text, self.check, parses, {Applicability.SAFE, Applicability.UNSAFE})
        return done.text, bool(done.diagnostics)


def new_findings(before: Sequence[Diagnostic], after: Sequence[Diagnostic]) -> list[Diagnostic]:
    """What is reported of the mutant and not of the program; mutants keep the rows, so a place is the same place."""
    old = Counter((one.code, one.range.start.row, one.message) for one in before)
    new = []
    for one in after:
        key = (one.code, one.range.start.row, one.message)
        if old[key]:
            old[key] -= 1
        else:
            new.append(one)
    return new


def study_mutant(
    name: str, source: str, mutant: Mutant, before: Sequence[Diagnostic], linter: Linter, machine: Machine
) -> dict[str, Any]:
    """Everything about one mutant, as it stands in the results."""
    found = new_findings(before, linter.check(mutant.source))
    original, run = machine.run(source), machine.run(mutant.source)
    runs = {machine.accelerator: run}
    claimed = [rule_by_code(one.code) for one in found]
    if mutant.operator == WITHOUT_GPU or any(rule and "cpu" in rule.witness for rule in claimed):
        runs["cpu"] = machine.run(mutant.source, "cpu")
    raised = [one for one in runs.values() if one.raised]
    result: dict[str, Any] = {
        "program": name,
        "row": mutant.row,
        "column": mutant.column,
        "operator": mutant.operator,
        "line": mutant.line,
        "runs": {
            backend: {"verdict": one.verdict, "error": one.error, "rows": list(one.rows)}
            for backend, one in runs.items()
        },
        "same_output": run.verdict == original.verdict and run.output == original.output,
        "findings": [
            {
                "code": one.code,
                "row": one.range.start.row,
                "column": one.range.start.column,
                "message": one.message,
            }
            for one in found
        ],
        "outcome": outcome(runs.values(), flagged=bool(found)),
    }
    if raised and found:
        frames = {row for one in raised for row in one.rows}
        result["place"] = place(found, mutant.row, frames)
        result["fix"] = fixed(mutant.source, original, linter, machine)
    return result


def outcome(runs: Iterable[Run], *, flagged: bool) -> str:
    """Which of the four cells (or "other": neither passed nor a device error) a mutant belongs to."""
    runs = list(runs)
    if any(run.raised for run in runs):
        return "raised-flagged" if flagged else "raised-missed"
    if all(run.verdict == Kind.PASSED.value for run in runs):
        return "passed-flagged" if flagged else "passed-silent"
    return "other-flagged" if flagged else "other-silent"


def place(found: Sequence[Diagnostic], row: int, frames: set[int]) -> str:
    """Where the linter points, seen from the mistake and from the failure."""
    primary = {one.range.start.row for one in found}
    related = {note.range.start.row for one in found for note in one.related if note.path is None}
    if row in primary:
        return "mistake"
    if primary & frames:
        return "traceback"
    return "note" if related & (frames | {row}) else "elsewhere"


def fixed(text: str, original: Run, linter: Linter, machine: Machine) -> str:
    """What becomes of the mutant after all fixes."""
    repaired, reported = linter.fix(text)
    if repaired == text:
        return "no fix"
    run = machine.run(repaired)
    if run.verdict == Kind.PASSED.value:
        return "passes" if run.output == original.output else "passes with another output"
    if not run.raised:
        return "other error"
    return "device error, reported" if reported else "device error, missed"


def study(programs: Sequence[Path], linter: Linter, machine: Machine, jobs: int) -> dict[str, Any]:
    """Run everything."""
    results: list[dict[str, Any]] = []
    originals = []
    with ThreadPoolExecutor(jobs) as pool:
        for path in programs:
            source = path.read_text(encoding="utf-8")
            before = linter.check(source)
            runs = {backend: machine.run(source, backend) for backend in ("cpu", machine.accelerator)}
            for backend, run in runs.items():
                if run.verdict != Kind.PASSED.value:
                    raise SystemExit(f"{path.name} does not pass on {backend}: {run.error}")
            if machine.accelerator == "simulated" and runs["cpu"].output != runs["simulated"].output:
                raise SystemExit(f"{path.name} prints something else on the simulated accelerator")
            originals.append(
                {
                    "program": path.stem,
                    "rows": source.count("\n"),
                    "findings": [f"{one.range.start.row}: {one.code} {one.message}" for one in before],
                }
            )
            found = mutator.mutants(source)
            work = [(path.stem, source, mutant, before, linter, machine) for mutant in found]
            results += pool.map(lambda one: study_mutant(*one), work)
            print(f"{path.stem}: {len(found)} mutants", file=sys.stderr, flush=True)
    return {"programs": originals, "mutants": results}


def describe_tool() -> dict[str, Any]:
    """Which version of the tool was measured."""

    def git(*args: str) -> str:
        done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    return {
        "version": __version__,
        "commit": git("rev-parse", "--short=10", "HEAD") or None,
        "uncommitted": bool(git("status", "--porcelain", "--", "src")),
        "rules": [rule.code for rule in all_rules() if rule.default],
    }


def beside(path: Path, backend: str) -> Path:
    """The file for another backend than the simulated one."""
    return path if backend == "simulated" else path.with_name(f"{path.stem}-{backend}{path.suffix}")


def document(results: dict[str, Any]) -> str:
    """The document: the study's programs, and mutants of real code."""
    return f"{report.render(results)}\n{real.section(real.load(real.RESULTS))}"


def write_report(path: Path, results: dict[str, Any]) -> None:
    """Write the document."""
    path.write_text(document(results), encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--jobs", type=int, default=1, help="programs executed at a time (default: 1)")
    parser.add_argument(
        "--backend", choices=("simulated", "cuda"), default="simulated", help="where they run"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the results go")
    parser.add_argument("--report", type=Path, metavar="FILE", help="where the report goes")
    parser.add_argument("--only", nargs="+", metavar="PROGRAM", help="some programs, by name; writes nothing")
    parser.add_argument("--fresh", action="store_true", help="execute everything again")
    parser.add_argument("--render", action="store_true", help="only write the report from the results")
    args = parser.parse_args(argv)
    results_file: Path = args.json or beside(STUDY, args.backend)
    report_file: Path | None = args.report or (REPORT if args.backend == "simulated" else None)
    if args.render:
        if report_file is not None:
            write_report(report_file, json.loads(results_file.read_text(encoding="utf-8")))
        return 0
    os.environ.update(ENVIRONMENT)
    programs = sorted(path for path in PROGRAMS.glob("*.py") if not args.only or path.stem in args.only)
    if not programs:
        parser.error("no such program")
    started = time.monotonic()
    RUNS.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        machine = Machine(
            beside(RUNS, args.backend), Path(folder), accelerator=args.backend, fresh=args.fresh
        )
        try:
            results = study(programs, Linter(), machine, args.jobs)
        finally:
            machine.close()
    results["meta"] = {
        "tool": describe_tool(),
        "torch": machine.torch,
        "backend": args.backend,
        "python": ".".join(map(str, sys.version_info[:3])),
        "operators": {one.name: one.what for one in mutator.OPERATORS.values()},
    }
    print(report.summary(results))
    print(f"{machine.executed} programs executed, {time.monotonic() - started:.0f} s", file=sys.stderr)
    if not args.only:
        machine.tidy()
        results_file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        if report_file is not None:
            write_report(report_file, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
