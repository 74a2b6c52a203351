"""What can be said of a pasted error: the parts of an answer, and how they are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.notebooks import broken_cells
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.explain.complaints import Complaint, complaint_about, stranger
from torchdev_lint.explain.matching import Match, explaining
from torchdev_lint.explain.outline import Outline
from torchdev_lint.explain.places import Finder, Place, in_library
from torchdev_lint.explain.tracebacks import Frame, PastedError, choose, parse
from torchdev_lint.files import read_bytes
from torchdev_lint.source.document import Document, SourceError
from torchdev_lint.source.notebook import Notebook
from torchdev_lint.source.reading import read_source

MAX_FILES = 8
"""How many files of a traceback are checked, from the innermost frame outwards."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer. `findings` explain the error, the best first; `silenced` are those that a plain run does not report."""

    error: PastedError
    complaint: Complaint | None
    """None when the error is not about devices."""
    advice: str | None
    """What is known of an error that is not about devices."""
    places: tuple[Place, ...]
    """Where the frames in the user's own files are, outermost first."""
    lost: tuple[Frame, ...]
    """The user's frames that are in no file here."""
    findings: tuple[Match, ...] = ()
    silenced: frozenset[Diagnostic] = frozenset()


def explain(text: str, finder: Finder, config_for: Callable[[str], Config]) -> Explanation | None:
    """What can be said of the error in `text`; None when there is no text. `config_for` gives a file's configuration."""
    errors = parse(text)
    if not errors:
        return None
    error, others = choose(errors, lambda one: complaint_about(one) is not None)
    complaint = complaint_about(error)
    own = [frame for frame in error.frames if not in_library(frame)]
    places = _places(own, finder)
    for other in others:
        if places:
            break
        # A worker's or a script's own traceback may hold library frames only: those around it tell who called.
        own = [frame for frame in other.frames if not in_library(frame)]
        places = _places(own, finder)
    found = {place.frame for place in places}
    lost = tuple(frame for frame in own if frame not in found)
    if complaint is None:
        return Explanation(error, None, stranger(error.message), places, lost)
    paths = list(dict.fromkeys(place.path for place in reversed(places)))[:MAX_FILES]
    diagnostics = [one for path in paths for one in _all_findings(path, config_for(path))]
    matching = explaining(diagnostics, places, complaint.kind, _Outlines().of)
    reported = {
        one
        for path in dict.fromkeys(match.diagnostic.path for match in matching)
        for one in _reported(path, config_for(path))
    }
    silenced = frozenset(match.diagnostic for match in matching if match.diagnostic not in reported)
    return Explanation(error, complaint, None, places, lost, tuple(matching), silenced)


def _places(frames: Sequence[Frame], finder: Finder) -> tuple[Place, ...]:
    return tuple(place for place in map(finder.find, frames) if place is not None)


def _all_findings(path: str, config: Config) -> list[Diagnostic]:
    """What every rule finds in a file, whatever is deselected or suppressed."""
    everything = replace(
        config, select=("ALL",), ignore=(), extend_select=(), per_file_ignores=(), off_by_default=frozenset()
    )
    return _checked(path, lambda program: check_source(program, path, everything, DiskSources()))


def _reported(path: str, config: Config) -> list[Diagnostic]:
    return _checked(path, lambda program: findings(program, path, config, sources=DiskSources()))


class _Outlines:
    """The statements of files and cells; every text is read once."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, int | None], Outline] = {}

    def of(self, path: str, cell: int | None) -> Outline:
        key = (path, cell)
        if key not in self._read:
            self._read[key] = Outline(cell_text(path, cell) or "")
        return self._read[key]


def cell_text(path: str, cell: int | None) -> str | None:
    """The text of a file, or of one cell of a notebook; None when it cannot be read."""
    source = _read(path)
    if source is None or isinstance(source, Document):
        return None if source is None else source.text
    return source.cell_text(cell)


def notebooks_among(paths: Iterable[str]) -> dict[str, Notebook]:
    """The notebooks among some files, by path."""
    sources = {path: _read(path) for path in paths}
    return {path: source for path, source in sources.items() if isinstance(source, Notebook)}


def _read(path: str) -> Document | Notebook | None:
    try:
        return read_source(read_bytes(path), path)
    except (OSError, SourceError):
        return None


def _checked(path: str, check: Callable[[str], list[Diagnostic]]) -> list[Diagnostic]:
    source = _read(path)
    if source is None:
        return []
    broken = () if isinstance(source, Document) else broken_cells(source)
    return [source.placed(one) for one in check(source.analysed(source.text, broken))]
