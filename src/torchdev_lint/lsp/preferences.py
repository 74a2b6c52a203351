"""What the user has set in the editor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from torchdev_lint.config import Config, Selection, did_you_mean
from torchdev_lint.config_file import load_config_file
from torchdev_lint.engine.settings import Settings
from torchdev_lint.source.roots import given_as_roots

SECTION = "torchdev-lint"
"""The section of the client's settings that is ours."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """Settings of the editor; those that choose rules go over the project's, as the command line's do."""

    configuration: str | None = None
    """A TOML file that is read in place of the project's."""
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    inlay_hints: bool = True
    syntax_errors: bool = True
    """Whether TDV999 is shown: other servers tell of syntax errors, too."""
    delay: int = 200
    """Milliseconds without a keystroke before a text is checked."""

    def settings(self, root: str) -> Settings:
        """The configuration for each directory. Raises `ConfigError`."""
        fixed = None if self.configuration is None else load_config_file(self.configuration, root)
        roots = given_as_roots([root])
        over = Selection(self.select, self.extend_select, self.ignore)

        def overlay(config: Config) -> Config:
            return replace(config, command_line=over, given=roots)

        return Settings(fixed, overlay)


def read_preferences(given: object) -> tuple[Preferences, list[str]]:
    """The preferences in a client's settings, and what is wrong with them, one line each: such keys are left out.

    Taken is the object itself, or what it has under the name of the section.
    """
    if given is None:
        return Preferences(), []
    if not isinstance(given, Mapping):
        return Preferences(), [f"settings: expected an object, not {given!r}"]
    table = given.get(SECTION, given)
    if table is None:
        return Preferences(), []
    if not isinstance(table, Mapping):
        return Preferences(), [f"settings: {SECTION!r} must be an object, not {table!r}"]
    changes: dict[str, Any] = {}
    problems = []
    for key, value in table.items():
        reader = _READERS.get(key)
        if reader is None:
            problems.append(f"settings: unknown key {key!r}{did_you_mean(str(key), _READERS)}")
            continue
        name, read = reader
        try:
            changes[name] = read(value)
        except ValueError as error:
            problems.append(f"settings: {key!r} must be {error}, not {value!r}")
    return Preferences(**changes), problems


def _path(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError("the path of a TOML file")
    return value or None


def _codes(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("a list of codes")
    return tuple(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _milliseconds(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 60_000:
        raise ValueError("a number of milliseconds, from 0 to 60000")
    return value


_READERS: Mapping[str, tuple[str, Callable[[object], Any]]] = {
    "configuration": ("configuration", _path),
    "select": ("select", _codes),
    "extendSelect": ("extend_select", _codes),
    "ignore": ("ignore", _codes),
    "inlayHints": ("inlay_hints", _flag),
    "showSyntaxErrors": ("syntax_errors", _flag),
    "delay": ("delay", _milliseconds),
}
