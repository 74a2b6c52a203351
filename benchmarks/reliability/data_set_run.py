"""A data set (`data_set.py`), part by part: what each came to, how long it took, how much memory the processes had at most.

    python benchmarks/reliability/data_set_run.py DATA -o RESULTS [--dask EVERY] [--jobs N] [--kill]

The default rules on each part, by `--jobs N`, every `EVERY`th part by `--executor dask` instead; the first of these twice, both
ways, which must give the same findings. `--kill` ends a worker of the first Dask run in the midst of it. What is done is not done
again: the run can be ended and started again at any time. RESULTS gets the findings of each part, its standard error, and
`parts.jsonl`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

EVERY_SECONDS = 1.0


def about(part: Path) -> Counter[str]:
    count: Counter[str] = Counter()
    for batch in pq.ParquetFile(part).iter_batches(64, columns=["content"]):
        for content in batch.column(0).to_pylist():
            for kind in ("", "torch ") if b"torch" in content else ("",):
                count[f"{kind}rows"] += 1
                count[f"{kind}lines"] += content.count(b"\n")
                count[f"{kind}bytes"] += len(content)
    return count


def descendants(parent: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *descendants(child)]
    return found


def peak(process: int) -> int:
    """KiB that a process has had at most; 0 if it has gone."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def worker_of_dask(process: int) -> bool:
    try:
        return b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def run(part: Path, how: list[str], found: Path, kill_after: float | None) -> dict[str, Any]:
    """One part, checked `how` says; a worker is killed after so many seconds."""
    command = [sys.executable, "-m", "torchdev_lint", "check", "--isolated", *how, "--parquet", str(part)]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    parent, workers, killed = 0, 0, None
    with open(f"{found}.stderr", "wb") as errors:
        process = subprocess.Popen([*command, "-o", str(found)], stderr=errors, stdout=errors)
        while True:
            try:
                code = process.wait(EVERY_SECONDS)
                break
            except subprocess.TimeoutExpired:
                pass
            below = descendants(process.pid)
            parent = max(parent, peak(process.pid))
            workers = max([workers, *(peak(one) for one in below)])
            if kill_after is not None and time.monotonic() - start > kill_after:
                victims = [one for one in below if worker_of_dask(one)]
                if victims:
                    os.kill(victims[-1], signal.SIGKILL)
                    killed, kill_after = victims[-1], None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    codes: Counter[str] = Counter()
    if found.exists():
        with open(found, encoding="utf-8") as lines:
            codes.update(json.loads(line)["code"] for line in lines)
    return {
        "part": part.name,
        "how": " ".join(how),
        "exit code": code,
        "wall": round(time.monotonic() - start, 1),
        "cpu": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "parent MiB": parent // 1024,
        "worker MiB": workers // 1024,
        "worker killed": killed is not None,
        "codes": codes,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--dask", type=int, default=4, metavar="EVERY", help="0: none")
    parser.add_argument("--kill", action="store_true")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    told = options.output / "parts.jsonl"
    done = {
        (one["part"], one["how"])
        for one in map(json.loads, told.read_text().splitlines() if told.exists() else ())
    }
    here = ["--jobs", str(options.jobs)]
    dask = [*here, "--executor", "dask"]
    for number, part in enumerate(sorted(options.data.glob("*.parquet"))):
        by_dask = options.dask and number % options.dask == 0
        for how in [dask, here] if by_dask and number == 0 else [dask if by_dask else here]:
            if (part.name, " ".join(how)) in done:
                continue
            name = "dask" if how is dask else "here"
            kill_after = 40.0 if options.kill and number == 0 and how is dask else None
            came = run(part, how, options.output / f"{part.stem}.{name}.jsonl", kill_after)
            with open(told, "a", encoding="utf-8") as lines:
                lines.write(json.dumps({**came, **about(part)}) + "\n")


if __name__ == "__main__":
    main()
