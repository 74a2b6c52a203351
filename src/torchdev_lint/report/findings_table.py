"""Findings in a data set, written as they come: a line of JSON for each, or a row of a Parquet file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any, TextIO

from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.report.json import item

_COLUMNS = {
    "data_file": "string",
    "data_row": "int64",
    "path": "string",
    "code": "string",
    "name": "string",
    "message": "string",
    "row": "int32",
    "column": "int32",
    "end_row": "int32",
    "end_column": "int32",
    "cell": "int32",
    "fix": "string",
    "fix_applicability": "string",
}
"""Of the Parquet file, with their types in Arrow."""


class JsonLines:
    """Writes objects as `json-lines` has them, with `data_file` and `data_row` beside them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @classmethod
    def to_file(cls, path: str) -> JsonLines:
        """Write to a new file. Raises `OSError`."""
        return cls(open(path, "w", encoding="utf-8", errors="backslashreplace", newline=""))

    def write(self, file: str, row: int, found: Sequence[Diagnostic]) -> None:
        """Add what was found in a row (counted from 0) of a data file."""
        for one in found:
            told = {**item(one), "filename": one.path, "data_file": file, "data_row": row}
            line = json.dumps(told, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
            self._stream.write(f"{line}\n")

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


class ParquetTable:
    """Writes a Parquet file with the columns `_COLUMNS`."""

    GROUP = 10_000
    """Findings in a row group, which are in memory until it is written."""

    def __init__(self, path: str) -> None:
        arrow = import_module("pyarrow")
        self._arrow = arrow
        self._schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in _COLUMNS.items()])
        self._writer = import_module("pyarrow.parquet").ParquetWriter(path, self._schema)
        self._held: list[dict[str, Any]] = []

    def write(self, file: str, row: int, found: Sequence[Diagnostic]) -> None:
        """Add what was found in a row (counted from 0) of a data file."""
        self._held += [_columns(file, row, one) for one in found]
        if len(self._held) >= self.GROUP:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(self._arrow.Table.from_pylist(self._held, self._schema))
        self._held.clear()

    def close(self) -> None:
        """Finish the file."""
        if self._held:
            self._flush()
        self._writer.close()


def _columns(file: str, row: int, one: Diagnostic) -> dict[str, Any]:
    start, end = one.range.start, one.range.end
    values = (
        file,
        row,
        one.path,
        one.code,
        one.name,
        one.message,
        start.row,
        start.column,
        end.row,
        end.column,
        one.cell,
        None if one.fix is None else one.fix.message,
        None if one.fix is None else one.fix.applicability.value,
    )
    return dict(zip(_COLUMNS, values, strict=True))
