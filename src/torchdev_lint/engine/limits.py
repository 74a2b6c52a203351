"""How long one file may take in this process, and how much memory; what is over them costs that file, and no other."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

T = TypeVar("T")

FILE_TIMEOUT = 60.0
"""Seconds that one file may take on a processor, unless it is said otherwise."""
PATIENCE = 10
"""Times as long by the clock: what is found must not depend on what else the machine has to do."""
FILE_MEMORY = 4096
"""MiB that a process may take besides what it has at its start, unless it is said otherwise."""

_memory: list[int] = []
"""The limit of this process in MiB, if it has one."""
_time: list[float] = []
"""The seconds for each file in this process, if nobody else watches it."""


class OutOfTimeError(BaseException):
    """A file took too long. No `Exception`: what handles those must not take it for its own."""


def limit_memory(mebibytes: int) -> None:
    """From now on this process gets a `MemoryError` for more, or is ended where native code asks. Without effect on macOS and
    Windows, which have no such limit.

    It is of address space, https://man7.org/linux/man-pages/man2/getrlimit.2.html, of which a process has some at its start.
    """
    with suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm", "rb") as status:
            taken = int(status.read().split()[0]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        wanted = taken + mebibytes * 2**20
        if most == resource.RLIM_INFINITY or wanted < most:
            resource.setrlimit(resource.RLIMIT_AS, (wanted, most))
            _memory[:] = [mebibytes]


def out_of_memory() -> str:
    """The reason why a file was not checked, as the end of a sentence."""
    return f"it took more than {_memory[0]} MiB of memory" if _memory else "there was not enough memory"


def processor_time(pid: int) -> float | None:
    """Seconds that a process has run so far; None where the system does not tell, as on macOS and Windows.

    https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html, `utime` and `stime`.
    """
    with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/stat", "rb") as status:
        fields = status.read().rpartition(b") ")[2].split()  # the name before that may be anything
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return None


def out_of_time(seconds: float) -> str:
    """The reason why a file was not checked, as the end of a sentence."""
    return f"it took more than {seconds:g} seconds"


@contextmanager
def each_file(seconds: float) -> Iterator[None]:
    """In here every file is given up after so long; what native code does cannot be given up."""
    _time[:] = [seconds]
    try:
        yield
    finally:
        _time.clear()


def in_time(check: Callable[[], T]) -> T:
    """What the check of one file gives back. Raises `OutOfTimeError`, with the seconds, when it takes too long: so many of them on a
    processor, or `PATIENCE` times as many by the clock."""
    if not _time:
        return check()
    import signal
    import threading

    seconds = _time[0]
    ran, began = time.process_time(), time.monotonic()

    def left() -> float:
        return min(seconds - (time.process_time() - ran), PATIENCE * seconds - (time.monotonic() - began))

    here = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    if not here or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:  # The alarm is somebody else's.
        from torchdev_lint.engine.beside import watched_from_beside

        try:
            return watched_from_beside(check, left, OutOfTimeError)
        except OutOfTimeError:
            raise OutOfTimeError(seconds) from None

    def ring(*_: object) -> None:
        more = left()
        if more <= 0:
            raise OutOfTimeError(seconds)
        signal.setitimer(signal.ITIMER_REAL, more)  # it had to wait

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return check()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
