"""Reads `[tool.torchdev-lint]` or torchdev-lint.toml into a `Config`; finds it in a directory."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from torchdev_lint.config import Config, ConfigError, covers, did_you_mean
from torchdev_lint.files import read_bytes
from torchdev_lint.globs import anchored

SECTION = "torchdev-lint"
PYPROJECT = "pyproject.toml"
FILE_NAMES = (".torchdev-lint.toml", "torchdev-lint.toml", PYPROJECT)
"""The files that a directory's configuration may be in, the first that counts first."""
_SPELLINGS = (SECTION.encode(), SECTION.replace("-", "_").encode())
"""What a file must mention to be parsed: the section, or the package's name, which is easily written instead."""


def config_in(directory: str) -> Config | None:
    """The configuration in `directory` itself; None without a file of ours or a section in its pyproject.toml.

    Of several files the first of `FILE_NAMES` counts. Raises `ConfigError`.
    """
    for name in FILE_NAMES:
        path = os.path.join(directory, name)
        data = _read(path)
        # Most projects have no section of ours: neither pay for the TOML parser nor complain of their mistakes.
        if data is None or (name == PYPROJECT and not any(one in data for one in _SPELLINGS)):
            continue
        document = _parse_bytes(data, path)
        section = _section(document, path)
        if section is None and name == PYPROJECT:
            continue
        return _of_file(document if section is None else section, path, os.path.abspath(directory), ())
    return None


def load_config_file(path: str, root: str) -> Config:
    """The configuration in the TOML file `path`; patterns are taken relative to `root`.

    The section `[tool.torchdev-lint]` is read where there is one (and always in a pyproject.toml), else the
    file's top. Raises `ConfigError`.
    """
    return _load(path, os.path.abspath(root), ())


def override(base: Config, assignment: str) -> Config:
    """`base` with an inline TOML `key = value` on top. Raises `ConfigError`."""
    try:
        table = parse_text(assignment, "--config")
    except ConfigError as error:
        raise ConfigError(f"{error} in {assignment!r}; a string needs its quotes") from None
    if "extend" in table:
        raise ConfigError(f"--config: 'extend' (= {table['extend']!r}) can only stand in a file")
    return config_from_table(table, "--config", base)


def config_from_table(table: Mapping[str, Any], where: str, base: Config) -> Config:
    """`base` with the keys of `table`, less `extend`, on top; `where` names the source in errors. Raises `ConfigError`."""
    return replace(base, **_changes(table, where, base.root))


def _changes(table: Mapping[str, Any], where: str, root: str, *, quoted: bool = True) -> dict[str, Any]:
    """The fields of a `Config` that a table sets; `quoted` says whether the message on an unknown key may quote its value."""
    from torchdev_lint.config_options import BY_NAME

    changes: dict[str, Any] = {}
    for key, value in table.items():
        option = BY_NAME.get(key)
        if option is None:
            given = f" (= {value!r})" if quoted else ""
            # Ruff has tables within its table: `lint`, `format`.
            nested = isinstance(value, dict) and any(one in BY_NAME for one in value)
            near = "; its keys stand one table further up" if nested else did_you_mean(key, BY_NAME)
            raise ConfigError(f"{where}: unknown key {key!r}{given}{near}")
        try:
            changes[option.field] = option.kind.read(value)
        except ValueError as error:
            raise ConfigError(
                f"{where}: {key!r} must be {error}, not {value!r}{_near(option.kind.schema, value)}"
            ) from None
    changes.pop("extend", None)
    if "stubs" in changes:
        changes["stubs"] = tuple(os.path.join(root, path) for path in changes["stubs"])
    return changes


def _near(schema: Mapping[str, Any], value: object) -> str:
    """The near miss where a value is one of a few words."""
    return did_you_mean(value, schema["enum"]) if "enum" in schema and isinstance(value, str) else ""


def _load(path: str, root: str, extended_by: tuple[str, ...], named: str = "") -> Config:
    try:
        document = _parse_bytes(read_bytes(path), path)
    except OSError as error:
        where = f"{extended_by[-1]}: 'extend': " if extended_by else ""
        raise ConfigError(f"{where}{named or path}: cannot be read: {error.strerror}") from None
    section = _section(document, path)
    if section is None:
        section = {} if os.path.basename(path) == PYPROJECT else document
    return _of_file(section, path, root, extended_by)


