"""The searches through a project that kept results rest on: which of its files have a word.

A search holds as long as it would find the same files, whatever else is written into them or beside them. So it is kept with what
there was to search, and done again only in files that have changed since. What is read of a file that was found is another matter:
that its text is the same is asked for by itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torchdev_lint.engine.listings import Below, SearchKey, listed
from torchdev_lint.engine.stamps import SURE_AFTER, Stamp, digest_of, stamp_of_path
from torchdev_lint.files import read_bytes


@dataclass(slots=True)
class _Listing:
    """The files below a directory, as they were when its searches were last known to hold."""

    files: dict[str, tuple[Stamp | None, str]]
    """By path: the stamp (None when it says too little: changed a moment before it was seen), and the digest of the content."""
    below: Below | None = None
    """What it is now, where that was looked at in this run."""


@dataclass(slots=True)
class _Search:
    key: SearchKey
    found: frozenset[str]
    holds: bool = True


@dataclass(slots=True)
class Searches:
    """The searches that the entries of a cache rest on, by their numbers."""

    changed: bool = False
    """Whether something is to be written that was not there."""
    _listings: dict[str, _Listing] = field(default_factory=dict)
    _searches: list[_Search] = field(default_factory=list)
    _index: dict[SearchKey, int] = field(default_factory=dict)

    @classmethod
    def from_plain(cls, listings: list[Any], searches: list[Any]) -> Searches:
        """What `to_plain` gave. Raises `TypeError`, `ValueError` or `IndexError` for anything else."""
        one = cls()
        paths: dict[str, list[str]] = {}
        for root, files in listings:
            paths[root] = [path for path, _, _ in files]
            told = {path: (stamp and (*stamp,), digest) for path, stamp, digest in files}
            one._listings[root] = _Listing(told)
        for root, word, in_notebooks, found in searches:
            one._add(_Search((root, word, in_notebooks), frozenset(paths[root][index] for index in found)))
        return one

    def to_plain(self) -> tuple[list[Any], list[Any]]:
        """Both as JSON has them."""
        listings = [
            [root, [[path, stamp, digest] for path, (stamp, digest) in listing.files.items()]]
            for root, listing in self._listings.items()
        ]
        numbers = {
            root: {path: index for index, path in enumerate(listing.files)}
            for root, listing in self._listings.items()
        }
        searches = [
            [*one.key, sorted(numbers[one.key[0]][path] for path in one.found)] for one in self._searches
        ]
        return listings, searches

    def hold(self, index: int) -> bool:
        """Whether a search would find the same."""
        search = self._searches[index]
        listing = self._listings[search.key[0]]
        if listing.below is None:
            self._compare(search.key[0])
        return search.holds

    def known_to_fail(self, index: int) -> bool:
        """Whether a search was found to come to something else now."""
        return not self._searches[index].holds

    def look_again(self) -> None:
        """Files may have changed since they were last looked at."""
        for listing in self._listings.values():
            listing.below = None

    def add(self, key: SearchKey, found: Iterable[str], fingerprint: str) -> int | None:
        """The number of a search that found these files, when `Below.fingerprint` was this; None if they have changed meanwhile."""
        root = key[0]
        listing = self._listings.setdefault(root, _Listing({}))
        if listing.below is None or listing.below.fingerprint != fingerprint:
            self._compare(root)
            if listing.below is None or listing.below.fingerprint != fingerprint:
                return None
        return self._add(_Search(key, frozenset(found)))

    def taken_from(self, other: Searches, index: int) -> int | None:
        """The number of a search of another run; None if what it searched was otherwise here."""
        search = other._searches[index]
        root = search.key[0]
        theirs = other._listings[root]
        mine = self._listings.setdefault(root, _Listing(theirs.files))
        if {path: digest for path, (_, digest) in mine.files.items()} != {
            path: digest for path, (_, digest) in theirs.files.items()
        }:
            return None
        known = self._index.get(search.key)
        if known is not None and self._searches[known].found != search.found:
            return None
        return self._add(_Search(search.key, search.found))

    def keep(self, used: Iterable[int]) -> dict[int, int]:
        """Forget all but these; the new numbers by the old."""
        kept = sorted(set(used))
        self._searches = [self._searches[index] for index in kept]
        self._index = {one.key: index for index, one in enumerate(self._searches)}
        roots = {one.key[0] for one in self._searches}
        self._listings = {root: listing for root, listing in self._listings.items() if root in roots}
        return {old: new for new, old in enumerate(kept)}

    def searched(self, indices: Iterable[int]) -> set[str]:
        """The directories that these searches went through."""
        return {self._searches[index].key[0] for index in indices}

    def files(self, root: str) -> Iterator[tuple[str, Stamp | None]]:
        """What was searched below a directory, with stamps (None when they say too little)."""
        return ((path, stamp) for path, (stamp, _) in self._listings[root].files.items())

    def directories(self, root: str) -> Iterator[tuple[str, Stamp | None]]:
        """The directories that there were, with stamps; none that was not looked at in this run."""
        below = self._listings[root].below
        return iter(() if below is None else below.directories.items())

    def _add(self, search: _Search) -> int:
        known = self._index.get(search.key)
        if known is not None:
            if self._searches[known].holds and self._searches[known].found == search.found:
                return known
            self._searches[known].holds = False
        self._searches.append(search)
        self._index[search.key] = len(self._searches) - 1
        return len(self._searches) - 1

    def _compare(self, root: str) -> None:
        """See what there is now, and which of the searches below a directory hold."""
        listing = self._listings[root]
        before, listing.below = listing.files, listed(root)
        mine = [one for one in self._searches if one.holds and one.key[0] == root]
        if listing.below is None:
            for one in mine:
                one.holds = False
            return
        gone = before.keys() - listing.below.files.keys() - listing.below.notebooks.keys()
        for one in mine:
            one.holds = one.found.isdisjoint(gone)
        listing.files = {}
        sure_before = time.time_ns() - SURE_AFTER
        for in_notebooks, files in ((False, listing.below.files), (True, listing.below.notebooks)):
            for path, stamp in files.items():
                known = before.get(path)
                if known is not None and known[0] == stamp:
                    listing.files[path] = known
                    continue
                data, digest = _read(path, stamp)
                listing.files[path] = stamp if stamp[0] < sure_before else None, digest
                if known is not None and digest and known[1] == digest:
                    continue
                for one in mine:
                    if one.key[2] == in_notebooks and (one.key[1].encode() in data) != (path in one.found):
                        one.holds = False
        self.changed = self.changed or listing.files != before


def _read(path: str, stamp: Stamp) -> tuple[bytes, str]:
    """The content of a file and its digest, which is empty if it is not that of the stamp."""
    try:
        data = read_bytes(path)
    except OSError:
        return b"", ""
    return data, digest_of(data) if stamp_of_path(path) == stamp else ""
