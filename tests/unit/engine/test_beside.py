"""A time limit for a thread that gets no signals."""

import _thread
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from torchdev_lint.engine.beside import watched_from_beside
from torchdev_lint.engine.limits import OutOfTimeError, each_file, in_time


def for_a_minute() -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass


def ran_out(seconds: float) -> float | None:
    with each_file(seconds):
        try:
            in_time(for_a_minute)
        except OutOfTimeError as error:
            return float(error.args[0])
    return None


def test_a_thread_is_stopped_and_says_after_how_long() -> None:
    came: list[float | None] = []
    thread = threading.Thread(target=lambda: came.append(ran_out(0.2)))
    thread.start()
    thread.join(30)
    assert came == [0.2]


def test_what_is_swallowed_is_raised_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchdev_lint.engine.beside.AGAIN", 0.01)
    swallowed = []

    def stubborn() -> None:
        for _ in range(2):
            with pytest.raises(OutOfTimeError):
                for_a_minute()
            swallowed.append(True)
        for_a_minute()

    with pytest.raises(OutOfTimeError):
        watched_from_beside(stubborn, lambda: 0.0, OutOfTimeError)
    assert len(swallowed) == 2


def until(end: float) -> tuple[Callable[[], None], Callable[[], float]]:
    def wait() -> None:
        while time.monotonic() < end:
            pass

    return wait, lambda: end - time.monotonic()


def test_nothing_is_raised_afterwards_and_no_thread_is_left() -> None:
    before = _thread._count()
    stopped = 0
    for _ in range(300):
        try:  # At the very end of what is watched it may come, or not.
            watched_from_beside(*until(time.monotonic() + 0.001), OutOfTimeError)
        except OutOfTimeError:
            stopped += 1
        for _ in range(100):
            time.monotonic()
    assert _thread._count() == before


def test_without_a_thread_there_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("torchdev_lint.engine.beside.start_new_thread", refused)
    assert watched_from_beside(lambda: 5, lambda: 0.0, OutOfTimeError) == 5


TRACED = """
import sys, time
from torchdev_lint.engine.beside import watched_from_beside

def briefly():
    time.sleep(0.001)

def traced(*_):
    return traced

sys.settrace(traced)
for late in (60.0, 0.0):
    try:
        watched_from_beside(briefly, lambda: late, KeyError)
    except KeyError:
        pass
    briefly()
"""


def test_a_traced_program_goes_on() -> None:
    """As under coverage; Python 3.11 waits for ever where an exception for a thread was taken back."""
    subprocess.run([sys.executable, "-c", TRACED], timeout=60, check=True)
