"""The run over files: which of them can matter, checking those in processes, writing what was fixed; results in the order
of the paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.engine.file_check import (
    NO_FIXES,
    Choice,
    FileResult,
    can_matter,
    check_bytes,
    describe_bug,
    unreadable,
)
from torchdev_lint.engine.sources import DiskSources, Seen
from torchdev_lint.engine.stamps import Stamp, digest_of, stamp_of_path
from torchdev_lint.engine.workers import Lost, Workers, answered, start_method
from torchdev_lint.files import read_bytes
from torchdev_lint.fixes.writer import WriteError, replace_content
from torchdev_lint.source.reading import NOTEBOOK_SUFFIX

if TYPE_CHECKING:
    from torchdev_lint.engine.caches import Caches
    from torchdev_lint.source.notebook import Notebook

__all__ = ["NO_FIXES", "Choice", "FileResult", "RunResult", "Workers", "check_bytes", "describe_bug", "run"]

HERE = Workers()
"""Everything in this process."""


@dataclass(frozen=True, slots=True)
class Job:
    """A file to be checked, wherever that is done."""

    path: str
    config: Config
    allowed: frozenset[Applicability]
    size: int = 0
    """In bytes, when it was looked at; which one comes first depends on it, nothing else."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a job came to; `original` are the bytes that were read, if `result` has others.

    `stamp` and `digest` are those of the file, `seen` is what else was looked at: the result may be kept, if they are there.
    """

    result: FileResult
    original: bytes = b""
    stamp: Stamp | None = None
    digest: str = ""
    seen: Seen | None = None


@dataclass(slots=True)
class Checker:
    """Checks files one after another; those that they import are read once for all. Picklable."""

    only: Choice | None = None
    keeps: bool = False
    """Whether results are wanted that can be kept for later runs."""
    sources: DiskSources = field(default_factory=DiskSources)

    def __call__(self, job: Job) -> Checked:
        """Check the file as it is now; nothing is written."""
        stamp = stamp_of_path(job.path)
        data = _read(job.path, job.config)
        if isinstance(data, FileResult):
            return Checked(data)
        # What is kept must not depend on what was known before; to fix only what is new, it must be known first.
        later = self.only if self.keeps and _chooses_later(job) else None
        only = None if later is not None else self.only
        seen = self.sources.watch() if self.keeps else None
        result = check_bytes(data, job.path, job.config, job.allowed, only, self.sources)
        if result.changed:
            return Checked(result, data)
        if seen is None or only is not None or result.errors or stamp is None:
            return Checked(result.without_data())
        return Checked(result.without_data(), b"", stamp, digest_of(data), seen)

    def without_fixes(self, job: Job, data: bytes) -> FileResult:
        """What `data` comes to as it is."""
        return check_bytes(data, job.path, job.config, only=self.only, sources=self.sources)


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to; `files` holds every file visited, in order."""

    files: tuple[FileResult, ...]

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
) -> RunResult:
    """Check the files `paths`; apply the fixes that are `allowed` under a file's configuration.

    The files are rewritten only with `write`, when all of them have been checked: what a file comes to does not depend on
    the order. What goes wrong in one file does not stop the run. What is in `caches` is not checked again, unless there is
    something to fix in it.
    """
    results: dict[int, FileResult] = {}
    jobs: dict[int, Job] = {}
    for index, path in enumerate(paths):
        config = config_for(path)
        fixes = allowed(config)
        known = None if caches is None else caches.result(path, config, fixes, only)
        if known is not None:
            results[index] = known
            continue
        stamp = None if caches is None else stamp_of_path(path)
        data = _read(path, config)
        if isinstance(data, FileResult):
            results[index] = data
        elif can_matter(data, path, config):
            jobs[index] = Job(path, config, fixes, len(data))
        else:
            results[index] = FileResult(path)
            if caches is not None and stamp is not None:
                caches.keep(path, config, Checked(results[index], stamp=stamp, digest=digest_of(data)))
    checker = Checker(only, caches is not None)
    changed: dict[int, Checked] = {}
    for index, checked in _checked(checker, jobs, workers):
        job = jobs[index]
        results[index] = checked.result
        if checked.result.changed:
            changed[index] = checked
        elif caches is not None and checked.stamp is not None:
            caches.keep(job.path, job.config, checked)
            if only is not None and _chooses_later(job):
                results[index] = chosen(checked.result, only)
    for index, checked in sorted(changed.items()):
        if write:
            results[index] = _written(checked, jobs[index], checker)
        results[index] = results[index].without_data()
    if caches is not None:
        caches.save()
    return RunResult(tuple(results[index] for index in sorted(results)))


def _chooses_later(job: Job) -> bool:
    return not job.allowed and not job.path.endswith(NOTEBOOK_SUFFIX)


def chosen(result: FileResult, only: Choice) -> FileResult:
    """The result less what `only` leaves out."""
    if not result.diagnostics:
        return result
    left = only(result.path, result.text, list(result.diagnostics))
    return replace(result, diagnostics=tuple(left)).without_data()


def _checked(checker: Checker, jobs: dict[int, Job], workers: Workers) -> Iterator[tuple[int, Checked]]:
    """The index and what came of it for each job, the largest files first."""
    if not jobs:
        return
    order = sorted(jobs, key=lambda index: (-jobs[index].size, index))
    count = workers.count([jobs[index].size for index in order])
    if not count:
        for index in jobs:
            yield index, checker(jobs[index])
        return
    if start_method() == "fork":  # Such processes share what is loaded.
        import torchdev_lint.flow.interpreter
        import torchdev_lint.rules.registry  # noqa: F401

    for place, answer in answered(checker, [jobs[index] for index in order], count, workers.timeout):
        index = order[place]
        job = jobs[index]
        if isinstance(answer, Lost):
            answer = Checked(unreadable(job.path, job.config, f"Not checked: {answer.reason}"))
        yield index, answer


def _written(checked: Checked, job: Job, checker: Checker) -> FileResult:
    """The result, its bytes being in the file now; that of the file without fixes, if they cannot be written."""
    try:
        replace_content(job.path, checked.result.data, checked.original, within=job.config.root)
    except WriteError as error:
        unfixed = checker.without_fixes(job, checked.original)
        return replace(unfixed, errors=(*unfixed.errors, str(error)))
    return checked.result


def _read(path: str, config: Config) -> bytes | FileResult:
    try:
        return read_bytes(path)
    except OSError as error:
        return unreadable(path, config, f"cannot be read: {error.strerror}")
