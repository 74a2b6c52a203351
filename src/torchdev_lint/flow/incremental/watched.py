"""An analysis that can be done again in parts (`rereading`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from torchdev_lint.flow.activation.analysis import Analysis, Learned
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.environment import Environment
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.incremental.journal import Journal
from torchdev_lint.flow.incremental.journal_tables import Group, Table

_TABLES = (
    "events literals loads unforwarded located defaults spent integers option_defaults attribute_sites handed sent_to_host texts notes "
    "asked spots"
).split()
_GROUPS = "arrays instances redeemed blamed of_modules built_at_top read_on_host handed_tensors".split()


class Watched(Analysis):
    """An analysis whose tables tell a journal who reads and writes what."""

    __slots__ = ("denied", "journal", "made_since", "told")

    journal: Journal
    denied: bool
    """Whether the budget did not reach for a call, since this was last set."""
    told: dict[re.Pattern[str], bool]
    """What the text says."""
    made_since: set[Key]
    """What the top level made anew when it was run again: an environment that a step left behind before has nothing of it."""

    def watch(self, journal: Journal) -> None:
        """From here on, tell the journal."""
        self.journal, self.denied, self.told, self.made_since = journal, False, {}, set()
        for name in _TABLES:
            setattr(self, name, Table(journal, {}))
        for name in _GROUPS:
            setattr(self, name, Group(journal))

    def meet(self, function: Function) -> None:
        """As for any analysis."""
        if not function.frame.source.foreign:
            self._meet(function)

    def _meet(self, function: Function) -> bool:
        self.pending.append(function)
        self.journal.note(self._meet, function)
        return True

    def affords(self, function: Function, *, matters: bool = True) -> bool:
        """As for any analysis."""
        found = super().affords(function, matters=matters)
        self.denied |= not found
        return found

    def says(self, pattern: re.Pattern[str]) -> bool:
        """As for any analysis."""
        found = self._says(pattern)
        self.journal.note(self._still_says, pattern, found)
        return found

    def _says(self, pattern: re.Pattern[str]) -> bool:
        if pattern not in self.told:
            self.told[pattern] = pattern.search(self.written) is not None
        return self.told[pattern]

    def _still_says(self, pattern: re.Pattern[str], found: bool) -> bool:
        return self._says(pattern) == found

    def catch_up(self, env: Environment, definition: Environment) -> Environment:
        """The environment, with what the top level has made since in it."""
        for key in self.made_since:
            if key in definition.heap:
                env.heap.setdefault(key, definition.heap[key])
        return env

    def learn(self, function: Callable[..., Learned], *given: Any) -> Learned:
        """As for any analysis."""
        found: Learned = self.journal.learn(function, *given)
        return found

    def table(self, content: dict[Any, Any]) -> dict[Any, Any]:
        """As for any analysis."""
        return Table(self.journal, content)

    def standing(self) -> tuple[Any, ...]:
        """What else a step may depend on, and change."""
        return (
            self.quiet,
            self.printed,
            self.muted,
            self.on_host,
            self.sets_default_device,
            self.kept,
            frozenset(self.imported),
        )

    def stand(self, standing: tuple[Any, ...]) -> None:
        """Let things be as they were after a step."""
        self.quiet, self.printed, self.muted, self.on_host, self.sets_default_device, self.kept, imported = (
            standing
        )
        self.imported = set(imported)
