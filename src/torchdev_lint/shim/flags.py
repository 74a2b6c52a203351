"""The command line of `ruff check`, read as Ruff reads it.

The flags are those of `ruff check --help` of Ruff 0.17.5, and the hidden ones that older clients still send.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

FAMILY = "TDV"
"""What our codes start with."""

_VALUES = frozenset(
    "select ignore extend-select extend-ignore per-file-ignores extend-per-file-ignores fixable unfixable extend-fixable "
    "extend-unfixable exclude extend-exclude output-format output-file target-version extension cache-dir stdin-filename "
    "config color line-length dummy-variable-rgx with-ruff".split()
)
_PAIRS = frozenset("fix unsafe-fixes show-fixes fix-only preview respect-gitignore force-exclude".split())
_SWITCHES = frozenset(
    "diff watch ignore-noqa statistics show-files show-settings no-cache exit-zero exit-non-zero-on-fix verbose quiet silent "
    "isolated help without-ruff tidy-fixes".split()
)
_OPTIONAL = frozenset(("add-noqa", "add-ignore"))
"""Flags whose value, if there is one, needs a `=`."""
_SHORT = {
    "w": "watch",
    "o": "output-file",
    "n": "no-cache",
    "e": "exit-zero",
    "v": "verbose",
    "q": "quiet",
    "s": "silent",
    "h": "help",
}
GLOBAL_VALUES = frozenset(("config", "color"))
"""Flags with a value that may stand before the command."""

_CODES = frozenset(
    "select ignore extend-select extend-ignore fixable unfixable extend-fixable extend-unfixable".split()
)
_PER_FILE = frozenset(("per-file-ignores", "extend-per-file-ignores"))
_OURS = frozenset(("with-ruff", "without-ruff", "tidy-fixes"))
"""Flags of this program that Ruff does not have."""

RUFF_FORMATS = "concise full json json-lines junit grouped github gitlab pylint rdjson azure sarif".split()
_VARIABLES = {"output-format": "RUFF_OUTPUT_FORMAT", "output-file": "RUFF_OUTPUT_FILE"}
"""Variables of the environment that stand for flags."""
_CHOICES = {"output-format": (*RUFF_FORMATS, "html"), "color": ("auto", "always", "never")}

LINTERS = (
    "AIR ERA FAST YTT ANN ASYNC S BLE FBT B A COM C4 CPY DTZ T10 DJ EM EXE FIX FA INT ISC ICN LOG G INP PIE T20 PYI PT Q RSE "
    "RET SLF SIM SLOT TID TD TC ARG PTH FLY I C90 NPY PD N PERF E W DOC D F PGH PL UP FURB RUF TRY"
).split()
"""The prefixes of Ruff's rules (`ruff linter`): without Ruff, its selectors are taken for what they are and left alone."""


class UsageError(Exception):
    """A command line that Ruff would not take; the message is what to print after `error: `."""


class UnknownFlagError(UsageError):
    """A flag that is not known here; a newer Ruff may know it."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag as it was given; `value` is None for a switch."""

    name: str
    value: str | None = None

    def text(self) -> str:
        """The flag as an argument."""
        return f"--{self.name}" if self.value is None else f"--{self.name}={self.value}"


@dataclass(frozen=True, slots=True)
class Command:
    """The arguments of `check`."""

    flags: tuple[Flag, ...]
    paths: tuple[str, ...]

    def on(self, name: str) -> bool:
        """Whether a switch is on; of `--x` and `--no-x`, the last one counts."""
        given = [flag.name == name for flag in self.flags if flag.name in (name, f"no-{name}")]
        return bool(given) and given[-1]

    def value(self, name: str) -> str | None:
        """The last value of a flag."""
        return next((flag.value for flag in reversed(self.flags) if flag.name == name), None)

    def has(self, name: str) -> bool:
        """Whether the flag was given at all."""
        return any(flag.name == name for flag in self.flags)

    @property
    def fixes(self) -> bool:
        """Whether fixes are to be applied."""
        return self.on("fix") or self.on("fix-only")

    @property
    def reads_stdin(self) -> bool:
        """Whether the source comes from standard input; a name for it is enough to say so."""
        return self.paths[:1] == ("-",) or (not self.paths and self.has("stdin-filename"))

    def without(self, *names: str) -> Command:
        """The command less some flags and their opposites."""
        dropped = {*names, *(f"no-{name}" for name in names)}
        return Command(tuple(flag for flag in self.flags if flag.name not in dropped), self.paths)


def parse(arguments: Sequence[str]) -> Command:
    """Read the arguments of `ruff check`. Raises `UsageError`, `UnknownFlagError`."""
    flags: list[Flag] = []
    paths: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            paths += rest
            break
        if argument.startswith("--"):
            flags.append(_long(argument, rest))
        elif argument.startswith("-") and argument != "-":
            flags += _short(argument, rest)
        else:
            paths.append(argument)
    command = Command((*_from_environment(flags), *flags), tuple(paths))
    if command.has("diff") and command.has("show-fixes"):
        raise UsageError("the argument '--show-fixes' cannot be used with '--diff'")
    return command


