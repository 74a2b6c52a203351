"""Reading a file again after an edit: only what looked at what was edited, or at what came of that, is executed.

The first reading notes for its parts (`journal.Step`) what each of them looked at, read and wrote: for the top level, and for each function
read on its own. When the text then differs inside the body of a single function, that body is exchanged in the tree (`units`). If the
top level did not look into it, all that the functions did is taken back, and they are gone through again in the same order: a
step that looked at nothing that was exchanged and would read what it read before is done again from the journal; any other is executed.
What cannot be had this way is read from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from torchdev_lint.flow.analysis import Options
from torchdev_lint.flow.events import Event
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.imports import NoImports
from torchdev_lint.flow.interpreter import prepare, read_functions, settle
from torchdev_lint.flow.journal import Journal, Part, Step, same
from torchdev_lint.flow.journal_tables import Table
from torchdev_lint.flow.observations import InterruptedReadingError, Observer
from torchdev_lint.flow.projects import BUDGET_PER_LINE, Project, Sources, sets_default_device
from torchdev_lint.flow.units import Parse, Unit, exchanged, make_exchangeable, units_of
from torchdev_lint.flow.values import Function
from torchdev_lint.flow.watched import Watched
from torchdev_lint.torch_api.devices import DEVICE_WORDS

MAX_EXCHANGED = 20
"""A tree is thrown away when the bodies that were exchanged in it have so many times the length of its text."""


@dataclass(slots=True)
class _Memo:
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
class Looked:
    """The files of a project, and what was seen of them."""

    sources: Sources
    existing: dict[str, bool] = field(default_factory=dict)
    texts: dict[str, str | None] = field(default_factory=dict)

    def exists(self, path: str) -> bool:
        """Whether there is a file or a directory."""
        found = self.existing.get(path)
        if found is None:
            found = self.existing[path] = self.sources.exists(path)
        return found

    def text(self, path: str) -> str | None:
        """The text of a file."""
        if path not in self.texts:
            self.texts[path] = self.sources.text(path)
        return self.texts[path]

    def tree(self, path: str) -> cst.Module | None:
        """The parsed text."""
        self.text(path)
        return self.sources.tree(path)

    def is_unchanged(self, sources: Sources) -> bool:
        """Whether everything is as it was seen."""
        return all(sources.exists(path) == found for path, found in self.existing.items()) and all(
            sources.text(path) == text for path, text in self.texts.items()
        )


@dataclass(slots=True)
class Counts:
    """What readings came to."""

    whole: int = 0
    parsed: int = 0
    """Read from the beginning, and, of those, parsed."""
    parts: int = 0
    executed: int = 0
    again: int = 0
    """Steps that were executed, and done again from the journal, in the others."""


class Rereading:
    """One file, read again whenever its text has changed."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.counts = Counts()
        self._state: _State | None = None

    def read(
        self,
        text: str,
        parse: Parse,
        project: Callable[[Sources], Project] | None = None,
        sources: Sources | None = None,
        observer: Observer | None = None,
    ) -> tuple[cst.Module, list[Event], Project | None] | None:
        """The tree and all events of a text, and the files around; None if it does not parse.

        The tree is changed when the next text is read. `project` makes the files around, given where they come from. What `observer` raises
        ends the reading, and costs nothing of what was known.
        """
        observer = observer or Observer()
        state = self._state
        try:
            if state is not None and not state.is_about(sources):
                state = self._state = None
            if state is not None and state.exchange(text, parse) and state.take(text):
                self.counts.parts += 1
            else:
                # a tree that has just been brought up to date need not be parsed, but what was concluded from it is void
                known = state if state is not None and state.tree_text == text else None
                module = parse(text) if known is None else known.module
                if module is None:
                    return None
                self.counts.parsed += known is None
                self.counts.whole += 1
                looked = None if sources is None else Looked(sources)
                made = None if looked is None or project is None else project(looked)
                self._state = None
                state = _State(module, text, self.options, made, looked)
                state.units = None if known is None else known.units
                state.begin(observer)
                self._state = state
            observer.parts.append(state.top)
            events = state.functions(self.counts, observer)
        except InterruptedReadingError:
            raise
        except BaseException:
            self._state = None
            raise
        observer.module = state.module
        return state.module, events, state.project


