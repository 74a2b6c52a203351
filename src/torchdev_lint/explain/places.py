"""Where the frames of a traceback are on this machine: which file or cell, and which row of it today."""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from torchdev_lint.explain.outline import Outline, Statement
from torchdev_lint.explain.tracebacks import Frame
from torchdev_lint.files import read_bytes
from torchdev_lint.source.document import Document, SourceError
from torchdev_lint.source.lines import LineIndex
from torchdev_lint.source.notebook import Notebook
from torchdev_lint.source.reading import NOTEBOOK_SUFFIX, read_source

_LIBRARY = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python3(?:\.\d+)?[/\\]|^<|[/\\]importlib[/\\]"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A frame that was found: `row` is the row of `path`, or of one `cell` of it, and belongs to `statement`.

    `certain` is False when the file's row does not read as the traceback shows it.
    """

    frame: Frame
    path: str
    row: int
    statement: Statement
    cell: int | None = None
    certain: bool = True

    def covers(self, path: str, cell: int | None, first: int, last: int) -> bool:
        """Whether the rows from `first` to `last` of a file or cell touch the statement."""
        same = cell == self.cell and os.path.abspath(path) == os.path.abspath(self.path)
        return same and first <= self.statement.last and last >= self.statement.first


def in_library(frame: Frame) -> bool:
    """Whether the frame is in an installed package or in Python itself, by its path."""
    if frame.cell is not None:
        return False
    path = os.path.expanduser(frame.path)
    return bool(_LIBRARY.search(path)) or path.startswith(sysconfig.get_path("stdlib") + os.sep)


@dataclass
class Finder:
    """Looks frames up. `given` are files and notebooks that the user named, `nearby` lists those that may hold a cell."""

    given: Sequence[str] = ()
    nearby: Iterable[str] = ()
    _read: dict[str, Document | Notebook | None] = field(default_factory=dict)

    def find(self, frame: Frame) -> Place | None:
        """The place of a frame, None when no file here is it."""
        if frame.cell is not None:
            return self._cell(frame)
        for path in self._candidates(frame.path):
            source = self._source(path)
            if not isinstance(source, Document):
                continue
            exact = os.path.abspath(path) == os.path.abspath(os.path.expanduser(frame.path))
            place = _in_text(frame, path, source.text, None)
            # The same name elsewhere is another file unless it reads the same.
            if place is not None and (exact or (place.certain and frame.code)):
                return place
        return None

    def _candidates(self, path: str) -> Iterator[str]:
        expanded = os.path.expanduser(path)
        if os.path.isfile(expanded):
            yield _shown(expanded)
        parts = re.split(r"[/\\]", path)
        for one in self.given:
            if os.path.basename(one) == parts[-1]:
                yield one
        # The path of another machine: the longest end of it that exists here.
        for start in range(1, len(parts)):
            end = os.path.join(*parts[start:]) if parts[start:] else ""
            if end and os.path.isfile(end):
                yield end
        for one in self._files:
            if os.path.basename(one) == parts[-1]:
                yield one

    @cached_property
    def _files(self) -> tuple[str, ...]:
        return tuple(self.nearby)

    def _cell(self, frame: Frame) -> Place | None:
        """The one cell, of all notebooks, whose row reads as the traceback shows; None if several do."""
        found = []
        named = [path for path in self.given if path.endswith(NOTEBOOK_SUFFIX)]
        for path in named or [path for path in self._files if path.endswith(NOTEBOOK_SUFFIX)]:
            notebook = self._source(path)
            if not isinstance(notebook, Notebook) or not frame.code:
                continue
            for cell in notebook.cells.cells:
                place = _in_text(frame, path, cell.text, cell.index)
                if place is not None and place.certain and place.row == frame.row:
                    found.append(place)
        return found[0] if len(found) == 1 else None

    def _source(self, path: str) -> Document | Notebook | None:
        if path not in self._read:
            try:
                self._read[path] = read_source(read_bytes(path), path)
            except (OSError, SourceError):
                self._read[path] = None
        return self._read[path]


def _shown(path: str) -> str:
    """The path relative to the working directory where it is below it."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def _in_text(frame: Frame, path: str, text: str, cell: int | None) -> Place | None:
    lines = LineIndex(text)
    row, certain = frame.row, True
    if frame.code:
        same = [number for number in range(1, lines.count + 1) if lines.line(number).strip() == frame.code]
        row = min(same, key=lambda number: abs(number - frame.row), default=frame.row)
        certain = bool(same)
    if not 1 <= row <= lines.count:
        return None
    return Place(frame, path, row, Outline(text).at(row), cell, certain)
