"""Jupyter notebooks: the code cells of an `.ipynb` file, and writing edited ones back without touching anything else.

The file is never parsed and dumped as a whole: only the JSON strings of edited lines are replaced in its text.
Format: nbformat 4, https://nbformat.readthedocs.io/en/latest/format_description.html.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from torchdev_lint.diagnostics import Diagnostic, Position
from torchdev_lint.source.cells import Cell, CellError, Cells
from torchdev_lint.source.document import SourceError, dominant_newline
from torchdev_lint.source.json_text import (
    JsonError,
    Token,
    escapes_non_ascii,
    raw_offset,
    read_array,
    read_object,
    replaced_lines,
    replaced_string,
    skip_space,
    string_at,
    value_at,
)
from torchdev_lint.source.lines import LineIndex

FORMAT = 4
"""The version of the format that is read; older ones kept their cells elsewhere."""


class NotPythonError(SourceError):
    """A notebook in another language: nothing is wrong with it."""


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the source of a cell stands: one string, or an array of strings."""

    cell: Cell
    start: int
    end: int
    tokens: tuple[Token, ...]
    listed: bool


class Notebook:
    """A notebook as one program; see `Cells` for its text."""

    def __init__(self, path: str, raw: str, sources: tuple[_Source, ...], *, bom: bool) -> None:
        self.path = path
        self.raw = raw
        self.bom = bom
        self._sources = sources
        self.cells = Cells([source.cell for source in sources])
        self.text = self.cells.text
        # Of the cells alone: the rows that stand between them here are not in the file.
        self.newline = dominant_newline("".join(cell.text for cell in self.cells.cells))
        self._raw_lines: list[LineIndex] = []

    @classmethod
    def from_bytes(cls, data: bytes, path: str) -> Notebook:
        """Read the content of an `.ipynb` file. Raises `SourceError`, `NotPythonError` for another language."""
        bom = data.startswith(BOM_UTF8)
        try:
            raw = data[len(BOM_UTF8) if bom else 0 :].decode("utf-8")
        except UnicodeDecodeError as error:
            raise SourceError(f"not valid utf-8 at byte {error.start + len(BOM_UTF8) * bom}") from None
        return cls._from_raw(raw, path, bom=bom)

    @classmethod
    def _from_raw(cls, raw: str, path: str, *, bom: bool) -> Notebook:
        try:
            return cls(path, raw, _sources(raw), bom=bom)
        except JsonError as error:
            raise SourceError(f"not a notebook: not valid JSON: {error}") from None

    def analysed(self, text: str, left_out: Collection[int] = ()) -> str:
        """The Python program that the joined cells `text` are: positions are those of `text`.

        Of the cells with the indexes `left_out` nothing is known.
        """
        return self.cells.masked(text, left_out)

    def placed(self, diagnostic: Diagnostic) -> Diagnostic:
        """A diagnostic of the joined text with its cell, and positions in it."""
        return self.cells.placed(diagnostic)

    def describe_row(self, row: int) -> str:
        """How a message names a row of the joined text."""
        cell, row_in_cell = self.cells.row(row)
        return f"cell {cell}:{row_in_cell}"

    def cell_text(self, cell: int | None) -> str | None:
        """The text of the cell with this index; None when it is not a code cell of this notebook."""
        return next((one.text for one in self.cells.cells if one.index == cell), None)

    def with_text(self, text: str) -> Notebook:
        """The notebook whose joined cells are `text`. Raises `SourceError` when they cannot be taken apart."""
        if text == self.text:
            return self
        try:
            contents = self.cells.split(text)
        except CellError as error:
            raise SourceError(str(error)) from None
        changed = self._from_raw(self._rewritten(contents), self.path, bom=self.bom)
        if changed.text != text:
            raise SourceError("the cells would not read back as they were written")
        return changed

    def with_cells(self, contents: Mapping[int, str]) -> Notebook:
        """The notebook with other texts in the cells with these indexes."""
        texts = [contents.get(source.cell.index, source.cell.text) for source in self._sources]
        return self._from_raw(self._rewritten(tuple(texts)), self.path, bom=self.bom)

    def encode(self, text: str) -> bytes:
        """The bytes of the file when its joined cells are `text`. Raises `SourceError`."""
        raw = self.with_text(text).raw
        try:
            return (BOM_UTF8 if self.bom else b"") + raw.encode("utf-8")
        except UnicodeEncodeError:
            raise SourceError("a lone surrogate cannot be written") from None

    def in_file(self, cell: int | None, position: Position) -> Position:
        """The row and column of the `.ipynb` file itself at which a position in a cell stands."""
        source = next((one for one in self._sources if one.cell.index == cell), None)
        if source is None:
            return position
        text = LineIndex(source.cell.text)
        try:
            offset = text.offset(position)
        except ValueError:
            offset = len(source.cell.text)
        start = source.start
        for token in source.tokens:
            start = raw_offset(self.raw, token.start, min(offset, len(token.value)))
            if offset < len(token.value):
                break
            offset -= len(token.value)
        return self.raw_lines.position(start)

    @property
    def raw_lines(self) -> LineIndex:
        """The rows of the `.ipynb` file itself."""
        if not self._raw_lines:
            self._raw_lines.append(LineIndex(self.raw))
        return self._raw_lines[0]

    def _rewritten(self, contents: tuple[str, ...]) -> str:
        ascii_only = escapes_non_ascii(self.raw)
        pieces: list[str] = []
        position = 0
        for source, new in zip(self._sources, contents, strict=True):
            if new == source.cell.text:
                continue
            pieces.append(self.raw[position : source.start])
            if source.listed:
                lines = new.splitlines(keepends=True)  # As nbformat's writer splits them.
                span = (source.start, source.end, source.tokens)
                pieces.append(replaced_lines(self.raw, *span, lines, ascii_only=ascii_only))
            else:
                pieces.append(replaced_string(self.raw, source.tokens[0], new, ascii_only=ascii_only))
            position = source.end
        return "".join([*pieces, self.raw[position:]])