class _State:
    """What is known of a file."""

    def __init__(
        self, module: cst.Module, text: str, options: Options, project: Project | None, looked: Looked | None
    ) -> None:
        self.module = module
        self.text = text
        """What is known is known of this text."""
        self.tree_text = text
        """The text of the tree."""
        self.changed: set[Part] = set()
        """The bodies that were exchanged since."""
        self.lines = text.count("\n")
        self.project = project
        self.looked = looked
        self.journal = Journal()
        self.memos: dict[tuple[str, object], _Memo] = {}
        self.outdated = 0
        self.kept: list[object] = []
        """Nodes that are not in the tree any more: tables go by their ids."""
        self.units: list[Unit] | None = None
        self.top = Observer()
        self.top_looked_at: set[Part] = set()
        self.top_denied = False
        self.met: list[Function] = []
        self.mark = 0
        make_exchangeable(module, self.journal)
        self.analysis = Watched(
            module,
            options,
            NoImports() if project is None else project,
            sets_default_device=_sets_default_device(module, text),
            given_text=text,
        )
        self.analysis.watch(self.journal)

    def is_about(self, sources: Sources | None) -> bool:
        """Whether other files are as they were; they come from `sources` from here on."""
        if self.looked is None or sources is None:
            return self.looked is sources
        if not self.looked.is_unchanged(sources):
            return False
        self.looked.sources = sources
        return True

    def begin(self, observer: Observer) -> None:
        """Read the top level."""
        analysis = self.analysis
        self.top = analysis.recorder = Observer(observer.goes_on)
        step = self.journal.begin()
        frame: Frame = prepare(analysis, self.project)
        frame.execute(self.module.body)
        frame.alive = True
        self.top_looked_at, self.top_denied = step.looked_at, analysis.denied
        self.journal.step = None
        analysis.at_top = False
        frame.env.names = Table(self.journal, frame.env.names)
        self.met = analysis.pending
        self.mark = len(self.journal.taken)
        self.standing = analysis.standing()
        self.budget = analysis.budget, analysis.elsewhere

    def exchange(self, text: str, parse: Parse) -> bool:
        """Whether the tree could be made that of another text."""
        if text == self.tree_text:
            return True
        if self.units is None:
            self.units = units_of(self.module)
        unit = exchanged(self.module, self.units, self.tree_text, text, parse)
        if unit is None:
            return False
        self.tree_text = text
        self.kept.append(unit.replaced)
        self.outdated += unit.end - unit.start
        self.changed.add(unit.body)
        return True

    def take(self, text: str) -> bool:
        """Whether only functions have to be read again, now that the tree is that of another text."""
        if text == self.text:
            return True
        lines = text.count("\n")
        analysis = self.analysis
        if (
            not self.changed.isdisjoint(self.top_looked_at)
            or (self.top_denied and lines != self.lines)
            or self.outdated > MAX_EXCHANGED * len(text)
            or (DEVICE_WORDS.search(text) is not None) != analysis.speaks_of_devices
            or _sets_default_device(self.module, text) != self.standing[3]
        ):
            return False
        self.text = analysis.given_text = text
        analysis.told = {}
        more = BUDGET_PER_LINE * (lines - self.lines) if self.project is not None else 0
        self.budget = self.budget[0] + more, self.budget[1] + more
        self.lines = lines
        changed = self.changed
        self.memos = {of: memo for of, memo in self.memos.items() if changed.isdisjoint(memo.step.looked_at)}
        self.changed = set()
        return True

    def functions(self, counts: Counts, observer: Observer) -> list[Event]:
        """Read the functions, as far as they are not known."""
        analysis, journal = self.analysis, self.journal
        journal.step = None
        journal.undo(self.mark)
        analysis.stand(self.standing)
        analysis.budget, analysis.elsewhere = self.budget
        analysis.pending = list(self.met)
        memos: dict[tuple[str, object], _Memo] = {}

        def step(of: tuple[str, object], function: Callable[..., Any], *given: Any) -> Any:
            # functions are made anew for each class that is read: nodes tell them apart
            key = of[0], id(getattr(of[1], "node", of[1]))
            memo = self.memos.get(key)
            if memo is not None and self._again(memo, of):
                counts.again += 1
            else:
                counts.executed += 1
                memo = self._execute(of, function, given, observer)
            memos[key] = self.memos[key] = memo
            if memo.seen is not None:
                observer.parts.append(memo.seen)
            return memo.step.result

        met = read_functions(analysis, step)
        self.memos = memos
        return settle(analysis, met)

    def _again(self, memo: _Memo, of: tuple[str, object]) -> bool:
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
        return True

    def _execute(
        self, of: tuple[str, object], function: Callable[..., Any], given: tuple[Any, ...], observer: Observer
    ) -> _Memo:
        analysis = self.analysis
        if isinstance(of[1], Function):
            self._watch_closure(of[1])
        before, mutations = analysis.standing(), analysis.mutations
        budget, elsewhere = analysis.budget - analysis.elsewhere, analysis.elsewhere
        analysis.denied = False
        analysis.recorder = seen = Observer(observer.goes_on)
        step = self.journal.begin()
        try:
            step.result = function(*given)
        finally:
            self.journal.step = None
        left = analysis.budget - analysis.elsewhere
        return _Memo(
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


def _sets_default_device(module: cst.Module, text: str) -> bool:
    return "set_default_" in text and sets_default_device(module)
