"""The differential test: generated programs are run on the simulated accelerator, and what the rules say is held against that.

    python benchmarks/reliability/differential.py [--count 300] [--first 0] [--show MISSED] [--json FILE]

A program that raises a device error must be flagged, or one of the `LIMITS` must explain why it is not; one that passes must be
silent, and pass still after the safe fixes. How many are repaired by all fixes is counted. Rates are given by the way in which the
devices meet, so that limits are seen.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from programs import Program, program

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability
from torchdev_lint.engine.file_check import check_bytes
from torchdev_lint.harness.forkserver import ForkServer
from torchdev_lint.harness.verdict import Kind
from torchdev_lint.rules.registry import all_rules

ADVICE = frozenset({"TDV002", "TDV003"})
"""Rules whose findings do not claim that the program raises: a hard-coded index, a transfer without effect."""

LIMITS = {
    "branch": "a value that is right in one branch and wrong in the other, by a condition that is not known",
    "conditional expression": "the same, in an expression",
}
"""Ways after which nothing, or not enough, is known of a tensor: what goes one of them may be missed."""


def settings(directory: Path) -> Config:
    """The rules that are on by default."""
    return Config(
        root=str(directory), off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default)
    )


def judged(one: Program, server: ForkServer, directory: Path) -> dict[str, Any]:
    """What the simulator and the rules say of a program."""
    path = directory / f"program{one.seed}.py"
    data = one.text.encode()
    path.write_bytes(data)
    verdict = server.run(path)
    result = check_bytes(data, str(path), settings(directory))
    # Only of what raises is every fix wanted: an unsafe one may well change what a program does that passes.
    allowed = (
        frozenset(Applicability) if verdict.kind is Kind.DEVICE_ERROR else frozenset({Applicability.SAFE})
    )
    fixed = check_bytes(data, str(path), settings(directory), allowed)
    after = None
    if fixed.changed:
        path.write_bytes(fixed.data)
        after = server.run(path)
    return {
        "seed": one.seed,
        "meant": one.meant,
        "how": one.how,
        "limits": sorted(one.lineage & LIMITS.keys()),
        "verdict": verdict.kind.value,
        "message": verdict.message,
        "codes": sorted({found.code for found in result.diagnostics}),
        "claims": sorted({found.code for found in result.diagnostics} - ADVICE),
        "after": None if after is None else after.kind.value,
        "errors": [*result.errors, *fixed.errors],
    }


def experiment(first: int, count: int) -> list[dict[str, Any]]:
    with ForkServer("simulated") as server, tempfile.TemporaryDirectory(prefix="differential-") as name:
        return [judged(program(seed), server, Path(name)) for seed in range(first, first + count)]


def report(results: list[dict[str, Any]], show: int) -> int:
    verdicts = Counter(one["verdict"] for one in results)
    raised = [one for one in results if one["verdict"] == Kind.DEVICE_ERROR.value]
    passed = [one for one in results if one["verdict"] == Kind.PASSED.value]
    missed = [one for one in raised if not one["codes"]]
    alarmed = [one for one in passed if one["claims"]]
    worse = [one for one in passed if one["after"] not in (None, Kind.PASSED.value)]
    repaired = [one for one in raised if one["after"] == Kind.PASSED.value]
    print(f"{len(results)} programs: {dict(verdicts)}")
    print(
        f"raise and are flagged: {len(raised) - len(missed)} of {len(raised)}; of these pass after the fixes: {len(repaired)}"
    )
    unexplained = [one["seed"] for one in missed if not one["limits"]]
    print(f"missed, and no known limit explains it: {len(unexplained)} {unexplained}")
    plain = [one for one in raised if not one["limits"]]
    print(f"raise, touch no known limit, and are flagged: {len(plain) - len(unexplained)} of {len(plain)}")
    print(f"pass and are silent: {len(passed) - len(alarmed)} of {len(passed)}")
    print(f"pass, and not after the safe fixes: {len(worse)} {[one['seed'] for one in worse]}")
    for one in alarmed:
        print(f"    false alarm: seed {one['seed']}: {one['claims']}")
    for one in [one for one in results if one["errors"]]:
        print(f"    internal error: seed {one['seed']}: {one['errors']}")
    for title, ways in (
        ("meeting", lambda one: [one["meant"]]),
        ("way of a tensor", lambda one: filter(None, one["how"])),
    ):
        counted = Counter(way for one in raised for way in ways(one))
        print(f"missed, by {title}:")
        for way, number in Counter(way for one in missed for way in ways(one)).most_common():
            print(f"    {number:3} of {counted[way]:3}  {way}")
    for one in missed[:show]:
        print(
            f"--- seed {one['seed']}: {one['meant']}, {one['how']}: {one['message']}\n{program(one['seed']).text}"
        )
    return 1 if alarmed or worse or unexplained or any(one["errors"] for one in results) else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--show", type=int, default=0, help="print as many missed programs")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    start = time.monotonic()
    results = experiment(options.first, options.count)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
    code = report(results, options.show)
    print(f"{time.monotonic() - start:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
