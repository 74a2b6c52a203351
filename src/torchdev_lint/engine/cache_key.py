"""What a result depends on besides the files that were read for it: the tool, what it stands on, the configuration."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import fields
from functools import cache
from importlib.machinery import PathFinder

from torchdev_lint import __version__
from torchdev_lint.config import Config
from torchdev_lint.engine.stamps import stamp_of_path

_IRRELEVANT = frozenset(
    "source include extend_include exclude extend_exclude force_exclude respect_gitignore unsafe_fixes output_format".split()
)
"""Fields of a configuration that say which files are checked and what is done with the results, not what they are."""


def cache_key(config: Config) -> str:
    """A text that is equal for two runs only if every file comes to the same in both."""
    return json.dumps([*_program(), _settings(config)], separators=(",", ":"))


@cache
def _program() -> tuple[object, ...]:
    return (__version__, sys.version, sys.platform, _own_code(), _libcst())


def _own_code() -> list[object]:
    """The files of this package: a checkout changes without its version."""
    pending = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    newest = count = size = 0
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in ("__pycache__", "harness"):
                        pending.append(entry.path)
                elif entry.name.endswith((".py", ".toml")):
                    status = entry.stat()
                    newest = max(newest, status.st_mtime_ns)
                    count += 1
                    size += status.st_size
    return [newest, count, size]


def _libcst() -> str:
    """The version of LibCST, which is not imported for it."""
    spec = PathFinder.find_spec("libcst")
    if spec is None or spec.origin is None:
        return ""
    directory = os.path.dirname(spec.origin)
    try:
        with open(os.path.join(directory, "_version.py"), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return repr(stamp_of_path(spec.origin))


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
