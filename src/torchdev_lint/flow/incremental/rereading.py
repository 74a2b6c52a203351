"""Reading a file again after an edit: only what looked at what was edited, or at what came of that, is executed.

The first reading notes for its parts (`steps`) what each of them looked at, read and wrote: for the statements of the top level
(`top_level`), and for each function read on its own. When the text has changed, the parts of the tree that an edit touched are exchanged
(`layout`). The top level is taken up again before the first statement that looked at any of them, all that the functions did is taken
back, and they are gone through again in the same order: a step that looked at nothing that was exchanged and would read what it read before
is done again from the journal; any other is executed. What cannot be had this way is read from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from torchdev_lint.flow.activation.analysis import Options
from torchdev_lint.flow.activation.events import Event
from torchdev_lint.flow.activation.imports import NoImports
from torchdev_lint.flow.execution.interpreter import prepare, read_functions, settle
from torchdev_lint.flow.execution.top_level import TopLevel
from torchdev_lint.flow.incremental.journal import Journal, Part
from torchdev_lint.flow.incremental.layout import Layout, Parse
from torchdev_lint.flow.incremental.observations import InterruptedReadingError, Observer
from torchdev_lint.flow.incremental.steps import Counts, Memo, Steps
from torchdev_lint.flow.incremental.units import exchangeable
from torchdev_lint.flow.incremental.watched import Watched
from torchdev_lint.flow.project.projects import BUDGET_PER_LINE, Project, Sources, sets_default_device
from torchdev_lint.flow.read_alone.preparations import is_marked
from torchdev_lint.torch_api.devices import speaks_of_devices

MAX_EXCHANGED = 20
"""A tree is thrown away when what was exchanged in it has so many times the length of its text."""


@dataclass(slots=True)
class Looked:
    """The files of a project, and what was seen of them."""

    sources: Sources
    existing: dict[str, bool] = field(default_factory=dict)
    texts: dict[str, str | None] = field(default_factory=dict)
    searched: dict[tuple[str, str], bool] = field(default_factory=dict)
    mentions: dict[tuple[str, str, bool], tuple[str, ...]] = field(default_factory=dict)

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

    def searches(self, directory: str, path: str) -> bool:
        """Whether a file is one of those below a directory that are searched."""
        asked = (directory, path)
        found = self.searched.get(asked)
        if found is None:
            found = self.searched[asked] = self.sources.searches(directory, path)
        return found

    def mentioning(self, directory: str, word: str, *, notebooks: bool = False) -> tuple[str, ...]:
        """The files below a directory that have a word."""
        asked = (directory, word, notebooks)
        found = self.mentions.get(asked)
        if found is None:
            found = self.mentions[asked] = self.sources.mentioning(directory, word, notebooks=notebooks)
        return found

    def is_unchanged(self, sources: Sources) -> bool:
        """Whether everything is as it was seen."""
        return (
            all(sources.exists(path) == found for path, found in self.existing.items())
            and all(sources.text(path) == text for path, text in self.texts.items())
            and all(sources.searches(*asked) == found for asked, found in self.searched.items())
            and all(
                sources.mentioning(directory, word, notebooks=notebooks) == found
                for (directory, word, notebooks), found in self.mentions.items()
            )
        )


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
        ends the reading, and costs little of what was known.
        """
        observer = observer or Observer()
        state = self._state
        try:
            if state is not None and not state.is_about(sources):
                state = self._state = None
            if state is not None and state.exchange(text, parse) and state.can_take(text):
                self.counts.parts += 1
            else:
                # a tree that has just been brought up to date need not be parsed, but what was concluded from it is void
                known = None if state is None or state.layout is None or state.layout.text != text else state
                module = parse(text) if known is None else known.module
                if module is None:
                    return None
                self.counts.parsed += known is None
                self.counts.whole += 1
                looked = None if sources is None else Looked(sources)
                made = None if looked is None or project is None else project(looked)
                self._state = state = _State(module, text, self.options, made, looked)
            events = state.read(Steps(state.analysis, state.journal, observer, self.counts))
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
        self.journal = Journal()
        self.module = exchangeable(module, self.journal)
        self.text = text
        self.first_lines = self.lines = text.count("\n")
        self.project = project
        self.looked = looked
        self.layout: Layout | None = None
        self.memos: dict[tuple[str, object], Memo] = {}
        self.changed: set[Part] = set()
        """What was exchanged since the last reading."""
        self.first_changed: int | None = None
        """The first statement that was exchanged since."""
        self.mark = 0
        """How much there was in the journal when the top level was complete."""
        self.outdated = 0
        self.kept: list[object] = []
        """Nodes that are not in the tree any more: tables go by their ids."""
        self.set_default_device = _sets_default_device(self.module, text)
        """Whether the text that was read first sets the default device; what hangs on that is not known of another."""
        self.analysis = Watched(
            self.module,
            options,
            NoImports() if project is None else project,
            sets_default_device=self.set_default_device,
            given_text=text,
        )
        self.analysis.watch(self.journal)
        self.top = TopLevel(self.module, prepare(self.analysis, project))

    def is_about(self, sources: Sources | None) -> bool:
        """Whether other files are as they were; they come from `sources` from here on."""
        if self.looked is None or sources is None:
            return self.looked is sources
        if not self.looked.is_unchanged(sources):
            return False
        self.looked.sources = sources
        return True

    def exchange(self, text: str, parse: Parse) -> bool:
        """Whether the tree could be made that of another text."""
        if self.layout is None:
            if text == self.text:
                return True
            self.layout = Layout(self.module, self.text)
        if text == self.layout.text:
            return True
        made = self.layout.exchange(text, parse)
        if made is None:
            return False
        self.kept.append(made.replaced)
        self.outdated += made.size
        if made.body is not None:
            self.changed.add(made.body)
        elif made.count or made.behind > made.first:
            self.changed.add(self.module)
            self.first_changed = min(
                made.first, made.first if self.first_changed is None else self.first_changed
            )
        return True

    def can_take(self, text: str) -> bool:
        """Whether what is known can be used for another text, now that the tree is that of this text."""
        analysis = self.analysis
        self.text = analysis.given_text = text
        self.lines = text.count("\n")
        analysis.told = {}
        return not (
            (self.lines != self.first_lines and any(line.denied for line in self.top.lines))
            or self.outdated > MAX_EXCHANGED * len(text)
            or speaks_of_devices(text) != analysis.speaks_of_devices
            or self.set_default_device
            or _sets_default_device(self.module, text)
            or is_marked(self.module) != analysis.skipped
        )

    def read(self, steps: Steps) -> list[Event]:
        """All events, as far as they are not known already."""
        analysis, journal, top = self.analysis, self.journal, self.top
        journal.step = None
        changed = self.changed
        self.memos = {of: memo for of, memo in self.memos.items() if changed.isdisjoint(memo.step.looked_at)}
        top.forget(changed)
        index = top.first_that_looked_at(changed)
        if self.first_changed is not None:
            index = min(index, self.first_changed)
        if top.is_complete and index == len(top.lines):
            journal.undo(self.mark)
        else:
            top.go_back(steps, min(index, len(top.lines)))
        # from here on an interruption finds a top level that is only begun
        self.changed, self.first_changed = set(), None
        if not top.is_complete:
            if top.run(steps):
                self.memos = {}
            self.mark = len(journal.taken)
            self.standing, self.budget = analysis.standing(), (analysis.budget, analysis.elsewhere)
        analysis.stand(self.standing)
        more = BUDGET_PER_LINE * (self.lines - self.first_lines) if self.project is not None else 0
        analysis.budget, analysis.elsewhere = self.budget[0] + more, self.budget[1] + more
        analysis.pending = list(top.met)
        steps.observer.parts += [line.seen for line in top.lines if line.seen is not None]
        memos: dict[tuple[str, object], Memo] = {}

        def step(of: tuple[str, object], function: Callable[..., Any], *given: Any) -> Any:
            # functions are made anew for each class that is read: nodes tell them apart
            key = of[0], id(getattr(of[1], "node", of[1]))
            memo = self.memos.get(key)
            if memo is None or not steps.again(memo, of):
                memo = steps.execute(of, function, given)
            memos[key] = self.memos[key] = memo
            if memo.seen is not None:
                steps.observer.parts.append(memo.seen)
            return memo.step.result

        met = read_functions(analysis, step)
        self.memos = memos
        return settle(analysis, met)


def _sets_default_device(module: cst.Module, text: str) -> bool:
    return "set_default_" in text and sets_default_device(module)
