"""`torchdev-lint check --parquet`: checks the sources in a data set, and writes what was found as it is found."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress

from torchdev_lint.config import REVEALED, Config, ConfigError
from torchdev_lint.engine.rows import Count, check_rows
from torchdev_lint.engine.workers import Workers
from torchdev_lint.report.findings_table import JsonLines, ParquetTable
from torchdev_lint.source.parquet import DataFile, ParquetError, data_files

PARQUET = "parquet"
"""The output format that only data sets have."""


def check_data_sets(
    paths: Sequence[str],
    columns: tuple[str, str],
    config: Config,
    workers: Workers,
    *,
    output_format: str,
    output_file: str | None,
    quiet: bool,
) -> tuple[bool, bool]:
    """Check the data sets `paths`; gives back whether there are findings, and whether anything went wrong.

    Raises `ConfigError` before anything is checked or written, if a data set has not what is needed.
    """
    try:
        files = [file for path in paths for file in data_files(path, columns)]
    except ParquetError as error:
        raise ConfigError(f"--parquet: {error}") from None
    count, skipped, failed, found = Count(), 0, False, False
    with _table(output_format, output_file) as table:
        for file in files:
            missing: list[int] = []
            try:
                for row, result in check_rows(file.rows(missing), config, workers, count):
                    table.write(file.name, row.number, result.diagnostics)
                    found = found or any(one.code != REVEALED for one in result.diagnostics)
                    where = _where(file, row.number, row.path)
                    _say("warning", where, result.warnings)
                    _say("error", where, result.errors)
                    failed = failed or bool(result.errors)
            except ParquetError as error:
                print(f"error: {error}", file=sys.stderr)
                failed = True
            skipped += len(missing)
    if not quiet:
        less = f", {skipped} of them without path or content" if skipped else ""
        rows = count.rows + skipped
        print(
            f"{len(files)} file{_s(len(files))}, {rows} row{_s(rows)}{less}; {count.analysed} analysed, "
            f"{count.findings} finding{_s(count.findings)}",
            file=sys.stderr,
        )
    return found, failed


def _where(file: DataFile, row: int, path: str) -> str:
    return f"{file.name}: row {row} ({path})"


def _say(kind: str, where: str, lines: Sequence[str]) -> None:
    for line in lines:
        print(f"{kind}: {where}: {line}", file=sys.stderr)


def _s(count: int) -> str:
    return "" if count == 1 else "s"


@contextmanager
def _table(output_format: str, path: str | None) -> Iterator[JsonLines | ParquetTable]:
    """Where findings go. A file is there when all of it is, and what was there before stays until then."""
    if path is None:
        yield JsonLines(sys.stdout)
        return
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            table = ParquetTable(temporary) if output_format == PARQUET else JsonLines.to_file(temporary)
        except OSError as error:
            raise ConfigError(
                f"--output-file: {path}: cannot be written: {error.strerror or error}"
            ) from None
        with closing(table):
            yield table
        os.replace(temporary, path)
    finally:
        with suppress(OSError):
            os.unlink(temporary)
