"""What checking a file came to, and which of its findings are wanted. Light: all that a run needs which checks nothing anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torchdev_lint.config import SYNTAX_ERROR, Config
from torchdev_lint.diagnostics import Applicability, Diagnostic, Position, Range

if TYPE_CHECKING:
    from torchdev_lint.source.notebook import Notebook

SYNTAX_ERROR_NAME = "syntax-error"

NO_FIXES: frozenset[Applicability] = frozenset()

Choice = Callable[[str, str, list[Diagnostic]], list[Diagnostic]]
"""Picks findings, given the path of a file, its text, which their positions are those of, and all of them."""


@dataclass(frozen=True, slots=True)
class Choices:
    """A choice that is several, one after another. Picklable if they are."""

    choices: tuple[Choice, ...]

    def __call__(self, path: str, text: str, found: list[Diagnostic]) -> list[Diagnostic]:
        """Those of `found` that all of them pick."""
        for choice in self.choices:
            found = choice(path, text, found)
        return found


Bare = tuple[int, int, str, str]
"""Row, column, code and message of what was found."""

_START = Range(Position(1, 1), Position(1, 1))


@dataclass(frozen=True, slots=True)
class FileResult:
    """What one file came to.

    `text` is what the diagnostics' positions refer to, the fixed text where something was fixed; `before` is
    the text as it was read, `data` the bytes to be kept. `errors` end a run with exit code 2, `warnings`
    do not. Of a notebook, the texts are its joined cells, and `notebooks` says how it was and is.
    """

    path: str
    diagnostics: tuple[Diagnostic, ...] = ()
    data: bytes = b""
    text: str = ""
    before: str = ""
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notebooks: tuple[Notebook, Notebook] | None = None
    bare: tuple[Bare, ...] | None = None
    """What `# noqa` comments would not hide; None when that was not asked for."""
    exhausted: bool = False
    """Whether the file took too long or too much memory: another run may have more of them."""

    @property
    def changed(self) -> bool:
        """Whether fixes changed the text."""
        return self.text != self.before

    def without_data(self) -> FileResult:
        """The result less what no report needs: a run holds thousands of them."""
        if self.diagnostics or self.changed:
            return replace(self, data=b"")
        return replace(self, data=b"", text="", before="", notebooks=None)


def to_bare(one: Diagnostic) -> Bare:
    """The little of a diagnostic that flake8 shows."""
    return one.range.start.row, one.range.start.column, one.code, one.message


def unreadable(path: str, config: Config, message: str) -> FileResult:
    """What a file came to that cannot be read, or not checked: `message` says why."""
    if not config.selects(SYNTAX_ERROR, path):
        return FileResult(path, warnings=(message,))
    return FileResult(path, (Diagnostic(path, SYNTAX_ERROR, SYNTAX_ERROR_NAME, message, _START),))


def chosen(result: FileResult, only: Choice) -> FileResult:
    """The result less what `only` leaves out."""
    if not result.diagnostics:
        return result
    left = only(result.path, result.text, list(result.diagnostics))
    return replace(result, diagnostics=tuple(left)).without_data()


def describe_bug(error: Exception) -> str:
    """One line for a bug of this program: what was raised, and where."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" (at {frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    message = " ".join(str(error).split())
    return f"internal error: {type(error).__name__}{': ' if message else ''}{message}{where}"
