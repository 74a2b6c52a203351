"""The flags of `check`, as Ruff has them, and what they make of a configuration."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from torchdev_lint import __version__
from torchdev_lint.cli_parser import Parser
from torchdev_lint.config import OUTPUT_FORMATS, Config, ConfigError, Selection
from torchdev_lint.config_file import load_config_file, override
from torchdev_lint.engine.cache_directory import DIRECTORY
from torchdev_lint.engine.limits import FILE_MEMORY, FILE_TIMEOUT
from torchdev_lint.engine.settings import Settings
from torchdev_lint.files import read_bytes
from torchdev_lint.globs import anchored

STDIN = "-"

_DESCRIPTION = "Find, explain and repair PyTorch device mismatches."
_EPILOG = """commands:
  check [PATH ...]   check files (the default command)
  rule CODE | --all  print the documentation of rules
  config [KEY]       list or describe the options of the configuration
  infer FILE[:LINE]  print what was inferred of a file or at a line of it
  explain [FILE]     explain a pasted PyTorch error: its line, devices, origin and fix
  verify PATH ...    lint programs, EXECUTE them, and compare
  doctor [PATH ...]  say what devices this machine has, and whether programs can be verified
  generate-shell-completion SHELL
                     print what completes commands and flags in bash, zsh or fish
  server             serve an editor (Language Server Protocol)
  clean              remove the kept results of this project
  version            print the version

