"""The texts of a project's files, read from disk and parsed once for all that import them."""

from __future__ import annotations

import os
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchdev_lint.engine.check import unify_newlines
from torchdev_lint.engine.parsing import ParseError, parse_module
from torchdev_lint.files import read_bytes
from torchdev_lint.source.document import Document, SourceError

if TYPE_CHECKING:
    import libcst as cst

MAX_BYTES = 400_000
"""Files longer than this are data, or generated: they are not read for what imports them."""
MAX_KEPT = 2_500_000
"""Bytes of source text whose trees are kept; those used least recently go first."""


@dataclass(slots=True)
class _Kept:
    stamp: tuple[int, int]
    text: str | None
    tree: cst.Module | None = None
    parsed: bool = False


class DiskSources:
    """Reads files on demand. One is made for a run; a file that changes meanwhile is read again."""

    def __init__(self) -> None:
        self._exists: dict[str, bool] = {}
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._size = 0

    def exists(self, path: str) -> bool:
        """Whether there is a file or a directory."""
        found = self._exists.get(path)
        if found is None:
            found = self._exists[path] = os.path.exists(path)
        return found

    def look_again(self) -> None:
        """Files may have come or gone since they were last looked for."""
        self._exists.clear()

    def text(self, path: str) -> str | None:
        """The text of a file, with "\\n" for every line end; None when it cannot be read or is too long."""
        kept = self._read(path)
        return None if kept is None else kept.text

    def tree(self, path: str) -> cst.Module | None:
        """The parsed text; None when there is none or it does not parse."""
        kept = self._read(path)
        if kept is None or kept.text is None:
            return None
        if not kept.parsed:
            kept.parsed = True
            try:
                kept.tree = parse_module(kept.text)
            except ParseError:
                kept.tree = None
        return kept.tree

    def _read(self, path: str) -> _Kept | None:
        try:
            status = os.stat(path)
        except OSError:
            return None
        stamp = (status.st_mtime_ns, status.st_size)
        kept = self._kept.get(path)
        if kept is not None and kept.stamp == stamp:
            self._kept.move_to_end(path)
            return kept
        kept = _Kept(stamp, _text(path) if status.st_size <= MAX_BYTES else None)
        previous = self._kept.pop(path, None)
        self._size += status.st_size - (previous.stamp[1] if previous is not None else 0)
        self._kept[path] = kept
        while self._size > MAX_KEPT and len(self._kept) > 1:
            _, oldest = self._kept.popitem(last=False)
            self._size -= oldest.stamp[1]
        return kept


def _text(path: str) -> str | None:
    try:
        return unify_newlines(Document.from_bytes(read_bytes(path), path).text)
    except (OSError, SourceError):
        return None
