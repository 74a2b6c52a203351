"""The run over the rows of data sets: a bounded part of them at a time, results in the order of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torchdev_lint.config import Config
from torchdev_lint.engine.checking import checked_jobs
from torchdev_lint.engine.file_check import can_matter
from torchdev_lint.engine.jobs import Checker, Job
from torchdev_lint.engine.results import NO_FIXES, FileResult
from torchdev_lint.engine.workers import Workers
from torchdev_lint.source.parquet import Row

CHUNK_BYTES = 4_000_000
"""Of sources that can matter, which are held at a time: about a minute of work."""
CHUNK_JOBS = 4_000


@dataclass(slots=True)
class Count:
    """How many rows there were, and how many had to be analysed."""

    rows: int = 0
    analysed: int = 0
    findings: int = 0


def check_rows(
    rows: Iterable[Row], config: Config, workers: Workers, count: Count
) -> Iterator[tuple[Row, FileResult]]:
    """Check each row on its own: what it imports is not in the data set. Only those that can matter come back.

    The configuration is one for all, whatever lies on disk where their paths would be.
    """
    chunk: list[tuple[Row, Job]] = []
    size = 0
    for row in rows:
        count.rows += 1
        if can_matter(row.data, row.path, config):
            chunk.append((row, Job(row.path, config, NO_FIXES, len(row.data), _content(row))))
            size += len(row.data)
        if size >= CHUNK_BYTES or len(chunk) >= CHUNK_JOBS:
            yield from _checked(chunk, workers, count)
            chunk, size = [], 0
    yield from _checked(chunk, workers, count)


def _checked(
    chunk: list[tuple[Row, Job]], workers: Workers, count: Count
) -> Iterator[tuple[Row, FileResult]]:
    jobs = {index: job for index, (_, job) in enumerate(chunk)}
    results = {
        index: checked.result for index, checked in checked_jobs(Checker(whole=workers.whole), jobs, workers)
    }
    count.analysed += len(jobs)
    for index, (row, _) in enumerate(chunk):
        count.findings += len(results[index].diagnostics)
        yield row, results[index]


def _content(row: Row) -> bytes | str:
    if row.text:
        try:
            return row.data.decode("utf-8")
        except UnicodeDecodeError:
            pass  # It is told as of any file.
    return row.data
