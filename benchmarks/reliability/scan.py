"""Every rule and every fix over whole directories, nothing written: crashes, time-outs, slowest files, memory.

    python benchmarks/reliability/scan.py DIRECTORY... [--limit SECONDS] [--everything] [--json FILE]

Files are checked in child processes, so that one that dies (a signal) or exceeds the limit costs its own file only, and is
counted. Of each file that fixes change, the fixed text is checked again: fixing must be a fixed point. Memory is the peak of
the process after each file; where it rises is the file that made it rise. Files that do not mention torch are not analysed,
as in any run, unless `--everything` says so.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from isolated import isolated

from torchdev_lint.config import SYNTAX_ERROR, Config, Selection
from torchdev_lint.diagnostics import Applicability
from torchdev_lint.engine.file_check import can_matter, check_bytes
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.files import read_bytes
from torchdev_lint.source.discovery import FileRules, discover

EVERY_FIX = frozenset(Applicability)
NEVER_CALLED = ("nowhere.",)
"""A constructor of tensors with a name that no call has, and every file mentions: with it, every file is analysed."""


def files_below(directory: str) -> list[str]:
    rules = FileRules(root=directory, exclude=(), respect_gitignore=False)
    return list(discover([directory], lambda _: rules).files)


def checker(root: str, everything: bool = False) -> Callable[[str], dict[str, Any]]:
    """What checks a file below `root`."""
    config = Config(
        root=root,
        command_line=Selection(("TDV",)),
        ignore_noqa=True,
        tensor_constructors=NEVER_CALLED if everything else (),
    )
    sources = DiskSources()

    def check(path: str) -> dict[str, Any]:
        start = time.process_time()  # What else the machine does says nothing about a file.
        try:
            data = read_bytes(path)
        except OSError as error:
            return {"unreadable": str(error.strerror)}
        found = check_bytes(data, path, config, sources=sources)
        spent = time.process_time() - start
        fixed = found
        if any(one.fix for one in found.diagnostics):
            fixed = check_bytes(data, path, config, EVERY_FIX, sources=sources)
        errors = sorted({*found.errors, *fixed.errors})
        if fixed.changed:
            again = check_bytes(fixed.data, path, config, EVERY_FIX, sources=sources)
            if again.data != fixed.data:
                errors.append("fixing the fixed file changes it again")
        return {
            "lines": data.count(b"\n"),
            "analysed": can_matter(data, path, config),
            "seconds": round(spent, 3),
            "codes": Counter(one.code for one in found.diagnostics),
            "skipped": [one.message for one in found.diagnostics if one.code == SYNTAX_ERROR],
            "errors": errors,
            "fixed": fixed.changed,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }

    return check


def scan(directory: str, limit: float, everything: bool = False) -> list[dict[str, Any]]:
    """What each file below `directory` came to; one that killed its process has the key `died`."""
    results = isolated(files_below(directory), lambda: checker(directory, everything), limit)
    return [{"path": path, **result} for path, result in results]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directories", nargs="+")
    parser.add_argument(
        "--limit", type=float, default=60.0, metavar="SECONDS", help="for one file, fixes included"
    )
    parser.add_argument("--everything", action="store_true", help="analyse what does not mention torch, too")
    parser.add_argument("--json", metavar="FILE", help="write what every file came to")
    options = parser.parse_args()
    results: list[dict[str, Any]] = []
    start = time.perf_counter()
    for directory in options.directories:
        results += scan(os.path.abspath(directory), options.limit, options.everything)
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump(results, file)
    report(results, time.perf_counter() - start)


def report(results: list[dict[str, Any]], seconds: float) -> None:
    whole = [one for one in results if "seconds" in one]
    skipped = Counter(re.sub(r"\d+", "N", why) for one in whole for why in one["skipped"])
    print(f"{len(results):,} files, {sum(one['lines'] for one in whole):,} lines, {seconds:.0f} s")
    analysed = [one for one in whole if one["analysed"]]
    print(f"analysed: {len(analysed):,} files, {sum(one['lines'] for one in analysed):,} lines")
    print(f"findings: {sum((Counter(one['codes']) for one in whole), Counter())}")
    print(f"files that fixes change: {sum(one['fixed'] for one in whole)}")
    print(f"not read: {sum('unreadable' in one for one in results)}; not analysed: {sum(skipped.values())}")
    for why, count in skipped.most_common(25):
        print(f"    {count:5}  {why}")
    bad = [one for one in results if one.get("died") or one.get("errors")]
    print(f"crashes, time-outs and internal errors: {len(bad)}")
    for one in bad:
        print(f"    {one['path']}: {one.get('died') or one['errors']}")
    print("slowest (one check, seconds of processor time):")
    for one in sorted(whole, key=lambda one: -one["seconds"])[:10]:
        print(f"    {one['seconds']:7.2f}  {one['lines']:6} lines  {one['path']}")
    print("highest memory of a process (MiB), and the file it was at when it first got there:")
    peaks: dict[int, str] = {}
    for one in whole:
        peaks.setdefault(one["peak"], one["path"])
    for peak in sorted(peaks, reverse=True)[:5]:
        print(f"    {peak:6}  {peaks[peak]}")


if __name__ == "__main__":
    main()
