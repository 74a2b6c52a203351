"""What a check produces: diagnostics, their related locations and their fixes.

Plain data. Everything else (rules, fixes, reports, faces) speaks in these types; they know nothing of devices,
of LibCST or of files on disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

TOOL = "torchdev-lint"


class Applicability(Enum):
    """How far a fix may be trusted; the values are Ruff's JSON spellings."""

    SAFE = "safe"
    """Cannot change what runs correctly today."""
    UNSAFE = "unsafe"
    """May change behaviour; applied with `--unsafe-fixes`."""
    DISPLAY_ONLY = "displayonly"
    """Shown, never applied."""


@dataclass(frozen=True, order=True, slots=True)
class Position:
    """A place in a text: `row` and `column` are 1-based, columns count Unicode code points."""

    row: int
    column: int


@dataclass(frozen=True, order=True, slots=True)
class Range:
    """From `start` up to, not including, `end`."""

    start: Position
    end: Position


@dataclass(frozen=True, order=True, slots=True)
class Edit:
    """Replace the text in `range` by `content`; an insertion has an empty range, a deletion an empty content.

    `content` uses "\\n" for line ends; the writer turns them into the file's own. `cell` is the cell of a notebook that
    the range is in.
    """

    range: Range
    content: str
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Fix:
    """A sorted tuple of edits that do not overlap, applied together or not at all."""

    edits: tuple[Edit, ...]
    applicability: Applicability
    message: str
    cures_cause: bool = False
    """Other findings of the same text may only be consequences of what this fix cures: it is applied first."""


@dataclass(frozen=True, slots=True)
class Related:
    """Why a diagnostic was made: a place and what happened there ("model moved to `device` here").

    `path` is None when the place is in the diagnostic's own file. `cell` is the cell of a notebook that it is in.
    """

    range: Range
    message: str
    path: str | None = None
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    `path` is the path as it was given to the check. `name` is the rule's kebab-case name. `noqa_row` is the row on
    which a suppression comment works: the last row of the logical line's multi-line string or the start row.
    `cell` is the 1-based index among all cells of a notebook, None for other files.
    """

    path: str
    code: str
    name: str
    message: str
    range: Range
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    noqa_row: int | None = None
    cell: int | None = None
    tool: str = TOOL
    """Who found it: other tools' findings are reported together with ours."""
    url: str | None = None
    """Where the rule is documented."""
    fingerprint: str | None = None
    """By what that tool's own reports know the finding from run to run."""
    drawing: str | None = None
    """How that tool itself shows the finding with its source; whole lines."""

    @property
    def label(self) -> str:
        """What a message starts with: the code, with a colon where that is a word (`invalid-syntax:`)."""
        return self.code if self.code[-1:].isdigit() else f"{self.code}:"

    def sort_key(self) -> tuple[str, int, Position, str, str]:
        """The order of every report: path, cell, position, code."""
        return (self.path, self.cell or 0, self.range.start, self.code, self.message)
