"""`torchdev-ruff`: speaks Ruff's command line, with our findings among Ruff's own.

For editors and scripts that can be told which program to call for `ruff`. Where the real Ruff is installed, it does what it
always does, and our findings are merged into its report; where it is not, ours are reported in its manner.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from torchdev_lint import __version__
from torchdev_lint.config import ConfigError

if TYPE_CHECKING:
    from torchdev_lint.shim.program import Ruff

SPOKEN = "0.17.5"
"""The version of Ruff whose interface this is."""

CLEAN, FAILURE = 0, 2

_USAGE = f"""torchdev-ruff: Ruff's command line, with the findings of torchdev-lint among Ruff's own.

Usage: torchdev-ruff [OPTIONS] <COMMAND>

Commands:
  check    Run Ruff and torchdev-lint on the given files or directories
  rule     Explain a rule of either (or all rules)
  linter   List all linters, torchdev-lint among them
  version  Display the versions
  config, clean, format, server, analyze, help: as in Ruff, which has to be installed

Options of `check` that Ruff does not have:
      --with-ruff <PATH>  The Ruff to run (default: the one beside the interpreter, or on the PATH)
      --without-ruff      Report the findings of torchdev-lint only
      --tidy-fixes        Format the lines that the fixes of torchdev-lint changed with `ruff format`

The rest of the command line is that of Ruff {SPOKEN}. Exit codes: 0 nothing found, 1 findings, 2 bad usage or an internal error.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: that of the process); returns the exit code, which is as Ruff's."""
    from torchdev_lint.cli import guarded

    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: _dispatch(arguments), "torchdev-ruff")


def _dispatch(arguments: list[str]) -> int:
    from torchdev_lint.shim.flags import GLOBAL_VALUES

    before: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        flag = rest.pop(0)
        before.append(flag)
        if flag.removeprefix("--") in GLOBAL_VALUES and rest:
            before.append(rest.pop(0))
    command = rest.pop(0) if rest else ""
    if not command and before and before[0] in ("-V", "--version"):
        return _version([])
    if not command and (not before or before[0] in ("-h", "--help")):
        print(_USAGE, end="", file=sys.stdout if before else sys.stderr)
        return CLEAN if before else FAILURE
    handlers: dict[str, Callable[[list[str]], int]] = {
        "check": lambda more: _check([*before, *more]),
        "version": _version,
        "rule": _rule,
        "linter": _linter,
    }
    if command in handlers:
        return handlers[command](rest)
    return _passed_through(arguments, command)


def _found() -> Ruff | None:
    from torchdev_lint.shim.program import Ruff, find_ruff

    path = find_ruff()
    return None if path is None else Ruff(path)


def _passed_through(arguments: list[str], command: str) -> int:
    ruff = _found()
    if ruff is None:
        raise ConfigError(
            f"{command or arguments[0]!r}: only Ruff itself can do this, and there is none (pip install ruff)"
        )
    return ruff.call(arguments)


def _check(arguments: list[str]) -> int:
    from torchdev_lint.shim.flags import (
        UnknownFlagError,
        UsageError,
        for_ruff,
        has_selection,
        parse,
        unknown_selectors,
    )
    from torchdev_lint.shim.program import RuffError

    try:
        command = parse(arguments)
    except UnknownFlagError as error:
        ruff = _found()
        if ruff is None:
            return _bad_usage(error)
        # A newer Ruff may know it, and then its findings are better than none; if not, it says so.
        print(f"warning: {error}; what follows is Ruff's alone", file=sys.stderr)
        return ruff.call(["check", *arguments])
    except UsageError as error:
        return _bad_usage(error)
    if command.has("help"):
        print(_USAGE, end="")
        return CLEAN
    ruff = _asked_for(command.value("with-ruff"), without=command.on("without-ruff"))
    if ruff is None:
        unknown = unknown_selectors(command)
        if unknown:
            raise ConfigError(f"unknown rule selector: `{unknown[0]}`")
    for name in ("watch", "show-settings", "add-ignore"):
        if command.has(name):
            if name == "watch":
                print(
                    "warning: --watch shows Ruff's findings only; `torchdev-lint --watch` shows ours",
                    file=sys.stderr,
                )
            if ruff is None:
                return _passed_through([f"--{name}"], "")
            return ruff.call(["check", *for_ruff(command), "--", *command.paths])
    data = sys.stdin.buffer.read() if command.reads_stdin else b""
    if ruff is not None and command.reads_stdin:
        from torchdev_lint.shim.quick import is_ruff_s_alone

        if has_selection(command, ours=False) and is_ruff_s_alone(data, command):
            return ruff.call(["check", *for_ruff(command), "--", "-"], data)
    from torchdev_lint.shim.check import check

    try:
        return check(command, ruff, data)
    except RuffError:
        return FAILURE


def _bad_usage(error: Exception) -> int:
    print(f"error: {error}\n\nFor more information, try '--help'.", file=sys.stderr)
    return FAILURE


def _asked_for(path: str | None, *, without: bool) -> Ruff | None:
    from torchdev_lint.shim.program import Ruff

    if without:
        return None
    if path is None:
        return _found()
    if not os.access(path, os.X_OK) or os.path.isdir(path):
        raise ConfigError(f"--with-ruff: {path}: no program")
    return Ruff(path)


def _version(arguments: list[str]) -> int:
    ruff = _found()
    wants_json = "--output-format=json" in arguments or arguments[-2:] == ["--output-format", "json"]
    theirs = SPOKEN if ruff is None else ruff.run(["--version"]).out.decode().split()[1]
    note = f"torchdev-lint {__version__}" + (", no Ruff installed" if ruff is None else "")
    if wants_json:
        import json

        facts = {
            "version": theirs,
            "commit_info": None,
            "torchdev_lint": __version__,
            "ruff_found": ruff is not None,
        }
        print(json.dumps(facts, indent=2))
    else:
        print(f"ruff {theirs} ({note})")
    return CLEAN


def _rule(arguments: list[str]) -> int:
    from torchdev_lint.cli_rule import all_facts, explain

    words = [word for word in arguments if not word.startswith("-")]
    ruff = _found()
    if ruff is None or any(word.upper().startswith("TDV") for word in words):
        return explain(arguments)
    if "--all" not in arguments:
        return ruff.call(["rule", *arguments])
    if "--output-format=json" in arguments or "json" in words:
        import json

        theirs = json.loads(ruff.run(["rule", *arguments]).out)
        print(json.dumps([*theirs, *all_facts()], indent=2, ensure_ascii=False))
        return CLEAN
    code = ruff.call(["rule", *arguments])
    print()
    return explain(arguments) or code


def _linter(arguments: list[str]) -> int:
    import json

    own = {"prefix": "TDV", "name": "torchdev-lint"}
    ruff = _found()
    listed = [own]
    if ruff is not None:
        listed += json.loads(ruff.run(["linter", "--output-format=json"]).out)
    listed.sort(key=lambda one: str(one["name"]).lower())
    if "json" in " ".join(arguments):
        print(json.dumps(listed, indent=2))
        return CLEAN
    if ruff is None:
        print(f"{own['prefix']:>4} {own['name']}")
        return CLEAN
    lines = ruff.run(["linter"]).out.decode().splitlines()
    lines.append(f"{own['prefix']:>4} {own['name']}")
    print("\n".join(sorted(lines, key=lambda line: line.split(None, 1)[-1].lower())))
    return CLEAN


if __name__ == "__main__":
    sys.exit(main())
