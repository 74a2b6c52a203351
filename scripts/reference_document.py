"""What is derived from the parsers: docs/reference.md, the flags of every command."""

from __future__ import annotations

from fixture_files import ROOT

from torchdev_lint.cli_completion import PROGRAM, Command, Flag, commands

REFERENCE = ROOT / "docs" / "reference.md"

_HEAD = f"""# The command line

Written by `python scripts/derive.py` from the parsers; `{PROGRAM} --help` and `{PROGRAM} COMMAND --help` print the same.
`check` is the command where none is named, and a path that is named like a command is reached as `./check`. Exit codes:
0 nothing is left to report, 1 findings are left, 2 bad usage or configuration, or an internal error; 130 interrupted,
141 whoever read the output has gone. The keys of the configuration are in [configuration.md](configuration.md), the formats in
[formats.md](formats.md), the rules in [rules.md](../rules.md).
"""


def reference() -> str:
    """The whole of docs/reference.md."""
    return "\n".join([_HEAD, *(_command(one) for one in commands())])


def _command(one: Command) -> str:
    usage = " ".join(filter(None, [PROGRAM, one.name, "[flags]" if one.flags else "", one.words]))
    head = f"## {one.name}\n\n{one.help[:1].upper()}{one.help[1:]}: `{usage}`\n"
    flags = [flag for flag in one.flags if "--help" not in flag.names]
    if not flags:
        return head
    rows = "\n".join(f"| {_names(flag)} | {_text(flag)} |" for flag in flags)
    return f"{head}\n| flag | |\n|---|---|\n{rows}\n"


def _names(flag: Flag) -> str:
    names = ", ".join(f"`{name}`" for name in flag.names)
    return (
        f"{names} `{_escaped(flag.shown)}`"
        if flag.takes and (not flag.values or flag.shown == "CODES")
        else names
    )


def _text(flag: Flag) -> str:
    if flag.shown == "CODES" or not flag.values:
        return _escaped(flag.help)
    return (
        f"{_escaped(flag.help)}{': ' if flag.help else ''}{', '.join(f'`{value}`' for value in flag.values)}"
    )


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
