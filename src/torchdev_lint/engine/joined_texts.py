"""The contents of many files in one piece, in which one search finds every file that has a word."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from torchdev_lint.files import read_bytes

MAX_JOINED = 40_000_000
"""Bytes that are kept in memory; what is more is read from disk for each word."""

_BETWEEN = b"\n\0\n"
"""What no word has."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The contents of files one after the other, and where each of them begins."""

    data: bytes
    paths: tuple[str, ...]
    starts: tuple[int, ...]

    def having(self, word: bytes) -> Iterator[str]:
        """The files whose content has a word, in order."""
        place = self.data.find(word)
        while place >= 0:
            index = bisect_right(self.starts, place) - 1
            yield self.paths[index]
            if index + 1 == len(self.starts):
                return
            place = self.data.find(word, self.starts[index + 1])


def joined(paths: Collection[str]) -> Joined | None:
    """The contents of files, as far as they can be read; None where they are too long together."""
    parts: list[bytes] = []
    starts: list[int] = []
    size = 0
    for path in paths:
        starts.append(size)
        try:
            data = read_bytes(path)
        except OSError:
            data = b""
        parts.append(data)
        size += len(data) + len(_BETWEEN)
        if size > MAX_JOINED:
            return None
    return Joined(_BETWEEN.join(parts), tuple(paths), tuple(starts)) if parts else None
