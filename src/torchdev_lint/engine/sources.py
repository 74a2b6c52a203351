"""The texts of a project's files, read from disk and parsed once for all that import them."""

from __future__ import annotations

import os
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchdev_lint.engine.check import unify_newlines
from torchdev_lint.engine.joined_texts import Joined, joined
from torchdev_lint.engine.listings import MAX_BYTES, MAX_NOTEBOOK_BYTES, Below, SearchKey, listed
from torchdev_lint.engine.parsing import ParseError, parse_module
from torchdev_lint.engine.stamps import Stamp, digest_of, stamp_of, stamp_of_path
from torchdev_lint.files import read_bytes
from torchdev_lint.source.cells import CellError
from torchdev_lint.source.document import SourceError
from torchdev_lint.source.reading import NOTEBOOK_SUFFIX, read_source

if TYPE_CHECKING:
    import libcst as cst

MAX_KEPT = 2_200_000
"""Bytes of source text whose trees are kept. Those that were only asked for once go first, then those used least recently."""
TEXT_ALONE = 30
"""Times as much memory as a text is taken by its tree, about: that is what a text counts less that is kept without."""


@dataclass(slots=True)
class Seen:
    """What was looked at on disk, and what was seen there: as long as that is so, so is whatever was concluded from it."""

    directories: dict[str, tuple[Stamp | None, dict[str, bool]]] = field(default_factory=dict)
    """By directory: its stamp before it was looked at (None when there is none), and which names were there."""
    files: dict[str, tuple[Stamp, str]] = field(default_factory=dict)
    """By path: the stamp, and the digest of the content."""
    searches: dict[SearchKey, tuple[str, ...]] = field(default_factory=dict)
    """The files that searches found."""
    listings: dict[str, str] = field(default_factory=dict)
    """By directory that was searched: `Below.fingerprint` of it."""


@dataclass(slots=True)
class _Kept:
    stamp: Stamp
    text: str | None
    digest: str
    tree: cst.Module | None = None
    parsed: bool = False

    @property
    def size(self) -> int:
        """What it counts of `MAX_KEPT`: not the pictures in a notebook, which are let go at once."""
        length = 0 if self.text is None else len(self.text)
        return length if self.parsed else length // TEXT_ALONE


