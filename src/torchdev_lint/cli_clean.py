"""`torchdev-lint clean`: removes what earlier runs kept."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from torchdev_lint.cli_options import cache_directory
from torchdev_lint.cli_parser import Parser
from torchdev_lint.config import ConfigError
from torchdev_lint.engine.cache_directory import DIRECTORY
from torchdev_lint.engine.cache_directory import clean as remove
from torchdev_lint.engine.settings import Settings


def parser() -> argparse.ArgumentParser:
    """The arguments of `clean`."""
    made = Parser(
        prog="torchdev-lint clean",
        description="Remove the results that earlier runs in this project kept.",
        allow_abbrev=False,
    )
    made.add_argument(
        "--cache-dir",
        metavar="PATH",
        help=f"the directory to remove (default: {DIRECTORY} in the project)",
    )
    return made


def clean(arguments: Sequence[str]) -> int:
    """Remove the kept results; returns the exit code. Raises `ConfigError` when they cannot be removed."""
    given = parser().parse_args(arguments)
    directory = cache_directory(given.cache_dir, Settings())
    try:
        if remove(directory):
            print(f"Removed {directory}")
    except ValueError as error:
        raise ConfigError(f"clean: {directory}: not removed: {error}") from None
    except OSError as error:
        raise ConfigError(f"clean: {directory}: cannot be removed: {error.strerror}") from None
    return 0
