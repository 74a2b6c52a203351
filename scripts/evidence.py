"""Runs every fixture on the harness's backends and writes what happened to docs/evidence.md.

    python scripts/evidence.py            write the table
    python scripts/evidence.py --check    only say whether the table still tells the truth

A bad program must fail with a device error, at its line marked `# raises`, on every backend that its rule names as a
witness; its repaired self and the good programs must pass on every backend. Rows of a backend that is missing here (a
real GPU, most of the time) are kept as they were, as long as the program is still the one that was run.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from fixture_files import ROOT, FixtureFile, fixture_files, support_files

from torchdev_lint.harness import ForkServer, Kind, Verdict, run_program
from torchdev_lint.rules.registry import rule_by_code

DOCUMENT = ROOT / "docs" / "evidence.md"
BACKENDS = ("cpu", "simulated", "cuda")
DEVICES = 2
"""How many accelerators are simulated."""

_SECOND_DEVICE = re.compile(r"""cuda:1|cuda\(1\)|["']cuda["'], 1""")


_SEEDS = b"import random, numpy, torch; random.seed(0); numpy.random.seed(0); torch.manual_seed(0)\n"
"""Put before a program whose output is compared with another's."""


@dataclass(frozen=True)
class Proof:
    """One run that the fixtures call for."""

    fixture: FixtureFile
    program: str
    """`bad`, `fixed` or `good`."""
    backend: str

    @property
    def source(self) -> bytes:
        """What is run."""
        return self.fixture.data if self.program == "bad" else self.fixture.repaired

    @property
    def digest(self) -> str:
        """Names the source, shortly."""
        return hashlib.sha256(self.source).hexdigest()[:8]

    @property
    def needs_two_devices(self) -> bool:
        """Whether the second accelerator is part of the failure."""
        return self.program == "bad" and _SECOND_DEVICE.search(self.source.decode()) is not None

    def expected(self) -> tuple[str, str]:
        """The kind of the verdict and the row where the program fails, as in a `Row`."""
        if self.program == "bad":
            return Kind.DEVICE_ERROR.value, str(self.fixture.raises()[0])
        return Kind.PASSED.value, ""


@dataclass(frozen=True)
class Row:
    """One row of the table; every field is a string, as it is written."""

    rule: str
    fixture: str
    program: str
    digest: str
    backend: str
    torch: str
    verdict: str
    line: str
    error: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Which run it tells of."""
        return self.rule, self.fixture, self.program, self.backend

    @property
    def outcome(self) -> tuple[str, str]:
        """What happened, and where."""
        return self.verdict, self.line


def proofs(fixture: FixtureFile) -> Iterator[Proof]:
    """The runs that `fixture` calls for."""
    if fixture.bad:
        rule = rule_by_code(fixture.rule)
        assert rule is not None, fixture.rule
        yield from (Proof(fixture, "bad", backend) for backend in BACKENDS if backend in rule.witness)
    yield from (Proof(fixture, "fixed" if fixture.bad else "good", backend) for backend in BACKENDS)


class Bench:
    """Runs proofs; use it as a context manager. A backend starts with its first proof."""

    def __init__(self) -> None:
        self._servers: dict[str, ForkServer] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="evidence-"))
        self._reasons: dict[str, str | None] = {}
        self._gpus = 0
        for path in support_files():
            self._place(path.parent.name, path.name, path.read_bytes())

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers.values():
            server.close()
        shutil.rmtree(self._folder)

    def missing(self, backend: str) -> str | None:
        """Why there is no such backend here; None when there is."""
        if backend not in self._reasons:
            probe = self._place("probe", f"{backend}.py", b"import torch; print(torch.cuda.device_count())\n")
            verdict = self._run(probe, backend)
            found = verdict.kind is Kind.PASSED
            self._reasons[backend] = None if found else verdict.message or verdict.describe()
            if found and backend == "cuda":
                self._gpus = int(verdict.stdout)
        return self._reasons[backend]

    def cannot(self, proof: Proof) -> str | None:
        """Why `proof` cannot be tried here; None when it can."""
        missing = self.missing(proof.backend)
        if missing is None and proof.backend == "cuda" and proof.needs_two_devices and self._gpus < 2:
            return "needs two GPUs, and there is one"
        return missing

    def output(self, proof: Proof) -> tuple[Kind, str]:
        """Run `proof` with seeded generators; the kind of its verdict and what it printed."""
        path = self._lay_out(proof, f"seeded-{proof.program}", _SEEDS + proof.source)
        verdict = self._run(path, proof.backend)
        return verdict.kind, verdict.stdout

    def _lay_out(self, proof: Proof, folder: str, source: bytes) -> Path:
        path = self._place(proof.fixture.rule, f"{folder}/{proof.fixture.path.name}", source)
        for support in support_files():
            if support.parent.name == proof.fixture.rule:
                shutil.copy(support, path.parent)
        return path

    def run(self, proof: Proof) -> Row:
        """Run `proof` and say what happened."""
        path = self._lay_out(proof, proof.program, proof.source)
        verdict = self._run(path, proof.backend)
        rows = [frame.row for frame in verdict.frames if Path(frame.filename) == path]
        failed = verdict.kind is not Kind.PASSED
        return Row(
            proof.fixture.rule,
            proof.fixture.path.stem,
            proof.program,
            proof.digest,
            proof.backend,
            verdict.torch_version or "",
            verdict.kind.value,
            str(rows[-1]) if failed and rows else "",
            _error(verdict) if failed else "",
        )

    def _run(self, path: Path, backend: str) -> Verdict:
        if backend == "cuda":
            return run_program(path, backend=backend, cwd=path.parent, timeout=120)
        if backend not in self._servers:
            self._servers[backend] = ForkServer(backend, devices=DEVICES)
        return self._servers[backend].run(path, cwd=path.parent, timeout=120)

    def _place(self, folder: str, name: str, data: bytes) -> Path:
        path = self._folder / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path.resolve()


def _error(verdict: Verdict) -> str:
    """The error as a cell: one line, not too long."""
    first = (verdict.message or "").strip().partition("\n")[0]
    text = f"{verdict.error_type}: {first}" if verdict.error_type else first
    return text if len(text) <= 140 else f"{text[:139]}…"


COLUMNS = ("rule", "fixture", "program", "digest", "backend", "torch", "verdict", "line", "error")

_HEAD = """\
# Evidence

What happened when the fixtures (`tests/fixtures`) were run. Written by `python scripts/evidence.py`; `tests/test_evidence.py`
runs everything again and compares all but the timing.

* `bad`: the program as it stands. It must fail with a device error at its line marked `# raises`, on every backend that its
  rule names as a witness.
* `fixed`: the same after `torchdev-lint --fix --unsafe-fixes`. It must pass on every backend.
* `good`: a program that nothing is to be found in. It must pass on every backend.
* On the CPU a fixed program must print what it printed before; the tests compare that too.
* `cpu` is the machine without its GPUs, `simulated` two simulated CUDA devices, `cuda` a real GPU.
* `digest` is the beginning of the program's SHA-256.

How much the rules find is measured in [mutation.md](mutation.md), by breaking right programs in one place at a time, and in
[realbugs.md](realbugs.md), on bugs that really happened.
"""


def render(rows: Iterable[Row], timing: str, missing: Sequence[str]) -> str:
    """The document: a summary, what could not be run, and every row."""
    rows = sorted(rows, key=_order)
    parts = [_HEAD, "## Summary", *_summary(rows), ""]
    parts += [f"* {line}" for line in missing]
    parts += [f"* Timing: {timing}", "", "## Every run", ""]
    parts += _table(COLUMNS, [[getattr(row, column) for column in COLUMNS] for row in rows])
    return "\n".join(parts) + "\n"


def _order(row: Row) -> tuple[str, str, int, int]:
    programs = ("bad", "fixed", "good")
    return row.rule, row.fixture, programs.index(row.program), BACKENDS.index(row.backend)


def _summary(rows: Sequence[Row]) -> list[str]:
    total = Counter((row.rule, row.backend, row.torch, row.program) for row in rows)
    right = Counter((row.rule, row.backend, row.torch, row.program) for row in rows if as_wanted(row))
    cells = [[*key[:3], _WANTED[key[3]], f"{right[key]} of {total[key]}"] for key in sorted(total)]
    return ["", *_table(("rule", "backend", "torch", "what is wanted", "seen"), cells)]


_WANTED = {
    "bad": "bad programs raise at the marked line",
    "fixed": "fixed programs pass",
    "good": "good programs pass",
}


def as_wanted(row: Row) -> bool:
    """Whether the row says what its program was written for."""
    return row.outcome == _expectations().get(row.key)


@cache
def _expectations() -> dict[tuple[str, str, str, str], tuple[str, str]]:
    return {proof_key(proof): proof.expected() for fixture in fixture_files() for proof in proofs(fixture)}


def proof_key(proof: Proof) -> tuple[str, str, str, str]:
    """The `Row.key` of a proof's row."""
    return proof.fixture.rule, proof.fixture.path.stem, proof.program, proof.backend


def _table(head: Sequence[str], cells: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]
    return lines


def documented(text: str) -> list[Row]:
    """The rows of a document."""
    found = []
    for line in text.partition("## Every run")[2].splitlines():
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == len(COLUMNS) and cells[0].startswith("TDV"):
            found.append(Row(*cells))
    return found


def differences(row: Row, old: Row | None) -> list[str]:
    """What a fresh row says that a documented one does not.

    Error messages are PyTorch's: they are compared only on the version that is documented.
    """
    if old is None:
        return [f"{row.key}: not documented"]
    if old.torch != row.torch:
        old = replace(old, torch=row.torch, error=row.error)
    return [
        f"{row.key}: {column} is {getattr(row, column)!r}, documented as {getattr(old, column)!r}"
        for column in COLUMNS
        if getattr(row, column) != getattr(old, column)
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status 0 when every program did what it was written for (and the table says so, with --check)."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare with the document and do not write it")
    options = parser.parse_args(argv)
    old = {row.key: row for row in documented(DOCUMENT.read_text("utf-8"))} if DOCUMENT.exists() else {}
    rows: list[Row] = []
    missing: list[str] = []
    seconds: defaultdict[str, float] = defaultdict(float)
    with Bench() as bench:
        for backend in BACKENDS:
            reason = bench.missing(backend)
            if reason is not None:
                missing.append(f"`{backend}` was not run at the last update: {reason}.")
        for proof in (proof for fixture in fixture_files() for proof in proofs(fixture)):
            if bench.cannot(proof) is None:
                started = time.monotonic()
                rows.append(bench.run(proof))
                seconds[proof.backend] += time.monotonic() - started
                continue
            kept = old.get(proof_key(proof))
            if kept is not None and kept.digest == proof.digest:
                rows.append(kept)
    runs = Counter(row.backend for row in rows if row.backend in seconds)
    timing = ", ".join(f"{runs[name]} programs on `{name}` in {seconds[name]:.0f} s" for name in seconds)
    unwanted = [row for row in rows if not as_wanted(row)]
    for row in unwanted:
        print(f"not as wanted: {row}", file=sys.stderr)
    if options.check:
        found = [line for row in rows for line in differences(row, old.get(row.key))]
        print("\n".join(found) or f"{DOCUMENT} is current")
        return 1 if found or unwanted else 0
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(render(rows, f"{timing}.", missing), encoding="utf-8")
    print(f"{DOCUMENT}: {len(rows)} rows; {timing}")
    return 1 if unwanted else 0


if __name__ == "__main__":
    sys.exit(main())
