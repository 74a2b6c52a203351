"""How long each face takes to start, against Ruff, flake8 alone, TorchFix and Fixit, in one run.

    python benchmarks/startup.py                      measure, print the table
    python benchmarks/startup.py --write              and put it into docs/performance.md
    python benchmarks/startup.py --environments DIR   keep the virtual environments in DIR

Every tool has a virtual environment of its own. The commands take turns, so that a busy machine is busy for all of them;
each is run once before anything is measured. A ratio is the median, over the rounds, of the wall time of a command by that
of the reference in the same round.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "performance.md"

ENVIRONMENTS: Mapping[str, tuple[str, ...]] = {
    "ours": (str(ROOT),),
    "plugin": (f"{ROOT}[flake8]",),
    "ruff": ("ruff",),
    "flake8": ("flake8",),
    "torchfix": ("torchfix",),
    "fixit": ("fixit",),
}
"""What is installed where."""

NO_TORCH = "import json\n\n\ndef load(path):\n    with open(path) as file:\n        return json.load(file)\n"
CLEAN = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 2).to(device)
for step in range(10):
    batch = torch.randn(8, 4, device=device)
    print(step, model(batch).mean().item())
"""
FILES: Mapping[str, str] = {"plain.py": NO_TORCH, "clean.py": CLEAN}

COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("`python -c pass`", "ours", "python -c pass"),
    ("torchdev-lint `--version`", "ours", "torchdev-lint --version"),
    ("torchdev-lint, a file without torch", "ours", "torchdev-lint --isolated --no-cache plain.py"),
    ("torchdev-lint, a clean file with torch", "ours", "torchdev-lint --isolated --no-cache clean.py"),
    ("`import torchdev_lint.flake8_plugin`", "plugin", "python -c import+torchdev_lint.flake8_plugin"),
    ("ruff `--version`", "ruff", "ruff --version"),
    ("ruff, the clean file", "ruff", "ruff check --isolated --no-cache clean.py"),
    ("flake8 alone, `--version`", "flake8", "flake8 --version"),
    ("flake8 alone, the clean file", "flake8", "flake8 --isolated --select=E9,F clean.py"),
    (
        "flake8 with our plugin, the file without torch",
        "plugin",
        "flake8 --isolated --select=E9,F,TDV plain.py",
    ),
    ("flake8 with our plugin, the clean file", "plugin", "flake8 --isolated --select=E9,F,TDV clean.py"),
    ("flake8 with TorchFix, the clean file", "torchfix", "flake8 --isolated --select=E9,F,TOR clean.py"),
    ("TorchFix, the clean file", "torchfix", "torchfix clean.py"),
    ("Fixit `--version`", "fixit", "fixit --version"),
    ("Fixit, the clean file", "fixit", "fixit --quiet lint clean.py"),
)
"""What is timed: what the table calls it, its environment, and the command (`+` for a blank within a word)."""

REFERENCE = 0


@dataclass
class Timing:
    """The times of one command in seconds, a pair for each round."""

    label: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    status: int = 0


def prepare(folder: Path, environments: Mapping[str, tuple[str, ...]] = ENVIRONMENTS) -> dict[str, Path]:
    """The folder of executables of each environment, which is made if it is not there."""
    found = {}
    for name, packages in environments.items():
        place = folder / name
        executables = place / ("Scripts" if os.name == "nt" else "bin")
        if not (place / "installed").exists():
            venv.create(place, with_pip=True, clear=True)
            subprocess.run([executables / "python", "-m", "pip", "install", "-qq", *packages], check=True)
            (place / "installed").touch()
        found[name] = executables
    return found


def once(command: Sequence[str], cwd: Path) -> tuple[float, float, int]:
    """Wall and CPU seconds of one run, and its exit status."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    before, start = os.times(), time.perf_counter()
    result = subprocess.run(
        command, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    wall, after = time.perf_counter() - start, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu, result.returncode


def measure(environments: Mapping[str, Path], folder: Path, rounds: int) -> list[Timing]:
    """Every command `rounds` times, in turns."""
    timings = [Timing(label) for label, _, _ in COMMANDS]
    for number in range(rounds + 1):
        for timing, (_, name, text) in zip(timings, COMMANDS, strict=True):
            program, *rest = (word.replace("+", " ") for word in text.split())
            wall, cpu, timing.status = once([str(environments[name] / program), *rest], folder)
            if number:  # The first round fills the caches of the disk and compiles.
                timing.wall.append(wall)
                timing.cpu.append(cpu)
        print(f"round {number}/{rounds}", file=sys.stderr)
    return timings


def table(timings: Sequence[Timing]) -> str:
    """The results, as they go into the document."""
    reference = timings[REFERENCE]
    lines = ["| what starts | wall, ms | CPU, ms | times `python -c pass` |", "|---|---|---|---|"]
    for one in timings:
        ratio = statistics.median(own / other for own, other in zip(one.wall, reference.wall, strict=True))
        wall, cpu = statistics.median(one.wall) * 1000, statistics.median(one.cpu) * 1000
        lines.append(f"| {one.label} | {wall:.0f} | {cpu:.0f} | {ratio:.1f} |")
    return "\n".join(lines)


def versions(environments: Mapping[str, Path]) -> str:
    """What was compared."""
    found = []
    for name, package in (
        ("ruff", "ruff"), ("flake8", "flake8"), ("torchfix", "torchfix"), ("fixit", "fixit"), ("ours", "libcst"),
        ("torchfix", "libcst"), ("fixit", "libcst"),
    ):  # fmt: skip
        code = f"from importlib.metadata import version; print(version({package!r}))"
        out = subprocess.run(
            [environments[name] / "python", "-c", code], text=True, capture_output=True, check=True
        )
        found.append(f"{package} {out.stdout.strip()}" + (f" ({name})" if package == "libcst" else ""))
    return ", ".join(found)


def tell(text: str, timings: Sequence[Timing], place: str | None) -> int:
    """Print the results, put them into the document's `place` if one is named, and give the exit status: 2 when a command failed."""
    print(text)
    if place is not None:
        document = DOCUMENT.read_text(encoding="utf-8")
        replaced = re.sub(
            rf"(?<=<!-- measured: {place} -->\n).*?(?=<!-- end -->)",
            lambda _: f"{text}\n",
            document,
            flags=re.DOTALL,
        )
        DOCUMENT.write_text(replaced, encoding="utf-8")
    failed = [one.label for one in timings if one.status not in (0, 1)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 2 if failed else 0


def main() -> int:
    """Exit status 2 when a command fails in another way than by findings."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=7, help="how often each command is timed (default 7, at least 5)"
    )
    parser.add_argument("--environments", type=Path, metavar="DIR", help="where the environments are kept")
    parser.add_argument(
        "--write", action="store_true", help=f"put the table into {DOCUMENT.relative_to(ROOT)}"
    )
    given = parser.parse_args()
    if given.rounds < 5:
        parser.error("--rounds: a median needs at least 5")
    with tempfile.TemporaryDirectory() as temporary:
        environments = prepare((given.environments or Path(temporary) / "environments").absolute())
        folder = Path(temporary) / "files"
        folder.mkdir()
        for name, text in FILES.items():
            (folder / name).write_text(text, encoding="utf-8")
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
        timings = measure(environments, folder, given.rounds)
        facts = (
            f"Medians of {given.rounds} rounds, Python {platform.python_version()}, {os.cpu_count()} cores, load "
            f"{load:.1f} at the start; {versions(environments)}."
        )
    text = f"{facts}\n\n{table(timings)}"
    return tell(text, timings, "startup" if given.write else None)


if __name__ == "__main__":
    sys.exit(main())
