"""Which files a run visits: the paths that were given, walked, less what is excluded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchdev_lint.config import DEFAULT_INCLUDE
from torchdev_lint.globs import compiled
from torchdev_lint.source.gitignore import GitIgnore

if TYPE_CHECKING:
    from collections.abc import Callable

_SUFFIXES = tuple(pattern.removeprefix("*") for pattern in DEFAULT_INCLUDE)


class DiscoveryError(Exception):
    """A given path cannot be visited; the message is one line that names it."""


@dataclass(frozen=True, slots=True)
class FileRules:
    """What is left out below the directory `root`, which the patterns are relative to."""

    root: str
    exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    force_exclude: bool = False
    include: tuple[str, ...] = DEFAULT_INCLUDE

    def includes(self, path: str) -> bool:
        """Whether the file `path` (absolute) is one to check when its directory is walked."""
        if self.include == DEFAULT_INCLUDE:
            return path.endswith(_SUFFIXES)  # What nearly every project has, and cheaper than patterns.
        return compiled(self.include, self.root).match(path)

    def excludes(self, path: str) -> bool:
        """Whether a pattern matches `path` (absolute) itself."""
        return compiled(self.exclude, self.root).match(path)

    def excludes_within(self, path: str) -> bool:
        """Whether a pattern matches `path` or a directory that holds it, up to `root`."""
        current, root = os.path.abspath(path), os.path.abspath(self.root)
        while True:
            if self.excludes(current):
                return True
            parent = os.path.dirname(current)
            if current == root or parent == current:
                return False
            current = parent


@dataclass(frozen=True, slots=True)
class Discovered:
    """`files` in the order of the report; `problems` names directories that could not be read."""

    files: tuple[str, ...]
    problems: tuple[str, ...]
    directories: tuple[str, ...] = ()
    """Those that were walked, with absolute paths."""
    loose: bool = False
    """Whether a link led nowhere that would be a file to check if it did: what it comes to shows in no directory that was walked."""


def discover(paths: Sequence[str], rules_for: Callable[[str], FileRules]) -> Discovered:
    """The files to visit, sorted, each once.

    A file is taken whatever its name and the patterns (but for `force_exclude`), a directory is walked for
    what its rules include. `rules_for` gives the rules that hold in a directory. Symbolic links to directories are
    followed only when given. Raises `DiscoveryError` for a path that does not exist.
    """
    walk = _Walk(rules_for)
    for path in paths:
        if os.path.isdir(path):
            rules = rules_for(path)
            if not (rules.force_exclude and rules.excludes_within(path)):
                walk.enter(path)
        elif os.path.exists(path):
            rules = rules_for(os.path.dirname(path) or ".")
            if not (rules.force_exclude and rules.excludes_within(path)):
                path = os.path.normpath(path)
                walk.files[path] = os.path.realpath(path)
        else:
            raise DiscoveryError(f"{path or repr(path)}: no such file or directory")
    return Discovered(tuple(_unique(walk.files)), tuple(walk.problems), tuple(walk.directories), walk.loose)


@dataclass(slots=True)
class _Walk:
    rules_for: Callable[[str], FileRules]
    files: dict[str, str] = field(default_factory=dict)
    """By path: the real one, where no symbolic link is on the way."""
    problems: list[str] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    loose: bool = False

    def enter(self, directory: str) -> None:
        start = os.path.normpath(directory)
        pending = [(start, os.path.realpath(start), GitIgnore.above(start))]
        while pending:
            current, real, ignored = pending.pop()
            absolute = os.path.abspath(current)
            rules = self.rules_for(current)
            try:
                with os.scandir(current) as entries:
                    listing = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                self.problems.append(f"{current}: cannot be read: {error.strerror}")
                continue
            self.directories.append(absolute)
            if rules.respect_gitignore and any(entry.name == ".gitignore" for entry in listing):
                ignored = ignored.inside(real)
            # Paths are put together here for every file there is: functions for that would take most of a second run's time.
            before = "" if current == "." else os.path.join(current, "")
            above = os.path.join(absolute, "")
            # No link to a directory was followed below the start: the real path is that of the names.
            really = os.path.join(real, "")
            for entry in listing:
                name = entry.name
                is_directory = entry.is_dir(follow_symlinks=False)
                whole = above + name
                if not is_directory:
                    if not rules.includes(whole):
                        continue
                    if not _is_file(entry):
                        self.loose |= entry.is_symlink()
                        continue
                if rules.excludes(whole):
                    continue
                target = really + name
                if rules.respect_gitignore and ignored.covers(target, is_directory=is_directory):
                    continue
                if is_directory:
                    pending.append((before + name, target, ignored))
                else:
                    path = before + name
                    self.files[path] = os.path.realpath(path) if entry.is_symlink() else target


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether a regular file is there; an editor's lock is often a link to nowhere."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _unique(files: Mapping[str, str]) -> list[str]:
    """Sorted, one name per real path: itself rather than a link to it, else the first."""
    by_target: dict[str, str] = {}
    for path in sorted(files):
        target = files[path]
        known = by_target.get(target)
        if known is None or (os.path.islink(known) and not os.path.islink(path)):
            by_target[target] = path
    return sorted(by_target.values())
