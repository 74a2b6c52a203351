"""How long whole trees take, against TorchFix, Fixit, flake8, flake8-async and Ruff, in one run.

    python benchmarks/speed.py TREE...                  measure, print a table for each tree
    python benchmarks/speed.py TREE... --write          and put them into docs/performance.md
    python benchmarks/speed.py TREE... --raw FILE       add every single time to FILE, JSON lines
    python benchmarks/speed.py TREE... --only ours,ruff only some of the commands

Every tool has a virtual environment of its own. The commands take turns, so that a busy machine is busy for all of them. A
ratio is the median, over the rounds, of the time of a command by that of ours in the same round. The peers look for other
things; what is compared is what a user waits for.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import startup

DOCUMENT = startup.DOCUMENT
ENVIRONMENTS: Mapping[str, tuple[str, ...]] = {**startup.ENVIRONMENTS, "flake8-async": ("flake8-async",)}

COMMANDS: tuple[tuple[str, str, str, str], ...] = (
    ("ours", "**torchdev-lint**, nothing kept", "ours", "torchdev-lint --isolated -q --no-cache ."),
    ("ours-1", "torchdev-lint, one process", "ours", "torchdev-lint --isolated -q --no-cache --jobs=1 ."),
    (
        "ours-warm",
        "torchdev-lint, nothing changed",
        "ours",
        "torchdev-lint --isolated -q --cache-dir=../kept .",
    ),
    ("torchfix", "TorchFix `--select ALL`", "torchfix", "torchfix --select=ALL ."),
    ("fixit", "Fixit", "fixit", "fixit --quiet lint ."),
    ("flake8-async", "flake8-async", "flake8-async", "flake8-async FILES"),
    ("flake8", "flake8, its defaults", "flake8", "flake8 --isolated --jobs=auto ."),
    (
        "plugin",
        "flake8, its defaults and our plugin",
        "plugin",
        "flake8 --isolated --jobs=auto --extend-select=TDV .",
    ),
    ("ruff", "Ruff, nothing kept", "ruff", "ruff check --isolated -q --no-cache ."),
    ("ruff-warm", "Ruff, nothing changed", "ruff", "ruff check --isolated -q --cache-dir=../ruff-kept ."),
)
"""What is timed: its name, what the table calls it, its environment, the command; FILES for all Python files, where a tool
takes no directory."""


@dataclass
class Timing:
    """Seconds and bytes of each round."""

    name: str
    label: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)
    status: int = 0


def once(command: Sequence[str], cwd: Path) -> tuple[float, float, int, int]:
    """Wall and CPU seconds of one run, the memory of its largest process in bytes, and its exit status."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, process.returncode


def arguments_of(text: str, programs: Path, tree: Path) -> list[str]:
    """The command line that a text stands for."""
    program, *rest = text.split()
    if rest[-1:] == ["FILES"]:
        rest[-1:] = sorted(str(path.relative_to(tree)) for path in tree.rglob("*.py") if path.is_file())
    return [str(programs / program), *rest]


def gave_up(command: Sequence[str], cwd: Path) -> bool:
    """Whether a tool ends with a traceback, which leaves the exit status that findings have."""
    result = subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    return b"Traceback (most recent call last)" in result.stderr


def size_of(tree: Path) -> tuple[int, int, int]:
    """Files, lines and bytes of Python in a tree."""
    contents = [path.read_bytes() for path in tree.rglob("*.py") if path.is_file()]
    return len(contents), sum(one.count(b"\n") for one in contents), sum(map(len, contents))


def copied(tree: Path, place: Path) -> Path:
    """The Python files of a tree, and nothing else: no configuration, no notebooks."""

    def others(folder: str, names: list[str]) -> list[str]:
        return [
            name
            for name in names
            if name.startswith(".") or not (name.endswith(".py") or os.path.isdir(f"{folder}/{name}"))
        ]

    target = place / tree.name
    shutil.copytree(tree, target, ignore=others, ignore_dangling_symlinks=True)
    return target


