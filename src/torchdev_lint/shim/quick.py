"""Whether a text is none of our business, decided without loading the linter: most of what an editor sends is."""

from __future__ import annotations

import os

from torchdev_lint.config import Config, ConfigError
from torchdev_lint.config_file import config_in
from torchdev_lint.engine.prefilter import may_matter
from torchdev_lint.shim.flags import FAMILY, RUFF_FORMATS, Command


def is_ruff_s_alone(data: bytes, command: Command) -> bool:
    """Whether only Ruff can have anything to say of `data`, and none of our codes stands in it."""
    if FAMILY.encode() in data or command.value("output-format") not in (None, *RUFF_FORMATS):
        return False
    if command.has("config"):
        return False  # It may be ours, too.
    try:
        config = None if command.has("isolated") else _nearest(command.value("stdin-filename") or "")
    except ConfigError:
        return False  # To be reported where everything else is.
    return not may_matter(data, config or Config())


def _nearest(path: str) -> Config | None:
    directory = os.path.dirname(os.path.abspath(path or "-"))
    while True:
        config = config_in(directory)
        parent = os.path.dirname(directory)
        if config is not None or parent == directory:
            return config
        directory = parent
