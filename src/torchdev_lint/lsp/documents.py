"""The texts that the client has open: files, and the cells of notebooks.

Changes are applied here and not by pygls, which also breaks lines at form feeds and the like, where neither the protocol nor
Python does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lsprotocol import types

from torchdev_lint.lsp.places import Places

PYTHON = "python"
"""The language of the documents that are checked; the client names it."""


@dataclass(slots=True)
class OpenText:
    """A file or a cell as the client has it."""

    uri: str
    text: str
    version: int | None
    language: str = PYTHON


@dataclass(slots=True)
class OpenNotebook:
    """The cells of a notebook by URI, in order, with those that are not code."""

    uri: str
    version: int | None
    cells: list[types.NotebookCell] = field(default_factory=list)


@dataclass(slots=True)
class Documents:
    """All that is open. `encoding`: how the client counts columns."""

    encoding: str = types.PositionEncodingKind.Utf16.value
    texts: dict[str, OpenText] = field(default_factory=dict)
    notebooks: dict[str, OpenNotebook] = field(default_factory=dict)
    _holders: dict[str, str] = field(default_factory=dict)

    def owner(self, uri: str) -> str:
        """The document that a text is checked with: the notebook of a cell, else itself."""
        return self._holders.get(uri, uri)

    def owners(self) -> Iterator[str]:
        """What is checked: files and notebooks."""
        yield from self.notebooks
        yield from (uri for uri in self.texts if uri not in self._holders)

    def open(self, item: types.TextDocumentItem) -> None:
        """A text was opened."""
        self.texts[item.uri] = OpenText(item.uri, item.text, item.version, item.language_id)

    def change(
        self,
        document: types.VersionedTextDocumentIdentifier,
        changes: Sequence[types.TextDocumentContentChangeEvent],
    ) -> bool:
        """A text was edited; False when it was not open."""
        held = self.texts.get(document.uri)
        if held is None:
            return False
        for change in changes:
            held.text = self._edited(held.text, change)
        held.version = document.version
        return True

    def close(self, uri: str) -> None:
        """A text was closed."""
        self.texts.pop(uri, None)

    def open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """A notebook was opened."""
        given = params.notebook_document
        self.notebooks[given.uri] = OpenNotebook(given.uri, given.version, list(given.cells))
        self._open_cells(given.uri, params.cell_text_documents)

    def change_notebook(self, params: types.DidChangeNotebookDocumentParams) -> bool:
        """Cells were edited, added, moved or removed; False when the notebook was not open."""
        uri = params.notebook_document.uri
        notebook = self.notebooks.get(uri)
        if notebook is None:
            return False
        notebook.version = params.notebook_document.version
        cells = params.change.cells
        if cells is None:
            return True
        if cells.structure is not None:
            array = cells.structure.array
            notebook.cells[array.start : array.start + array.delete_count] = array.cells or []
            for closed in cells.structure.did_close or []:
                self._close_cell(closed.uri)
            self._open_cells(uri, cells.structure.did_open or [])
        for edited in cells.text_content or []:
            self.change(edited.document, edited.changes)
        changed = {cell.document: cell for cell in cells.data or []}
        notebook.cells = [changed.get(cell.document, cell) for cell in notebook.cells]
        return True

    def close_notebook(self, params: types.DidCloseNotebookDocumentParams) -> list[str]:
        """A notebook was closed; gives the URIs of its cells."""
        notebook = self.notebooks.pop(params.notebook_document.uri, None)
        cells = [] if notebook is None else [cell.document for cell in notebook.cells]
        for uri in [*cells, *(cell.uri for cell in params.cell_text_documents)]:
            self._close_cell(uri)
        return cells

    def _open_cells(self, notebook: str, items: Sequence[types.TextDocumentItem]) -> None:
        for item in items:
            self.open(item)
            self._holders[item.uri] = notebook

    def _close_cell(self, uri: str) -> None:
        self.close(uri)
        self._holders.pop(uri, None)

    def _edited(self, text: str, change: types.TextDocumentContentChangeEvent) -> str:
        if isinstance(change, types.TextDocumentContentChangeWholeDocument):
            return change.text
        places = Places(text, self.encoding)
        start, end = places.offset(change.range.start), places.offset(change.range.end)
        return text[:start] + change.text + text[max(start, end) :]
