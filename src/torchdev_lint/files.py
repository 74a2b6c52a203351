"""Reading files: only what has an end."""

from __future__ import annotations

import errno
import os
import stat


def named_beside(path: str, other: str) -> str:
    """The absolute path `other` as the user would give it, who gave `path`."""
    return other if os.path.isabs(path) else os.path.relpath(other)


def read_bytes(path: str, limit: int = -1) -> bytes:
    """The content of a regular file, its first `limit` bytes if there is one. Raises `OSError`, with a `strerror` that can be shown.

    A pipe or a device may have no end, or keep its reader waiting for ever: neither is opened in earnest.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        return file.read(limit)
