"""A bar on the terminal while a long run goes on; nothing of it is left when the findings are printed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TextIO, TypeVar

T = TypeVar("T")

DELAY = 1.0
"""Seconds before anything is drawn: a short run should not flicker."""
PERIOD = 0.1
WIDTH = 24
"""Cells of the bar itself."""
_ERASE = "\r\x1b[K"


def wanted(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether somebody looks at `stream` while it is written: a terminal that can move its cursor, and not a CI's."""
    return stream.isatty() and environment.get("TERM") not in ("dumb", "") and not environment.get("CI")


def over(
    checked: Iterable[T], total: int, stream: TextIO, clock: Callable[[], float] = time.monotonic
) -> Iterator[T]:
    """What the files came to, one after the other, drawing on `stream` how many of the `total` it was."""
    start = drawn = clock()
    shown = False
    try:
        for done, one in enumerate(checked, 1):
            now = clock()
            if now - start >= DELAY and (not shown or now - drawn >= PERIOD):
                stream.write(f"{_ERASE}{_bar(done, total)}")
                stream.flush()
                shown, drawn = True, now
            yield one
    finally:
        if shown:
            stream.write(_ERASE)
            stream.flush()


def _bar(done: int, total: int) -> str:
    filled = done * WIDTH // total
    return f"Checking [{'=' * filled}{' ' * (WIDTH - filled)}] {done}/{total} files"
