"""`.gitignore` files, nested ones too: the nearest one that says something about a path decides."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class GitIgnore:
    """A chain of .gitignore files, outermost first, each with the absolute directory that it lies in."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    @classmethod
    def above(cls, directory: str) -> GitIgnore:
        """The .gitignore files over `directory`, up to the root of its repository; none outside a repository.

        A directory that they ignore was asked for by name: then they say nothing about what is in it.
        """
        start = os.path.realpath(directory)
        ancestors: list[str] = []
        current = start
        while not os.path.exists(os.path.join(current, ".git")):
            parent = os.path.dirname(current)
            if parent == current:
                return cls()
            ancestors.append(parent)
            current = parent
        chain = cls()._reading(current, os.path.join(current, ".git", "info", "exclude"))
        for ancestor in reversed(ancestors):
            chain = chain.inside(ancestor)
        if start != current and chain._covers_any_part(start, current):
            return cls()
        return chain

    def inside(self, directory: str) -> GitIgnore:
        """The chain as it is inside `directory` (a real path), with the .gitignore there if there is one."""
        return self._reading(directory, os.path.join(directory, ".gitignore"))

    def covers(self, path: str, *, is_directory: bool) -> bool:
        """Whether `path`, in a real directory below those of the chain, is ignored."""
        for base, spec in reversed(self.specs):
            relative = path[len(base) :].lstrip(os.sep).replace(os.sep, "/")
            verdict = spec.check_file(relative + "/" if is_directory else relative).include
            if verdict is not None:
                return verdict
        return False

    def _reading(self, base: str, file: str) -> GitIgnore:
        from torchdev_lint.files import read_bytes  # Not needed to say a version.

        try:
            text = read_bytes(file).decode("utf-8", "surrogateescape")
        except OSError:
            return self
        if not text.strip():
            return self
        from pathspec import GitIgnoreSpec  # Costs more than a small run; few directories have such a file.

        return GitIgnore((*self.specs, (base, GitIgnoreSpec.from_lines(text.splitlines()))))

    def _covers_any_part(self, path: str, top: str) -> bool:
        while path != top:
            if self.covers(path, is_directory=True):
                return True
            path = os.path.dirname(path)
        return False
