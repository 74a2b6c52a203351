"""Which finding explains an error: one of a rule for such errors, on the way that the traceback shows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.explain.outline import Statement
from torchdev_lint.explain.places import Place
from torchdev_lint.torch_api.error_messages import KINDS


def explaining(
    diagnostics: Iterable[Diagnostic],
    places: Sequence[Place],
    kind: str,
    statement_of: Callable[[Diagnostic], Statement],
) -> list[Diagnostic]:
    """The findings that explain an error of this kind, the best first; `places` lead from the outermost frame inwards.

    A finding of a rule that finds such errors explains it if one of its places (its own, or one of its story) is a statement of the
    traceback, or if its statement gives a value to what such a statement reads. The nearer to where it raised the better, then its
    own place before one of its story and that before a value, then the likelier rule. `statement_of` gives a finding's statement.
    """
    rules = KINDS[kind].rules
    ranked = []
    for one in diagnostics:
        distance = _distance(one, places, statement_of)
        if distance is not None and one.code in rules:
            ranked.append((distance, rules.index(one.code), one.sort_key(), one))
    return [one for *_, one in sorted(ranked, key=lambda row: row[:3])]


def _distance(
    one: Diagnostic, places: Sequence[Place], statement_of: Callable[[Diagnostic], Statement]
) -> tuple[int, int] | None:
    """How many frames from the innermost one the finding is met, and how; None when it is not."""
    for number, place in enumerate(reversed(places)):
        for of_story, (path, cell, first, last) in _spots(one):
            if place.covers(path, cell, first, last):
                return number, of_story
        if _feeds(one, statement_of, place):
            return number, 2
    return None


def _feeds(one: Diagnostic, statement_of: Callable[[Diagnostic], Statement], place: Place) -> bool:
    """Whether what the finding's statement assigns is read at the place: a variable of its function, or an attribute."""
    if os.path.abspath(one.path) != os.path.abspath(place.path):
        return False
    statement = statement_of(one)
    read = statement.assigned & place.statement.names
    if any("." in name for name in read):
        return True
    same_text = one.cell == place.cell or statement.function is None
    return bool(read) and same_text and statement.function in (None, place.statement.function)


def _spots(one: Diagnostic) -> Iterator[tuple[int, tuple[str, int | None, int, int]]]:
    yield 0, (one.path, one.cell, one.range.start.row, one.range.end.row)
    for related in one.related:
        rows = (related.range.start.row, related.range.end.row)
        yield 1, (related.path or one.path, related.cell, *rows)
