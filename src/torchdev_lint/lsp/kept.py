"""What the command line, flake8 and the server know of files from earlier: shared as long as the texts are those on disk."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.engine.caches import Caches, of_project
from torchdev_lint.engine.jobs import Checked
from torchdev_lint.engine.results import NO_FIXES, FileResult, to_bare
from torchdev_lint.engine.sources import Seen, is_text_of
from torchdev_lint.engine.stamps import Stamp, digest_of, stamp_of_path
from torchdev_lint.files import read_bytes
from torchdev_lint.source.suppression import Suppressions

if TYPE_CHECKING:
    from torchdev_lint.engine.settings import Settings
    from torchdev_lint.lsp.programs import Program

SAVE_EVERY = 3.0
"""Seconds between two times that results are written."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a program, and the other files, by their absolute paths, that were read for it."""

    found: tuple[Diagnostic, ...]
    reads: frozenset[str]


@dataclass(slots=True)
class Kept:
    """The kept results of a project. There are none where nobody has kept any: an editor that only looks writes nothing there."""

    settings: Settings
    root: str
    _caches: Caches | None = None
    _saved: float = field(default=float("-inf"))

    def look_up(self, program: Program, config: Config, open_texts: Mapping[str, str]) -> Known | None:
        """What the program came to; None if it is not known, or if the editor has another text of any file."""
        caches = self._its_caches()
        if caches is None or not on_disk(program, open_texts):
            return None
        caches.look_again()
        result = caches.result(program.path, config, NO_FIXES, None)
        if result is None:
            return None
        return Known(result.diagnostics, frozenset(caches.reads(program.path, config)))

    def keep(
        self,
        program: Program,
        config: Config,
        before: tuple[Stamp, str],
        seen: Seen,
        found: Sequence[Diagnostic],
        bare: Sequence[Diagnostic],
    ) -> None:
        """Keep what a program came to that was `before` (see `stamped`) on disk."""
        caches = self._its_caches()
        if caches is None:
            return
        warnings = tuple(f"{row}: {problem}" for row, problem in Suppressions.of(program.text).problems)
        told = tuple(to_bare(one) for one in bare)
        result = FileResult(program.path, tuple(found), warnings=warnings, bare=told)
        caches.keep(program.path, config, Checked(result, b"", *before, seen))
        if time.monotonic() - self._saved > SAVE_EVERY:
            caches.save()
            self._saved = time.monotonic()

    def _its_caches(self) -> Caches | None:
        if self._caches is None:
            caches = of_project(self.settings, self.root)
            if os.path.isdir(caches.directory):
                self._caches = caches
        return self._caches


def stamped(program: Program, open_texts: Mapping[str, str]) -> tuple[Stamp, str] | None:
    """The stamp and digest of the program's file; None if the editor has another text of it, or of any file."""
    stamp = stamp_of_path(program.path)
    if stamp is None or not on_disk(program, open_texts):
        return None
    try:
        return stamp, digest_of(read_bytes(program.path))
    except OSError:
        return None


def on_disk(program: Program, open_texts: Mapping[str, str]) -> bool:
    """Whether all that is open has been saved. Notebooks are for the command line alone."""
    if program.cells is not None or not is_text_of(program.path, program.text):
        return False
    others = ((path, text) for path, text in open_texts.items() if path != program.path)
    return all(is_text_of(path, text) for path, text in others if not path.endswith(".ipynb"))