A path that is named like a command is reached as ./check.
Exit codes: 0 nothing left to report, 1 findings left, 2 bad usage or configuration, or an internal error."""


@dataclass(frozen=True, slots=True)
class Options:
    """The command line of `check`, parsed."""

    paths: tuple[str, ...]
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
        if given.file_timeout is not None:
            made.error("--executor has its own limits: --file-timeout cannot be given together with it")
        if given.file_memory is not None:
            made.error("--executor has its own limits: --file-memory cannot be given together with it")
    if given.add_noqa is not None:
        if STDIN in paths:
            made.error("--add-noqa needs files to write to, not standard input")
        if given.fix or given.diff:
            made.error("--add-noqa cannot be given together with --fix or --diff")
        if not given.add_noqa.isprintable():
            made.error("--add-noqa: the reason has to be one line of text")
    return Options(
        paths=paths,
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
        parquet=tuple(given.parquet),
        parquet_columns=given.parquet_columns,
        cache_dir=given.cache_dir,
        no_cache=given.no_cache,
        settings=_settings(given),
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


def parser() -> argparse.ArgumentParser:
    """The arguments of `check`."""
    made = Parser(
        prog="torchdev-lint",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument(
        "paths", nargs="*", metavar="PATH", help="files and directories, or - for standard input (default: .)"
    )
    made.add_argument("-V", "--version", action="version", version=f"torchdev-lint {__version__}")

    fixes = made.add_argument_group("fixes")
    _pair(fixes, "fix", "apply fixes")
    _pair(fixes, "unsafe-fixes", "count and apply fixes that may change behaviour, too")
    fixes.add_argument(
        "--diff", action="store_true", help="print what --fix would change, and change nothing"
    )

    fixes.add_argument("-w", "--watch", action="store_true", help="check again whenever a file changes")
    _pair(fixes, "show-fixes", "list what was fixed")
    fixes.add_argument(
        "--add-noqa",
        metavar="REASON",
        help="write `# noqa` comments for all findings (the reason is optional)",
    )

    rules = made.add_argument_group("rules")
    codes: Any = {"action": "append", "metavar": "CODES", "type": _comma_list}
    some_codes = codes | {"type": _some_of_a_list}
    rules.add_argument("--select", **some_codes, help="rules to turn on: codes or their prefixes, or ALL")
    rules.add_argument("--extend-select", **codes, help="rules to turn on besides those that are selected")
    rules.add_argument("--ignore", **codes, help="rules to turn off")
    rules.add_argument(
        "--per-file-ignores",
        action="append",
        metavar="PATTERN:CODE",
        type=_comma_list,
        help="rules to turn off by file",
    )

    rules.add_argument(
        "--extend-per-file-ignores",
        action="append",
        metavar="PATTERN:CODE",
        type=_comma_list,
        help="more of them, besides those of the configuration",
    )
    rules.add_argument("--fixable", **codes, help="rules whose fixes are offered")
    rules.add_argument("--extend-fixable", **codes, help="rules whose fixes are offered, too")
    rules.add_argument("--unfixable", **codes, help="rules whose fixes are not offered")
    rules.add_argument("--ignore-noqa", action="store_true", help="take no notice of `# noqa` comments")

    files = made.add_argument_group("files")
    patterns: Any = {"action": "append", "metavar": "PATTERNS", "type": _comma_list}
    files.add_argument(
        "--exclude", **patterns, help="paths to leave out, instead of those of the configuration"
    )
    files.add_argument("--extend-exclude", **patterns, help="more paths to leave out")
    _pair(files, "force-exclude", "leave excluded paths out even when they are given")
    _pair(files, "respect-gitignore", "leave out what .gitignore files name")
    files.add_argument(
        "--stdin-filename", metavar="PATH", help="the name of what is read from standard input"
    )
    files.add_argument(
        "--files-from",
        metavar="FILE",
        help="check the paths that are listed in FILE (- for standard input), one a line or with NUL behind each",
    )
    files.add_argument(
        "--parquet",
        metavar="PATH",
        action="append",
        default=[],
        help="check the sources in a Parquet file, or in those of a directory, instead of files",
    )
    files.add_argument(
        "--parquet-columns",
        metavar="NAMES",
        type=_two_names,
        default=("path", "content"),
        help="its columns with paths and contents (default: path,content)",
    )
    files.add_argument("--show-files", action="store_true", help="print the files that would be checked")

    new = made.add_argument_group("only what is new")
    new.add_argument("--baseline", metavar="FILE", help="leave out the findings that FILE knows")
    new.add_argument("--write-baseline", action="store_true", help="write all findings to the baseline file")
    new.add_argument(
        "--diff-base",
        metavar="REV",
        help="leave out findings that have nothing to do with lines changed since REV",
    )

    output = made.add_argument_group("output")
    output.add_argument(
        "--output-format",
        choices=(*OUTPUT_FORMATS, "parquet"),
        help="how findings are printed (default: full; with --parquet, json-lines)",
    )
    output.add_argument(
        "-o", "--output-file", metavar="PATH", help="where to write the findings (default: stdout)"
    )
    output.add_argument("--statistics", action="store_true", help="print how often each rule was broken")
    output.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colour the output"
    )
    output.add_argument("-q", "--quiet", action="store_true", help="print findings and nothing else")
    output.add_argument("-v", "--verbose", action="store_true", help="say on stderr what is done")
    output.add_argument(
        "-e", "--exit-zero", action="store_true", help="exit with 0 even if there are findings"
    )
    output.add_argument(
        "--exit-non-zero-on-fix", action="store_true", help="exit with 1 if something was fixed"
    )

    work = made.add_argument_group("processes")
    work.add_argument(
        "-j",
        "--jobs",
        metavar="N",
        type=_count,
        help="how many processes check files (default: as many as pay; 1 for none but this)",
    )
    work.add_argument(
        "--file-timeout",
        metavar="SECONDS",
        type=_seconds,
        help=f"give up a file after so long on a processor, or ten times that by the clock (default: {FILE_TIMEOUT:g})",
    )
    work.add_argument(
        "--file-memory",
        metavar="MIB",
        type=_mebibytes,
        help=f"give up a file that takes so much memory (default: {FILE_MEMORY}, in processes, on Linux)",
    )
    work.add_argument(
        "--executor",
        metavar="NAME",
        help="have files checked by dask[=SCHEDULER], loky, or the concurrent.futures.Executor that MODULE:FACTORY makes",
    )

    general = made.add_argument_group("configuration")
    general.add_argument(
        "--config", action="append", metavar="PATH|KEY=VALUE", default=[], help="a TOML file or setting"
    )
    general.add_argument("--isolated", action="store_true", help="read no configuration file")
    general.add_argument(
        "--add-ruff-external",
        action="store_true",
        help='write external = ["TDV"] into Ruff\'s configuration, so that Ruff leaves `# noqa: TDV001` alone',
    )
    general.add_argument("-n", "--no-cache", action="store_true", help="neither use nor keep results")
    general.add_argument(
        "--cache-dir",
        metavar="PATH",
        help=f"where results are kept (default: {DIRECTORY} in the project)",
    )
    return made


def _pair(group: Any, name: str, text: str) -> None:
    """A flag and its opposite; None when neither is given, and the last one wins."""
    group.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=None, help=text)


def _count(value: str) -> int:
    number = int(value) if value.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 up, not {value!r}")
    return number


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds, not {value!r}")
    return seconds


def _mebibytes(value: str) -> int:
    if not value.isascii() or not value.isdigit() or int(value) == 0:
        raise argparse.ArgumentTypeError(f"expected a number of MiB, not {value!r}")
    return int(value)


def _two_names(value: str) -> tuple[str, str]:
    names = _comma_list(value)
    if len(names) != 2:
        raise argparse.ArgumentTypeError(f"expected two names, PATH,CONTENT, not {value!r}")
    return names[0], names[1]


def _comma_list(value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _some_of_a_list(value: str) -> tuple[str, ...]:
    """As `_comma_list`, but not none at all: an empty variable in a script would turn all rules off, and everything would pass."""
    if not (found := _comma_list(value)):
        raise argparse.ArgumentTypeError(f"expected codes or their prefixes, or ALL, not {value!r}")
    return found


def _joined(lists: Sequence[tuple[str, ...]] | None) -> tuple[str, ...] | None:
    return None if lists is None else tuple(item for items in lists for item in items)


def _settings(given: argparse.Namespace) -> Settings:
    files = [value for value in given.config if os.path.isfile(value) or "=" not in value]
    inline = [value for value in given.config if value not in files]
    if len(files) > 1:
        raise ConfigError("--config: only one configuration file can be given")
    if files and given.isolated:
        raise ConfigError("--config: a configuration file cannot be given together with --isolated")
    root = os.getcwd()
    fixed = load_config_file(files[0], root) if files else Config(root=root) if given.isolated else None
    changes = _changes(given, root)

    def overlay(config: Config) -> Config:
        for assignment in inline:
            config = override(config, assignment)
        more = tuple(anchored(pattern, root) for pattern in _joined(given.extend_exclude) or ())
        ignores = [_per_file_ignore(pair, root) for pair in _joined(given.extend_per_file_ignores) or ()]
        return replace(
            config,
            extend_exclude=(*config.extend_exclude, *more),
            extend_per_file_ignores=(*config.extend_per_file_ignores, *ignores),
            **_fixable(given, config),
            **changes,
        )

    return Settings(fixed, overlay)


def _fixable(given: argparse.Namespace, config: Config) -> dict[str, Any]:
    """Which fixes are offered, on top of what `config` says; `--fixable` starts afresh."""
    chosen, more, less = (
        _joined(getattr(given, name)) for name in ("fixable", "extend_fixable", "unfixable")
    )
    if chosen is not None:
        return {"fixable": chosen, "extend_fixable": more or (), "unfixable": less or ()}
    return {
        "extend_fixable": (*config.extend_fixable, *(more or ())),
        "unfixable": (*config.unfixable, *(less or ())),
    }


def _changes(given: argparse.Namespace, root: str) -> dict[str, Any]:
    """The fields of a configuration that flags replace."""
    changes: dict[str, Any] = {
        "command_line": Selection(
            _joined(given.select), _joined(given.extend_select) or (), _joined(given.ignore) or ()
        ),
        "ignore_noqa": given.ignore_noqa,
    }
    for name in ("force_exclude", "respect_gitignore", "unsafe_fixes", "output_format"):
        value = getattr(given, name)
        if value is not None:
            changes[name] = value
    exclude = _joined(given.exclude)
    if exclude is not None:
        changes["exclude"] = tuple(anchored(pattern, root) for pattern in exclude)
    ignores = _joined(given.per_file_ignores)
    if ignores is not None:
        changes["per_file_ignores"] = tuple(_per_file_ignore(pair, root) for pair in ignores)
    return changes


def _per_file_ignore(pair: str, root: str) -> tuple[str, tuple[str, ...]]:
    pattern, colon, code = pair.rpartition(":")
    if not colon or not pattern or not code:
        raise ConfigError(f"--per-file-ignores: expected PATTERN:CODE, not {pair!r}")
    return anchored(pattern, root), (code,)