def _from_environment(given: Sequence[Flag]) -> Iterator[Flag]:
    """What the environment asks for and no flag decides."""
    for name, variable in _VARIABLES.items():
        value = os.environ.get(variable)
        if value and all(flag.name != name for flag in given):
            yield Flag(name, _checked(name, value))


def _checked(name: str, value: str) -> str:
    if value not in _CHOICES.get(name, (value,)):
        listed = ", ".join(_CHOICES[name])
        raise UsageError(f"invalid value '{value}' for '--{name}'\n  [possible values: {listed}]")
    return value


def _long(argument: str, rest: list[str]) -> Flag:
    name, equals, value = argument[2:].partition("=")
    if name in _VALUES:
        if not equals:
            if not rest:
                raise UsageError(f"a value is required for '--{name}' but none was supplied")
            value = rest.pop(0)
        return Flag(name, _checked(name, value))
    if name in _OPTIONAL:
        return Flag(name, value if equals else None)
    if name in _SWITCHES or name in _PAIRS or (name.startswith("no-") and name[3:] in _PAIRS):
        if equals:
            raise UsageError(f"unexpected value '{value}' for '--{name}' found; no more were expected")
        return Flag(name)
    raise UnknownFlagError(f"unexpected argument '--{name}' found")


def _short(argument: str, rest: list[str]) -> list[Flag]:
    flags = []
    letters = argument[1:]
    for index, letter in enumerate(letters):
        name = _SHORT.get(letter)
        if name is None:
            raise UnknownFlagError(f"unexpected argument '-{letter}' found")
        if name not in _VALUES:
            flags.append(Flag(name))
            continue
        value = letters[index + 1 :].removeprefix("=")
        if not value and not rest:
            raise UsageError(f"a value is required for '-{letter}' but none was supplied")
        flags.append(Flag(name, value or rest.pop(0)))
        break
    return flags


def _parts(value: str | None) -> list[str]:
    return [part.strip() for part in (value or "").split(",") if part.strip()]


def _is_ours(selector: str) -> bool:
    return selector.rpartition(":")[2].startswith(FAMILY)


def _chosen(command: Command, *, ours: bool) -> list[Flag]:
    """The flags with each list of selectors reduced to those of one side; `ALL` is for both."""
    flags = []
    for flag in command.flags:
        if flag.name in _CODES or flag.name in _PER_FILE:
            kept = [
                part
                for part in _parts(flag.value)
                if _is_ours(part) is ours or part.rpartition(":")[2] == "ALL"
            ]
            if kept or flag.name in ("select", "fixable"):
                flags.append(Flag(flag.name, ",".join(kept)))
        else:
            flags.append(flag)
    return flags


def has_selection(command: Command, *, ours: bool) -> bool:
    """Whether the flags leave one side any rules at all: `--select F401` turns all of ours off."""
    flags = _chosen(command, ours=ours)
    selects = [flag.value for flag in flags if flag.name == "select"]
    return not selects or any(selects) or any(flag.name == "extend-select" for flag in flags)


def for_ruff(command: Command) -> list[str]:
    """The arguments for Ruff itself, without our rules and flags, and without the paths."""
    flags = [flag for flag in _chosen(command, ours=False) if flag.name not in _OURS]
    chosen = [flag.text() for flag in flags if flag.name != "select" or flag.value]
    if any(flag.name == "select" for flag in flags) and not any("--select=" in text for text in chosen):
        # Only rules of ours were selected: what else is selected is all that Ruff is to look for.
        chosen = [text.replace("--extend-select=", "--select=") for text in chosen]
    return chosen


_ALIKE = frozenset(
    "fix no-fix unsafe-fixes no-unsafe-fixes show-fixes no-show-fixes diff ignore-noqa statistics show-files isolated "
    "respect-gitignore no-respect-gitignore force-exclude no-force-exclude exit-zero exit-non-zero-on-fix quiet verbose color "
    "output-format output-file stdin-filename exclude extend-exclude select extend-select ignore fixable extend-fixable "
    "unfixable per-file-ignores extend-per-file-ignores add-noqa".split()
)
_RENAMED = {"extend-ignore": "ignore", "extend-unfixable": "unfixable", "silent": "quiet", "fix-only": "fix"}


def for_us(command: Command, configs: Iterable[str] = ()) -> list[str]:
    """The arguments for our own `check`; `configs` are configuration files that speak of us."""
    arguments = []
    for flag in _chosen(command, ours=True):
        name = _RENAMED.get(flag.name, flag.name)
        if name == "select" and not flag.value:
            arguments.append("--ignore=ALL")  # only rules of Ruff were selected
        elif name in _ALIKE:
            arguments.append(Flag(name, flag.value).text())
    arguments += [f"--config={path}" for path in configs]
    paths = ("-",) if command.reads_stdin else command.paths
    return [*arguments, "--", *paths]


def unknown_selectors(command: Command) -> list[str]:
    """The selectors that belong neither to us nor to Ruff."""
    return [
        selector
        for flag in command.flags
        if flag.name in _CODES
        for selector in _parts(flag.value)
        if selector != "ALL" and not selector.startswith((FAMILY, *LINTERS))
        if not any(prefix.startswith(selector) for prefix in LINTERS)
    ]