def measure(tree: Path, environments: Mapping[str, Path], wanted: Sequence[str], rounds: int) -> list[Timing]:
    """Every wanted command `rounds` times, in turns."""
    chosen = [one for one in COMMANDS if one[0] in wanted]
    timings = [Timing(name, label) for name, label, _, _ in chosen]
    commands = [arguments_of(text, environments[environment], tree) for _, _, environment, text in chosen]
    for timing, command in zip(timings, commands, strict=True):
        if gave_up(command, tree):
            raise SystemExit(f"{timing.label} gives up on {tree.name}: leave it out with --only, and say so")
        if timing.name.endswith("-warm"):
            time.sleep(2.5)  # A time of the last two seconds is not trusted.
            once(command, tree)
    for number in range(1, rounds + 1):
        for timing, command in zip(timings, commands, strict=True):
            wall, cpu, peak, timing.status = once(command, tree)
            timing.wall.append(wall)
            timing.cpu.append(cpu)
            timing.peak.append(peak)
        print(f"{tree.name}: round {number}/{rounds}", file=sys.stderr)
    return timings


def table(timings: Sequence[Timing]) -> str:
    """The results of a tree, as they go into the document."""
    reference = timings[0]
    lines = [
        "| what runs | wall, s | CPU, s | peak, MB | times our wall | times our CPU |",
        "|---|---|---|---|---|---|",
    ]
    for one in timings:
        wall, cpu = (
            statistics.median(own / max(other, 1e-3) for own, other in zip(mine, ours, strict=True))
            for mine, ours in ((one.wall, reference.wall), (one.cpu, reference.cpu))
        )
        lines.append(
            f"| {one.label} | {statistics.median(one.wall):.2f} | {statistics.median(one.cpu):.2f} | "
            f"{max(one.peak) / 1e6:.0f} | {wall:.2f} | {cpu:.2f} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Exit status 2 when a command fails in another way than by findings."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees", type=Path, nargs="+", metavar="TREE")
    parser.add_argument("--rounds", type=int, default=5, help="how often each command is timed (default 5)")
    parser.add_argument("--environments", type=Path, metavar="DIR", help="where the environments are kept")
    parser.add_argument("--only", default=",".join(one[0] for one in COMMANDS), help="names of commands")
    parser.add_argument("--raw", type=Path, metavar="FILE", help="where to add every single time")
    parser.add_argument("--note", default="", help="what should be said of the machine")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    given = parser.parse_args()
    wanted = given.only.split(",")
    if unknown := set(wanted) - {one[0] for one in COMMANDS}:
        parser.error(f"--only: not known: {', '.join(sorted(unknown))}")
    parts, failed = [], []
    with tempfile.TemporaryDirectory() as temporary:
        environments = startup.prepare(
            (given.environments or Path(temporary) / "environments").absolute(), ENVIRONMENTS
        )
        for tree in given.trees:
            files, lines, size = size_of(tree)
            load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
            timings = measure(copied(tree, Path(temporary)), environments, wanted, given.rounds)
            facts = (
                f"**{tree.name.replace('+', '/')}**: {files} files, {lines:,} lines, {size / 1e6:.2f} MB. Medians of "
                f"{given.rounds} rounds, Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f} at the "
                f"start. {given.note}"
            ).strip()
            parts.append(f"{facts}\n\n{table(timings)}")
            print(parts[-1], flush=True)
            failed += [f"{tree.name}: {one.label}" for one in timings if one.status not in (0, 1)]
            if given.raw is not None:
                with given.raw.open("a", encoding="utf-8") as raw:
                    for one in timings:
                        told = {
                            "tree": tree.name,
                            "command": one.name,
                            "wall": one.wall,
                            "cpu": one.cpu,
                            "peak": one.peak,
                            "lines": lines,
                        }
                        raw.write(json.dumps({**told, "load": load, "status": one.status}) + "\n")
    if given.write:
        text = "\n\n".join(parts)
        document = DOCUMENT.read_text(encoding="utf-8")
        replaced = re.sub(
            r"(?<=<!-- measured: trees -->\n).*?(?=<!-- end -->)",
            lambda _: f"{text}\n",
            document,
            flags=re.DOTALL,
        )
        DOCUMENT.write_text(replaced, encoding="utf-8")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
