"""`--diff-base`: only findings that have to do with lines changed since a commit."""

from __future__ import annotations

import difflib
import os
import subprocess
from dataclasses import dataclass

from torchdev_lint.config import REVEALED, ConfigError
from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.source.document import SourceError
from torchdev_lint.source.lines import LineIndex
from torchdev_lint.source.reading import read_source


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """The lines that differ from those of the commit `base` in the git working tree `root`."""

    root: str
    base: str

    @classmethod
    def since(cls, revision: str) -> ChangedLines:
        """The changes since `revision` and HEAD parted, as a pull request shows them. Raises `ConfigError`."""
        root = _git(".", "rev-parse", "--show-toplevel")
        if root is None:
            raise ConfigError("--diff-base: the working directory is in no git repository")
        commit = _git(".", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        if commit is None:
            raise ConfigError(f"--diff-base: {revision!r} is no commit of this repository")
        name = commit.decode().strip()
        parted = _git(".", "merge-base", name, "HEAD")
        return cls(
            os.path.realpath(os.fsdecode(root).rstrip("\n")), parted.decode().strip() if parted else name
        )

    def concerned(self, path: str, text: str, found: list[Diagnostic]) -> list[Diagnostic]:
        """Those of `found` that touch a changed line of `text`, themselves or where their devices come from."""
        if not found:
            return []
        before = self._before(path)
        if before is None:
            return found
        rows = changed_rows(before, text)
        return [one for one in found if one.code == REVEALED or _touches(one, rows)]

    def _before(self, path: str) -> str | None:
        """The text of the file in the base; None when there was none."""
        relative = os.path.relpath(os.path.realpath(path), self.root).replace(os.sep, "/")
        data = _git(self.root, "show", f"{self.base}:{relative}")
        if data is None:
            return None
        try:
            return read_source(data, path).text
        except SourceError:
            return None


def changed_rows(before: str, after: str) -> set[int]:
    """The rows of `after` that are not in `before`, and the one behind each that was taken out."""
    old, new = (_rows(LineIndex(text)) for text in (before, after))
    rows: set[int] = set()
    for tag, _, _, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "delete":
            rows.add(start + 1)
        elif tag != "equal":
            rows.update(range(start + 1, end + 1))
    return rows


def _rows(lines: LineIndex) -> list[str]:
    return [lines.line(row) for row in range(1, lines.count + 1)]


def _touches(one: Diagnostic, rows: set[int]) -> bool:
    places = [one.range, *(related.range for related in one.related if related.path is None)]
    return any(row in rows for place in places for row in range(place.start.row, place.end.row + 1))


def _git(directory: str, *arguments: str) -> bytes | None:
    """What git prints; None when it fails. Raises `ConfigError` when there is no git."""
    try:
        result = subprocess.run(["git", "-C", directory, *arguments], capture_output=True, check=False)
    except OSError:
        raise ConfigError("--diff-base: git cannot be run") from None
    return result.stdout if result.returncode == 0 else None
