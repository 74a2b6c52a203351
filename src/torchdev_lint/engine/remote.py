"""What a process of an executor does: checks a batch of files, which it reads by the same absolute paths as whoever asks.

The process may be one of a cluster: it may stand in another working directory, have other versions installed, run several
tasks in threads, and live longer than the run.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cache

from torchdev_lint import __version__
from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.engine.jobs import Checked, Checker, Job
from torchdev_lint.engine.limits import FILE_TIMEOUT, each_file
from torchdev_lint.engine.results import FileResult
from torchdev_lint.engine.workers import Lost


@dataclass(frozen=True, slots=True)
class Batch:
    """Files to be checked one after another."""

    run: str
    """Of one run, whatever was read for a batch holds for the next."""
    tool: str
    """What `tool` says where the run was started."""
    checker: Checker
    jobs: tuple[Job, ...]
    """With absolute paths."""
    seconds: float = FILE_TIMEOUT
    """What each file may take."""


_LOCK = threading.Lock()
"""The inference is Python: two checks at a time in one process would only wait for each other."""
_kept: dict[str, Checker] = {}
"""The checker of the latest run, which has read what files of it import."""


@cache
def tool() -> str:
    """The versions that results depend on, for people."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        libcst = version("libcst")
    except PackageNotFoundError:
        libcst = "?"
    return f"torchdev-lint {__version__} with LibCST {libcst}"


def check_batch(batch: Batch) -> list[Checked | Lost]:
    """What each job of the batch came to, in order; whatever a file does, short of ending the process, is its own."""
    if batch.tool != tool():
        return [Lost(f"it was given to a process that has {tool()}, not {batch.tool}")] * len(batch.jobs)
    with _LOCK:
        checker = _kept.get(batch.run)
        if checker is None:
            _kept.clear()
            checker = _kept[batch.run] = batch.checker
        with each_file(batch.seconds):
            return [_answer(checker, job) for job in batch.jobs]


def _answer(checker: Checker, job: Job) -> Checked | Lost:
    try:
        return checker(job)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # Native code raises others, too.
        return Lost.by(error)


def sent(job: Job) -> Job:
    """The job as another process is given it."""
    return replace(job, path=os.path.abspath(job.path)) if job.content is None else job


def received(job: Job, checked: Checked) -> Checked:
    """What became of `sent(job)`, with paths as the user gave them."""
    if job.content is not None or os.path.isabs(job.path):
        return checked
    return replace(checked, result=_renamed(checked.result, job.path, os.path.relpath))


def _renamed(result: FileResult, path: str, name: Callable[[str], str]) -> FileResult:
    """The result for the file `path`; other files are called what `name` says."""

    def renamed(one: Diagnostic) -> Diagnostic:
        related = tuple(
            note if note.path is None else replace(note, path=name(note.path)) for note in one.related
        )
        return replace(one, path=path, related=related)

    notebooks = result.notebooks
    if notebooks is not None:
        notebooks = (copy(notebooks[0]), copy(notebooks[1]))
        for notebook in notebooks:
            notebook.path = path
    return replace(
        result, path=path, diagnostics=tuple(renamed(one) for one in result.diagnostics), notebooks=notebooks
    )
