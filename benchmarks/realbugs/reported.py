"""How many of the errors that users reported (`reported.jsonl`) are told, each in the whole tree of its commit.

    python benchmarks/realbugs/reported.py MIRRORS [--select ALL] [--trees DIRECTORY] [--missed]

MIRRORS holds the repositories as `OWNER+NAME/repo`, `OWNER+NAME` or `OWNER/NAME` (bare or not). The command line names
the file of the cause and the file that fails. An error is found if a finding touches a line of the cause, or the innermost
line of the repository that fails, give or take one.
`--missed` lists what is not found of the rows that may be read; the unseen ones are never listed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

LIST = Path(__file__).with_name("reported.jsonl")
DECIDABLE = ("function", "class", "file", "files")
KEPT = (".py", ".ipynb", ".toml", ".cfg", ".yaml", ".yml", "requirements.txt", "README.md")
"""Files of a tree that the linter reads."""


def repository(mirrors: Path, name: str) -> Path:
    """Where the repository lies; `SystemExit` if it is not there."""
    for place in (
        mirrors / name.replace("/", "+") / "repo",
        mirrors / name.replace("/", "+"),
        mirrors / name,
    ):
        if place.is_dir():
            return place
    raise SystemExit(f"{mirrors}: no repository {name}")


def lay_out(mirrors: Path, row: Mapping[str, Any], trees: Path) -> Path:
    """The tree of the row's commit, its Python files and what configures them."""
    root = trees / f"{row['repo'].replace('/', '+')}-{row['commit'][:8]}"
    if root.exists():
        return root
    git = ["git", "-C", os.fspath(repository(mirrors, row["repo"]))]
    listed = subprocess.run(
        [*git, "ls-tree", "-r", "-z", "--name-only", row["commit"]], capture_output=True, check=True
    )
    (root / ".git").mkdir(parents=True)  # as in a checkout: imports are looked for up to here
    for name in listed.stdout.decode().split("\0"):
        if name.endswith(KEPT):
            content = subprocess.run(
                [*git, "show", f"{row['commit']}:{name}"], capture_output=True, check=False
            )
            if content.returncode == 0:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(content.stdout)
    return root


def findings(root: Path, row: Mapping[str, Any], select: str | None) -> list[dict[str, Any]]:
    """What is told of the file of the cause and the file that fails."""
    files = sorted({row["cause_file"], row["fail_file"]})
    command = [sys.executable, "-m", "torchdev_lint", "check", "--isolated", "--no-cache", "--exit-zero"]
    command += ["--output-format", "json", *(["--select", select] if select else []), *files]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    told: list[dict[str, Any]] = json.loads(done.stdout)
    for one in told:
        one["filename"] = os.path.relpath(root / one["filename"], root)
    return told


def is_at(told: Iterable[Mapping[str, Any]], file: str, lines: Iterable[int]) -> bool:
    """Whether a finding touches one of the lines, give or take one."""
    spans = [(one["location"]["row"], one["end_location"]["row"]) for one in told if one["filename"] == file]
    return any(first - 1 <= line <= last + 1 for first, last in spans for line in lines)


def main() -> None:
    """Print a table: half, how much code shows the error, how many, how many are found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("--select", metavar="CODES")
    parser.add_argument("--trees", type=Path)
    parser.add_argument("--missed", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        trees = arguments.trees or Path(scratch)
        counted: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for row in map(json.loads, LIST.read_text().splitlines()):
            if row["scope"] not in DECIDABLE:
                continue
            told = findings(lay_out(arguments.mirrors, row, trees), row, arguments.select)
            found = is_at(told, row["cause_file"], row["cause"]) or is_at(
                told, row["fail_file"], row["fail"][:1]
            )
            for scope in (row["scope"], "all"):
                counted[row["part"], scope].update(errors=1, found=int(found))
            if arguments.missed and not found and row["part"] != "unseen":
                print(f"missed: {row['repo']} {row['cause_file']}:{row['cause']} {row['why']}")
        for (part, scope), count in sorted(counted.items()):
            print(
                f"{part:8}{scope:10}{count['found']:4} of {count['errors']:4}  {count['found'] / count['errors']:.1%}"
            )


if __name__ == "__main__":
    main()
