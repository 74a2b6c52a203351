"""What Python files and notebooks there are below a directory: what a project is searched in."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

from torchdev_lint.config import DEFAULT_EXCLUDE
from torchdev_lint.engine.stamps import Stamp, digest_of, stamp_of, stamp_of_path

MAX_BYTES = 400_000
"""Files longer than this are data, or generated: they are not read for what imports them."""
MAX_NOTEBOOK_BYTES = 10 * MAX_BYTES
"""The same for notebooks, which hold pictures and are only searched."""
MAX_FILES = 2_000
"""Of a project that is searched for callers."""
_NOT_OF_PROJECTS = {*DEFAULT_EXCLUDE, "env"}

SearchKey = tuple[str, str, bool]
"""Where was searched, for which word, and whether in notebooks instead of Python files."""


@dataclass(frozen=True)
class Below:
    """What Python files, notebooks and directories there are below a directory."""

    directories: dict[str, Stamp | None]
    files: dict[str, Stamp]
    notebooks: dict[str, Stamp]

    @cached_property
    def fingerprint(self) -> str:
        """What two listings share that have the same files, unchanged. Directories that hold none, and other files, may come and go."""
        return digest_of(
            repr((self.files, sorted(self.notebooks.items()))).encode("utf-8", "surrogateescape")
        )


def listed(directory: str) -> Below | None:
    """What is below a directory, sorted; None for more than `MAX_FILES` files, or directories."""
    below = Below({}, {}, {})
    pending = [directory]
    while pending:
        current = pending.pop()
        below.directories[current] = stamp_of_path(current)
        try:
            with os.scandir(current) as entries:
                listing = sorted(entries, key=lambda entry: entry.name)
            for entry in listing:
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith(".") and entry.name not in _NOT_OF_PROJECTS:
                        pending.append(entry.path)
                elif entry.name.endswith(".py"):
                    status = entry.stat()
                    if status.st_size <= MAX_BYTES:
                        below.files[entry.path] = stamp_of(status)
                elif entry.name.endswith(".ipynb"):
                    status = entry.stat()
                    if status.st_size <= MAX_NOTEBOOK_BYTES:
                        below.notebooks[entry.path] = stamp_of(status)
        except OSError:
            continue
        if len(below.files) > MAX_FILES or len(below.directories) > MAX_FILES:
            return None
    return Below(below.directories, dict(sorted(below.files.items())), below.notebooks)
