"""Tables that know who read and wrote what, so that a part of an analysis can be undone, checked and done again without running it.

An analysis is a row of *steps* (the top level's statements, each function read on its own) that share tables. While a step runs,
its tables note in the journal what it read, and what it wrote. A step whose code is unchanged comes to the same if all that
it reads is the same: then what it wrote is written again (`replay`), and nothing is executed. Everything that was written can be
taken back (`undo`), the last first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

MISSING: Any = object()
"""What a table holds under a key that is not there."""

Operation = tuple[Callable[..., bool], tuple[Any, ...]]
"""Something that a step did: how to do it again, which says whether it came to the same, and what to do it with."""


class Part(Protocol):
    """A part of the code that can be exchanged."""

    version: int


@dataclass(slots=True)
class Step:
    """What a part of an analysis did: what it read and wrote, in order, and the code that it looked at."""

    serial: int
    operations: list[Operation] = field(default_factory=list)
    looked_at: set[Part] = field(default_factory=set)
    result: Any = None
    whole: bool = False
    """Whether it is only known what it looked at: it cannot be done again."""
    versions: dict[Part, int] = field(default_factory=dict)
    """Of what was learned from the code: which versions of its parts were looked at."""

    def all_looked_at(self) -> set[Part]:
        """The code that it looked at, also to learn something from it."""
        found = set(self.looked_at)
        for again, given in self.operations:
            if again.__name__ == "_still_finds":
                found |= given[0].all_looked_at()
        return found


@dataclass(slots=True)
class Journal:
    """Whose turn it is, and how to take back what was written."""

    step: Step | None = None
    taken: list[tuple[Callable[..., None], tuple[Any, ...]]] = field(default_factory=list)
    """What takes back what was written, the oldest first."""
    serial: int = 0
    recalled: dict[tuple[Callable[..., Any], int], tuple[object, Any, dict[Part, int]]] = field(
        default_factory=dict
    )
    """What was found in parts of the code, by who found it and the part's `id`: the part, what it is, which versions were looked at."""

    def begin(self, *, whole: bool = False) -> Step:
        """A step begins."""
        self.serial += 1
        self.step = Step(self.serial, whole=whole)
        return self.step

    def look_at(self, code: Part) -> None:
        """The running step looks at a part of the code."""
        if self.step is not None:
            self.step.looked_at.add(code)

    def note(self, again: Callable[..., bool], *given: Any) -> None:
        """The running step does something."""
        if self.step is not None and not self.step.whole:
            self.step.operations.append((again, given))

    def recall(self, find: Callable[..., Any], node: object) -> Any:
        """What a function, which reads nothing but the code, finds in a part of it; found again where that has been exchanged."""
        key = find, id(node)
        known = self.recalled.get(key)
        if known is None or any(part.version != version for part, version in known[2].items()):
            outer, inner = self.step, Step(self.serial, whole=True)
            self.step = inner
            try:
                found = find(node)
            finally:
                self.step = outer
            known = self.recalled[key] = node, found, {part: part.version for part in inner.looked_at}
        if self.step is not None:
            self.step.looked_at.update(known[2])
        return known[1]

    def learn(self, function: Callable[..., Any], *given: Any) -> Any:
        """What a function finds in the code. The running step depends on what it finds, not on all that it looks at."""
        outer = self.step
        if outer is None or outer.whole:
            return function(*given)
        inner = self.begin()
        try:
            result = inner.result = function(*given)
        finally:
            self.step = outer
        inner.versions = {part: part.version for part in inner.looked_at}
        outer.operations.append((self._still_finds, (inner, function, given)))
        return result

    def _still_finds(self, inner: Step, function: Callable[..., Any], given: tuple[Any, ...]) -> bool:
        if all(part.version == version for part, version in inner.versions.items()) and self.replay(inner):
            return True
        again = self.begin()
        try:
            again.result = function(*given)
        finally:
            self.step = None
        if not same(again.result, inner.result):
            return False
        inner.operations, inner.looked_at = again.operations, again.looked_at
        inner.versions = {part: part.version for part in again.looked_at}
        return True

    def undo(self, mark: int = 0) -> None:
        """Take back what was written since there were `mark` entries."""
        taken = self.taken
        while len(taken) > mark:
            back, given = taken.pop()
            back(*given)

    def replay(self, step: Step) -> bool:
        """Whether a step would read what it read; then all that it wrote is written again, else nothing."""
        mark = len(self.taken)
        for again, given in step.operations:
            if not again(*given):
                self.undo(mark)
                return False
        return True


_PLAIN = frozenset({int, str, bool, float, bytes, complex, type(None)})
_LISTS = frozenset({tuple, list})
_fields: dict[type, tuple[str, ...] | None] = {}
"""By type: the fields to compare of what never changes; None for what is the same only if it is that very thing."""


def same(left: Any, right: Any) -> bool:
    """Whether two things cannot be told apart, not even by what `==` leaves out (the origin of a device)."""
    if left is right:
        return True
    kind = type(left)
    if kind is not type(right):
        return False
    if kind in _PLAIN:
        return bool(left == right)
    if kind in _LISTS:
        return len(left) == len(right) and all(map(same, left, right))
    if kind is dict:
        # the order counts: it is that of a heap's or a module's names
        return len(left) == len(right) and all(
            one == other and same(held, right[other])
            for (one, held), other in zip(left.items(), right, strict=True)
        )
    if kind is set or kind is frozenset:
        return bool(left == right) and all(type(one) in _PLAIN or type(one) is tuple for one in left)
    names = _fields[kind] if kind in _fields else _compared(kind)
    return names is not None and all(same(getattr(left, name), getattr(right, name)) for name in names)


def _compared(kind: type) -> tuple[str, ...] | None:
    """Only for values that are equal when what they hold is; nodes of a tree are themselves only."""
    names: tuple[str, ...] | None = None
    by_content = dataclasses.is_dataclass(kind) and kind.__module__.startswith("torchdev_lint.")
    if by_content and "__eq__" in kind.__dict__ and kind.__hash__ is not None:
        # what is not given was made of what is, and may lead back to the whole
        names = tuple(one.name for one in dataclasses.fields(kind) if one.init)
    _fields[kind] = names
    return names
