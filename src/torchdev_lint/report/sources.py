"""The texts that diagnostics refer to, and where their places are in the files themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torchdev_lint.diagnostics import Diagnostic, Edit, Range
from torchdev_lint.files import read_bytes
from torchdev_lint.fixes.edits import EditError, apply_edits
from torchdev_lint.source.document import SourceError
from torchdev_lint.source.lines import LineIndex
from torchdev_lint.source.reading import NOTEBOOK_SUFFIX, read_source

if TYPE_CHECKING:
    from torchdev_lint.source.notebook import Notebook


class Sources:
    """What reports may ask of the files of a run; a file that was not part of it is read when it is asked for."""

    def __init__(self, texts: Mapping[str, str], notebooks: Mapping[str, Notebook] | None = None) -> None:
        self._texts: dict[str, str | None] = dict(texts)
        self._notebooks = dict(notebooks or {})
        self._lines: dict[tuple[str, int | None], LineIndex | None] = {}

    def lines(self, path: str, cell: int | None = None) -> LineIndex | None:
        """The rows of a file, or of one cell of a notebook; None when there is no such text."""
        key = (path, cell)
        if key not in self._lines:
            notebook = self._notebooks.get(path)
            text = self._text(path) if notebook is None else notebook.cell_text(cell)
            self._lines[key] = None if text is None else LineIndex(text)
        return self._lines[key]

    def file_lines(self, path: str) -> LineIndex | None:
        """The rows of the file itself: of the JSON text for a notebook."""
        notebook = self._notebooks.get(path)
        return self.lines(path) if notebook is None else notebook.raw_lines

    def in_file(self, path: str, cell: int | None, place: Range) -> Range:
        """The rows and columns of the file itself: those of the JSON text for a place in a cell."""
        notebook = self._notebooks.get(path)
        if notebook is None or cell is None:
            return place
        return Range(notebook.in_file(cell, place.start), notebook.in_file(cell, place.end))

    def edits_in_file(self, one: Diagnostic) -> tuple[Edit, ...]:
        """The edits of the fix of `one` in the file itself; a single one for a notebook. Empty without a fix."""
        if one.fix is None:
            return ()
        notebook = self._notebooks.get(one.path)
        if notebook is None:
            return one.fix.edits
        texts: dict[int, str] = {}
        try:
            for cell in dict.fromkeys(edit.cell for edit in one.fix.edits):
                before = notebook.cell_text(cell)
                if cell is None or before is None:
                    return ()
                texts[cell] = apply_edits(before, [edit for edit in one.fix.edits if edit.cell == cell])
            after = notebook.with_cells(texts).raw
        except (EditError, SourceError):
            return ()
        return (_difference(notebook.raw, after, notebook.raw_lines),)

    def _text(self, path: str) -> str | None:
        if path not in self._texts:
            self._texts[path] = _read(path)
        return self._texts[path]


def _read(path: str) -> str | None:
    if path.endswith(NOTEBOOK_SUFFIX):
        return None
    try:
        return read_source(read_bytes(path), path).text
    except (OSError, SourceError):
        return None


def _difference(before: str, after: str, lines: LineIndex) -> Edit:
    """The smallest single edit that makes `after` of `before`."""
    head = 0
    for left, right in zip(before, after, strict=False):
        if left != right:
            break
        head += 1
    tail = 0
    limit = min(len(before), len(after)) - head
    while tail < limit and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    start, end = lines.position(head), lines.position(len(before) - tail)
    return Edit(Range(start, end), after[head : len(after) - tail])
