"""What is checked as one: a file, or the code cells of a notebook in order."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

from lsprotocol import types
from pygls.uris import to_fs_path, urlparse

from torchdev_lint.diagnostics import Diagnostic, Position
from torchdev_lint.lsp.documents import PYTHON, Documents
from torchdev_lint.source.cells import Cell, Cells
from torchdev_lint.source.reading import NOTEBOOK_SUFFIX


@dataclass(frozen=True, slots=True)
class Part:
    """A text of a program. `cell`: its place among all cells of the notebook, from 1; None for a file."""

    uri: str
    text: str
    version: int | None
    cell: int | None = None


class Program:
    """A snapshot: what stands in the editor at one moment. `serial` tells it from earlier ones."""

    def __init__(self, uri: str, path: str, parts: tuple[Part, ...], serial: int, *, cells: bool) -> None:
        self.uri = uri
        self.path = path
        self.parts = parts
        self.serial = serial
        self.cells = Cells([Cell(part.cell or 0, part.text) for part in parts]) if cells else None

    @cached_property
    def text(self) -> str:
        """The text that positions of unplaced diagnostics refer to: the joined cells of a notebook."""
        return self.parts[0].text if self.cells is None else self.cells.text

    def placed(self, one: Diagnostic) -> Diagnostic:
        """A diagnostic of the text with positions in its part."""
        return one if self.cells is None else self.cells.placed(one)

    def part(self, cell: int | None) -> Part | None:
        """The file itself, or the cell with this index."""
        return next((part for part in self.parts if part.cell == cell), None)

    def part_at(self, uri: str) -> Part | None:
        """The part with this URI."""
        return next((part for part in self.parts if part.uri == uri), None)

    def in_part(self, place: Position) -> tuple[Part, Position] | None:
        """The part that a position of the text lies in, and the position in it."""
        if self.cells is None:
            return self.parts[0], place
        cell, row = self.cells.row(place.row)
        part = self.part(cell)
        return None if part is None or row < 1 else (part, Position(row, place.column))


def program_of(documents: Documents, uri: str, root: str, serial: int) -> Program | None:
    """The program that a document is; None for one that is not open or not Python.

    `root` is the directory in which documents are taken to be that have no file yet.
    """
    notebook = documents.notebooks.get(uri)
    if notebook is not None:
        parts = []
        for number, cell in enumerate(notebook.cells, start=1):
            held = documents.texts.get(cell.document)
            code = cell.kind == types.NotebookCellKind.Code
            if code and held is not None and held.language == PYTHON and "\0" not in held.text:
                parts.append(Part(held.uri, held.text, held.version, number))
        path = path_of(uri, root)
        if not path.endswith(NOTEBOOK_SUFFIX):
            path += NOTEBOOK_SUFFIX
        return Program(uri, path, tuple(parts), serial, cells=True)
    held = documents.texts.get(uri)
    if held is None or held.language != PYTHON:
        return None
    return Program(uri, path_of(uri, root), (Part(uri, held.text, held.version),), serial, cells=False)


def path_of(uri: str, root: str) -> str:
    """The path of the file that a URI names; one in `root` for a document that has no file yet."""
    path = to_fs_path(uri)
    if path:
        return os.path.normpath(path)
    name = os.path.basename(urlparse(uri)[2]) or "untitled"
    return os.path.join(root, name)
