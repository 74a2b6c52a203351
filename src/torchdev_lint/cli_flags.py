"""The flags of `check`, as Ruff has them: their names, what follows them, their help."""

from __future__ import annotations

import argparse
from typing import Any

from torchdev_lint import __version__
from torchdev_lint.cli_parser import Parser
from torchdev_lint.config import OUTPUT_FORMATS
from torchdev_lint.engine.cache_directory import DIRECTORY
from torchdev_lint.engine.limits import FILE_MEMORY, FILE_TIMEOUT

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
    work.add_argument(
        "--no-slice",
        action="store_true",
        help="parse long files as a whole instead of in pieces, and use no kept results; -v says how many were cut",
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
