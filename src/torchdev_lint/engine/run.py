"""The run over files: which of them can matter, checking those in processes, writing what was fixed; results in the order
of the paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
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
from torchdev_lint.engine.jobs import Checked, Checker, Job, chooses_later, read_file
from torchdev_lint.engine.limits import FILE_TIMEOUT, each_file
from torchdev_lint.engine.stamps import digest_of, stamp_of_path
from torchdev_lint.engine.workers import Lost, Workers, answered, start_method
from torchdev_lint.fixes.writer import WriteError, replace_content

if TYPE_CHECKING:
    from torchdev_lint.engine.caches import Caches
    from torchdev_lint.source.notebook import Notebook

__all__ = ["NO_FIXES", "Choice", "FileResult", "RunResult", "Workers", "check_bytes", "describe_bug", "run"]

HERE = Workers()
"""Everything in this process."""


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
        data = read_file(path, config)
        if isinstance(data, FileResult):
            results[index] = data
        elif can_matter(data, path, config):
            jobs[index] = Job(path, config, fixes, len(data))
        else:
            results[index] = FileResult(path, bare=())
            if caches is not None and stamp is not None:
                caches.keep(path, config, Checked(results[index], stamp=stamp, digest=digest_of(data)))
    checker = Checker(only, caches is not None)
    changed: dict[int, Checked] = {}
    for index, checked in checked_jobs(checker, jobs, workers):
        job = jobs[index]
        results[index] = checked.result
        if checked.result.changed:
            changed[index] = checked
        elif caches is not None and checked.stamp is not None:
            caches.keep(job.path, job.config, checked)
            if only is not None and chooses_later(job):
                results[index] = chosen(checked.result, only)
    for index, checked in sorted(changed.items()):
        if write:
            results[index] = _written(checked, jobs[index], checker)
        results[index] = results[index].without_data()
    if caches is not None:
        caches.save()
    return RunResult(tuple(results[index] for index in sorted(results)))


def chosen(result: FileResult, only: Choice) -> FileResult:
    """The result less what `only` leaves out."""
    if not result.diagnostics:
        return result
    left = only(result.path, result.text, list(result.diagnostics))
    return replace(result, diagnostics=tuple(left)).without_data()


def checked_jobs(
    checker: Checker, jobs: Mapping[int, Job], workers: Workers
) -> Iterator[tuple[int, Checked]]:
    """The index and what came of it for each job, as they come; the largest files are begun with."""
    if not jobs:
        return
    if workers.elsewhere is not None:
        for index, answer in workers.elsewhere.answered(checker, jobs):
            yield index, _told(jobs[index], answer)
        return
    order = sorted(jobs, key=lambda index: (-jobs[index].size, index))
    count = workers.count([jobs[index].size for index in order])
    if not count:
        with each_file(FILE_TIMEOUT):
            for index in jobs:
                yield index, checker(jobs[index])
        return
    if start_method() == "fork":  # Such processes share what is loaded.
        import torchdev_lint.flow.interpreter
        import torchdev_lint.rules.registry  # noqa: F401

    todo = [jobs[index] for index in order]
    for place, answer in answered(checker, todo, count, workers.timeout, memory=workers.memory):
        index = order[place]
        yield index, _told(jobs[index], answer)


def _told(job: Job, answer: Checked | Lost) -> Checked:
    if isinstance(answer, Lost):
        return Checked(unreadable(job.path, job.config, f"Not checked: {answer.reason}"))
    return answer


def _written(checked: Checked, job: Job, checker: Checker) -> FileResult:
    """The result, its bytes being in the file now; that of the file without fixes, if they cannot be written."""
    try:
        replace_content(job.path, checked.result.data, checked.original, within=job.config.root)
    except WriteError as error:
        unfixed = checker.without_fixes(job, checked.original)
        return replace(unfixed, errors=(*unfixed.errors, str(error)))
    return checked.result
