"""How long the language server takes, over the time that LibCST needs to parse the same file.

    python benchmarks/server.py [--repeat 5] [--lines 2000] [--also "ruff server"] [--json FILE]

The file is made of the programs of tests/programs, one behind the other, up to the given length. Each repetition starts a
server of its own and asks it, as a client over its pipes: to introduce itself (`initialise`, from the start of the process), for
the first diagnostics of the file after it is opened, then for hints, hovers, and diagnostics after edits in functions. Medians are printed.
With `--also`, other servers are asked for what they have of this, in turns with ours.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shlex
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import libcst as cst  # noqa: E402
from language_client import ABLE, SERVER, Editor, begin, end, started  # noqa: E402
from lsprotocol import types  # noqa: E402

HOVERS = 10
"""Hovers, and requests for hints, of which one repetition takes the median."""
EDITS = 9
"""Edits, in functions all over the file; the first one is told apart from the others."""
OURS = "torchdev-lint server"


def program(lines: int) -> str:
    """A program of at least so many lines."""
    pieces: list[str] = []
    count = 0
    sources = sorted((ROOT / "tests" / "programs").glob("*.py"))
    while count < lines:
        for path in sources:
            pieces.append(path.read_text(encoding="utf-8").replace("from __future__", "# from __future__"))
            count += pieces[-1].count("\n")
            if count >= lines:
                break
    return "".join(pieces)


def parse_time(text: str) -> float:
    """Seconds that LibCST takes to parse the text."""
    before = time.perf_counter()
    cst.parse_module(text)
    return time.perf_counter() - before


async def timed(what: Awaitable[object]) -> float:
    """Seconds that something takes."""
    before = time.perf_counter()
    await what
    return time.perf_counter() - before


async def measure(command: tuple[str, ...], text: str, root: Path) -> dict[str, float]:
    """One repetition: seconds by what was asked."""
    ours = command == SERVER
    taken: dict[str, float] = {}
    before = time.perf_counter()
    async with started(root, *command, stderr=None) as editor:
        editor.settings = None
        await begin(editor, ABLE, {"delay": 0} if ours else None)
        taken["initialise"] = time.perf_counter() - before
        before = time.perf_counter()
        uri = editor.open("program.py", text)
        await editor.diagnostics(uri)
        taken["first diagnostics"] = time.perf_counter() - before
        if ours:
            taken |= await ask(editor, uri, text)
        rows = text.split("\n")
        bodies = [n for n, row in enumerate(rows) if row.lstrip().startswith("def ") and row.endswith(":")]
        edits: dict[str, list[float]] = {"first": [], "later": []}
        for number in range(EDITS):
            # a statement more at the beginning of a function, in another place each time, the last ones first
            row = bodies[-1 - number * len(bodies) // EDITS] + 1
            indent = rows[row][: len(rows[row]) - len(rows[row].lstrip())]
            there = types.Range(types.Position(row, 0), types.Position(row, 0))
            before = time.perf_counter()
            editor.change(
                uri, number + 2, types.TextDocumentContentChangePartial(there, f"{indent}edited = 1\n")
            )
            await editor.diagnostics(uri, number + 2)
            edits["later" if number else "first"].append(time.perf_counter() - before)
        taken["diagnostics after the first edit"] = edits["first"][0]
        taken["diagnostics after an edit"] = statistics.median(edits["later"])
        await end(editor)
    return taken


async def ask(editor: Editor, uri: str, text: str) -> dict[str, float]:
    """Hints and hovers of a file whose diagnostics are known."""
    rows = text.split("\n")
    names = [(row, rows[row].index("x")) for row in range(len(rows)) if " x = " in rows[row]]
    chosen = [names[n * len(names) // HOVERS] for n in range(HOVERS)]
    taken = {"first hints": await timed(editor.hints(uri))}
    taken["hints"] = statistics.median([await timed(editor.hints(uri)) for _ in range(HOVERS)])
    taken["hover"] = statistics.median([await timed(editor.hovered(uri, *place)) for place in chosen])
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description="Time the language server.")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--also", action="append", default=[], metavar="COMMAND")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    text = program(given.lines)
    commands = {OURS: SERVER} | {one: tuple(shlex.split(one)) for one in given.also}
    found: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in commands}
    parses = []
    for _ in range(given.repeat):
        parses.append(parse_time(text))
        for name, command in commands.items():
            with tempfile.TemporaryDirectory() as root:
                for what, seconds in asyncio.run(measure(command, text, Path(root))).items():
                    found[name][what].append(seconds)
    lines, parse = text.count("\n"), statistics.median(parses)
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores; a file of {lines} lines, n = {given.repeat}"
    )
    print(f"parsing it with LibCST: {parse * 1000:.0f} ms")
    for name, table in found.items():
        print(f"\n{name}\n{'':<34}{'median':>10}{'over parsing':>14}")
        for what, seconds in table.items():
            median = statistics.median(seconds)
            print(f"{what:<34}{median * 1000:>7.0f} ms{median / parse:>14.2f}")
    if given.json:
        given.json.write_text(json.dumps({"parse": parses, "servers": found}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
