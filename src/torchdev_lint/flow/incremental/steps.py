"""Executing a part of an analysis so that it can be done again, and doing it again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.incremental.journal import Journal, Step, same
from torchdev_lint.flow.incremental.journal_tables import Table
from torchdev_lint.flow.incremental.observations import Observer
from torchdev_lint.flow.incremental.watched import Watched


@dataclass(slots=True)
class Memo:
    """A step that was executed. `budget`: what there was of it at its beginning, for this file and for others, and at its end."""

    of: tuple[str, object]
    step: Step
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    budget: tuple[int, int, int, int]
    denied: bool
    seen: Observer | None
    mutated: bool


@dataclass(slots=True)
class Counts:
    """What readings came to."""

    whole: int = 0
    parsed: int = 0
    """Read from the beginning, and, of those, parsed."""
    parts: int = 0
    executed: int = 0
    again: int = 0
    """Steps that were executed, and done again from the journal."""


@dataclass(slots=True)
class Steps:
    """Does the steps of one analysis. `observer`: who wants to know now; `counts`: how often what was done."""

    analysis: Watched
    journal: Journal
    observer: Observer
    counts: Counts

    def again(self, memo: Memo, of: tuple[str, object]) -> bool:
        """Whether a step was done again from the journal."""
        analysis = self.analysis
        if not same(memo.of, of) or analysis.standing() != memo.before:
            return False
        budget, elsewhere, left, left_elsewhere = memo.budget
        now = analysis.budget - analysis.elsewhere
        own, others = budget - left, elsewhere - left_elsewhere
        if memo.denied:
            affordable = now == budget and analysis.elsewhere == elsewhere
        else:
            affordable = (now == budget or now > own) and (others == 0 or analysis.elsewhere > others)
        if not affordable or not self.journal.replay(memo.step):
            return False
        analysis.elsewhere -= others
        analysis.budget = analysis.elsewhere + now - own
        analysis.stand(memo.after)
        analysis.mutations += memo.mutated
        self.counts.again += 1
        return True

    def execute(self, of: tuple[str, object], function: Callable[..., Any], given: tuple[Any, ...]) -> Memo:
        """Execute a step, and what can be done again of it."""
        analysis = self.analysis
        self.counts.executed += 1
        if isinstance(of[1], Function):
            self._watch_closure(of[1])
        before, mutations = analysis.standing(), analysis.mutations
        budget, elsewhere = analysis.budget - analysis.elsewhere, analysis.elsewhere
        analysis.denied = False
        analysis.recorder = seen = Observer(self.observer.goes_on)
        step = self.journal.begin()
        try:
            step.result = function(*given)
        finally:
            self.journal.step = None
        left = analysis.budget - analysis.elsewhere
        return Memo(
            of,
            step,
            before,
            analysis.standing(),
            (budget, elsewhere, left, analysis.elsewhere),
            analysis.denied,
            seen if seen.nodes else None,
            analysis.mutations > mutations,
        )

    def _watch_closure(self, function: Function) -> None:
        """A function may assign the names of the function that it was defined in."""
        frame: Frame | None = function.frame
        while frame is not None:
            if not isinstance(frame.env.names, Table):
                frame.env.names = Table(self.journal, frame.env.names)
            frame = frame.parent
