"""What is remembered of a file between two of its texts, so that only what an edit touched is read again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torchdev_lint.engine.parsing import ParseError, parse_module
from torchdev_lint.flow.incremental.observations import Observer
from torchdev_lint.flow.incremental.rereading import Rereading
from torchdev_lint.flow.incremental.steps import Counts

if TYPE_CHECKING:
    import libcst as cst

    from torchdev_lint.config import Config
    from torchdev_lint.flow.activation.analysis import Options, Recording
    from torchdev_lint.flow.activation.events import Event
    from torchdev_lint.flow.project.projects import Project, Sources


class Memory:
    """What is remembered of one file. Its trees are its own: they change with the text."""

    def __init__(self) -> None:
        self._key: tuple[str, Config, Options] | None = None
        self._rereading: Rereading | None = None

    @property
    def counts(self) -> Counts:
        """What the readings came to so far, with this configuration."""
        return Counts() if self._rereading is None else self._rereading.counts

    def read(
        self,
        text: str,
        path: str,
        config: Config,
        options: Options,
        around: Callable[[Sources], Project],
        sources: Sources | None,
        recorder: Recording | None,
    ) -> tuple[cst.Module, list[Event], Project | None] | ParseError:
        """The tree and the events of a text, and the files `around` it; or why it does not parse.

        The recorder has to be an `Observer`, if there is one.
        """
        key = path, config, options
        if self._rereading is None or self._key != key:
            self._key, self._rereading = key, Rereading(options)
        error: ParseError | None = None

        def parse(part: str) -> cst.Module | None:
            nonlocal error
            try:
                return parse_module(part)
            except ParseError as found:
                error = found
                return None

        observer = recorder if isinstance(recorder, Observer) else None
        read = self._rereading.read(text, parse, around, sources, observer)
        if read is None:
            assert error is not None
            return error
        return read
