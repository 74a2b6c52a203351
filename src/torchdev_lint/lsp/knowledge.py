"""What was seen of the names and calls of a program, at their places in its text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchdev_lint.diagnostics import Position
from torchdev_lint.engine.check import unify_newlines
from torchdev_lint.flow.domain.lattice import Origin
from torchdev_lint.flow.incremental.observations import Observation, short_name
from torchdev_lint.flow.syntax.positions import rendered
from torchdev_lint.lsp.analysis import Analysis
from torchdev_lint.source.lines import LineIndex

_DID = {"moved": "moved", "factory": "made", "made": "made", "loaded": "loaded"}


@dataclass(frozen=True, slots=True)
class Step:
    """What put something where it is: `moved`, `made`, ..., at a position of the program's text."""

    what: str
    place: Position


@dataclass(frozen=True, slots=True)
class Seen:
    """One way in which an expression was seen; see `Observation`."""

    text: str
    device: str
    ran: bool
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """A name, an attribute or a call (its function's name), by offsets in the text, and as what it was seen."""

    start: int
    end: int
    target: bool
    seen: tuple[Seen, ...]

    @property
    def device(self) -> Seen | None:
        """Where it is, if all ways agree: those of the file's own run, or else those of functions read alone."""
        for group in ([one for one in self.seen if one.ran], [one for one in self.seen if not one.ran]):
            names = {one.device for one in group}
            if len(names) > 1:
                return None
            if names and names != {""}:
                return group[0]
        return None


class Knowledge:
    """All that is known of a program."""

    def __init__(self, known: tuple[Known, ...], text: str) -> None:
        self.lines = LineIndex(text)
        self._known = sorted(known, key=lambda one: (one.start, one.end))

    def at(self, place: Position) -> Known | None:
        """The smallest thing at a position of which something was seen."""
        try:
            offset = self.lines.offset(place)
        except ValueError:
            return None
        around = [one for one in self._known if one.start <= offset <= one.end]
        return min(around, key=lambda one: (one.end - one.start, not one.target), default=None)

    def targets(self) -> Iterator[Known]:
        """What was assigned to, in the order of the text."""
        return (one for one in self._known if one.target)


def know(analysis: Analysis) -> Knowledge:
    """Place what was seen in an analysis."""
    observer = analysis.observer
    code = unify_newlines(analysis.code)
    module = None if observer is None else observer.module
    if observer is None or module is None:
        return Knowledge((), code)
    observer.gather()
    wanted: list[cst.CSTNode] = []
    tables = [(observer.evaluations, False), (observer.assignments, True)]
    for table, _ in tables:
        for key, observations in table.items():
            if any(one.text for one in observations):
                node = observer.nodes[key]
                wanted.append(node.func if isinstance(node, cst.Call) else node)
                wanted += [step.node for one in observations for step in one.steps]
    found, written = rendered(module, wanted)
    if written != code:
        return Knowledge((), code)
    rows = LineIndex(code)
    known: list[Known] = []
    for table, target in tables:
        for key, observations in table.items():
            node = observer.nodes[key]
            span = found.get(id(node.func if isinstance(node, cst.Call) else node))
            if span is not None and any(one.text for one in observations):
                seen = tuple(_seen(one, found, rows) for one in observations)
                known.append(Known(*span, target, seen))
    return Knowledge(tuple(known), code)


def _seen(one: Observation, found: dict[int, tuple[int, int]], rows: LineIndex) -> Seen:
    steps = [_step(step, found, rows) for step in one.steps if id(step.node) in found]
    device = "" if one.device is None else short_name(one.device)
    return Seen(one.text, device, one.ran, tuple(dict.fromkeys(steps)))


def _step(step: Origin, found: dict[int, tuple[int, int]], rows: LineIndex) -> Step:
    return Step(_DID.get(step.what, step.what), rows.position(found[id(step.node)][0]))
