"""What a run over many files costs when nothing has changed in them, or one file, against Ruff in the same rounds.

    python benchmarks/many_files.py                      measure, print the table
    python benchmarks/many_files.py --write              and put it into docs/performance.md
    python benchmarks/many_files.py --environments DIR   keep the virtual environments in DIR (those of startup.py)
    python benchmarks/many_files.py --files 1000         with another number of files

The tree is made for it: directories of ten files, of which every second one imports torch and trains something, a `.gitignore`. Before
each run that is to find one file changed, a statement is added to that file. What one changed file costs is compared with a first
run of that file alone.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from startup import CLEAN, DOCUMENT, NO_TORCH, ROOT, Timing, once, prepare, tell

ENVIRONMENTS: Mapping[str, tuple[str, ...]] = {"ours": (str(ROOT),), "ruff": ("ruff",)}
CHANGED = "part7/file4.py"
"""One of those with torch."""


@dataclass(frozen=True)
class Run:
    """What is timed: its label, its environment, its arguments, and what happens before it."""

    label: str
    name: str
    arguments: tuple[str, ...]
    before: Callable[[Path], None] | None = None


def make_tree(folder: Path, files: int) -> None:
    """A project of `files` files, ten in a directory."""
    (folder / ".gitignore").write_text("build/\n*.log\n", encoding="utf-8")
    for number in range(files):
        path = folder / f"part{number // 10}" / f"file{number % 10}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# {number}\n" + (NO_TORCH if number % 2 else CLEAN), encoding="utf-8")


def edit(folder: Path) -> None:
    """Add a statement to the one file that changes."""
    with (folder / CHANGED).open("a", encoding="utf-8") as file:
        file.write("print(device)\n")


def settle(_: Path) -> None:
    """Wait until the last change is so old that the next one will get another time: only then is a run remembered."""
    time.sleep(2.1)


RUNS: Sequence[Run] = (
    Run("`python -c pass`", "ours", ("python", "-c", "pass")),
    Run("torchdev-lint, one file changed", "ours", ("torchdev-lint", "."), edit),
    Run("torchdev-lint, nothing changed since", "ours", ("torchdev-lint", ".")),
    Run("torchdev-lint, the same two seconds later", "ours", ("torchdev-lint", "."), settle),
    Run("torchdev-lint, nothing changed, from then on", "ours", ("torchdev-lint", ".")),
    Run("torchdev-lint, that file alone, nothing kept", "ours", ("torchdev-lint", "--no-cache", CHANGED)),
    Run("Ruff, one file changed", "ruff", ("ruff", "check", "."), edit),
    Run("Ruff, nothing changed", "ruff", ("ruff", "check", ".")),
)
"""Each tool's run without a change comes after its run with one: an edit is news to both."""


def measure(environments: Mapping[str, Path], folder: Path, rounds: int) -> list[Timing]:
    """Every run `rounds` times, in turns."""
    timings = [Timing(run.label) for run in RUNS]
    for number in range(rounds + 1):
        for timing, run in zip(timings, RUNS, strict=True):
            if run.before is not None:
                run.before(folder)
            program, *rest = run.arguments
            wall, cpu, timing.status = once([str(environments[run.name] / program), *rest], folder)
            if number:  # The first round keeps the results.
                timing.wall.append(wall)
                timing.cpu.append(cpu)
        print(f"round {number}/{rounds}", file=sys.stderr)
    return timings


def ratio(timings: Sequence[Timing], one: str, other: str) -> float:
    """The median, over the rounds, of the wall time of a run by that of another."""
    walls = {timing.label: timing.wall for timing in timings}
    return statistics.median(a / b for a, b in zip(walls[one], walls[other], strict=True))


def table(timings: Sequence[Timing]) -> str:
    """The results, as they go into the document."""
    lines = ["| what runs | wall, ms | CPU, ms |", "|---|---|---|"]
    lines += [
        f"| {one.label} | {statistics.median(one.wall) * 1000:.0f} | {statistics.median(one.cpu) * 1000:.0f} |"
        for one in timings
    ]
    _, changed, _, _, same, alone, _, ruff_same = (run.label for run in RUNS)
    lines += [
        "",
        f"Nothing changed: {ratio(timings, same, ruff_same):.2f} times Ruff. One file changed: "
        f"{ratio(timings, changed, alone):.2f} times that file alone.",
    ]
    return "\n".join(lines)


def main() -> int:
    """Exit status 2 when a command fails in another way than by findings."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=9, help="how often each is timed (default 9, at least 5)"
    )
    parser.add_argument("--files", type=int, default=3000, help="how many files (default 3000, at least 75)")
    parser.add_argument("--environments", type=Path, metavar="DIR", help="where the environments are kept")
    parser.add_argument(
        "--write", action="store_true", help=f"put the table into {DOCUMENT.relative_to(ROOT)}"
    )
    given = parser.parse_args()
    if given.rounds < 5:
        parser.error("--rounds: a median needs at least 5")
    if given.files < 75:
        parser.error(f"--files: {CHANGED} has to be among them")
    with tempfile.TemporaryDirectory() as temporary:
        environments = prepare(
            (given.environments or Path(temporary) / "environments").absolute(), ENVIRONMENTS
        )
        folder = Path(temporary) / "tree"
        folder.mkdir()
        make_tree(folder, given.files)
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
        timings = measure(environments, folder, given.rounds)
    text = (
        f"{given.files} files, medians of {given.rounds} rounds, Python {platform.python_version()}, {os.cpu_count()} cores, "
        f"load {load:.1f} at the start.\n\n{table(timings)}"
    )
    return tell(text, timings, "many" if given.write else None)


if __name__ == "__main__":
    sys.exit(main())
