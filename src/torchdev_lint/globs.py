"""Path patterns of the configuration (`exclude`, `per-file-ignores`), read as Ruff reads them.

A pattern without a slash is compared with the name of a file or directory, one with a slash with the
whole path, taken relative to the directory of the configuration. `*` also matches `/`. A leading `!`
turns the answer of its pattern round.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable
from functools import lru_cache


class PathPatterns:
    """Patterns that are relative to `root`, compiled once for many paths."""

    __slots__ = ("_names", "_negated", "_paths")

    def __init__(self, patterns: Iterable[str], root: str) -> None:
        names: list[str] = []
        paths: list[str] = []
        self._negated: list[PathPatterns] = []
        for pattern in patterns:
            bare = anchored(pattern, root).rstrip("/")
            if bare.startswith("!"):
                self._negated.append(PathPatterns([bare[1:]], root))
            else:
                (paths if "/" in bare else names).append(fnmatch.translate(bare))
        self._names = re.compile("|".join(names)) if names else None
        self._paths = re.compile("|".join(paths)) if paths else None

    def match(self, path: str) -> bool:
        """Whether one of the patterns matches `path`, which is absolute and normal."""
        path = _slashed(path)
        if self._names is not None and self._names.match(path.rpartition("/")[2]):
            return True
        if self._paths is not None and self._paths.match(path):
            return True
        return any(not negated.match(path) for negated in self._negated)


@lru_cache(maxsize=256)
def compiled(patterns: tuple[str, ...], root: str) -> PathPatterns:
    """The patterns, from a cache: a run asks for the same few again and again."""
    return PathPatterns(patterns, root)


def anchored(pattern: str, root: str) -> str:
    """`pattern` so that it means the same wherever it is used: relative paths become those below `root`."""
    negation = "!" if pattern.startswith("!") else ""
    bare = _slashed(pattern[len(negation) :]).rstrip("/")
    if "/" not in bare or os.path.isabs(bare):
        return pattern
    # The root is a place, not a pattern: a `[` in a directory's name must stay itself.
    place = re.sub(r"([*?[])", r"[\1]", _slashed(os.path.abspath(root)).rstrip("/"))
    return f"{negation}{place}/{bare.removeprefix('./')}"


def _slashed(path: str) -> str:
    return path.replace(os.sep, "/") if os.sep != "/" else path