def _of_file(table: Mapping[str, Any], path: str, root: str, extended_by: tuple[str, ...]) -> Config:
    """The configuration of the file `path`, on top of the one that it extends."""
    # Whoever writes an `extend` may point it at any file; what is in there is not for the log of a CI run.
    changes = _changes(table, path, root, quoted=not extended_by)
    start = table.get("extend")
    if start is None:
        return replace(Config(root=root, source=path), **changes)
    start = os.path.expanduser(os.path.expandvars(start))
    start = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(path)), start))
    known = (*extended_by, path)
    if os.path.realpath(start) in {os.path.realpath(one) for one in known}:
        raise ConfigError(f"{path}: 'extend' (= {table['extend']!r}) leads back to {start}")
    # The value of a variable may be a secret: a file that is not there is named as the configuration names it.
    base = _load(start, os.path.dirname(start), known, table["extend"] if "$" in table["extend"] else "")
    return replace(_at_home(base), **_added(base, changes), root=root, source=path)


def _at_home(base: Config) -> Config:
    """`base` with patterns and paths that mean the same under another root."""

    def here(patterns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(anchored(pattern, base.root) for pattern in patterns)

    changes: dict[str, Any] = {
        name: here(getattr(base, name)) for name in ("include", "extend_include", "exclude", "extend_exclude")
    }
    for name in ("per_file_ignores", "extend_per_file_ignores"):
        changes[name] = tuple((anchored(pattern, base.root), codes) for pattern, codes in getattr(base, name))
    if base.src != Config().src:
        changes["src"] = tuple(os.path.join(base.root, path) for path in base.src)
    return replace(base, **changes)


def _added(base: Config, changes: Mapping[str, Any]) -> dict[str, Any]:
    """`changes` with what is added to the lists of `base` rather than put in their place."""
    home = _at_home(base)
    added = dict(changes)
    for name in ("extend_exclude", "extend_include", "extend_per_file_ignores"):
        added[name] = (*getattr(home, name), *changes.get(name, ()))
    for chosen, extended, refused in (
        ("select", "extend_select", "ignore"),
        ("fixable", "extend_fixable", "unfixable"),
    ):
        if chosen in changes:
            # A selection of its own starts afresh.
            added |= {name: changes.get(name, ()) for name in (extended, refused)}
            continue
        more, less = changes.get(extended, ()), changes.get(refused, ())
        before = getattr(base, chosen)
        added[chosen] = None if before is None else _without(before, less)
        added[extended] = (*_without(getattr(base, extended), less), *more)
        added[refused] = (*_without(getattr(base, refused), more), *less)
    return added


def _without(selectors: tuple[str, ...], contradicting: tuple[str, ...]) -> tuple[str, ...]:
    """The selectors less those that a later file takes back as a whole."""
    return tuple(one for one in selectors if not any(covers(other, one) for other in contradicting))


def _read(path: str) -> bytes | None:
    """The bytes of a file that need not be there."""
    try:
        return read_bytes(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def _section(document: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    tool = document.get("tool", {})
    section = tool.get(SECTION) if isinstance(tool, dict) else None
    if section is None and isinstance(tool, dict) and SECTION.replace("-", "_") in tool:
        raise ConfigError(f"{path}: the table is 'tool.{SECTION}', not 'tool.{SECTION.replace('-', '_')}'")
    if section is not None and not isinstance(section, dict):
        raise ConfigError(f"{path}: 'tool.{SECTION}' must be a table, not {section!r}")
    return section


def _parse_bytes(data: bytes, path: str) -> Mapping[str, Any]:
    try:
        return parse_text(data.decode("utf-8"), path)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid UTF-8 at byte {error.start}") from None


def parse_text(text: str, where: str) -> Mapping[str, Any]:
    """The tables of a TOML text. Raises `ConfigError`, which names `where`."""
    # Imported by name: type checkers see only one of the two, and neither is needed without a pyproject.toml.
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        return dict(toml.loads(text))
    except ValueError as error:
        raise ConfigError(f"{where}: not valid TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{where}: not valid TOML: nested too deeply") from None
