"""Positions as the client counts them: rows from 0, columns in the code units that were agreed on."""

from __future__ import annotations

from collections.abc import Callable

from lsprotocol import types

from torchdev_lint.diagnostics import Position, Range
from torchdev_lint.source.lines import LineIndex


def _utf8(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _utf16(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


_LENGTHS: dict[str, Callable[[str], int]] = {
    types.PositionEncodingKind.Utf8.value: _utf8,
    types.PositionEncodingKind.Utf16.value: _utf16,
    types.PositionEncodingKind.Utf32.value: len,
}


class Places:
    """Translates positions in one text; `encoding` is the code unit agreed on: `utf-8`, `utf-16` or `utf-32`."""

    __slots__ = ("_length", "lines", "text")

    def __init__(self, text: str, encoding: str) -> None:
        self.text = text
        self.lines = LineIndex(text)
        self._length = _LENGTHS.get(encoding, _utf16)

    def position(self, place: Position) -> types.Position:
        """A position as the client counts it; one that is not in the text is moved into it."""
        if place.row > self.lines.count:
            return self.end
        before = self.lines.line(place.row)[: place.column - 1]
        return types.Position(place.row - 1, len(before) if before.isascii() else self._length(before))

    def range(self, place: Range) -> types.Range:
        """A range as the client counts it."""
        return types.Range(self.position(place.start), self.position(place.end))

    @property
    def end(self) -> types.Position:
        """The end of the text."""
        last = self.lines.line(self.lines.count)
        return types.Position(self.lines.count - 1, self._length(last))

    def own(self, position: types.Position) -> Position:
        """A position of the client's as we count it.

        A column behind the end of its row is the end of the row, a row behind the end of the text is the end of the text.
        """
        if position.line >= self.lines.count:
            return Position(self.lines.count, len(self.lines.line(self.lines.count)) + 1)
        line = self.lines.line(position.line + 1)
        if line.isascii():
            return Position(position.line + 1, min(position.character, len(line)) + 1)
        units = column = 0
        for character in line:
            units += self._length(character)
            if units > position.character:
                break
            column += 1
        return Position(position.line + 1, column + 1)

    def offset(self, position: types.Position) -> int:
        """The offset, in code points, of a position of the client's."""
        return self.lines.offset(self.own(position))