def _sources(raw: str) -> tuple[_Source, ...]:
    """The sources of the Python cells. Raises `SourceError` and `JsonError`."""
    start = skip_space(raw, 0)
    if start == len(raw):
        raise SourceError("not a notebook: the file is empty")
    found: list[_Source | None] = []
    facts: dict[str, Any] = {}

    def read_cell(position: int) -> int:
        source, end = _read_cell(raw, position, len(found) + 1)
        found.append(source)
        return end

    def read_member(key: str, position: int) -> int:
        if key == "cells" and raw[position : position + 1] == "[":
            facts[key] = True
            found.clear()
            return read_array(raw, position, read_cell)
        facts[key], end = value_at(raw, position)
        return end

    if raw[start] == "[":
        raise SourceError("not a notebook: a list instead of an object")
    end = skip_space(raw, read_object(raw, start, read_member))
    if end != len(raw):
        raise JsonError(f"more text behind the end, at character {end + 1}")
    if "nbformat" not in facts:
        raise SourceError("not a notebook: it has no `nbformat`")
    if facts["nbformat"] != FORMAT:
        raise SourceError(
            f"notebook format {facts['nbformat']!r} is not read, only {FORMAT}: "
            "convert it with `jupyter nbconvert --to notebook --inplace`"
        )
    if facts.get("cells") is not True:
        raise SourceError("not a notebook: it has no list of `cells`")
    language = _language(facts.get("metadata"))
    if language is not None and not _is_python(language):
        raise NotPythonError(f"not checked: a notebook in {language}")
    return tuple(source for source in found if source is not None)


def _read_cell(raw: str, position: int, index: int) -> tuple[_Source | None, int]:
    """The source of one cell, None when it is not Python; and the offset behind the cell."""
    facts: dict[str, Any] = {}
    tokens: list[Token] = []
    where: list[int] = []

    def read_line(start: int) -> int:
        if raw[start : start + 1] != '"':
            raise SourceError(f"not a notebook: the `source` of cell {index} is no list of strings")
        tokens.append(string_at(raw, start))
        return tokens[-1].end

    def read_member(key: str, start: int) -> int:
        if key != "source":
            facts[key], end = value_at(raw, start)
            return end
        tokens.clear()
        listed = raw[start : start + 1] == "["
        if not listed and raw[start : start + 1] != '"':
            raise SourceError(
                f"not a notebook: the `source` of cell {index} is neither text nor a list of lines"
            )
        end = read_array(raw, start, read_line) if listed else read_line(start)
        facts[key] = listed
        where[:] = [start, end]
        return end

    if raw[position : position + 1] != "{":
        value_at(raw, position)
        raise SourceError(f"not a notebook: cell {index} is not an object")
    end = read_object(raw, position, read_member)
    if "cell_type" not in facts:
        raise SourceError(f"not a notebook: cell {index} has no `cell_type`")
    if facts["cell_type"] != "code" or not _is_python(_cell_language(facts.get("metadata"))):
        return None, end
    if not where:
        raise SourceError(f"not a notebook: cell {index} has no `source`")
    text = "".join(token.value for token in tokens)
    if "\0" in text:
        raise SourceError(f"cell {index} contains null bytes")
    return _Source(Cell(index, text), where[0], where[1], tuple(tokens), facts["source"]), end


def _language(metadata: Any) -> str | None:
    """The language that the notebook says it is in; None when it does not."""
    for table, key in (("language_info", "name"), ("kernelspec", "language")):
        section = metadata.get(table) if isinstance(metadata, dict) else None
        value = section.get(key) if isinstance(section, dict) else None
        if isinstance(value, str) and value:
            return value
    return None


def _cell_language(metadata: Any) -> str:
    """The language of one cell: Visual Studio Code's polyglot notebooks have several."""
    section = metadata.get("vscode") if isinstance(metadata, dict) else None
    value = section.get("languageId") if isinstance(section, dict) else None
    return value if isinstance(value, str) else "python"


def _is_python(language: str) -> bool:
    return language.lower() in ("python", "python3", "ipython", "ipython3")