class DiskSources:
    """Reads files on demand. One is made for a run; a file that changes meanwhile is read again."""

    def __init__(self) -> None:
        self._exists: dict[str, bool] = {}
        self._directories: dict[str, Stamp | None] = {}
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._once: OrderedDict[str, None] = OrderedDict()
        """Of these, whose tree was asked for once at most."""
        self._asked: set[str] = set()
        """Whose tree was ever asked for."""
        self._size = 0
        self._seen: Seen | None = None
        self._below: dict[str, Below | None] = {}
        self._mentioning: dict[tuple[str, str, bool], tuple[str, ...]] = {}
        self._joined: dict[tuple[str, bool], Joined | None] = {}
        self._gone: set[int] = set()
        """What trees consisted of that were let go, by `id`."""

    def watch(self) -> Seen:
        """What is looked at from here on, until this is called again."""
        self._seen = Seen()
        return self._seen

    def exists(self, path: str) -> bool:
        """Whether there is a file or a directory."""
        directory, name = os.path.split(path)
        found = self._exists.get(path)
        if found is None:
            if directory not in self._directories:
                self._directories[directory] = stamp_of_path(directory)
            found = self._exists[path] = os.path.exists(path)
        if self._seen is not None:
            entry = self._seen.directories.get(directory)
            if entry is None:
                entry = self._seen.directories[directory] = (self._directories.get(directory), {})
            entry[1][name] = found
        return found

    def look_again(self) -> None:
        """Files may have come or gone since they were last looked for."""
        self._exists.clear()
        self._directories.clear()
        self._below.clear()
        self._mentioning.clear()
        self._joined.clear()

    def searches(self, directory: str, path: str) -> bool:
        """Whether a file is one of those below a directory that are searched: none is where there are too many."""
        below = self._listed(directory)
        return below is not None and (path in below.files or path in below.notebooks)

    def mentioning(self, directory: str, word: str, *, notebooks: bool = False) -> tuple[str, ...]:
        """The Python files (or notebooks) below a directory whose text has the word; none where there are too many files to look.

        What is concluded from it depends on what is found, as long as nothing is read of it.
        """
        below = self._listed(directory)
        if below is None:
            return ()
        files = below.notebooks if notebooks else below.files
        key = (directory, word, notebooks)
        if key not in self._mentioning:
            if (directory, notebooks) not in self._joined:
                self._joined[directory, notebooks] = joined(files)
            texts = self._joined[directory, notebooks]
            sought = word.encode()
            self._mentioning[key] = (
                tuple(path for path in files if sought in (_data(path) or b""))
                if texts is None
                else tuple(texts.having(sought))
            )
        if self._seen is not None:
            self._seen.searches[key] = self._mentioning[key]
            self._seen.listings[directory] = below.fingerprint
        return self._mentioning[key]

    def _listed(self, directory: str) -> Below | None:
        if directory not in self._below:
            self._below[directory] = listed(directory)
        return self._below[directory]

    def text(self, path: str) -> str | None:
        """The text of a file, with "\\n" for every line end, of a notebook its cells as one program; None for none, or one too long."""
        kept = self._read(path)
        return None if kept is None else kept.text

    def tree(self, path: str) -> cst.Module | None:
        """The parsed text; None when there is none or it does not parse."""
        kept = self._read(path)
        if kept is None or kept.text is None:
            return None
        if path in self._asked:
            self._once.pop(path, None)
        else:
            self._asked.add(path)
        if not kept.parsed:
            self._size -= kept.size
            kept.parsed = True
            self._size += kept.size
            self._make_room(path)
            try:
                kept.tree = parse_module(kept.text, path)
            except ParseError:
                kept.tree = None
        return kept.tree

    def _read(self, path: str) -> _Kept | None:
        kept = self._fresh(path)
        if self._seen is not None:
            if kept is None:
                self.exists(path)
            else:
                self._seen.files[path] = (kept.stamp, kept.digest)
        return kept

    def _fresh(self, path: str) -> _Kept | None:
        try:
            status = os.stat(path)
        except OSError:
            return None
        stamp = stamp_of(status)
        kept = self._kept.get(path)
        if kept is not None and kept.stamp == stamp:
            self._kept.move_to_end(path)
            if path in self._once:
                self._once.move_to_end(path)
            return kept
        most = MAX_NOTEBOOK_BYTES if path.endswith(NOTEBOOK_SUFFIX) else MAX_BYTES
        data = _data(path) if status.st_size <= most else None
        text = None if data is None else _text(data, path)
        self._drop(path)
        kept = self._kept[path] = _Kept(stamp, text, "" if data is None else digest_of(data))
        if path not in self._asked:
            self._once[path] = None
        self._size += kept.size
        self._make_room(path)
        return kept

    def _make_room(self, path: str) -> None:
        """Let go what is too much, but not this one."""
        while self._size > MAX_KEPT and len(self._kept) > 1:
            others = (one for kept in (self._once, self._kept) for one in kept if one != path)
            self._drop(next(others))

    def _drop(self, path: str) -> None:
        dropped = self._kept.pop(path, None)
        self._once.pop(path, None)
        if dropped is not None:
            self._size -= dropped.size
        if dropped is not None and dropped.tree is not None:
            from torchdev_lint.flow.syntax.trees import forget, remembered_parts

            parts = remembered_parts(dropped.tree)
            forget(parts)
            self._gone |= parts

    def checked(self) -> None:
        """A file has been checked: what was remembered during that of trees which were let go, goes as well."""
        if self._gone:
            from torchdev_lint.flow.syntax.trees import forget

            forget(self._gone)
            self._gone.clear()


def is_text_of(path: str, text: str) -> bool:
    """Whether a file has just this text, whichever line ends either has."""
    data = _data(path)
    return data is not None and _text(data, path) == unify_newlines(text)


def _data(path: str) -> bytes | None:
    try:
        return read_bytes(path)
    except OSError:
        return None


def _text(data: bytes, path: str) -> str | None:
    try:
        source = read_source(data, path)
        return unify_newlines(source.analysed(source.text))
    except (SourceError, CellError):
        return None
