"""Whether long files come to the same when they are parsed in pieces and as a whole (`--no-slice`).

    python benchmarks/pieces.py PATH...               compare the trees of all long files
    python benchmarks/pieces.py PATH... --findings    and what is found, by two runs over each path
    python benchmarks/pieces.py PATH... --step 10     only every tenth long file (trees)

Each path is a file or a directory. Exit status 1 when anything differs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import libcst as cst

from torchdev_lint.engine.check import unify_newlines
from torchdev_lint.engine.parsing import ParseError, cutting, parse_module
from torchdev_lint.engine.pieces import PAYS
from torchdev_lint.source.document import Document, SourceError

LINT = (sys.executable, "-m", "torchdev_lint", "check", "--isolated", "--no-cache", "--select=ALL", "-v")
COUNTED = re.compile(r"^parsed: .*", re.MULTILINE)


def both_trees(path: Path) -> tuple[cst.Module, cst.Module] | None:
    """The tree of a file, parsed in pieces, and as a whole; None for one that is short, cannot be cut, or does not parse."""
    try:
        text = unify_newlines(Document.from_bytes(path.read_bytes(), str(path)).text)
        if len(text) < PAYS:
            return None
        with cutting(allowed=True) as how:
            in_pieces = parse_module(text, str(path))
        if not all(how.long.values()):
            print(f"  as a whole: {path}")
            return None
        with cutting(allowed=False):
            return in_pieces, parse_module(text)
    except (SourceError, ParseError, OSError):
        return None


def compare_trees(paths: list[Path]) -> tuple[int, list[Path]]:
    """How many of the files were cut, and those whose trees differ."""
    cut, different = 0, []
    for path in paths:
        trees = both_trees(path)
        if trees is None:
            continue
        cut += 1
        if not trees[0].deep_equals(trees[1]) or trees[0].code != trees[1].code:
            different.append(path)
    return cut, different


def found(path: Path, *more: str) -> tuple[str, str]:
    """What is found at a path, as JSON; and what is said about how it was parsed."""
    result = subprocess.run(
        [*LINT, "--output-format=json", *more, str(path)], capture_output=True, text=True, check=False
    )
    told = COUNTED.search(result.stderr)
    if result.returncode not in (0, 1) or told is None:
        raise SystemExit(f"{path}: exit code {result.returncode}\n{result.stderr[-2000:]}")
    return result.stdout, told[0]


def main() -> int:
    """Exit status 1 when anything differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH")
    parser.add_argument("--findings", action="store_true", help="compare what is found")
    parser.add_argument("--step", type=int, default=1, metavar="N", help="trees of every Nth long file")
    given = parser.parse_args()
    failed = False
    for path in given.paths:
        files = [path] if path.is_file() else [one for one in sorted(path.rglob("*.py")) if one.is_file()]
        long = [one for one in files if one.stat().st_size >= PAYS][:: given.step]
        cut, different = compare_trees(long)
        print(f"{path.name}: {len(files)} files, {len(long)} long ones compared, {cut} cut", end="")
        print(f", {len(different)} with another tree", *different, flush=True)
        failed = failed or bool(different)
        if given.findings:
            (mine, told), (whole, _) = found(path), found(path, "--no-slice")
            count = mine.count('"code": "TDV')
            same = "the same" if mine == whole else "NOT THE SAME"
            print(f"  {told}; {count} findings, {same}", flush=True)
            failed = failed or mine != whole
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
