"""What the flags of `check` change of the configuration."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torchdev_lint.config import Config, ConfigError, Selection
from torchdev_lint.config_file import load_config_file, override
from torchdev_lint.engine.settings import Settings
from torchdev_lint.globs import anchored
from torchdev_lint.source.roots import given_as_roots


def _joined(lists: Sequence[tuple[str, ...]] | None) -> tuple[str, ...] | None:
    return None if lists is None else tuple(item for items in lists for item in items)


def settings_of(given: argparse.Namespace, paths: Sequence[str]) -> Settings:
    """The configuration of each file, with the flags on top, for a run on these paths. Raises `ConfigError`."""
    files = [value for value in given.config if os.path.isfile(value) or "=" not in value]
    inline = [value for value in given.config if value not in files]
    if len(files) > 1:
        raise ConfigError("--config: only one configuration file can be given")
    if files and given.isolated:
        raise ConfigError("--config: a configuration file cannot be given together with --isolated")
    root = os.getcwd()
    fixed = load_config_file(files[0], root) if files else Config(root=root) if given.isolated else None
    changes = _changes(given, root) | {"given": given_as_roots(paths)}

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
