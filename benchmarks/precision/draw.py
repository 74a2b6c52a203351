"""Draw findings for a precision study: check every repository of a directory, count lines, draw with a seed.

    python benchmarks/precision/draw.py CHECKOUTS --keep findings.json --number 200 --seed 1 > drawn.md

CHECKOUTS holds one directory for each repository, called OWNER+NAME: a git checkout, or with the commit's hash in a file `.commit`.
The rules are those that are on by default, configurations of the repositories are ignored, every repository is one project,
notebooks are left out. `--keep`
writes all findings to a file, or reads them from it if it is there, so that drawing again costs nothing. Files that do not parse
(TDV999) are no findings. The same findings and the same seed give the same sample.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

CHECK = (
    *("-m", "torchdev_lint", "check", "--isolated", "--no-cache", "--exit-zero", "--output-format", "json"),
    *("--extend-exclude", "*.ipynb"),
)


def main() -> int:
    """Print the sample and what it was drawn from as Markdown tables; progress goes to standard error."""
    parser = argparse.ArgumentParser(description="Draw findings for a precision study.")
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--keep", type=Path, help="where all findings are kept")
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if not given.checkouts.is_dir():
        parser.error(f"{given.checkouts}: no such directory")
    if given.keep is not None and given.keep.exists():
        study = json.loads(given.keep.read_text(encoding="utf-8"))
    else:
        study = [survey(path) for path in sorted(given.checkouts.iterdir()) if path.is_dir()]
        if given.keep is not None:
            given.keep.write_text(json.dumps(study, indent=1), encoding="utf-8")
    show(study, given.number, given.seed)
    return 0


def survey(repository: Path) -> dict[str, Any]:
    """The findings in a repository, and its files and lines of Python."""
    print(repository.name, file=sys.stderr)
    done = subprocess.run(
        [sys.executable, *CHECK, "."], cwd=repository, capture_output=True, text=True, check=True
    )
    files = [path for path in repository.rglob("*.py") if path.is_file()]
    found = []
    for one in json.loads(done.stdout):
        if one["code"] != "TDV999":
            path = Path(one["filename"]).relative_to(repository.resolve()).as_posix()
            found.append(
                {"path": path, "row": one["location"]["row"], "code": one["code"], "message": one["message"]}
            )
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
