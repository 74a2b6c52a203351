"""Which file of a project an import means. Pure: what is on disk is asked of an injected function."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from torchdev_lint.source.roots import ROOT_MARKERS, Exists, up_to_given, up_to_root

NEVER_IN_PROJECT = frozenset(sys.stdlib_module_names) | {"torch", "numpy"}
"""Top-level modules that no project replaces: what PyTorch's own names mean stands in tables."""

KNOWN_LIBRARIES = frozenset(
    (
        "accelerate diffusers lightning pytorch_lightning sentence_transformers tokenizers torchaudio torchvision transformers "
        "ultralytics"
    ).split()
)
"""Libraries whose behaviour towards devices is known: only their own files read their files."""


@dataclass(frozen=True, slots=True)
class Location:
    """A module on disk: `file` is its text (None for a namespace package), `directory` that of a package."""

    file: str | None
    directory: str | None = None


def search_path(
    path: str, exists: Exists, configured: Sequence[str] = (), given: Sequence[str] = ()
) -> tuple[str, ...]:
    """The directories that absolute imports in the file `path` (absolute) may start from, nearest first.

    A script's own directory, or the directory that holds a module's outermost package; the directories from there up to the
    project's root (the nearest one with a marker, else one of those `given`), with their `src`; then what is configured.
    """
    packages = _packages_around(path, exists)
    start = os.path.dirname(packages[-1] if packages else path)
    above = up_to_root(start, exists) or up_to_given(start, given) or [start]
    found = [directory for one in above for directory in (one, os.path.join(one, "src"))]
    return tuple(dict.fromkeys([*found, *configured]))


def _packages_around(path: str, exists: Exists) -> list[str]:
    """The directories that a file's module belongs to as packages, nearest first."""
    around = []
    directory = os.path.dirname(path)
    while exists(os.path.join(directory, "__init__.py")) and os.path.dirname(directory) != directory:
        around.append(directory)
        directory = os.path.dirname(directory)
    return around


def resolve(
    path: str, level: int, dotted: str, roots: Sequence[str], exists: Exists
) -> tuple[Location, str] | None:
    """The module that `dotted`, with `level` dots before it, means in the file `path`, and the directory it was found from.

    None for what is not part of the project.
    """
    parts = dotted.split(".") if dotted else []
    if level:
        base = os.path.dirname(path)
        for _ in range(level - 1):
            base = os.path.dirname(base)
        found = locate(base, parts, exists)
        return None if found is None else (found, base)
    if not parts or parts[0] in NEVER_IN_PROJECT:
        return None
    if parts[0] in KNOWN_LIBRARIES and f"{os.sep}{parts[0]}{os.sep}" not in path:
        return None
    namespace: tuple[Location, str] | None = None
    for root in roots:
        found = locate(root, parts, exists)
        if found is not None and found.file is not None:
            return (
                None if found.file == path and len(parts) == 1 and _shadows(path, exists) else (found, root)
            )
        if found is not None and namespace is None:
            namespace = (found, root)
    return namespace or _within_packages(path, parts, exists)


def _within_packages(path: str, parts: Sequence[str], exists: Exists) -> tuple[Location, str] | None:
    """What a program imports that is run from a directory which is a package by its `__init__.py` only: the outermost that has it.

    One name alone may be a library's, unless it stands in the project's root.
    """
    for package in reversed(_packages_around(path, exists)):
        if len(parts) > 1 or any(exists(os.path.join(package, marker)) for marker in ROOT_MARKERS):
            found = locate(package, parts, exists)
            if found is not None and found.file is not None and found.file != path:
                return found, package
    return None


def _shadows(path: str, exists: Exists) -> bool:
    """Whether a script imports the name that it has itself: it means another module."""
    return not exists(os.path.join(os.path.dirname(path), "__init__.py"))


def locate(directory: str, parts: Sequence[str], exists: Exists) -> Location | None:
    """The module `parts` below a directory: a package, a file, or a directory without `__init__.py`."""
    package = os.path.join(directory, *parts)
    initializer = os.path.join(package, "__init__.py")
    if exists(initializer):
        return Location(initializer, package)
    if not parts:
        return Location(None, package)
    if exists(package + ".py"):
        return Location(package + ".py")
    return Location(None, package) if exists(package) else None


def submodule(location: Location, name: str, exists: Exists) -> Location | None:
    """The module `name` of a package."""
    return None if location.directory is None else locate(location.directory, [name], exists)
