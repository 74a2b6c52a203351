"""Findings under the name of their file, in columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.report.excerpt import visible
from torchdev_lint.report.style import Piece


def render(diagnostics: Iterable[Diagnostic], fixable: Collection[Applicability]) -> Iterator[Piece]:
    """A block for each file, a blank line after it; the codes of a block begin in one column."""
    for path, group in groupby(diagnostics, key=lambda one: one.path):
        found = list(group)
        yield "path", visible(path)
        yield "", ":\n"
        rows = [_row(one) for one in found]
        row_width = max(map(len, rows))
        column_width = max(len(str(one.range.start.column)) for one in found)
        for one, row in zip(found, rows, strict=True):
            column = str(one.range.start.column)
            yield "", f"  {row:>{row_width}}:{column} {' ' * (column_width - len(column))}"
            yield "code", one.label
            if one.fix is not None and one.fix.applicability in fixable:
                yield "fixable", " [*]"
            yield "", f" {visible(one.message)}\n"
        yield "", "\n"


def _row(one: Diagnostic) -> str:
    return f"cell {one.cell}:{one.range.start.row}" if one.cell is not None else str(one.range.start.row)
