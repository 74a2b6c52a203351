"""The run over files: what is known of them, and what has to be checked; results in the order of the paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.engine.results import Choice, FileResult
from torchdev_lint.engine.workers import Workers

if TYPE_CHECKING:
    from torchdev_lint.engine.caches import Caches
    from torchdev_lint.engine.jobs import Checked
    from torchdev_lint.source.notebook import Notebook

Progress: TypeAlias = "Callable[[Iterator[tuple[int, Checked]], int], Iterator[tuple[int, Checked]]]"

FIX_PASSES = 8
"""How often all files are checked at most when fixes are written: what is mended in one may be what another needed."""

HERE = Workers()
"""Everything in this process."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to; `files` holds every file visited, in order."""

    files: tuple[FileResult, ...]
    all_kept: bool = False
    """Whether every file came to what was kept of it."""

    @property
    def nothing(self) -> bool:
        """Whether there were files, and there is nothing to say of any of them."""
        return bool(self.files) and not any(
            file.diagnostics or file.errors or file.warnings or file.counts for file in self.files
        )

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What is left to report, sorted."""
        return sorted((one for file in self.files for one in file.diagnostics), key=Diagnostic.sort_key)

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """How often each (code, name) was fixed."""
        total: Counter[tuple[str, str]] = Counter()
        for file in self.files:
            total.update(file.counts)
        return total

    @property
    def errors(self) -> list[str]:
        """Internal errors and files that could not be written, one line each, with the path."""
        return [f"{file.path}: {error}" for file in self.files for error in file.errors]

    @property
    def warnings(self) -> list[str]:
        """What the user should know but need not act on, one line each, with the path."""
        return [f"{file.path}: {warning}" for file in self.files for warning in file.warnings]

    @property
    def sources(self) -> dict[str, str]:
        """The texts that positions refer to, by path; none for a file that could not be read as text."""
        return {file.path: file.text for file in self.files if file.text and file.notebooks is None}

    @property
    def notebooks(self) -> dict[str, Notebook]:
        """The notebooks that cells refer to, by path."""
        return {file.path: file.notebooks[1] for file in self.files if file.notebooks is not None}


def run(
    paths: Iterable[str],
    config_for: Callable[[str], Config],
    allowed: Callable[[Config], frozenset[Applicability]],
    *,
    write: bool,
    only: Choice | None = None,
    workers: Workers = HERE,
    caches: Caches | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Check the files `paths`; apply the fixes that are `allowed` under a file's configuration.

    The files are rewritten only with `write`, when all of them have been checked: what a file comes to does not depend on
    the order. What goes wrong in one file does not stop the run. What is in `caches` is not checked again, unless there is
    something to fix in it. `progress` is handed what the files come to, and their number; it hands them on.
    """
    results: dict[int, FileResult] = {}
    left: dict[int, tuple[str, Config, frozenset[Applicability]]] = {}
    for index, path in enumerate(paths):
        config = config_for(path)
        fixes = allowed(config)
        known = None if caches is None else caches.result(path, config, fixes, only)
        if known is None:
            left[index] = (path, config, fixes)
        else:
            results[index] = known
    if left:
        from torchdev_lint.engine.checking import (
            check_files,  # Much of a run in which nothing changed would be its import.
        )

        results.update(
            check_files(left, write=write, only=only, workers=workers, caches=caches, progress=progress)
        )
    if caches is not None:
        caches.save()
    return RunResult(tuple(results[index] for index in sorted(results)), all_kept=not left)


def run_and_fix(
    paths: Iterable[str],
    config_for: Callable[[str], Config],
    allowed: Callable[[Config], frozenset[Applicability]],
    choose: Callable[[], Choice | None],
    *,
    only: Choice | None = None,
    workers: Workers = HERE,
    caches: Caches | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """`run`, writing, until no file changes any more: what is found in one file may rest on what was fixed in another.

    `only`: which findings count at first; `choose` is asked again before each further pass, as lines have moved. A file that is fixed
    in several passes counts them all.
    """
    paths = list(paths)
    before: dict[str, Counter[tuple[str, str]]] = {}
    for _ in range(FIX_PASSES):
        result = run(
            paths, config_for, allowed, write=True, only=only, workers=workers, caches=caches, progress=progress
        )  # fmt: skip
        counted = any(file.counts for file in result.files)
        for file in result.files:
            if file.counts:
                before[file.path] = before.get(file.path, Counter()) + file.counts
        if not counted:
            break
        only = choose()
        if caches is not None:
            caches.look_again()
    return replace(
        result,
        files=tuple(
            replace(file, counts=before[file.path]) if file.path in before else file for file in result.files
        ),
    )
