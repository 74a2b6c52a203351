"""Rows and columns of a text."""

from __future__ import annotations

import pytest

from torchdev_lint.diagnostics import Position
from torchdev_lint.source.lines import LineIndex

TEXT = "a  \nbX\r\n\rd"


def test_offsets_and_positions_are_the_same_places() -> None:
    lines = LineIndex(TEXT)
    assert lines.count == 4
    for offset in range(len(TEXT) + 1):
        assert lines.offset(lines.position(offset)) == offset
    assert lines.position(len(TEXT)) == Position(4, 2)


@pytest.mark.parametrize("offset", [-1, len(TEXT) + 1])
def test_an_offset_outside_is_refused(offset: int) -> None:
    with pytest.raises(ValueError, match=rf"^offset {offset} is outside the text of {len(TEXT)} characters$"):
        LineIndex(TEXT).position(offset)


@pytest.mark.parametrize("row", [0, 5])
def test_a_row_outside_is_refused(row: int) -> None:
    with pytest.raises(ValueError, match=rf"^row {row} is outside the text of 4 rows$"):
        LineIndex(TEXT).offset(Position(row, 1))


@pytest.mark.parametrize(("row", "column"), [(1, 0), (1, 5), (2, 5), (3, 2), (4, 3)])
def test_a_column_outside_is_refused(row: int, column: int) -> None:
    with pytest.raises(ValueError, match=rf"^column {column} is outside row {row}$"):
        LineIndex(TEXT).offset(Position(row, column))


def test_a_line_has_all_but_its_end() -> None:
    lines = LineIndex(TEXT)
    assert [lines.line(row) for row in range(6)] == ["", "a  ", "bX", "", "d", ""]
