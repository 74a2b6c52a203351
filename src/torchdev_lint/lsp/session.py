"""One client's session: what is open, what was found in it, and when it is looked at again.

A program is known by its URI and a serial number, which every change of what it depends on makes a new one. An analysis is
for one serial: it is cut short when that is over, and what comes of it then is thrown away.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from torchdev_lint.lsp.analysis import Analysis, Reader
from torchdev_lint.lsp.documents import Documents, OpenText
from torchdev_lint.lsp.preferences import Preferences
from torchdev_lint.lsp.programs import Program, path_of, program_of

if TYPE_CHECKING:
    from torchdev_lint.lsp.knowledge import Knowledge

Result = TypeVar("Result")

DEPENDENTS_WAIT = 0.8
"""Seconds more until the programs are checked that read a changed one."""


class OutdatedError(Exception):
    """The text has changed since the question was asked."""


@dataclass(slots=True)
class _Job:
    serial: int
    result: asyncio.Future[Analysis]
    again: Callable[[], Analysis]
    """Analyses the program again, to see what happens in it."""
    knowledge: asyncio.Future[Knowledge] | None = None


class Session:
    """What one client has open.

    `publish` is called with the URI of a program whose analysis should be shown, when it has been quiet for a while; and
    whether the client knows that it changed, since it was the client who changed it.
    """

    def __init__(self, root: str, publish: Callable[[str, bool], None]) -> None:
        self.root = root
        self.documents = Documents()
        self.preferences = Preferences()
        self._publish = publish
        self._reader = Reader(root)
        self._worker = ThreadPoolExecutor(1, "analysis")
        self._clock = 0
        self._serials: dict[str, int] = {}
        self._editions: dict[str, int] = {}
        """The serial numbers that the client's own changes made; the others mean that the same text is to be read again."""
        self._quiet_at: dict[str, float] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._unaware: set[str] = set()
        self._jobs: dict[str, _Job] = {}
        self._closed = False

    def close(self) -> None:
        """End what is going on."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        self._worker.shutdown(wait=False, cancel_futures=True)

    def enter(self, root: str) -> None:
        """The client said in which directory it works."""
        self.root = root
        self._reader = Reader(root)
        self._reader.configure(self.preferences)

    def configure(self, preferences: Preferences) -> None:
        """Check everything again: with other preferences, or after a configuration file has changed."""
        self.preferences = preferences
        self._reader.configure(preferences)
        self._reader.look_again()
        for uri in list(self.documents.owners()):
            self._renew(uri, 0, aware=False)

    def touch(self, uri: str, wait: float | None = None) -> None:
        """A program was changed; it is shown again after `wait` seconds of quiet (by default, the user's delay)."""
        self._renew(uri, self.preferences.delay / 1000 if wait is None else wait, aware=True)
        self._editions[uri] = self._clock
        path = path_of(uri, self.root)
        for other, job in list(self._jobs.items()):
            if other != uri and other in self._serials and job.serial == self._serials[other]:
                analysis = _result(job.result)
                if analysis is not None and path in analysis.reads:
                    self._renew(other, DEPENDENTS_WAIT, aware=False)

    def saved(self) -> None:
        """A file was written: those that look for modules may find a new one when they are next checked."""
        self._reader.look_again()

    def changed_on_disk(self, paths: Iterable[str], *, came_or_went: bool) -> None:
        """Files have changed on disk: check again what reads them, or everything if they are new or gone.

        What is open counts as it is in the editor, whatever is on disk.
        """
        changed = set(paths) - set(self.uris())
        if not changed:
            return
        self._reader.look_again()
        for uri in list(self.documents.owners()):
            job = self._jobs.get(uri)
            analysis = None if job is None else _result(job.result)
            if came_or_went or analysis is None or not changed.isdisjoint(analysis.reads):
                self._renew(uri, DEPENDENTS_WAIT, aware=False)

    def forget(self, uri: str) -> None:
        """A program was closed."""
        self._serials.pop(uri, None)
        self._editions.pop(uri, None)
        self._quiet_at.pop(uri, None)
        self._jobs.pop(uri, None)
        timer = self._timers.pop(uri, None)
        if timer is not None:
            timer.cancel()

    def _renew(self, uri: str, wait: float, *, aware: bool) -> None:
        """What is known of a program is over."""
        self._clock += 1
        self._serials[uri] = self._clock
        if not aware:
            self._unaware.add(uri)
        loop = asyncio.get_running_loop()
        self._quiet_at[uri] = loop.time() + wait
        timer = self._timers.pop(uri, None)
        if timer is not None:
            timer.cancel()
        self._timers[uri] = loop.call_later(wait, self._show, uri)

    def _show(self, uri: str) -> None:
        aware = uri not in self._unaware
        self._unaware.discard(uri)
        self._timers.pop(uri, None)
        self._publish(uri, aware)

    async def settled(self, uri: str) -> None:
        """Wait until the user has stopped typing. Raises `OutdatedError` when he goes on."""
        owner = self.documents.owner(uri)
        edition = self._editions.get(owner)
        wait = self._quiet_at.get(owner, 0.0) - asyncio.get_running_loop().time()
        if wait > 0:
            await asyncio.sleep(wait)
        if self._editions.get(owner) != edition:
            raise OutdatedError

    async def analysis(self, uri: str) -> Analysis | None:
        """The analysis of the program that a text belongs to; None when it is none.

        Raises `OutdatedError` when the program changes meanwhile.
        """

        async def found(job: _Job) -> Analysis:
            return await self._still(uri, job, job.result)

        return await self._asked(uri, found)

    async def knowledge(self, uri: str) -> tuple[Analysis, Knowledge] | None:
        """The analysis, and what was seen in the program; as `analysis`."""

        from torchdev_lint.lsp.knowledge import know  # Loads LibCST: the client is answered first.

        async def found(job: _Job) -> tuple[Analysis, Knowledge]:
            analysis = await self._still(uri, job, job.result)
            if job.knowledge is None:
                again = job.again
                job.knowledge = self._in_worker(lambda: know(again() if analysis.kept else analysis))
            return analysis, await self._still(uri, job, job.knowledge)

        return await self._asked(uri, found)

    async def fixed(self, uri: str) -> tuple[Analysis, str | None] | None:
        """The analysis, and the program's text with all safe fixes applied, None when there are none; as `analysis`."""

        async def found(job: _Job) -> tuple[Analysis, str | None]:
            analysis = await self._still(uri, job, job.result)
            return analysis, await self._still(uri, job, self._in_worker(self._reader.fix_all, analysis))

        return await self._asked(uri, found)

    def uris(self) -> dict[str, str]:
        """How the client calls the files that it has open, by path."""
        return {path_of(uri, self.root): uri for uri in self.documents.texts}

    def _program(self, uri: str) -> Program | None:
        owner = self.documents.owner(uri)
        serial = self._serials.get(owner)
        return None if serial is None else program_of(self.documents, owner, self.root, serial)

    def _job(self, uri: str) -> _Job | None:
        owner = self.documents.owner(uri)
        job = self._jobs.get(owner)
        if job is not None and job.serial == self._serials.get(owner):
            return job
        program = self._program(owner)
        if program is None:
            return None
        texts = {path_of(held.uri, self.root): held.text for held in self._files()}
        serial = program.serial

        def goes_on() -> bool:
            return not self._closed and self._serials.get(owner) == serial

        def again() -> Analysis:
            return reader.analyse(program, texts, goes_on, observed=True)

        reader = self._reader
        job = _Job(serial, self._in_worker(reader.analyse, program, texts, goes_on), again)
        self._jobs[owner] = job
        return job

    def _files(self) -> Iterable[OpenText]:
        return (held for uri, held in self.documents.texts.items() if self.documents.owner(uri) == uri)

    def _in_worker(self, function: Callable[..., Result], *arguments: object) -> asyncio.Future[Result]:
        future = asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)
        future.add_done_callback(_result)  # Nobody may wait for it any more.
        return future

    async def _asked(self, uri: str, ask: Callable[[_Job], Coroutine[Any, Any, Result]]) -> Result | None:
        """The answer to a question; it is asked again when what has changed meanwhile is not the text itself."""
        owner = self.documents.owner(uri)
        edition = self._editions.get(owner)
        while (job := self._job(uri)) is not None:
            with suppress(OutdatedError):
                return await ask(job)
            if self._editions.get(owner) != edition:
                raise OutdatedError
        return None

    async def _still(self, uri: str, job: _Job, future: asyncio.Future[Result]) -> Result:
        """The result, if the program is still the same then. The work goes on when only this question is given up."""
        from torchdev_lint.flow.incremental.observations import InterruptedReadingError

        try:
            result = await asyncio.shield(future)
        except InterruptedReadingError:
            raise OutdatedError from None
        if self._serials.get(self.documents.owner(uri)) != job.serial:
            raise OutdatedError
        return result


def _result(future: asyncio.Future[Result]) -> Result | None:
    """The result of a future that has one."""
    if not future.done() or future.cancelled() or future.exception() is not None:
        return None
    return future.result()


def root_of(uri: str | None, path: str | None) -> str:
    """The directory that a client works in."""
    from pygls.uris import to_fs_path

    found = (to_fs_path(uri) if uri else None) or path or os.getcwd()
    return os.path.abspath(found)
