"""From a path to bytes, and what kind of file the bytes are, by the name."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from torchdev_lint.source.document import Document

if TYPE_CHECKING:
    from torchdev_lint.source.notebook import Notebook

NOTEBOOK_SUFFIX = ".ipynb"


def read_bytes(path: str) -> bytes:
    """The content of a regular file. Raises `OSError`, with a `strerror` that can be shown.

    A pipe or a device may have no end, or keep its reader waiting for ever: neither is opened in earnest.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        return file.read()


def read_source(data: bytes, path: str) -> Document | Notebook:
    """The source that the content `data` of the file `path` holds. Raises `SourceError`."""
    if path.endswith(NOTEBOOK_SUFFIX):
        from torchdev_lint.source.notebook import Notebook  # Most runs see none.

        return Notebook.from_bytes(data, path)
    return Document.from_bytes(data, path)
