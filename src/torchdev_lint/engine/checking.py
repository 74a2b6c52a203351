"""Checking files of which nothing is known: which of them can matter, checking those in processes, writing what was fixed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability
from torchdev_lint.engine.file_check import can_matter
from torchdev_lint.engine.jobs import Checked, Checker, Job, chooses_later, read_file
from torchdev_lint.engine.limits import FILE_TIMEOUT, each_file
from torchdev_lint.engine.results import Choice, FileResult, chosen, unreadable
from torchdev_lint.engine.stamps import digest_of, stamp_of_path
from torchdev_lint.engine.workers import Lost, Workers, let_go, start_method
from torchdev_lint.fixes.writer import WriteError, replace_content

if TYPE_CHECKING:
    from torchdev_lint.engine.caches import Caches
    from torchdev_lint.engine.run import Progress


def check_files(
    files: Mapping[int, tuple[str, Config, frozenset[Applicability]]],
    *,
    write: bool,
    only: Choice | None,
    workers: Workers,
    caches: Caches | None,
    progress: Progress | None,
) -> dict[int, FileResult]:
    """What each file (its path, configuration, and the fixes that are allowed) comes to; for the others see `run`."""
    results: dict[int, FileResult] = {}
    jobs: dict[int, Job] = {}
    for index, (path, config, fixes) in files.items():
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
    checker = Checker(only, caches is not None, workers.whole)
    changed: dict[int, Checked] = {}
    outcomes = checked_jobs(checker, jobs, workers)
    for index, checked in outcomes if progress is None else progress(outcomes, len(jobs)):
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
    return results


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
                let_go()
        return
    from torchdev_lint.engine.pool import answered

    if start_method() == "fork":  # Such processes share what is loaded.
        import torchdev_lint.flow.execution.interpreter
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
