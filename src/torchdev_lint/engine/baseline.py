"""`--baseline`: findings that were there before are not reported again.

A finding is known by its file, its rule and the text of its row, not by the row's number: it stays known when lines above
it come and go, and is new again when its own line changes.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from torchdev_lint.config import REVEALED, SYNTAX_ERROR, ConfigError
from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.files import read_bytes
from torchdev_lint.source.lines import LineIndex

VERSION = 1
_NEVER = frozenset({REVEALED, SYNTAX_ERROR})

_Known = Counter[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is known: how often each (path, code, text of the row); paths are relative to `root`."""

    root: str
    known: _Known

    @classmethod
    def read(cls, path: str) -> Baseline:
        """The baseline in the file `path`. Raises `ConfigError`."""
        try:
            content = json.loads(read_bytes(path).decode("utf-8"))
        except FileNotFoundError:
            raise ConfigError(f"--baseline: {path}: no such file; --write-baseline makes it") from None
        except OSError as error:
            raise ConfigError(f"--baseline: {path}: cannot be read: {error.strerror}") from None
        except ValueError:
            raise ConfigError(f"--baseline: {path}: not valid JSON; --write-baseline makes it anew") from None
        try:
            if content["version"] != VERSION:
                raise ConfigError(f"--baseline: {path}: version {content['version']!r} is not known")
            known: _Known = Counter()
            for one in content["findings"]:
                known[str(one["path"]), str(one["code"]), str(one["line"])] += int(one["count"])
        except (TypeError, KeyError, ValueError):
            raise ConfigError(f"--baseline: {path}: not a baseline; --write-baseline makes it anew") from None
        return cls(os.path.dirname(os.path.abspath(path)), known)

    def new(self, path: str, text: str, found: list[Diagnostic]) -> list[Diagnostic]:
        """Those of `found`, positions being those of `text`, that are not known."""
        lines = LineIndex(text)
        left = self.known.copy()
        kept = []
        for one in found:
            key = (self._relative(path), one.code, _row_text(lines, one))
            if left[key] > 0 and one.code not in _NEVER:
                left[key] -= 1
            else:
                kept.append(one)
        return kept

    def _relative(self, path: str) -> str:
        return relative(path, self.root)


def relative(path: str, root: str) -> str:
    """`path` as a baseline in the directory `root` names it."""
    try:
        return os.path.relpath(os.path.abspath(path), root).replace(os.sep, "/")
    except ValueError:  # Another drive.
        return os.path.abspath(path).replace(os.sep, "/")


def render(found: Iterable[tuple[Diagnostic, LineIndex | None]], path: str) -> tuple[str, int]:
    """The content of the baseline file `path` that knows all of `found`, and how many that are."""
    root = os.path.dirname(os.path.abspath(path))
    known: _Known = Counter()
    for one, lines in found:
        if one.code not in _NEVER and lines is not None:
            known[relative(one.path, root), one.code, _row_text(lines, one)] += 1
    listed = [
        {"path": path, "code": code, "line": line, "count": count}
        for (path, code, line), count in sorted(known.items())
    ]
    content = {"version": VERSION, "findings": listed}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n", known.total()


def _row_text(lines: LineIndex, one: Diagnostic) -> str:
    return " ".join(lines.line(one.range.start.row).split())
