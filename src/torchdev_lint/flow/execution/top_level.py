"""Running a module's top level statement by statement, so that it can be taken up again in the middle.

Every so many statements everything is noted that the journal does not know of. What defines functions or classes, or imports, is a step
that can be done again; other statements are executed whenever one before them has changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Formula, Key
from torchdev_lint.flow.domain.environment import Environment
from torchdev_lint.flow.domain.lattice import Device
from torchdev_lint.flow.domain.values import Function, State
from torchdev_lint.flow.incremental.journal import Part, same
from torchdev_lint.flow.incremental.journal_tables import Table
from torchdev_lint.flow.incremental.observations import Observer
from torchdev_lint.flow.incremental.steps import Memo, Steps
from torchdev_lint.flow.incremental.units import Program

CHECKPOINTS = 48
"""How often, at most, everything is noted."""


@dataclass(slots=True)
class _Checkpoint:
    """How things were before a statement."""

    env: Environment
    alive: bool
    taken: int
    budget: tuple[int, int]
    pending: int
    standing: tuple[Any, ...]
    bound: tuple[dict[str, int], dict[str, int]]
    faults: set[tuple[int, int]]
    stars: int
    frames: int


@dataclass(slots=True)
class _Definition:
    """A statement that can be done again where the known conditions and the default device are what they were.

    It did not ask for the state of anything on the heap.
    """

    memo: Memo
    path: tuple[Formula, ...]
    device: Device
    bound: tuple[str, ...]


@dataclass(slots=True)
class Line:
    """What a statement came to: what it looked at, what was seen, whether the budget did not reach."""

    looked_at: set[Part] = field(default_factory=set)
    seen: Observer | None = None
    denied: bool = False


class _Heap(dict[Key, State]):
    """A heap that knows whether it, or a copy, was used."""

    def __init__(self, content: dict[Key, State], uses: list[str]) -> None:
        super().__init__()
        dict.update(self, dict.items(content))
        self.uses = uses

    def copy(self) -> _Heap:
        """Another heap with the same content; what happens to it is noted, too."""
        return _Heap(self, self.uses)


def _noting(name: str) -> Any:
    method = getattr(dict, name)

    def use(heap: _Heap, *given: Any) -> Any:
        heap.uses.append(name)
        return method(heap, *given)

    return use


for _name in "get __getitem__ __contains__ __setitem__ __delitem__ __iter__ __len__ pop setdefault update keys values items".split():
    setattr(_Heap, _name, _noting(_name))


class TopLevel:
    """The top level of a module, as far as it has been run."""

    def __init__(self, module: Program, frame: Frame) -> None:
        self.module = module
        self.frame = frame
        self.names = Table(module.journal, {})
        """The module's names, where they are such as tell the journal."""
        self.lines: list[Line] = []
        self._checkpoints: dict[int, _Checkpoint] = {}
        self._definitions: dict[int, _Definition] = {}
        self.met: list[Function] = []
        """The functions that it met, once it is complete."""
        self.is_complete = False
        """Whether all has been run."""
        self._last: tuple[Environment, int] | None = None
        """What it left behind when it was complete, and the last activation whose work was not taken back since."""
        self._activations = 0
        """How many there had been when it was first taken back since."""

    def run(self, steps: Steps) -> bool:
        """Run what has not been run; whether a function would find something changed that is not noted in the journal."""
        statements = list(self.module.body)
        stride = max(len(statements) // CHECKPOINTS, 1)
        analysis = steps.analysis
        while len(self.lines) < len(statements):
            index = len(self.lines)
            if index % stride == 0:
                self._checkpoints[index] = self._noted(steps)
            self.lines.append(self._run(statements[index], steps))
        here = {id(statement) for statement in statements}
        self._definitions = {of: known for of, known in self._definitions.items() if of in here}
        self._tell()
        self.frame.alive = True
        analysis.at_top = False
        last, env = self._last, self.frame.env
        changed = last is not None and has_changed(last[0], env, last[1], self._activations)
        if last is not None:
            analysis.made_since.update(key for key in env.heap if key not in last[0].heap)
        self._last = Environment({}, env.heap, env.path, env.default_device), analysis.frames
        self._activations, self.is_complete = analysis.frames, True
        self.met = list(analysis.pending)
        return changed

    def first_that_looked_at(self, parts: set[Part]) -> int:
        """The first statement that looked at any of these."""
        return next(
            (n for n, line in enumerate(self.lines) if not parts.isdisjoint(line.looked_at)), len(self.lines)
        )

    def forget(self, parts: set[Part]) -> None:
        """Nothing can be done again that looked at any of these: a decorator's body is run where something is decorated."""
        self._definitions = {
            of: known
            for of, known in self._definitions.items()
            if parts.isdisjoint(known.memo.step.looked_at)
        }

    def go_back(self, steps: Steps, index: int) -> None:
        """Take back what the statements from one on did, and some before it."""
        if not self._checkpoints:
            return
        at = max(one for one in self._checkpoints if one <= index)
        known, analysis, frame = self._checkpoints[at], steps.analysis, self.frame
        steps.journal.undo(known.taken)
        frame.env, frame.alive = known.env.copy(), known.alive
        frame.bound, frame.first_bound = dict(known.bound[0]), dict(known.bound[1])
        frame.faults = set(known.faults)
        analysis.pending = (self.met if self.is_complete else analysis.pending)[: known.pending]
        del analysis.source.stars[known.stars :], self.lines[at:]
        analysis.stand(known.standing)
        analysis.budget, analysis.elsewhere = known.budget
        analysis.at_top = True
        self._checkpoints = {one: noted for one, noted in self._checkpoints.items() if one <= at}
        if self._last is not None:
            if self.is_complete:
                self._activations = analysis.frames
            self._last = self._last[0], min(self._last[1], known.frames)
        self.is_complete = False

    def _noted(self, steps: Steps) -> _Checkpoint:
        analysis, frame = steps.analysis, self.frame
        return _Checkpoint(
            frame.env.copy(),
            frame.alive,
            len(steps.journal.taken),
            (analysis.budget, analysis.elsewhere),
            len(analysis.pending),
            analysis.standing(),
            (dict(frame.bound), dict(frame.first_bound)),
            set(frame.faults),
            len(analysis.source.stars),
            analysis.frames,
        )

    def _run(self, statement: cst.CSTNode, steps: Steps) -> Line:
        if not self.frame.alive and not self.frame.goes_on(statement):
            return Line()
        return (
            self._define(statement, steps) if _is_definition(statement) else self._execute(statement, steps)
        )

    def _execute(self, statement: cst.CSTNode, steps: Steps) -> Line:
        env, analysis = self.frame.env, steps.analysis
        if env.names is self.names:
            env.names = dict(self.names)
        seen = analysis.recorder = Observer(steps.observer.goes_on)
        analysis.denied = False
        step = steps.journal.begin(whole=True)
        try:
            self.frame.execute([statement])
        finally:
            steps.journal.step = None
        steps.counts.executed += 1
        return Line(step.looked_at, seen, analysis.denied)

    def _define(self, statement: cst.CSTNode, steps: Steps) -> Line:
        frame, of = self.frame, ("line", statement)
        self._tell()
        env = frame.env
        known = self._definitions.get(id(statement))
        if (
            known is not None
            and env.path is known.path
            and same(env.default_device, known.device)
            and steps.again(known.memo, of)
        ):
            for name in known.bound:
                frame.bound[name] = steps.analysis.budget
                frame.first_bound.setdefault(name, steps.analysis.budget)
        else:
            uses: list[str] = []
            path, device = env.path, env.default_device
            env.heap = _Heap(env.heap, uses)
            try:
                memo = steps.execute(of, frame.execute, ([statement],))
            finally:
                frame.env.heap = _plain(frame.env.heap)
            known = _Definition(memo, path, device, self._bound_in(memo))
            unchanged = frame.env is env and env.names is self.names and env.path is path and frame.alive
            if unchanged and not uses and same(env.default_device, device):
                self._definitions[id(statement)] = known
            else:
                self._definitions.pop(id(statement), None)
        return Line(known.memo.step.all_looked_at(), known.memo.seen, known.memo.denied)

    def _bound_in(self, memo: Memo) -> tuple[str, ...]:
        written = self.names.written_in(memo.step)
        return tuple(name for name in written if name in self.frame.bound)

    def _tell(self) -> None:
        """Let the names be such as tell the journal."""
        env = self.frame.env
        if env.names is not self.names:
            self.names.replace_content(env.names)
            env.names = self.names


def _plain(heap: dict[Key, State]) -> dict[Key, State]:
    found: dict[Key, State] = {}
    dict.update(found, dict.items(heap))
    return found


def _is_definition(statement: cst.CSTNode) -> bool:
    match statement:
        case cst.FunctionDef() | cst.ClassDef():
            return True
        case cst.SimpleStatementLine(body=parts):
            return all(
                isinstance(part, cst.Import)
                or (isinstance(part, cst.ImportFrom) and not isinstance(part.names, cst.ImportStar))
                for part in parts
            )
        case _:
            return False


def has_changed(before: Environment, after: Environment, old: int, new: int) -> bool:
    """Whether what a top level left behind may look different to a function that knows nothing of what it made anew.

    What files were saved is noted in the journal. What was made by activations later than `old` was made by what has been taken back,
    and later than `new` since.
    """
    if not same(before.path, after.path) or not same(before.default_device, after.default_device):
        return True
    return any(
        not same(state, after.heap.get(key)) and not _is_made_later(key, old)
        for key, state in before.heap.items()
        if key[0] != "saved"
    ) or any(
        key not in before.heap and not _is_made_later(key, new) for key in after.heap if key[0] != "saved"
    )


def _is_made_later(key: Any, activation: int) -> bool:
    if not isinstance(key, tuple):
        return False
    if (
        len(key) > 2
        and key[0] in ("made", "call", "cell")
        and isinstance(key[2], int)
        and key[2] > activation
    ):
        return True
    return any(_is_made_later(part, activation) for part in key)
