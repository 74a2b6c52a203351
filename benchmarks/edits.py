"""What an edit costs the language server's analysis, over the CPU time that LibCST needs to parse the same file.

    python benchmarks/edits.py PATH... [--files 40] [--edits 6] [--lines 100] [--most 1300] [--seed 1] [--json FILE]

Of the Python files below the paths that mention torch and have at least so many lines (and at most), some are drawn. Each is checked,
then edited several times, an edit being a statement that is put into the body of a function or method drawn by chance. Every edited
text is checked with what is remembered of the last one and without, parse included, in turns; the findings have to be the same.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import libcst as cst

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.memory import Memory
from torchdev_lint.flow.incremental.observations import Observer


def candidates(paths: list[Path], lines: int, most: int | None) -> list[Path]:
    """The files that are drawn from."""
    found = []
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            try:
                text = file.read_text(encoding="utf-8")
                count = text.count("\n")
                if "torch" not in text or count < lines or (most is not None and count > most):
                    continue
                tree = ast.parse(text)
            except (OSError, UnicodeDecodeError, SyntaxError):
                continue
            if any(isinstance(node, ast.FunctionDef) for node in ast.walk(tree)):
                found.append(file)
    return found


def edited(text: str, chance: random.Random, number: int) -> str:
    """The text with a statement more in a function."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    blocks = [one for one in functions if one.body[0].lineno > one.lineno]
    statement = chance.choice(chance.choice(blocks).body)
    rows = text.split("\n")
    rows.insert(statement.lineno - 1, f"{' ' * statement.col_offset}edited = {number}")
    return "\n".join(rows)


def timed(what: Callable[[], object]) -> tuple[float, object]:
    """Seconds of CPU time, and the result."""
    before = time.process_time()
    result = what()
    return time.process_time() - before, result


def check(text: str, path: Path, memory: Memory | None) -> list[Diagnostic]:
    """As the server does it, but for the other files of the project."""
    return check_source(text, str(path), Config(), None, Observer(), memory)


def measure(path: Path, edits: int, chance: random.Random) -> list[dict[str, float]]:
    """The times of all edits of one file."""
    text, memory = path.read_text(encoding="utf-8"), Memory()
    check(text, path, memory)
    # the first edit has to find out where everything is
    text = edited(text, chance, 0)
    check(text, path, memory)
    taken = []
    for number in range(1, edits + 1):
        text = edited(text, chance, number)
        before = memory.counts.executed, memory.counts.again
        again, found = timed(lambda: check(text, path, memory))  # noqa: B023
        fresh, expected = timed(lambda: check(text, path, None))  # noqa: B023
        parse, _ = timed(lambda: cst.parse_module(text))  # noqa: B023
        assert found == expected, path
        taken.append(
            {
                "lines": text.count("\n"),
                "parse": parse,
                "again": again,
                "fresh": fresh,
                "executed": memory.counts.executed - before[0],
                "done again": memory.counts.again - before[1],
            }
        )
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description="Time the analysis after an edit.")
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--edits", type=int, default=6)
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--most", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    files = candidates(given.paths, given.lines, given.most)
    taken: list[dict[str, float]] = []
    for path in chance.sample(files, min(given.files, len(files))):
        taken += measure(path, given.edits, chance)
    print(f"{len(taken)} edits of {min(given.files, len(files))} files, of {len(files)}")
    print(f"lines: {statistics.median(one['lines'] for one in taken):.0f} in the middle")
    for name in ("again", "fresh"):
        quarters = statistics.quantiles([one[name] / one["parse"] for one in taken], n=20)
        shown = ", ".join(f"{quarters[n]:.2f}" for n in (1, 4, 9, 14, 17))
        print(f"{name:<6} over parsing: {shown} (tenth, quarter, half, three quarters, nine tenths)")
    per_line = [one["again"] / one["lines"] * 1e6 for one in taken]
    print(f"again, per 1,000 lines: {statistics.median(per_line):.0f} ms of CPU time in the middle")
    executed, again = sum(one["executed"] for one in taken), sum(one["done again"] for one in taken)
    print(f"steps: {executed:.0f} executed, {again:.0f} done again")
    if given.json:
        given.json.write_text(json.dumps(taken, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
