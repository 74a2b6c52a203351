"""Which finding explains an error: one of a rule for such errors, on the way that the traceback shows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.explain.outline import Outline
from torchdev_lint.explain.places import Place
from torchdev_lint.torch_api.error_messages import KINDS

HOW = ("line", "story", "value", "flow")
"""In which way a finding explains: it stands on a line of the traceback, or a step of its story does; its statement gives a value to
what such a line reads; what such a line reads may come from there, over several statements."""


@dataclass(frozen=True, slots=True)
class Match:
    """A finding that explains an error. `frames` is how many frames from the innermost one it is met, `how` an index of `HOW`."""

    diagnostic: Diagnostic
    frames: int
    how: int

    @property
    def certain(self) -> bool:
        """Whether the finding is about a line of the traceback."""
        return self.how < HOW.index("value")


def explaining(
    diagnostics: Iterable[Diagnostic],
    places: Sequence[Place],
    kind: str,
    outline_of: Callable[[str, int | None], Outline],
) -> list[Match]:
    """The findings that explain an error of this kind, the best first; `places` lead from the outermost frame inwards.

    A finding of a rule that finds such errors explains it in one of the ways `HOW`; the ways that are about a line of the traceback come
    first, then the nearer to where it raised the better, then the likelier rule. `outline_of` gives the statements of a file or cell.
    """
    rules = KINDS[kind].rules
    reached = [outline_of(place.path, place.cell).leading_to(place.row) for place in places]
    found = []
    for one in diagnostics:
        match = _match(one, places, reached, outline_of) if one.code in rules else None
        if match is not None:
            found.append(match)
    return sorted(found, key=lambda match: _rank(match, rules))


def _rank(match: Match, rules: Sequence[str]) -> tuple[object, ...]:
    one = match.diagnostic
    return not match.certain, match.frames, match.how, rules.index(one.code), one.sort_key()


def _match(
    one: Diagnostic,
    places: Sequence[Place],
    reached: Sequence[frozenset[int]],
    outline_of: Callable[[str, int | None], Outline],
) -> Match | None:
    frames = len(places)
    for number, place in enumerate(reversed(places)):
        for how, spot in _spots(one):
            if place.covers(*spot):
                return Match(one, number, how)
    own = outline_of(one.path, one.cell).at(one.range.start.row)
    for number in range(frames):
        place = places[frames - 1 - number]
        if os.path.abspath(one.path) != os.path.abspath(place.path):
            continue
        direct = own.assigned & place.statement.names
        other_cell = one.cell != place.cell
        if own.function is None and direct if other_cell else own.first in reached[frames - 1 - number]:
            return Match(one, number, HOW.index("value" if direct else "flow"))
    return None


def _spots(one: Diagnostic) -> Iterator[tuple[int, tuple[str, int | None, int, int]]]:
    yield 0, (one.path, one.cell, one.range.start.row, one.range.end.row)
    for related in one.related:
        rows = (related.range.start.row, related.range.end.row)
        yield 1, (related.path or one.path, related.cell, *rows)
