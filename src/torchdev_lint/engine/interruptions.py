"""What a terminal's interruption does to processes that are just being started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptions_ignored() -> Iterator[None]:
    """For a moment: what is started now is never interrupted, since a process inherits what is done with signals.

    A terminal interrupts all processes that a command has started; one that is still importing what it needs would say on
    standard error where. Only the main thread may do this; in others nothing is done. (Blocking the signal would lose none, but
    `multiprocessing`'s resource tracker unblocks it before the process is started: `ensure_running`, up to Python 3.13.)
    """
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
