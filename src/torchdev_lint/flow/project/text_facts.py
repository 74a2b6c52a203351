"""What is found out in the text of a file by itself, remembered while the other files of a run are checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Found = TypeVar("Found")

MOST = 8192
"""Of so many texts; those that were asked for first go first."""


def remembered_of_text(find: Callable[[str], Found]) -> Callable[[str], Found]:
    """Remember what a function finds out in a text, but not the text: all texts of a large project would take much memory.

    A text is known by its length and hash, of 64 bits.
    """
    memory: dict[tuple[int, int], Found] = {}

    @wraps(find)
    def found(text: str) -> Found:
        key = len(text), hash(text)
        if key not in memory:
            if len(memory) >= MOST:
                del memory[next(iter(memory))]
            memory[key] = find(text)
        return memory[key]

    return found
