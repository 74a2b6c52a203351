"""What files came to in earlier runs, by what it depended on.

An entry holds as long as its file does, every other file and directory that was looked at while it was checked, and what searches
through the project have found. One cache file for each key (tool, versions, configuration): JSON behind a line with its checksum.
Whatever cannot be read is as if it were not there. A file is replaced as a whole, and what other runs have found meanwhile is taken
over. Paths are absolute: the command line, flake8 and editors, in whichever directory they work, share what they find.

A directory in the project may have come with the project, to claim that its files are clean, or as a link to where nothing
may be written. There, a cache file is believed only if it knows when its directory was made (the inode and status change time
of `CACHEDIR.TAG`, which no archive or checkout can carry), and links are not followed.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torchdev_lint.engine.cache_directory import alone, headed, seal, thin_out, write_whole
from torchdev_lint.engine.cache_format import from_plain, to_plain
from torchdev_lint.engine.results import Bare, to_bare
from torchdev_lint.engine.searches import Searches
from torchdev_lint.engine.stamps import SURE_AFTER, Stamp, digest_of, stamp_of_path
from torchdev_lint.files import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torchdev_lint.diagnostics import Diagnostic
    from torchdev_lint.engine.sources import Seen

HEAD = b"torchdev-lint results 4"
MAX_BYTES = 64_000_000
"""Size of one of them."""
_MALFORMED = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)


@dataclass(slots=True)
class _File:
    """A file that results depend on. `stamp` is None when it says too little: changed a moment before it was seen."""

    path: str
    stamp: Stamp | None
    digest: str
    holds: bool | None = None
    """Whether it is as it was; None when that was not looked at in this run."""


@dataclass(slots=True)
class _Directory:
    """A directory in which names were looked for; `stamp` is None when it has to be looked at again, () when there was none."""

    path: str
    stamp: Stamp | tuple[()] | None
    names: dict[str, bool]
    holds: bool | None = None


@dataclass(slots=True)
class _Entry:
    own: int
    files: list[int]
    directories: list[int]
    searches: list[int]
    found: list[Any]
    warnings: list[str]
    bare: list[Any] | bool | None = None
    """See `FileResult.bare`; True when it is just what was found."""


@dataclass(slots=True)
class Cache:
    """The results for one key, read from and written to `path`."""

    path: str
    key: str
    trusted: bool = True
    _files: list[_File] = field(default_factory=list)
    _directories: list[_Directory] = field(default_factory=list)
    _searches: Searches = field(default_factory=Searches)
    _entries: dict[str, _Entry] = field(default_factory=dict)
    _file_index: dict[str, int] = field(default_factory=dict)
    _directory_index: dict[str, int] = field(default_factory=dict)
    _visited: set[str] = field(default_factory=set)
    _here: str = field(default_factory=os.getcwd)
    _changed: bool = False
    _read_at: Stamp | None = None

    @classmethod
    def load(cls, directory: str, key: str, trusted: bool = True) -> Cache:
        """The cache for `key` in `directory`, empty when there is none.

        A directory that is not `trusted` may have come with the project.
        """
        path = os.path.join(directory, f"{zlib.crc32(key.encode('utf-8', 'surrogatepass')):08x}.json")
        cache = cls(path, key, trusted)
        with suppress(OSError, *_MALFORMED):
            cache._read()
        return cache

    def _read(self) -> None:
        self._read_at = stamp_of_path(self.path)
        head, _, body = read_bytes(self.path, MAX_BYTES).partition(b"\n")
        if head != headed(HEAD, body):
            return
        content = json.loads(body)
        if content["key"] != self.key:
            return
        directory = os.path.dirname(self.path)
        if not self.trusted and (
            content["seal"] is None or content["seal"] != seal(directory) or os.path.islink(directory)
        ):
            return
        files = [_File(path, stamp and tuple(stamp), digest) for path, stamp, digest in content["files"]]
        directories = [
            _Directory(path, None if stamp is None else tuple(stamp), names)
            for path, stamp, names in content["directories"]
        ]
        entries = {path: _Entry(*entry) for path, entry in content["entries"].items()}
        self._searches = Searches.from_plain(content["listings"], content["searches"])
        self._files, self._directories, self._entries = files, directories, entries
        self._file_index = {one.path: index for index, one in enumerate(files)}
        self._directory_index = {one.path: index for index, one in enumerate(directories)}

    def look_up(self, path: str) -> tuple[tuple[Diagnostic, ...], tuple[str, ...]] | None:
        """The diagnostics and warnings of a file; None when they are not known, or not any more."""
        entry = self._entry(path)
        if entry is None:
            return None
        try:
            found = tuple(from_plain(path, one) for one in entry.found) if entry.found else ()
            return found, tuple(entry.warnings)
        except _MALFORMED:
            self._drop(path)
            return None

    def look_up_bare(self, path: str) -> list[Bare] | None:
        """What `FileResult.bare` has of a file; None as for `look_up`, and when it was not asked for."""
        entry = self._entry(path)
        if entry is None or not isinstance(entry.bare, (list, bool)):
            return None
        try:
            if entry.bare is True:
                return [to_bare(from_plain(path, one)) for one in entry.found]
            return [
                (int(row), int(column), str(code), str(said)) for row, column, code, said in entry.bare or ()
            ]
        except _MALFORMED:
            self._drop(path)
            return None

    def reads(self, path: str) -> list[str]:
        """The files, with absolute paths, that the result of a file depends on besides the file itself."""
        entry = self._entries.get(self._absolute(path))
        if entry is None:
            return []
        searched = self._searches.searched(entry.searches)
        found = [path for root in searched for path, _ in self._searches.files(root)]
        return [*(self._files[index].path for index in entry.files), *found]

    def looked_at(self) -> Iterator[tuple[str, Stamp | None, dict[str, bool] | None]]:
        """What the results that were asked for rest on, some of it several times: files with their stamps, if these say enough; directories
        with the names that were sought there, and whether they were there, or with their stamps if anything in them was sought."""
        searched: set[str] = set()
        for path in self._visited:
            entry = self._entries.get(path)
            if entry is None:
                continue
            for index in (entry.own, *entry.files):
                file = self._files[index]
                yield file.path, file.stamp, None
            for index in entry.directories:
                directory = self._directories[index]
                yield directory.path, None, directory.names
            searched |= self._searches.searched(entry.searches)
        for root in searched:
            for path, stamp in (*self._searches.files(root), *self._searches.directories(root)):
                yield path, stamp, None

    def look_again(self) -> None:
        """Files may have changed since they were last looked at."""
        for file in self._files:
            file.holds = None
        for directory in self._directories:
            directory.holds = None
        self._searches.look_again()

    def _entry(self, path: str) -> _Entry | None:
        """What is known of a file, if it holds."""
        path = self._absolute(path)
        self._visited.add(path)
        entry = self._entries.get(path)
        if entry is None:
            return None
        with suppress(*_MALFORMED):
            if self._holds(entry):
                return entry
        self._drop(path)
        return None

    def _drop(self, path: str) -> None:
        del self._entries[self._absolute(path)]
        self._changed = True

    def put(
        self,
        path: str,
        stamp: Stamp,
        digest: str,
        seen: Seen | None,
        found: Iterable[Diagnostic],
        warnings: Iterable[str],
        bare: tuple[Bare, ...] | None = None,
    ) -> None:
        """Keep what a file came to: its stamp and digest when it was read, and what else was looked at."""
        found = list(found)
        path = self._absolute(path)
        self._visited.add(path)
        self._changed = True
        own = self._file(path, stamp, digest)
        files, directories = [], []
        if seen is not None:
            files = [self._file(other, *told) for other, told in seen.files.items()]
            directories = [self._directory(where, *told) for where, told in seen.directories.items()]
        searches = self._searched(seen)
        if searches is None:
            self._entries.pop(path, None)
            return  # The project changed while the file was checked.
        plain = [to_plain(one) for one in found]
        told: list[Any] | bool | None = None
        if bare is not None:
            plainly = [to_bare(one) for one in found]
            told = True if list(bare) == plainly else [list(one) for one in bare]
        self._entries[path] = _Entry(
            own, [one for one in files if one != own], directories, searches, plain, list(warnings), told
        )

    def _searched(self, seen: Seen | None) -> list[int] | None:
        """The numbers of the searches that were made; None if one of them would now find something else."""
        found: list[int] = []
        if seen is None:
            return found
        for key, files in seen.searches.items():
            index = self._searches.add(key, files, seen.listings[key[0]])
            if index is None:
                return None
            found.append(index)
        return found

    def save(self) -> None:
        """Write what is known, if anything is new. What cannot be written is not kept, and nothing else happens."""
        if not self._changed and not self._searches.changed:
            return
        directory = os.path.dirname(self.path)
        if not self.trusted and os.path.islink(directory):
            return
        with suppress(OSError), alone(directory):
            if stamp_of_path(self.path) != self._read_at:
                self._take_over(Cache.load(directory, self.key, self.trusted))
            self._forget()
            body = self._body(seal(directory))
            if len(body) + 100 > MAX_BYTES:
                return
            write_whole(self.path, headed(HEAD, body) + b"\n" + body)
            self._read_at, self._changed = stamp_of_path(self.path), False
            self._searches.changed = False
            thin_out(directory)

    def _body(self, sealed: list[int] | None) -> bytes:
        listings, searches = self._searches.to_plain()
        content = {
            "key": self.key,
            "seal": sealed,
            "files": [[one.path, one.stamp, one.digest] for one in self._files],
            "directories": [[one.path, one.stamp, one.names] for one in self._directories],
            "listings": listings,
            "searches": searches,
            "entries": {
                path: [
                    entry.own,
                    entry.files,
                    entry.directories,
                    entry.searches,
                    entry.found,
                    entry.warnings,
                    entry.bare,
                ]
                for path, entry in self._entries.items()
            },
        }
        return json.dumps(content, separators=(",", ":")).encode()

    # -- what holds

    def _holds(self, entry: _Entry) -> bool:
        # Asked for every file of a run: loops, as generators would take twice as long.
        files, directories = self._files, self._directories
        if not self._file_holds(files[entry.own]):
            return False
        for index in entry.files:
            if not self._file_holds(files[index]):
                return False
        for index in entry.directories:
            if not self._directory_holds(directories[index]):
                return False
        return all(map(self._searches.hold, entry.searches))

    def _file_holds(self, one: _File) -> bool:
        if one.holds is None:
            now = stamp_of_path(one.path)
            if now is None:
                one.holds = False
            elif now == one.stamp:
                one.holds = True
            else:
                one.holds = one.digest != "" and one.digest == _digest(one.path)
                if one.holds:
                    one.stamp = _if_sure(now)
                    self._changed = True
        return one.holds

    def _directory_holds(self, one: _Directory) -> bool:
        if one.holds is None:
            now = stamp_of_path(one.path)
            if one.stamp is not None and (now or ()) == one.stamp:
                one.holds = True
            else:
                exists = os.path.exists
                one.holds = all(
                    exists(os.path.join(one.path, name)) == is_there for name, is_there in one.names.items()
                )
                if one.holds:
                    # No reason to write all results again: home directories change all the time, and few names are looked for.
                    one.stamp = () if now is None else _if_sure(now)
        return one.holds

    # -- what is new

    def _file(self, path: str, stamp: Stamp, digest: str) -> int:
        index = self._file_index.get(path)
        if index is not None:
            one = self._files[index]
            if not digest and self._file_holds(one):
                return index
            if digest and one.digest == digest:
                if one.holds is not True:
                    one.stamp, one.holds = _if_sure(stamp), True
                return index
            one.holds = False
        self._files.append(_File(path, _if_sure(stamp), digest, holds=True))
        self._file_index[path] = len(self._files) - 1
        return len(self._files) - 1

    def _directory(self, path: str, stamp: Stamp | None, names: dict[str, bool]) -> int:
        index = self._directory_index.get(path)
        if index is not None:
            one = self._directories[index]
            if self._directory_holds(one) and all(
                one.names.get(name, there) == there for name, there in names.items()
            ):
                one.names |= names
                if one.stamp != (() if stamp is None else stamp):
                    one.stamp = None  # It changed while the files were checked.
                return index
            one.holds = False
        known = () if stamp is None else _if_sure(stamp)
        self._directories.append(_Directory(path, known, dict(names), holds=True))
        self._directory_index[path] = len(self._directories) - 1
        return len(self._directories) - 1

    def _take_over(self, other: Cache) -> None:
        """Add what another run has kept of files that this one has not looked at, as far as it fits to what was seen here."""
        for path, entry in other._entries.items():
            if path in self._entries or path in self._visited:
                continue
            files = [self._file_of(other._files[index]) for index in (entry.own, *entry.files)]
            directories = [self._directory_of(other._directories[index]) for index in entry.directories]
            searches = [self._searches.taken_from(other._searches, index) for index in entry.searches]
            if None not in files and None not in directories and None not in searches:
                own, *more = [one for one in files if one is not None]
                kept = [one for one in directories if one is not None]
                made = [one for one in searches if one is not None]
                self._entries[path] = _Entry(own, more, kept, made, entry.found, entry.warnings, entry.bare)

    def _file_of(self, one: _File) -> int | None:
        """The index of a file as another run saw it; None if it was seen otherwise here."""
        index = self._file_index.setdefault(one.path, len(self._files))
        if index == len(self._files):
            self._files.append(_File(one.path, one.stamp, one.digest))
        return index if self._files[index].digest == one.digest else None

    def _directory_of(self, one: _Directory) -> int | None:
        index = self._directory_index.setdefault(one.path, len(self._directories))
        if index == len(self._directories):
            self._directories.append(_Directory(one.path, one.stamp, dict(one.names)))
        known = self._directories[index]
        if any(known.names.get(name, there) != there for name, there in one.names.items()):
            return None
        if known.stamp != one.stamp:
            known.stamp = None
        known.names |= one.names
        return index

    def _absolute(self, path: str) -> str:
        return os.path.join(self._here, path) if not path.startswith(".") else os.path.abspath(path)

    def _forget(self) -> None:
        """Drop entries that do not hold any more or whose files have gone, and what nothing depends on."""
        kept = {
            path: entry
            for path, entry in self._entries.items()
            if all(self._files[index].holds is not False for index in (entry.own, *entry.files))
            and all(self._directories[index].holds is not False for index in entry.directories)
            and not any(map(self._searches.known_to_fail, entry.searches))
            and (path in self._visited or os.path.exists(self._files[entry.own].path))
        }
        used = sorted({index for entry in kept.values() for index in (entry.own, *entry.files)})
        files = {old: new for new, old in enumerate(used)}
        used_directories = sorted({index for entry in kept.values() for index in entry.directories})
        directories = {old: new for new, old in enumerate(used_directories)}
        searches = self._searches.keep(index for entry in kept.values() for index in entry.searches)
        self._files = [self._files[index] for index in used]
        self._directories = [self._directories[index] for index in used_directories]
        self._entries = {
            path: _Entry(
                files[entry.own],
                [files[index] for index in entry.files],
                [directories[index] for index in entry.directories],
                [searches[index] for index in entry.searches],
                entry.found,
                entry.warnings,
                entry.bare,
            )
            for path, entry in kept.items()
        }
        self._file_index = {one.path: index for index, one in enumerate(self._files)}
        self._directory_index = {one.path: index for index, one in enumerate(self._directories)}


def _if_sure(stamp: Stamp) -> Stamp | None:
    """The stamp, unless the next change could still get the same one."""
    return stamp if stamp[0] < time.time_ns() - SURE_AFTER else None


def _digest(path: str) -> str:
    try:
        return digest_of(read_bytes(path))
    except OSError:
        return ""
