"""A child process that cannot hang its parent: output collected with a limit, its whole group killed at the
end.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

OUTPUT_LIMIT = 1_000_000
"""Bytes kept of each output stream: the first and the last half of it."""

_DRAIN_SECONDS = 0.5
"""How long output is still awaited after the process ended; a child that left the group may hold the pipe for
ever.
"""


class Tail:
    """The beginning and the end of a stream of bytes."""

    def __init__(self, limit: int = OUTPUT_LIMIT) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._rest = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Append, forgetting the middle when there is too much."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._rest += data
        if len(self._rest) > 2 * self._half:
            excess = len(self._rest) - self._half
            del self._rest[:excess]
            self._dropped += excess

    def text(self) -> str:
        """What was kept, decoded; undecodable bytes are replaced."""
        rest = self._rest
        dropped = self._dropped
        if len(rest) > self._half:
            dropped += len(rest) - self._half
            rest = rest[-self._half :]
        head = bytes(self._head).decode("utf-8", "replace")
        tail = bytes(rest).decode("utf-8", "replace")
        if dropped:
            return f"{head}\n[… {dropped} bytes left out …]\n{tail}"
        return head + tail


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the process ended: `status` as subprocess has it (negative for a signal), None when it is not
    known.
    """

    status: int | None
    timed_out: bool
    stdout: str
    stderr: str
    seconds: float


def supervise(
    pid: int, outputs: Sequence[int], poll: Callable[[], int | None], *, timeout: float, started: float
) -> Outcome:
    """Watch a process until it ends or `timeout` seconds have passed since `started` (time.monotonic()).

    `outputs` are the reading ends of its standard output and error; they are closed. `poll` returns the
    status once the process has ended (and has been reaped), None before. The process leads a process group:
    the group is killed in any case, so that nothing it started in the group outlives the run.
    """
    streams = {fd: Tail() for fd in outputs}
    status: int | None = None
    timed_out = False
    with selectors.DefaultSelector() as selector:
        for fd in outputs:
            os.set_blocking(fd, False)
            selector.register(fd, selectors.EVENT_READ)
        pause = 0.001
        while True:
            _read(selector, streams, pause)
            status = poll()
            if status is not None:
                break
            if time.monotonic() - started > timeout:
                timed_out = True
                break
            pause = min(pause * 2, 0.02)
        kill_group(pid)
        ended = time.monotonic()
        while status is None and time.monotonic() - ended < 5.0:
            _read(selector, streams, 0.01)
            status = poll()
        while selector.get_map() and time.monotonic() - ended < _DRAIN_SECONDS:
            _read(selector, streams, 0.01)
    for fd in outputs:
        os.close(fd)
    texts = [tail.text() for tail in streams.values()]
    return Outcome(status, timed_out, texts[0], texts[1], ended - started)


def kill_group(pid: int) -> None:
    """Kill the process group that `pid` leads, if any of it is left."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _read(selector: selectors.BaseSelector, streams: dict[int, Tail], seconds: float) -> None:
    if not selector.get_map():
        time.sleep(seconds)
        return
    for key, _ in selector.select(seconds):
        try:
            data = os.read(key.fd, 65536)
        except BlockingIOError:
            continue
        if data:
            streams[key.fd].add(data)
        else:
            selector.unregister(key.fd)
