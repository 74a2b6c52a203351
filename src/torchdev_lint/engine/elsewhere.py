"""Having files checked by a `concurrent.futures.Executor`: that of Dask, loky, MPI, or of whatever else has one.

What ends a process of the executor costs its own file. A batch whose process did not answer is tried again, alone, so that it is
known what did it; then each of its files, alone; only a file that ends its process even then is given up.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field

from torchdev_lint.config import ConfigError
from torchdev_lint.engine.jobs import Checked, Checker, Job
from torchdev_lint.engine.limits import FILE_TIMEOUT
from torchdev_lint.engine.remote import Batch, check_batch, received, sent, tool
from torchdev_lint.engine.workers import Lost

BATCH_BYTES = 100_000
"""Of source: about a second of work, next to which what a task costs is nothing."""
BATCH_FILES = 32
"""At most so many files are lost to view when a process ends."""
SHARES = 4
"""As many batches for each process, at least, so that none of them has to wait long for the last one."""
PATIENCE = 20.0
"""Seconds without an answer after which it is asked whether anybody is still there."""

_Answer = list["Checked | Lost"]


def _yes() -> bool:
    return True


@dataclass(slots=True)
class Opened:
    """An executor that is ready to work."""

    executor: Executor
    processes: int
    """How many batches it works on at a time."""
    waiting: int | None = None
    """How many batches it is given besides those; None for all of them. One that loses what it was given when a process ends is
    given few."""
    alive: Callable[[], bool] = _yes
    """Whether it still has anybody to do the work."""
    close: Callable[[], None] = lambda: None
    """Ends it, whatever it is doing."""


@dataclass(slots=True)
class Elsewhere:
    """An executor called `name` in messages. It is opened when there is something to do, and again when it breaks."""

    name: str
    open: Callable[[], Opened]
    seconds: float = FILE_TIMEOUT
    """What each file may take."""
    _opened: Opened | None = None
    _run: str = field(default_factory=lambda: os.urandom(8).hex())

    def answered(self, checker: Checker, jobs: Mapping[int, Job]) -> Iterator[tuple[int, Checked | Lost]]:
        """The key and the answer of each job, as they come. Raises `ConfigError` if nobody can be asked, or not any more."""
        opened = self._opened or self._reopened()
        batches = deque(cut(jobs, opened.processes))
        suspects: list[list[int]] = []
        under_way: dict[Future[_Answer], list[int]] = {}
        while batches or under_way:
            full = None if opened.waiting is None else opened.processes + opened.waiting
            while batches and not suspects and (full is None or len(under_way) < full):
                batch = batches.popleft()
                try:
                    under_way[self._given(opened, checker, jobs, batch)] = batch
                except (BrokenExecutor, RuntimeError):
                    suspects.append(batch)
            for future in self._done(opened, under_way):
                batch = under_way.pop(future)
                try:
                    answers = future.result()
                except (CancelledError, Exception):
                    suspects.append(batch)
                else:
                    yield from _matched(jobs, batch, answers)
            if suspects and not under_way:
                for batch in suspects:
                    yield from self._alone(checker, jobs, batch)
                suspects = []
                opened = self._opened or self._reopened()

    def _alone(
        self, checker: Checker, jobs: Mapping[int, Job], batch: list[int]
    ) -> Iterator[tuple[int, Checked | Lost]]:
        """The answers of a batch while nothing else is done."""
        opened = self._working()
        try:
            future = self._given(opened, checker, jobs, batch)
            self._done(opened, {future: batch})
            answers = future.result()
        except ConfigError:
            raise
        except (CancelledError, Exception) as error:
            if len(batch) == 1:
                yield batch[0], Lost(f"the process that checked it did not answer: {_described(error)}")
                return
            for index in batch:
                yield from self._alone(checker, jobs, [index])
            return
        yield from _matched(jobs, batch, answers)

    def _given(
        self, opened: Opened, checker: Checker, jobs: Mapping[int, Job], batch: list[int]
    ) -> Future[_Answer]:
        content = Batch(self._run, tool(), checker, tuple(sent(jobs[index]) for index in batch), self.seconds)
        return opened.executor.submit(check_batch, content)

    def _done(
        self, opened: Opened, under_way: Mapping[Future[_Answer], list[int]]
    ) -> Sequence[Future[_Answer]]:
        """Those that have an answer, at least one. Raises `ConfigError` when there will be none."""
        while under_way:
            done, _ = wait(under_way, PATIENCE, FIRST_COMPLETED)
            if done:
                return [future for future in under_way if future in done]
            if not opened.alive():
                raise self._failed("it has no process left to do the work")
        return ()

    def _working(self) -> Opened:
        """The executor, opened again if it does not work any more."""
        opened = self._opened
        if opened is not None:
            with suppress(CancelledError, Exception):
                opened.executor.submit(tool).result()
                return opened
        return self._reopened()

    def _reopened(self) -> Opened:
        self.close()
        try:
            opened = self._opened = self.open()
        except ConfigError:
            raise
        except Exception as error:
            raise self._failed(f"cannot be opened: {_described(error)}") from None
        try:
            theirs = opened.executor.submit(tool).result()
        except (CancelledError, Exception) as error:
            raise self._failed(f"its processes cannot check files: {_described(error)}") from None
        if theirs != tool():
            raise self._failed(f"its processes have {theirs}, not {tool()}")
        return opened

    def _failed(self, why: str) -> ConfigError:
        return ConfigError(f"--executor {self.name}: {why}")

    def close(self) -> None:
        """End what was opened."""
        opened, self._opened = self._opened, None
        if opened is not None:
            with suppress(Exception):
                opened.close()


def cut(jobs: Mapping[int, Job], processes: int) -> list[list[int]]:
    """The keys of the jobs in batches, the largest first; neighbours stay together, since they import the same."""
    share = sum(job.size for job in jobs.values()) // (max(processes, 1) * SHARES)
    batches: list[tuple[int, list[int]]] = []
    size, batch = 0, list[int]()
    for key in sorted(jobs, key=lambda key: (jobs[key].path, key)):
        if batch and (size + jobs[key].size > min(share, BATCH_BYTES) or len(batch) == BATCH_FILES):
            batches.append((size, batch))
            size, batch = 0, []
        size += jobs[key].size
        batch.append(key)
    batches.append((size, batch))
    return [batch for _, batch in sorted(batches, key=lambda one: -one[0]) if batch]


def _matched(
    jobs: Mapping[int, Job], batch: list[int], answers: _Answer
) -> Iterator[tuple[int, Checked | Lost]]:
    for index, answer in zip(batch, answers, strict=True):
        yield index, answer if isinstance(answer, Lost) else received(jobs[index], answer)


def _described(error: BaseException) -> str:
    """One line for whatever an executor raises, whose messages may have many."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}{': ' if lines else ''}{' '.join(lines[0].split()) if lines else ''}"
