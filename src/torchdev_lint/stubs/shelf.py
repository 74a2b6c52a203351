"""Looking facts up by dotted name; a library's file is read when it is first asked for."""

from __future__ import annotations

import os
from functools import cache

from torchdev_lint.stubs.facts import Fact, Library, matches
from torchdev_lint.stubs.reading import read_library

_DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


@cache
def shipped() -> frozenset[str]:
    """The libraries that come with stub files."""
    return frozenset(name.removesuffix(".toml") for name in os.listdir(_DATA) if name.endswith(".toml"))


@cache
def _shipped_library(name: str) -> Library:
    return read_library(os.path.join(_DATA, f"{name}.toml"))


def _table(library: Library, table: str) -> tuple[Fact, ...]:
    match table:
        case "called":
            return (*library.classes, *library.functions)
        case "class":
            return library.classes
        case _:
            return library.methods


def _fits(fact: Fact, path: str, method: str) -> bool:
    if not method:
        return matches(fact.names, path)
    return matches(fact.of, path) and matches(fact.names, method)


class Shelf:
    """The user's stub files and the shipped ones; where both speak of a name, the user's count."""

    def __init__(self, own: tuple[Library, ...] = ()) -> None:
        self._own = own
        self._libraries: dict[str, tuple[Library, ...]] = {}
        self._found: dict[tuple[str, str, str], tuple[Fact, ...]] = {}
        self._names: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {}

    def called(self, path: str) -> tuple[Fact, ...]:
        """What is known of calling `path` (`torchaudio.load`), in order: the first whose conditions hold counts."""
        return self._look_up("called", path, "")

    def classes(self, path: str) -> tuple[Fact, ...]:
        """What is known of the class `path`, in the same order."""
        return self._look_up("class", path, "")

    def methods(self, made_by: str, name: str) -> tuple[Fact, ...]:
        """What is known of the method `name` of what the class or function `made_by` gives, in the same order."""
        return self._look_up("method", made_by, name)

    def moves_nothing(self, path: str) -> bool:
        """Whether the library of `path` leaves whatever it is given where it is."""
        return any(library.moves_nothing for library in self._of(path.partition(".")[0]))

    def known_as(self, libraries: set[str], name: str) -> str:
        """The class that people's objects of this name are of, in one of the imported libraries; empty when there is none."""
        for library in sorted(libraries):
            for names, path in self._familiar(library):
                if matches(names, name):
                    return path
        return ""

    def _familiar(self, library: str) -> tuple[tuple[tuple[str, ...], str], ...]:
        """The classes of a library that people's objects have names of, which few have; asked of every object that a call is made of."""
        if library not in self._names:
            self._names[library] = tuple(
                (fact.known_as, f"{library}.{fact.names[0]}")
                for one in self._of(library)
                for fact in one.classes
                if fact.known_as
            )
        return self._names[library]

    def _look_up(self, table: str, path: str, method: str) -> tuple[Fact, ...]:
        key = (table, path, method)
        if key not in self._found:
            root, _, rest = path.partition(".")
            self._found[key] = tuple(
                fact
                for library in self._of(root)
                for fact in _table(library, table)
                if _fits(fact, rest, method)
            )
        return self._found[key]

    def _of(self, root: str) -> tuple[Library, ...]:
        if root not in self._libraries:
            self._libraries[root] = ()  # what two aliases of each other end at
            found = [library for library in self._own if library.name == root]
            if root in shipped():
                found.append(_shipped_library(root))
            followed: list[Library] = []
            for library in found:
                followed.append(library)
                if library.alias_of and library.alias_of != root:
                    followed += self._of(library.alias_of)
            self._libraries[root] = tuple(followed)
        return self._libraries[root]


@cache
def own_libraries(paths: tuple[str, ...]) -> tuple[str, ...]:
    """The libraries that the user's stub files speak of. Raises `StubError`."""
    return tuple(read_library(path).name for path in paths)


@cache
def shelf(paths: tuple[str, ...] = ()) -> Shelf:
    """The shelf with the user's stub files `paths`. Raises `StubError`."""
    return Shelf(tuple(read_library(path) for path in paths))
