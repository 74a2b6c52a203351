"""Path patterns of the configuration (`exclude`, `per-file-ignores`), read as Ruff reads them.

A pattern without a slash is compared with the name of a file or directory, one with a slash with the
whole path, taken relative to the directory of the configuration. `*` also matches `/`.
"""

from __future__ import annotations

import fnmatch
import os
import re
from functools import lru_cache


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))


def path_matches(path: str, pattern: str, root: str) -> bool:
    """Whether `path` (absolute, or relative to the current directory) matches `pattern` below `root`.

    A leading `!` turns the answer round.
    """
    negated = pattern.startswith("!")
    bare = anchored(pattern, root)[negated:].rstrip("/")
    absolute = _slashed(os.path.abspath(path))
    subject = absolute if "/" in bare else absolute.rpartition("/")[2]
    return (_compiled(bare).match(subject) is not None) != negated


def any_matches(path: str, patterns: tuple[str, ...], root: str) -> bool:
    """Whether `path` matches one of `patterns`."""
    return any(path_matches(path, pattern, root) for pattern in patterns)


def anchored(pattern: str, root: str) -> str:
    """`pattern` so that it means the same wherever it is used: relative paths become those below `root`."""
    negation = "!" if pattern.startswith("!") else ""
    bare = _slashed(pattern[len(negation) :]).rstrip("/")
    if "/" not in bare or os.path.isabs(bare):
        return pattern
    # The root is a place, not a pattern: a `[` in a directory's name must stay itself.
    return f"{negation}{_literal(_slashed(os.path.abspath(root)))}/{bare.removeprefix('./')}"


def _slashed(path: str) -> str:
    return path.replace(os.sep, "/") if os.sep != "/" else path


def _literal(path: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", path.rstrip("/"))
