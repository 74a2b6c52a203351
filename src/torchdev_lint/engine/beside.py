"""A time limit for a thread that gets no signals, as those of an executor: another thread watches it, and has it raise."""

from __future__ import annotations

import threading
from _thread import start_new_thread
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

AGAIN = 1.0
"""Seconds until it is raised again: what is raised while an object is being freed is lost."""


def watched_from_beside(call: Callable[[], T], left: Callable[[], float], error: type[BaseException]) -> T:
    """What `call` gives back. `error` is raised in this thread once `left()` seconds are none; what native code does is waited for.

    By `PyThreadState_SetAsyncExc` (https://docs.python.org/3/c-api/threads.html), which CPython has; without it there is no limit.
    """
    try:
        from ctypes import c_ulong, py_object, pythonapi

        raise_in = pythonapi.PyThreadState_SetAsyncExc
    except (ImportError, AttributeError):
        return call()
    here = c_ulong(threading.get_ident())
    # `error` may come between any two steps that are written in Python, as context managers, events and threads' own methods are.
    over, gone = threading.Lock(), threading.Lock()
    raised: list[bool] = []
    over.acquire()
    gone.acquire()

    def watch() -> None:
        try:
            seconds = left()
            while not over.acquire(timeout=max(seconds, 0.001)):
                seconds = left()
                if seconds <= 0:
                    raised.append(True)
                    raise_in(here, py_object(error))
                    seconds = AGAIN
        finally:
            gone.release()

    try:
        try:
            start_new_thread(watch, ())
        except RuntimeError:  # The system has no thread left for us.
            gone.release()
        return call()
    finally:
        last = False
        while True:
            try:
                if over.locked():
                    over.release()
                with gone:
                    if raised and not last:
                        # What is still on its way is replaced by one more, and waited for. To take it back (NULL) leaves
                        # Python 3.11 looking for it for ever, in the next call when that is traced (Python/ceval.c, DO_TRACING).
                        last = True
                        raise_in(here, py_object(error))
                        while True:
                            pass
                break
            except error:  # It says nothing any more of what has been done.
                continue
