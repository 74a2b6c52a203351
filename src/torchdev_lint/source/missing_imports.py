"""Whether an import certainly fails: the package it begins with is the project's, and what it names is not there.

Pure, like `imports`: what is on disk is asked of injected functions. What is generated, compiled or kept from others (`.gitignore`) may
be there where the program runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from torchdev_lint.source.imports import NEVER_IN_PROJECT, Location, resolve, submodule
from torchdev_lint.source.roots import Exists

_MADE_ELSEWHERE = re.compile(
    r"(?i)^_|_$|pb2|version|local|secret|private|credential|config|generated|build|ext$|cuda|ops$"
)
"""Modules, by name, that may be generated, compiled, or written by each user."""
_SUFFIXES = (
    ".pyi",
    ".pyx",
    ".pxd",
    ".so",
    ".pyd",
    ".pyc",
    ".ipynb",
    ".c",
    ".cc",
    ".cpp",
    ".cu",
    ".rs",
    ".proto",
    ".py.in",
)
_BINDS_MORE = re.compile(
    r"\bimport[ \t]*\(?[ \t]*\*|__getattr__|globals\(|vars\(|setattr\(|exec\(|sys\.modules|__path__|\bload\("
)
"""What a module says that may have names which stand nowhere in it."""

Text = Callable[[str], str | None]


def lacks(
    path: str, base: str, names: Sequence[str], roots: Sequence[str], exists: Exists, text: Text
) -> bool:
    """Whether `from base import names` (`import base` without names) in the file `path` (absolute) finds something of it nowhere."""
    dotted = base.lstrip(".")
    level = len(base) - len(dotted)
    parts = dotted.split(".") if dotted else []
    whole = resolve(path, level, dotted, roots, exists)
    if whole is not None and (whole[0].file is not None or not parts):
        certain = bool(level) or len(parts) > 1 or _is_first(path, parts[0], whole[1], exists)
        return certain and any(_is_without(whole[0], name, exists, text) for name in names)
    if whole is not None or (not level and (len(parts) < 2 or parts[0] in NEVER_IN_PROJECT)):
        return False
    for count in range(len(parts) - 1, -1 if level else 0, -1):
        found = resolve(path, level, ".".join(parts[:count]), roots, exists)
        if found is not None:
            certain = bool(level) or count > 1 or _is_first(path, parts[0], found[1], exists)
            return certain and _is_without(found[0], parts[count], exists, text)
    return False


def _is_first(path: str, package: str, root: str, exists: Exists) -> bool:
    """Whether a package is the one that is meant, whatever is installed under its name: it stands beside the file, or holds it."""
    beside = os.path.dirname(path)
    alone = not exists(os.path.join(beside, "__init__.py"))
    return (alone and root == beside) or path.startswith(os.path.join(root, package) + os.sep)


def _is_without(found: Location, name: str, exists: Exists, text: Text) -> bool:
    """Whether a module has no such name, nor a package such a module: it is named nowhere in it."""
    if found.file is None or _MADE_ELSEWHERE.search(name) is not None:
        return False
    if submodule(found, name, exists) is not None:
        return False
    if found.directory is not None:
        there = os.path.join(found.directory, name)
        if any(exists(there + suffix) for suffix in _SUFFIXES):
            return False
        if _is_kept_back(found.directory, name, exists, text):
            return False
    written = text(found.file)
    return (
        written is not None
        and _BINDS_MORE.search(written) is None
        and re.search(rf"\b{re.escape(name)}\b", written) is None
    )


def _is_kept_back(directory: str, name: str, exists: Exists, text: Text) -> bool:
    """Whether a `.gitignore` in the directory or above it names the module."""
    while True:
        ignored = os.path.join(directory, ".gitignore")
        if exists(ignored) and re.search(rf"(?m)\b{re.escape(name)}\b", text(ignored) or "") is not None:
            return True
        above = os.path.dirname(directory)
        if above == directory or exists(os.path.join(directory, ".git")):
            return False
        directory = above
