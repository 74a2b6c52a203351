"""One line per diagnostic: `path:row:column: CODE [*] message`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.report.excerpt import visible
from torchdev_lint.report.style import Piece


def render(diagnostics: Iterable[Diagnostic], fixable: Collection[Applicability]) -> Iterator[Piece]:
    """The lines; a diagnostic with a fix of an applicability in `fixable` carries `[*]`."""
    for one in diagnostics:
        cell = f"cell {one.cell}:" if one.cell is not None else ""
        yield "path", visible(one.path)
        yield "", f":{cell}{one.range.start.row}:{one.range.start.column}: "
        yield "code", one.label
        if one.fix is not None and one.fix.applicability in fixable:
            yield "fixable", " [*]"
        yield "", f" {visible(one.message)}\n"
