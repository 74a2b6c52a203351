"""The command line of `check`, parsed: what was given, and which flags contradict each other."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from torchdev_lint.cli_flags import parser
from torchdev_lint.cli_settings import settings_of
from torchdev_lint.config import ConfigError
from torchdev_lint.engine.cache_directory import DIRECTORY
from torchdev_lint.engine.settings import Settings
from torchdev_lint.files import read_bytes

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Options:
    """The command line of `check`, parsed."""

    arguments: tuple[str, ...]
    """As they were given."""
    paths: tuple[str, ...]
    files_from: str | None
    """The list that some of the paths were in."""
    fix: bool
    diff: bool
    unsafe_fixes: bool | None
    output_format: str | None
    output_file: str | None
    show_fixes: bool
    baseline: str | None
    write_baseline: bool
    diff_base: str | None
    add_noqa: str | None
    """The reason to be written with the comments; None when none are asked for."""
    stdin_filename: str | None
    exit_zero: bool
    exit_non_zero_on_fix: bool
    statistics: bool
    show_files: bool
    watch: bool
    quiet: bool
    verbose: bool
    color: str
    jobs: int | None
    """How many processes; None for as many as pay."""
    file_timeout: float | None
    """Seconds for one file; None for the default."""
    file_memory: int | None
    """MiB for one process; None for the default."""
    parquet: tuple[str, ...]
    """Data sets to check instead of files."""
    parquet_columns: tuple[str, str]
    """Those with the paths and the contents."""
    executor: str | None
    """Who checks the files instead of processes of our own: see `engine.executors`."""
    no_slice: bool
    """Whether long files are parsed as a whole; then nothing that was kept of another run is used."""
    cache_dir: str | None
    """The directory for results; None for the project's own."""
    no_cache: bool
    settings: Settings

    @property
    def reads_stdin(self) -> bool:
        """Whether the source comes from standard input."""
        return STDIN in self.paths


def parse_check(arguments: Sequence[str]) -> Options:
    """Parse the arguments of `check`. Raises `ConfigError`; bad usage exits with 2, as argparse does."""
    made = parser()
    # A reason needs its `=`: what follows the bare flag is a path.
    separated = ["--add-noqa=" if one == "--add-noqa" else one for one in _without_command(arguments)]
    given = made.parse_intermixed_args(separated)
    paths = tuple(given.paths)
    _check_parquet(made, given)
    if given.files_from is not None:
        if STDIN in paths:
            made.error("--files-from cannot be given together with `-` (standard input)")
        paths = (*paths, *_listed(given.files_from))
    elif not paths:
        paths = (".",)
    if STDIN in paths and len(paths) > 1:
        made.error("`-` (standard input) cannot be given together with other paths")
    if given.stdin_filename is not None and STDIN not in paths:
        made.error("--stdin-filename needs `-` as the path")
    if given.write_baseline:
        if given.baseline is None:
            made.error("--write-baseline needs --baseline FILE, the file to write")
        if STDIN in paths or given.fix or given.diff or given.add_noqa is not None:
            made.error("--write-baseline takes files to check, and neither --fix, --diff nor --add-noqa")
    if given.watch:
        if STDIN in paths:
            made.error("--watch needs files to watch, not standard input")
        if given.diff or given.write_baseline or given.add_noqa is not None or given.show_files:
            made.error(
                "--watch checks, or fixes: without --diff, --write-baseline, --add-noqa and --show-files"
            )
    if given.executor is not None:
        if STDIN in paths:
            made.error("--executor needs files to check, not standard input")
        if given.file_memory is not None:
            made.error("--executor has its own limit: --file-memory cannot be given together with it")
    if given.add_noqa is not None:
        if STDIN in paths:
            made.error("--add-noqa needs files to write to, not standard input")
        if given.fix or given.diff:
            made.error("--add-noqa cannot be given together with --fix or --diff")
        if not given.add_noqa.isprintable():
            made.error("--add-noqa: the reason has to be one line of text")
    return Options(
        arguments=tuple(arguments),
        paths=paths,
        files_from=given.files_from,
        fix=bool(given.fix),
        diff=given.diff,
        unsafe_fixes=given.unsafe_fixes,
        output_format=given.output_format,
        output_file=given.output_file,
        show_fixes=bool(given.show_fixes),
        add_noqa=given.add_noqa,
        baseline=given.baseline,
        write_baseline=given.write_baseline,
        diff_base=given.diff_base,
        stdin_filename=given.stdin_filename,
        exit_zero=given.exit_zero,
        exit_non_zero_on_fix=given.exit_non_zero_on_fix,
        statistics=given.statistics,
        show_files=given.show_files,
        watch=given.watch,
        quiet=given.quiet,
        verbose=given.verbose,
        color=given.color,
        jobs=given.jobs,
        file_timeout=given.file_timeout,
        file_memory=given.file_memory,
        executor=given.executor,
        no_slice=given.no_slice,
        parquet=tuple(given.parquet),
        parquet_columns=given.parquet_columns,
        cache_dir=given.cache_dir,
        no_cache=given.no_cache or given.no_slice,
        settings=settings_of(given, [given.stdin_filename or os.curdir] if STDIN in paths else paths),
    )


_FOR_FILES = (
    "files_from stdin_filename fix diff add_noqa watch baseline write_baseline diff_base statistics show_files show_fixes "
    "exit_non_zero_on_fix"
).split()
"""Flags that ask for files, or for all findings at a time."""


def _check_parquet(made: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    for path in given.paths:
        if path.endswith(".parquet") and os.path.exists(path):
            made.error(f"{path}: a data set of sources is given as --parquet {path}")
    if given.output_format == "parquet" and not given.parquet:
        made.error("--output-format parquet is for what --parquet checks")
    if not given.parquet:
        return
    if given.paths:
        made.error("--parquet takes no other paths")
    for name in _FOR_FILES:
        if getattr(given, name) not in (None, False):
            made.error(f"--parquet checks what is in no file: without --{name.replace('_', '-')}")
    if given.output_format not in (None, "json-lines", "parquet"):
        made.error(f"--parquet: findings are written as json-lines or parquet, not as {given.output_format}")
    if given.output_format == "parquet" and given.output_file is None:
        made.error("--output-format parquet needs --output-file PATH")


def _listed(path: str) -> tuple[str, ...]:
    """The paths in a list; as `find`, `git diff --name-only` and their `-0` and `-z` write it. Raises `ConfigError`."""
    try:
        data = sys.stdin.buffer.read() if path == STDIN else read_bytes(path)
    except OSError as error:
        raise ConfigError(f"--files-from: {path}: cannot be read: {error.strerror}") from None
    lines = data.split(b"\0") if b"\0" in data else [line.rstrip(b"\r") for line in data.split(b"\n")]
    return tuple(f"./{name}" if name == STDIN else name for name in map(os.fsdecode, lines) if name)


def cache_directory(given: str | None, settings: Settings) -> str:
    """Where results are kept: where it was said, else in the root of the project around the working directory."""
    return given or os.path.join(settings.for_directory(".").root, DIRECTORY)


def _without_command(arguments: Sequence[str]) -> list[str]:
    """The arguments less a leading `check`, which global flags without a value may come before."""
    for index, argument in enumerate(arguments):
        if argument == "check":
            return [*arguments[:index], *arguments[index + 1 :]]
        if argument not in ("-q", "--quiet", "-v", "--verbose", "--isolated"):
            break
    return list(arguments)
