"""What is asked of whoever checks files, and what is answered: in this process, in another, or on another machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability
from torchdev_lint.engine.file_check import check_bytes, check_content
from torchdev_lint.engine.parsing import cutting
from torchdev_lint.engine.results import Choice, FileResult, unreadable
from torchdev_lint.engine.sources import DiskSources, Seen
from torchdev_lint.engine.stamps import Stamp, digest_of, stamp_of_path
from torchdev_lint.files import read_bytes
from torchdev_lint.source.reading import NOTEBOOK_SUFFIX


@dataclass(frozen=True, slots=True)
class Job:
    """A file to be checked, wherever that is done."""

    path: str
    config: Config
    allowed: frozenset[Applicability]
    size: int = 0
    """In bytes, when it was looked at; which one comes first depends on it, nothing else."""
    content: bytes | str | None = None
    """What to check under the name `path`, which is then no file on disk, and imports nothing from there."""


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
    long: Mapping[str, bool] = field(default_factory=dict)
    """The long files that were parsed for it, by absolute path: whether in pieces."""


@dataclass(slots=True)
class Checker:
    """Checks files one after another; those that they import are read once for all. Picklable."""

    only: Choice | None = None
    keeps: bool = False
    """Whether results are wanted that can be kept for later runs."""
    whole: bool = False
    """Whether long files are parsed as a whole, too."""
    sources: DiskSources = field(default_factory=DiskSources)

    def __call__(self, job: Job) -> Checked:
        """Check the file as it is now; nothing is written."""
        with cutting(allowed=not self.whole) as how:
            checked = self._check(job)
        self.sources.checked()
        return replace(checked, long=how.long) if how.long else checked

    def _check(self, job: Job) -> Checked:
        if job.content is not None:
            return Checked(check_content(job.content, job.path, job.config, self.only).without_data())
        stamp = stamp_of_path(job.path)
        data = read_file(job.path, job.config)
        if isinstance(data, FileResult):
            return Checked(data)
        # What is kept must not depend on what was known before; to fix only what is new, it must be known first.
        later = self.only if self.keeps and chooses_later(job) else None
        only = None if later is not None else self.only
        seen = self.sources.watch() if self.keeps else None
        result = check_bytes(
            data, job.path, job.config, job.allowed, only, self.sources, wants_bare=self.keeps
        )
        if result.changed:
            return Checked(result, data)
        if result.exhausted:
            self.sources = DiskSources()  # whatever was being read when it was given up is read again
            return Checked(result.without_data())
        if seen is None or only is not None or result.errors or stamp is None:
            return Checked(result.without_data())
        return Checked(result.without_data(), b"", stamp, digest_of(data), seen)

    def without_fixes(self, job: Job, data: bytes) -> FileResult:
        """What `data` comes to as it is."""
        return check_bytes(data, job.path, job.config, only=self.only, sources=self.sources)


def chooses_later(job: Job) -> bool:
    """Whether all findings of the job are to be known before some are chosen."""
    return not job.allowed and not job.path.endswith(NOTEBOOK_SUFFIX)


def read_file(path: str, config: Config) -> bytes | FileResult:
    """The content of a file; what the file comes to if it cannot be read."""
    try:
        return read_bytes(path)
    except OSError as error:
        return unreadable(path, config, f"cannot be read: {error.strerror}")
