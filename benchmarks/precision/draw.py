"""Draw findings for a precision study: check every repository of a directory, count lines, draw with a seed.

    python benchmarks/precision/draw.py CHECKOUTS --keep findings.json --number 200 --seed 1 > drawn.md

CHECKOUTS holds one directory for each repository, called OWNER+NAME: a git checkout, or with the commit's hash in a file `.commit`.
The rules are those that are on by default, configurations of the repositories are ignored, every repository is one project,
notebooks are left out unless `--notebooks` is given. `--keep`
writes all findings to a file, or reads them from it if it is there, so that drawing again costs nothing. Files that do not parse
(TDV999) are no findings. The same findings and the same seed give the same sample.

    python benchmarks/precision/draw.py CHECKOUTS --notebooks --jobs 2 --keep findings.json --list > findings.txt

lists every finding, one line each with its message: what the readers of the later batches were given.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

CHECK = ("-m", "torchdev_lint", "check", "--isolated", "--no-cache", "--exit-zero", "--output-format", "json")
PATIENCE = 1800
"""Seconds after which a repository is given up; nothing of it is counted then."""


def main() -> int:
    """Print the sample and what it was drawn from as Markdown tables; progress goes to standard error."""
    parser = argparse.ArgumentParser(description="Draw findings for a precision study.")
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--keep", type=Path, help="where all findings are kept")
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--notebooks", action="store_true", help="check notebooks, too")
    parser.add_argument("--jobs", type=int, default=1, help="how many repositories are checked side by side")
    parser.add_argument("--list", action="store_true", help="list all findings instead of drawing some")
    given = parser.parse_args()
    if not given.checkouts.is_dir():
        parser.error(f"{given.checkouts}: no such directory")
    if given.keep is not None and given.keep.exists():
        study = json.loads(given.keep.read_text(encoding="utf-8"))
    else:
        chosen = sorted(path for path in given.checkouts.iterdir() if path.is_dir())
        with ThreadPoolExecutor(given.jobs) as pool:
            surveyed = pool.map(partial(survey, notebooks=given.notebooks), chosen)
            study = [one for one in surveyed if one is not None]
        if given.keep is not None:
            given.keep.write_text(json.dumps(study, indent=1), encoding="utf-8")
    if given.list:
        list_all(study)
    else:
        show(study, given.number, given.seed)
    return 0


def survey(repository: Path, *, notebooks: bool = False) -> dict[str, Any] | None:
    """The findings in a repository, and its files and lines of Python; `None` when it cannot be checked."""
    print(repository.name, file=sys.stderr)
    but = () if notebooks else ("--extend-exclude", "*.ipynb")
    command = [sys.executable, *CHECK, *but, "."]
    try:
        done = subprocess.run(
            command, cwd=repository, capture_output=True, text=True, check=True, timeout=PATIENCE
        )
    except subprocess.SubprocessError as failure:
        print(f"{repository.name}: {failure}", file=sys.stderr)
        return None
    files = [path for path in repository.rglob("*.py") if path.is_file()]
    found = []
    for one in json.loads(done.stdout):
        if one["code"] != "TDV999":
            path = Path(one["filename"]).relative_to(repository.resolve()).as_posix()
            finding = {
                "path": path,
                "row": one["location"]["row"],
                "code": one["code"],
                "message": one["message"],
            }
            found.append(finding | ({"cell": one["cell"]} if one.get("cell") else {}))
    return {
        "repository": repository.name.replace("+", "/", 1),
        "commit": commit_of(repository),
        "files": len(files),
        "lines": sum(path.read_bytes().count(b"\n") for path in files),
        "findings": found,
    }


def commit_of(repository: Path) -> str:
    """The commit that is checked out, abbreviated; empty when nothing says which."""
    noted = repository / ".commit"
    if noted.exists():
        return noted.read_text(encoding="ascii").strip()[:7]
    done = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", "--short=7", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def list_all(study: list[dict[str, Any]]) -> None:
    """Print every finding, one line each: repository, commit, place, rule, message."""
    for one in study:
        for finding in one["findings"]:
            cell = f":cell {finding['cell']}" if "cell" in finding else ""
            place = f"{finding['path']}{cell}:{finding['row']}"
            print(f"{one['repository']}@{one['commit']} {place} {finding['code']} {finding['message']}")


def show(study: list[dict[str, Any]], number: int, seed: int) -> None:
    """Print the tables."""
    everything = [(one, finding) for one in study for finding in one["findings"]]
    drawn = random.Random(seed).sample(range(len(everything)), min(number, len(everything)))
    lines = sum(one["lines"] for one in study)
    print(
        f"{len(study)} repositories, {sum(one['files'] for one in study)} files, {lines} lines: {len(everything)} findings\n"
    )
    print("| repository@commit | place | code | verdict | why |\n|---|---|---|---|---|")
    for index in sorted(drawn):
        one, finding = everything[index]
        print(
            f"| {one['repository']}@{one['commit']} | {finding['path']}:{finding['row']} | {finding['code']} | | |"
        )
    print("\n| repository@commit | files | lines | findings |\n|---|---|---|---|")
    for one in sorted(study, key=lambda one: -int(one["lines"])):
        print(
            f"| {one['repository']}@{one['commit']} | {one['files']} | {one['lines']} | {len(one['findings'])} |"
        )


if __name__ == "__main__":
    sys.exit(main())
