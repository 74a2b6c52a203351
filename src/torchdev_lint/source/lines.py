"""Rows and columns of a text, as Python's tokenizer counts them."""

from __future__ import annotations

import re
from bisect import bisect_right

from torchdev_lint.diagnostics import Position

LINE_END = re.compile(r"\r\n|\n|\r")
"""What ends a line; a form feed or U+2028 does not (`str.splitlines` thinks otherwise)."""


class LineIndex:
    """Translates between offsets (0-based, code points) and positions (1-based) in one text."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in LINE_END.finditer(text))]

    @property
    def count(self) -> int:
        """How many rows there are; the empty row after a last line end counts."""
        return len(self._starts)

    def position(self, offset: int) -> Position:
        """The position of `offset`. Raises `ValueError` outside the text."""
        if not 0 <= offset <= len(self.text):
            raise ValueError(f"offset {offset} is outside the text of {len(self.text)} characters")
        row = bisect_right(self._starts, offset)
        return Position(row, offset - self._starts[row - 1] + 1)

    def offset(self, position: Position) -> int:
        """The offset of `position`. Raises `ValueError` for a row or column that is not in the text."""
        if not 1 <= position.row <= self.count:
            raise ValueError(f"row {position.row} is outside the text of {self.count} rows")
        start = self._starts[position.row - 1]
        after = self._starts[position.row] if position.row < self.count else len(self.text) + 1
        offset = start + position.column - 1
        if not start <= offset < after:
            raise ValueError(f"column {position.column} is outside row {position.row}")
        return offset

    def line(self, row: int) -> str:
        """The text of `row` without its line end; empty for a row that is not there."""
        if not 1 <= row <= self.count:
            return ""
        end = self._starts[row] if row < self.count else len(self.text)
        return self.text[self._starts[row - 1] : end].rstrip("\r\n")
