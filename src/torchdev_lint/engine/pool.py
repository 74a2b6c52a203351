"""Answering jobs in processes: one that dies, or takes too long, costs one job, and the others are answered.

`concurrent.futures.ProcessPoolExecutor` gives up all that is left when one of its processes dies; linting the file that
kills LibCST's parser must not cost the others their findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from torchdev_lint.engine.interruptions import interruptions_ignored
from torchdev_lint.engine.limits import (
    FILE_MEMORY,
    FILE_TIMEOUT,
    PATIENCE,
    limit_memory,
    out_of_time,
    processor_time,
)
from torchdev_lint.engine.workers import Lost, let_go, own_process, start_method

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

J = TypeVar("J")
R = TypeVar("R")

_NO_MORE = None
"""Instead of a tuple with a job."""
START_TIMEOUT = 120.0
"""Seconds that a process may take to start."""
END_TIMEOUT = 10.0
"""Seconds that a process may take to end when it has nothing left to do."""


def answered(
    answer: Callable[[J], R],
    jobs: Sequence[J],
    count: int,
    timeout: float | None = None,
    method: str | None = None,
    memory: int | None = None,
) -> Iterator[tuple[int, R | Lost]]:
    """The index and the answer of each job, as they come, from `count` processes, which take the jobs in order.

    Spawned processes (`method`; see `start_method`) need `answer` and the jobs to be picklable. All of them have ended
    when the iterator is closed or raises, and so on `KeyboardInterrupt`.
    """
    pool = _Pool(
        answer,
        list(enumerate(jobs)),
        timeout or FILE_TIMEOUT,
        method or start_method(),
        memory or FILE_MEMORY,
    )
    try:
        yield from pool.run(count)
    finally:
        pool.end()


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    connection: Connection
    deadline: float
    index: int | None = None
    """The job that it works on; None until it says that it has started."""
    given: float = 0.0
    """When it was given the job."""
    ran: float | None = None
    """How long it had run then, if that can be told."""


@dataclass(slots=True)
class _Pool(Generic[J, R]):
    answer: Callable[[J], R]
    jobs: list[tuple[int, J]]
    timeout: float
    method: str
    memory: int
    next: int = 0
    workers: list[_Worker] = field(default_factory=list)

    def run(self, count: int) -> Iterator[tuple[int, R | Lost]]:
        from multiprocessing.connection import wait
        from time import monotonic

        for _ in range(min(count, len(self.jobs))):
            if not self._start():
                break
        while True:
            if not self.workers:
                yield from self._left()
                return
            patience = min(worker.deadline for worker in self.workers) - monotonic()
            ready = wait([worker.connection for worker in self.workers], max(patience, 0.0))
            now = monotonic()
            for worker in list(self.workers):
                if worker.connection in ready:
                    yield from self._received(worker)
                elif worker.deadline <= now:
                    worker.deadline = now + self._time_left(worker, now)
                    if worker.deadline <= now:
                        worker.process.kill()
                        yield from self._lost(worker, out_of_time(self.timeout))

    def _time_left(self, worker: _Worker, now: float) -> float:
        """Seconds that a worker may go on, whose time has come by the clock; 0 for none."""
        if worker.index is None or worker.ran is None:
            return 0.0
        ran = processor_time(worker.process.pid or 0)
        if ran is None:
            return 0.0
        return max(0.0, min(self.timeout - (ran - worker.ran), worker.given + PATIENCE * self.timeout - now))

    def _left(self) -> Iterator[tuple[int, R | Lost]]:
        """The answers to what nobody has taken, given here: the system has no process left for us."""
        while self.next < len(self.jobs):
            index, job = self.jobs[self.next]
            self.next += 1
            yield index, self.answer(job)

    def _start(self) -> bool:
        """Start a process; False when the system refuses one, or what it takes."""
        import multiprocessing
        from time import monotonic

        context: Any = multiprocessing.get_context(self.method)
        try:
            ours, theirs = context.Pipe()
        except OSError:
            return False
        # A forked process has our end of its own pipe as well: it would not see us go.
        inherited = ours if self.method == "fork" else None
        process = context.Process(
            target=_work, args=(theirs, inherited, self.answer, self.memory), daemon=True
        )
        try:
            with interruptions_ignored():
                process.start()
        except (
            OSError,
            ImportError,
        ):  # A module that has no descriptor to be read with is said to be missing.
            ours.close()
            theirs.close()
            return False
        theirs.close()
        self.workers.append(_Worker(process, ours, monotonic() + START_TIMEOUT))
        return True

    def _give(self, worker: _Worker) -> None:
        """The next job to a worker; it may go when there is none."""
        from time import monotonic

        if self.next == len(self.jobs):
            self.workers.remove(worker)
            with suppress(OSError):
                # Forked processes hold each other's pipes: closing ours alone would not be seen.
                worker.connection.send(_NO_MORE)
            worker.connection.close()
            worker.process.join(END_TIMEOUT)
            if worker.process.is_alive():  # It has answered, and does not end: others are waited for.
                worker.process.kill()
                worker.process.join()
            return
        worker.index, job = self.jobs[self.next]
        self.next += 1
        worker.given, worker.ran = monotonic(), processor_time(worker.process.pid or 0)
        worker.deadline = worker.given + self.timeout
        with suppress(OSError):  # It died: seen when its answer is waited for.
            worker.connection.send((job,))

    def _received(self, worker: _Worker) -> Iterator[tuple[int, R | Lost]]:
        try:
            result: R | Lost = worker.connection.recv()
        except (EOFError, OSError):
            yield from self._lost(worker, "")
            return
        if worker.index is not None:
            yield worker.index, result
        self._give(worker)

    def _lost(self, worker: _Worker, reason: str) -> Iterator[tuple[int, Lost]]:
        """A process has ended; another takes its place, if there is work left."""
        self.workers.remove(worker)
        worker.connection.close()
        worker.process.join()
        reason = reason or _ending(worker.process.exitcode)
        if worker.index is not None:
            yield worker.index, Lost(reason)
        elif self.next < len(self.jobs):
            # Whatever ends processes before they start must not go on for ever.
            yield self.jobs[self.next][0], Lost(f"no process could be started for it: {reason}")
            self.next += 1
        if self.next < len(self.jobs):
            self._start()

    def end(self) -> None:
        """Leave no process behind."""
        for worker in self.workers:
            worker.process.kill()
            worker.connection.close()
        for worker in self.workers:
            worker.process.join()
        self.workers.clear()


def _work(
    connection: Connection, inherited: Connection | None, answer: Callable[[J], R], memory: int
) -> None:
    """What a process does: answer until there are no more jobs."""
    import gc
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Whoever started us is told, and ends us.
    own_process()
    if inherited is not None:
        inherited.close()
        gc.freeze()  # What was there before is shared with the parent, and stays.
    limit_memory(memory)
    connection.send(None)  # Here we are.
    while True:
        try:
            message = connection.recv()
        except EOFError:
            return
        if message is _NO_MORE:
            return
        result: R | Lost
        try:
            result = answer(message[0])
        except BaseException as error:  # Native code raises others, too.
            result = Lost.by(error)
        connection.send(result)
        del message, result
        let_go()


def _ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None or code >= 0:
        return f"the process that checked it ended (exit code {code})"
    import signal

    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    why = " (out of memory?)" if name in ("SIGKILL", "SIGABRT") else ""
    return f"the process that checked it was ended by {name}{why}"
