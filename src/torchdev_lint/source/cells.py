"""The code cells of a notebook as one program, and which row of it belongs to which cell."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from torchdev_lint.diagnostics import Diagnostic, Edit, Fix, Range, Related
from torchdev_lint.source.lines import LINE_END, LineIndex
from torchdev_lint.source.magics import imported_names, masked, opaque


@dataclass(frozen=True, slots=True)
class Cell:
    """One code cell. `index` is its 1-based place among all cells, those of prose included."""

    index: int
    text: str


class CellError(ValueError):
    """A text that does not consist of the same cells any more."""


class Cells:
    """The joined text of `cells`: a separator row before each, so that it can be taken apart after it was edited."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cells = tuple(cells)
        self._separator = _separator(cells)
        pieces: list[str] = []
        starts: list[int] = []
        length = 0
        for cell in self.cells:
            pieces += [self._separator, "\n", cell.text, "\n"]
            length += len(self._separator) + 1
            starts.append(length)
            length += len(cell.text) + 1
        self.text = "".join(pieces)
        lines = LineIndex(self.text)
        self._first_rows = [lines.position(start).row for start in starts]

    def masked(self, text: str, left_out: Collection[int] = ()) -> str:
        """The program that `text`, which has the cells of this notebook, is to Python: positions are those of `text`.

        Of the cells with the indexes `left_out` nothing is known.
        """
        imported = imported_names(text)
        pieces: list[str] = []
        for number, content in enumerate(self._contents(text)):
            unknown = number < len(self.cells) and self.cells[number].index in left_out
            code = opaque(content, imported) if unknown else masked(content, imported)
            pieces += [_opening(code, first=number == 0), "\n", code, "\n"]
        return "".join(pieces)

    def split(self, text: str) -> tuple[str, ...]:
        """The texts of the cells in `text`. Raises `CellError`."""
        contents = tuple(self._contents(text))
        if len(contents) != len(self.cells):
            raise CellError(f"{len(contents)} cells instead of {len(self.cells)}")
        return contents

    def alone(self, cell: Cell) -> str:
        """What the cell is to Python without the others."""
        code = masked(cell.text)
        return f"{_opening(code, first=True)}\n{code}\n"

    def placed(self, diagnostic: Diagnostic) -> Diagnostic:
        """A diagnostic of the joined text with positions in its cells."""
        if not self.cells:
            return diagnostic
        number = self._number(diagnostic.range.start.row)
        shift = self._first_rows[number] - 1
        noqa_row = diagnostic.noqa_row
        return replace(
            diagnostic,
            cell=self.cells[number].index,
            range=_shifted(diagnostic.range, shift),
            related=tuple(self._related(related) for related in diagnostic.related),
            fix=self._fix(diagnostic.fix),
            noqa_row=None if noqa_row is None else noqa_row - shift,
        )

    def row(self, row: int) -> tuple[int, int]:
        """The index of the cell that holds the row of the joined text, and the row in it."""
        number = self._number(row)
        return self.cells[number].index, row - self._first_rows[number] + 1

    def first_row(self, index: int) -> int:
        """The row of the joined text at which the cell with this index starts."""
        return next(
            row for cell, row in zip(self.cells, self._first_rows, strict=True) if cell.index == index
        )

    def _contents(self, text: str) -> Iterator[str]:
        rows: list[str] | None = None
        position = 0
        for match in LINE_END.finditer(text):
            row, position = text[position : match.end()], match.end()
            if row.rstrip("\r\n") == self._separator:
                if rows is not None:
                    yield _without_last_newline(rows)
                rows = []
            elif rows is not None:
                rows.append(row)
        if rows is not None:
            yield _without_last_newline([*rows, text[position:]])

    def _number(self, row: int) -> int:
        return max(0, bisect_right(self._first_rows, row) - 1)

    def _related(self, related: Related) -> Related:
        if related.path is not None:
            return related
        index, row = self.row(related.range.start.row)
        return replace(related, cell=index, range=_shifted(related.range, related.range.start.row - row))

    def _fix(self, fix: Fix | None) -> Fix | None:
        if fix is None:
            return None
        edits = []
        for edit in fix.edits:
            index, row = self.row(edit.range.start.row)
            edits.append(Edit(_shifted(edit.range, edit.range.start.row - row), edit.content, index))
        return replace(fix, edits=tuple(edits))


def _shifted(place: Range, rows: int) -> Range:
    start, end = place.start, place.end
    return Range(replace(start, row=start.row - rows), replace(end, row=end.row - rows))


def _separator(cells: Iterable[Cell]) -> str:
    """A comment that is in no cell."""
    texts = [cell.text for cell in cells]
    separator = "# %% cell"
    while any(separator in text for text in texts):
        separator += "+"
    return separator


def _opening(code: str, *, first: bool) -> str:
    """The row before a cell: a statement that ends every block of the cell before.

    IPython takes the indentation of a cell's first row off all of its rows; here it is given a block.
    """
    for line in code.split("\n"):
        text = line.strip()
        if text and not text.startswith("#"):
            if line[:1] in " \t":
                return "if True:"
            break
    return "" if first else "pass"


def _without_last_newline(rows: list[str]) -> str:
    text = "".join(rows)
    return text[:-1] if text.endswith("\n") else text
