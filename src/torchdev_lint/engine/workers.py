"""How many processes may check files, and what is said of a file whose process did not live to answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchdev_lint.engine.elsewhere import Elsewhere

FORKED_PAYS = 25_000
SPAWNED_PAYS = 150_000
"""Bytes of source that have to be there for each process, whose start costs something too: it imports LibCST when it is
spawned. Estimates, not measured yet."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What a job came to whose process did not live to answer: `reason` says why, as the end of a sentence."""

    reason: str

    @classmethod
    def by(cls, error: BaseException) -> Lost:
        """Of what was raised, in one line."""
        return cls(f"{type(error).__name__}: {' '.join(str(error).split())}")


@dataclass(frozen=True, slots=True)
class Workers:
    """How many processes may work, for how long on one job, and how they parse."""

    jobs: int | None = 1
    """As many processes, where there is work for them; None for as many as pay."""
    timeout: float | None = None
    """Seconds; None for `FILE_TIMEOUT`. Given, it holds for small runs as well, which then take a process of their own."""
    memory: int | None = None
    """MiB; None for `FILE_MEMORY`. Given, it holds for small runs as well."""
    elsewhere: Elsewhere | None = None
    """An executor that is asked instead; it has its own limits."""
    whole: bool = False
    """Whether long files are parsed as a whole instead of in pieces."""

    def count(self, sizes: Sequence[int]) -> int:
        """How many processes to start for jobs of so many bytes; 0 for doing it here."""
        least = 0 if self.timeout is None and self.memory is None else 1
        if self.jobs is None:
            pays = FORKED_PAYS if start_method() == "fork" else SPAWNED_PAYS
            wanted = min(processors(), sum(sizes) // pays)
        else:
            wanted = self.jobs
        wanted = min(wanted, len(sizes))
        return max(wanted if wanted > 1 else 0, least)


def processors() -> int:
    """How many processors this process may use."""
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def start_method() -> str:
    """`fork` where that is safe: with no other thread, which might hold a lock, and not on macOS, whose libraries may not
    survive it (https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods)."""
    import threading

    safe = hasattr(os, "fork") and sys.platform != "darwin" and threading.active_count() == 1
    return "fork" if safe else "spawn"


_RARELY = 100_000, 20, 50


def own_process() -> None:
    """This process is our own: look for garbage less often, as what a check makes lives until its end."""
    import gc

    gc.set_threshold(*_RARELY)


def is_own_process() -> bool:
    """Whether this process was said to be our own."""
    import gc

    return gc.get_threshold() == _RARELY


def let_go() -> None:
    """Between two files, in a process of our own: what the check of one leaves is garbage, and what is kept is never looked through again.

    What is kept are trees. They hold no cycles, so that they go when nothing has them any more. Conditions do, and the nodes that
    they come from: kept over this, they would stay for ever.
    """
    import gc

    if is_own_process():
        for name in ("conditions", "descriptions"):
            module = sys.modules.get(f"torchdev_lint.flow.domain.{name}")  # a file without torch loads none
            if module is not None:
                module.forget()
        gc.collect()
        gc.freeze()
        give_back()


GIVEN_BACK_FROM = 64 * 2**20
"""Bytes that a process has to have before it asks which of them are not in use."""


def give_back() -> None:
    """In a process of our own that has grown: give the system what native code has freed.

    glibc keeps that, since what is kept (trees, texts) lies between, and LibCST's parser takes 400 bytes for a character. Without
    effect where there is no such function: https://man7.org/linux/man-pages/man3/malloc_trim.3.html
    """
    if is_own_process() and resident() > GIVEN_BACK_FROM:
        with suppress(ImportError, OSError, AttributeError, TypeError):
            import ctypes

            ctypes.CDLL(None).malloc_trim(0)


def resident() -> int:
    """Bytes of memory that this process has; 0 where the system does not tell, as on macOS and Windows.

    https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html
    """
    with suppress(OSError, ValueError, IndexError, AttributeError), open("/proc/self/statm", "rb") as status:
        return int(status.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
