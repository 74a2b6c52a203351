"""Replaces a file's content at once or not at all."""

from __future__ import annotations

import os
import stat
from contextlib import suppress


class WriteError(Exception):
    """A file that was not replaced and is as it was; the message is one line, without the path."""


def replace_content(path: str, data: bytes, expected: bytes, within: str | None = None) -> None:
    """Replace the content `expected` of the file at `path` by `data`, whole. Raises `WriteError`.

    Keeps mode, extended attributes and, where allowed, owner. A symbolic link stays one: its target is replaced, if
    that is in the directory `within`: a link that came with a project must not lead to other files of the user. A
    file with more names (hard links) is refused: they would part.
    """
    import tempfile  # Drags in random and shutil; most runs write nothing.

    target = os.path.realpath(path)
    if within is not None and os.path.islink(path) and not _is_below(target, os.path.realpath(within)):
        raise WriteError(f"not written: a link to a file outside of the project; give {target} instead")
    try:
        before = os.stat(target)
        _refuse_if_changed(target, expected)
        if not os.access(target, os.W_OK):
            # Replacing would need only the directory's permission, but read-only means: do not change.
            raise WriteError("not written: the file is read-only")
        if before.st_nlink > 1:
            raise WriteError(
                "not written: the file has other names (hard links), which would keep the old content"
            )
        descriptor, temporary = tempfile.mkstemp(
            prefix=f".{os.path.basename(target)}.", suffix=".tmp", dir=os.path.dirname(target)
        )
    except OSError as error:
        raise WriteError(f"not written: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _like(temporary, target, before)
        _refuse_if_changed(target, expected)
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise WriteError(f"not written: {error.strerror}") from None
        raise


def _is_below(path: str, directory: str) -> bool:
    try:
        return os.path.commonpath([path, directory]) == directory
    except ValueError:  # Another drive.
        return False


def _refuse_if_changed(target: str, expected: bytes) -> None:
    with open(target, "rb") as file:
        if file.read() != expected:
            raise WriteError("not written: the file was changed while it was checked")


def _like(temporary: str, target: str, before: os.stat_result) -> None:
    """Give the new file the owner, attributes and mode of the old one; the owner first, since that clears set-id bits."""
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(temporary, before.st_uid, before.st_gid)
    if hasattr(os, "listxattr"):
        with suppress(OSError):  # a file system may have none, or keep some for itself
            for name in os.listxattr(target):
                os.setxattr(temporary, name, os.getxattr(target, name))
    os.chmod(temporary, stat.S_IMODE(before.st_mode))
