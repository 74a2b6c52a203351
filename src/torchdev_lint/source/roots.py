"""Which directory is the root of a project: one with a marker, or else what a run was told to check."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

Exists = Callable[[str], bool]
"""Whether there is a file or a directory at a path."""

ROOT_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
"""What stands in the root directory of a project."""


def up_to_root(directory: str, exists: Exists) -> list[str] | None:
    """The directories from this one up to the project's root; None without one: what lies above is none of a file's business then."""
    above = [directory]
    while not any(exists(os.path.join(above[-1], marker)) for marker in ROOT_MARKERS):
        parent = os.path.dirname(above[-1])
        if parent == above[-1]:
            return None
        above.append(parent)
    return above


def up_to_given(directory: str, given: Sequence[str]) -> list[str] | None:
    """The directories from this one up to the outermost of those `given` that it lies in; None where it lies in none."""
    above = [directory]
    while (parent := os.path.dirname(above[-1])) != above[-1]:
        above.append(parent)
    while above and above[-1] not in given:
        above.pop()
    return above or None


def given_as_roots(paths: Iterable[str]) -> tuple[str, ...]:
    """The directories that a run on `paths` takes for projects, since no marker stands above what was given.

    A directory that was named is one. Of a file, it is the working directory that the file lies below, if that is not the user's home or
    the top of the file system, else the directory that the imports of its package start from.
    """
    named: dict[tuple[str, bool], None] = {}
    for path in paths:
        absolute = os.path.abspath(path)
        is_directory = os.path.isdir(absolute)
        named[absolute if is_directory else os.path.dirname(absolute), is_directory] = None
    found = {
        directory if is_directory else _of_file(directory): None
        for directory, is_directory in named  # once for all files of a directory
        if up_to_root(directory, os.path.exists) is None
    }
    return tuple(found)


def _of_file(directory: str) -> str:
    here = os.getcwd()
    roams = here in (os.path.dirname(here), os.path.expanduser("~"))
    if not roams and f"{directory}{os.sep}".startswith(f"{here}{os.sep}"):
        return here
    while (
        os.path.exists(os.path.join(directory, "__init__.py"))
        and (parent := os.path.dirname(directory)) != directory
    ):
        directory = parent
    return directory
