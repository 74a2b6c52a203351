"""The same findings with every Python: fixtures and test programs, checked by several interpreters, byte for byte.

    python benchmarks/reliability/interpreters.py PYTHON... [--trees DIRECTORY...]

Each PYTHON is an interpreter that has what the linter needs (`pip install --require-hashes -r .ci/requirements.txt`), torch not
wanted: the linter itself is taken from this checkout. What each writes is compared: the findings as JSON, the fixed code as a diff,
the exit code and what is said on standard error. The first interpreter is what the others are held against.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TREES = [ROOT / "tests" / "fixtures", ROOT / "tests" / "programs"]
RUNS = {
    "findings": ["--output-format=json"],
    "fixes": ["--diff", "--unsafe-fixes"],
}
FLAGS = ["check", "--isolated", "--no-cache", "--select=ALL"]


def said_by(python: str, tree: Path, arguments: list[str]) -> bytes:
    """All that a run of the linter says, and its exit code."""
    result = subprocess.run(
        [python, "-m", "torchdev_lint", *FLAGS, *arguments, "."],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        timeout=3600,
        check=False,
    )
    return b"%s\n--- standard error\n%s\n--- exit code %d\n" % (
        result.stdout,
        result.stderr,
        result.returncode,
    )


def version_of(python: str) -> str:
    command = [python, "-c", "import platform, libcst; print(platform.python_version())"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


def compare(pythons: list[str], trees: list[Path]) -> int:
    """How many of the runs say something else than the first interpreter's."""
    different = 0
    for tree in trees:
        for name, arguments in RUNS.items():
            first = said_by(pythons[0], tree, arguments)
            print(f"{tree.name}, {name}: {len(first):,} bytes, {hashlib.sha256(first).hexdigest()[:16]}")
            for python in pythons[1:]:
                other = said_by(python, tree, arguments)
                same = other == first
                different += not same
                print(f"    {version_of(python)}: {'the same' if same else 'DIFFERENT'}", flush=True)
                if not same:
                    lines = [text.decode(errors="replace").splitlines() for text in (first, other)]
                    print("\n".join(list(difflib.unified_diff(*lines, lineterm="", n=0))[:20]))
    return different


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pythons", nargs="+", metavar="PYTHON")
    parser.add_argument("--trees", nargs="+", type=Path, default=TREES, metavar="DIRECTORY")
    options = parser.parse_args()
    print("held against", version_of(options.pythons[0]))
    return 1 if compare(options.pythons, options.trees) else 0


if __name__ == "__main__":
    sys.exit(main())
