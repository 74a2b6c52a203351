"""What a result depends on besides the files that were read for it: the tool, what it stands on, the configuration."""

from __future__ import annotations

import json
from dataclasses import fields

from torchdev_lint.config import Config
from torchdev_lint.engine.program import program
from torchdev_lint.engine.stamps import stamp_of_path

_IRRELEVANT = frozenset(
    "source include extend_include exclude extend_exclude force_exclude respect_gitignore unsafe_fixes output_format".split()
)
"""Fields of a configuration that say which files are checked and what is done with the results, not what they are."""


def cache_key(config: Config) -> str:
    """A text that is equal for two runs only if every file comes to the same in both."""
    return json.dumps([*program(), _settings(config)], separators=(",", ":"))


def _settings(config: Config) -> dict[str, object]:
    told: dict[str, object] = {
        field.name: _plain(getattr(config, field.name))
        for field in fields(config)
        if field.name not in _IRRELEVANT
    }
    told["stub files"] = [[path, stamp_of_path(path)] for path in config.stubs]
    return told


def _plain(value: object) -> object:
    """Sets sorted, everything else as Python writes it."""
    return sorted(value) if isinstance(value, frozenset) else repr(value)
