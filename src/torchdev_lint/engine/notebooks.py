"""Which cells of a notebook do not parse.

They are reported and left out, and nothing is known of what they mention: half-written notebooks are the rule. The joined
program is no help here: what is left open in one cell is often complained of only in a later one.
"""

from __future__ import annotations

from dataclasses import replace

from torchdev_lint.diagnostics import Diagnostic, Position, Range
from torchdev_lint.engine.parsing import compiles
from torchdev_lint.source.cells import Cells
from torchdev_lint.source.notebook import Notebook


def broken_cells(notebook: Notebook) -> dict[int, Diagnostic]:
    """The TDV999 of each cell that does not parse by itself, by the cell's index; positions are those in the cell."""
    return broken_among(notebook.cells, notebook.path)


def broken_among(cells: Cells, path: str) -> dict[int, Diagnostic]:
    """The same for cells that stand in no file yet."""
    if compiles(cells.masked(cells.text)):
        return {}
    from torchdev_lint.engine.check import parse, unify_newlines

    broken: dict[int, Diagnostic] = {}
    for cell in cells.cells:
        found = parse(unify_newlines(cells.alone(cell)), path)
        if isinstance(found, Diagnostic):
            # The first row is not the cell's own, and the last one is where an end was missed.
            row = min(max(found.range.start.row - 1, 1), cell.text.count("\n") + 1)
            place = Position(row, found.range.start.column)
            broken[cell.index] = replace(found, range=Range(place, place), cell=cell.index)
    return broken
