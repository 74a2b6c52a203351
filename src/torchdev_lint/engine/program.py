"""What program this is: its version, its files, Python, LibCST. Imports next to nothing: a run without a change asks first of all."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

from torchdev_lint import __version__
from torchdev_lint.engine.stamps import stamp_of_path

_known: list[object] = []
"""Asked once in a process."""


def program() -> tuple[object, ...]:
    """Equal in two processes only if they would come to the same results."""
    if not _known:
        _known.extend((__version__, sys.version, sys.platform, _own_code(), _libcst()))
    return tuple(_known)


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
