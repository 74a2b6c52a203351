"""Whether a file is as it was: by what the file system says of it, else by its content."""

from __future__ import annotations

import os

Stamp = tuple[int, int, int, int]
"""Time of the last change (ns), size, inode, and when any of these was last set (ns): the first can be set back, the last
cannot. On Windows the last is the time of creation (https://docs.python.org/3/library/os.html#os.stat_result.st_ctime)."""

SURE_AFTER = 2_000_000_000
"""Nanoseconds that a change has to be old for the next one to get another time on any file system (FAT counts in 2 s)."""


def stamp_of(status: os.stat_result) -> Stamp:
    """The stamp in what `os.stat` says."""
    return (status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns)


def stamp_of_path(path: str) -> Stamp | None:
    """The stamp of a file or directory; None when there is none."""
    try:
        return stamp_of(os.stat(path))
    except (OSError, ValueError):
        return None


def digest_of(data: bytes) -> str:
    """A digest of a content."""
    import hashlib  # Not needed as long as the stamps are what they were.

    return hashlib.blake2b(data, digest_size=16).hexdigest()
