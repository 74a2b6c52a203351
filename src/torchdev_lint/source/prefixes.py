"""What two texts, or two lists of lines, begin with alike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile


def common_length(left: Sequence[str], right: Sequence[str]) -> int:
    """How many characters, or lines, the two begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
