"""Reads `[tool.torchdev-lint]` from TOML into a `Config`; finds it in a directory."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from torchdev_lint.config import OUTPUT_FORMATS, Config, ConfigError, did_you_mean

SECTION = "torchdev-lint"
FILE_NAME = "pyproject.toml"

_DOTTED_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*\Z")


def config_in(directory: str) -> Config | None:
    """The configuration in `directory` itself; None without a pyproject.toml with our section.

    Raises `ConfigError`.
    """
    path = os.path.join(directory, FILE_NAME)
    table = _section_of(path)
    return None if table is None else config_from_table(table, path, Config(root=os.path.abspath(directory)))


def load_config_file(path: str, root: str) -> Config:
    """The configuration in the TOML file `path`; patterns are taken relative to `root`.

    The section `[tool.torchdev-lint]` is read where there is one (and always in a pyproject.toml), else the
    file's top. Raises `ConfigError`.
    """
    document = _parse_file(path)
    section = _section(document, path)
    if section is None:
        section = {} if os.path.basename(path) == FILE_NAME else document
    return config_from_table(section, path, Config(root=os.path.abspath(root)))


def override(base: Config, assignment: str) -> Config:
    """`base` with an inline TOML `key = value` on top. Raises `ConfigError`."""
    return config_from_table(_parse_text(assignment, "--config"), "--config", base)


def config_from_table(table: Mapping[str, Any], where: str, base: Config) -> Config:
    """`base` with the keys of `table` on top; `where` names the source in errors. Raises `ConfigError`."""
    changes: dict[str, Any] = {}
    for key, value in table.items():
        reader = _READERS.get(key)
        if reader is None:
            raise ConfigError(f"{where}: unknown key {key!r} (= {value!r}){did_you_mean(key, _READERS)}")
        try:
            changes[key.replace("-", "_")] = reader(value)
        except ValueError as error:
            raise ConfigError(f"{where}: {key!r} must be {error}, not {value!r}") from None
    if "stubs" in changes:
        changes["stubs"] = tuple(os.path.join(base.root, path) for path in changes["stubs"])
    return replace(base, **changes)


def _section_of(path: str) -> Mapping[str, Any] | None:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    # Most projects have no section of ours: neither pay for the TOML parser nor complain of their mistakes.
    if SECTION.encode() not in data:
        return None
    return _section(_parse_bytes(data, path), path)


def _section(document: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    tool = document.get("tool", {})
    section = tool.get(SECTION) if isinstance(tool, dict) else None
    if section is not None and not isinstance(section, dict):
        raise ConfigError(f"{path}: 'tool.{SECTION}' must be a table, not {section!r}")
    return section


def _parse_file(path: str) -> Mapping[str, Any]:
    try:
        with open(path, "rb") as file:
            return _parse_bytes(file.read(), path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def _parse_bytes(data: bytes, path: str) -> Mapping[str, Any]:
    try:
        return _parse_text(data.decode("utf-8"), path)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid UTF-8 at byte {error.start}") from None


def _parse_text(text: str, where: str) -> Mapping[str, Any]:
    # Imported by name: type checkers see only one of the two, and neither is needed without a pyproject.toml.
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        return dict(toml.loads(text))
    except ValueError as error:
        raise ConfigError(f"{where}: not valid TOML: {error}") from None


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("a list of strings")
    return tuple(value)


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(
        isinstance(name, str) and _DOTTED_NAME.match(name) for name in value
    ):
        raise ValueError("a list of function names such as 'encode' or 'mylib.encode'")
    return tuple(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _format(value: object) -> str:
    if value not in OUTPUT_FORMATS:
        raise ValueError(f"one of {', '.join(OUTPUT_FORMATS)}")
    return str(value)


def _ignores(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise ValueError("a table of patterns and lists of codes")
    try:
        return tuple((str(pattern), _strings(codes)) for pattern, codes in value.items())
    except ValueError:
        raise ValueError("a table of patterns and lists of codes") from None


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "select": _strings,
    "extend-select": _strings,
    "ignore": _strings,
    "per-file-ignores": _ignores,
    "src": _strings,
    "tensor-constructors": _names,
    "stubs": _strings,
    "exclude": _strings,
    "extend-exclude": _strings,
    "force-exclude": _flag,
    "respect-gitignore": _flag,
    "unsafe-fixes": _flag,
    "output-format": _format,
}
