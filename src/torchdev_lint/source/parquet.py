"""Data sets of sources: Parquet files whose rows have a path and a content, as collections of code are published.

Read by pyarrow (https://arrow.apache.org/docs/python/generated/pyarrow.parquet.ParquetFile.html), a few rows at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

SUFFIX = ".parquet"
ROWS = 64
"""Rows that are in memory at a time, as pyarrow decodes them."""
_BUFFER = 1 << 20
"""Bytes of a column that are read from the file at a time, instead of all that a row group has of it."""


class ParquetError(Exception):
    """A data set that cannot be read; the message is one line that names the file."""


@dataclass(frozen=True, slots=True)
class Row:
    """One source. `number` counts the rows of a file from 0; `text` says that `data` is text in UTF-8, whatever it declares."""

    number: int
    path: str
    data: bytes
    text: bool


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file that has what is needed: its columns with paths and contents, and whether the latter are text."""

    name: str
    path_column: str
    content_column: str
    text: bool

    def rows(self, skipped: list[int]) -> Iterator[Row]:
        """The rows, read as they are asked for; the numbers of those without path or content are added to `skipped`.

        Raises `ParquetError` for a file that is damaged behind its beginning.
        """
        arrow = _arrow()
        number = -1
        try:
            with _opened(self.name) as file:
                for batch in file.iter_batches(ROWS, columns=[self.path_column, self.content_column]):
                    columns = (
                        _bytes(arrow, batch.column(name)) for name in (self.path_column, self.content_column)
                    )
                    for path, content in zip(*columns, strict=True):
                        number += 1
                        if path is None or content is None:
                            skipped.append(number)
                        else:
                            yield Row(number, path.decode("utf-8", "replace"), content, self.text)
        except (arrow.ArrowException, OSError) as error:
            raise ParquetError(f"{self.name}: cannot be read behind row {number}: {_line(error)}") from None


def data_files(path: str, columns: tuple[str, str]) -> list[DataFile]:
    """The Parquet files in a directory, sorted, or the file itself; `columns` hold paths and contents.

    Their heads are read. Raises `ParquetError`.
    """
    if os.path.isdir(path):
        names = sorted(
            os.path.join(folder, name)
            for folder, _, files in os.walk(path)
            for name in files
            if name.endswith(SUFFIX) and not name.startswith((".", "_"))
        )
        if not names:
            raise ParquetError(f"{path}: no {SUFFIX} files in this directory")
    elif os.path.isfile(path):
        names = [path]
    else:
        raise ParquetError(f"{path}: no such file or directory")
    return [_data_file(name, columns) for name in names]


def _data_file(name: str, columns: tuple[str, str]) -> DataFile:
    arrow = _arrow()
    try:
        with _opened(name) as file:
            schema = file.schema_arrow
    except (arrow.ArrowException, OSError) as error:
        raise ParquetError(f"{name}: not a Parquet file that can be read: {_line(error)}") from None
    text = False
    for column in columns:
        place = schema.get_field_index(column)
        if place < 0:
            has = ", ".join(schema.names[:20]) or "none"
            raise ParquetError(
                f"{name}: no column {column!r} (--parquet-columns PATH,CONTENT names others); it has: {has}"
            )
        kind = schema.field(place).type
        kind = kind.value_type if arrow.types.is_dictionary(kind) else kind
        text = _is_one(arrow, kind, "string large_string string_view")
        if not text and not _is_one(arrow, kind, "binary large_binary binary_view"):
            raise ParquetError(f"{name}: column {column!r} is {kind}, not text")
    return DataFile(name, *columns, text)


def _is_one(arrow: Any, kind: Any, names: str) -> bool:
    tests = (getattr(arrow.types, f"is_{name}", None) for name in names.split())
    return any(test is not None and test(kind) for test in tests)


def _bytes(arrow: Any, column: Any) -> list[bytes | None]:
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    found: list[bytes | None] = column.cast(arrow.large_binary()).to_pylist()
    return found


def _opened(name: str) -> Any:
    return import_module("pyarrow.parquet").ParquetFile(name, buffer_size=_BUFFER, pre_buffer=False)


def _arrow() -> Any:
    """The package pyarrow. Raises `ParquetError`."""
    try:
        return import_module("pyarrow")
    except ImportError:
        raise ParquetError("pyarrow is not installed: pip install 'torchdev-lint[parquet]'") from None


def _line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return " ".join(lines[0].split()).rstrip(".") if lines else type(error).__name__
