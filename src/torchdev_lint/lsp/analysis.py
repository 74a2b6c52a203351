"""Reading programs, on a thread of its own: what is wrong with them, and what was seen of their devices."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchdev_lint.config import SYNTAX_ERROR, Config, ConfigError
from torchdev_lint.diagnostics import Applicability, Diagnostic
from torchdev_lint.engine.check import unify_newlines
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.notebooks import broken_among
from torchdev_lint.engine.parsing import judge_of
from torchdev_lint.engine.prefilter import may_matter
from torchdev_lint.engine.results import describe_bug
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.fixes.fixpoint import fix_text
from torchdev_lint.lsp.kept import Kept, stamped
from torchdev_lint.lsp.preferences import Preferences
from torchdev_lint.lsp.programs import Program
from torchdev_lint.source.document import dominant_newline
from torchdev_lint.stubs.shelf import shelf

if TYPE_CHECKING:
    import libcst as cst

    from torchdev_lint.engine.memory import Memory
    from torchdev_lint.engine.settings import Settings
    from torchdev_lint.flow.incremental.observations import Observer


MAX_REMEMBERED = 4
"""Files of which is remembered what they came to, to read only what an edit touched: those that were edited last."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a program came to. Positions of `found` are those of its text, `placed` has all in the parts of the program.

    `observer`: what was seen, None where nothing was read. `reads`: the other files that were. `texts`: those that notes
    point into. `problem`: why nothing could be checked, for the user.
    """

    program: Program
    config: Config
    code: str = ""
    """The Python that was read: the text, without what is not Python in the cells of a notebook."""
    found: tuple[Diagnostic, ...] = ()
    placed: tuple[Diagnostic, ...] = ()
    left_out: frozenset[int] = frozenset()
    observer: Observer | None = None
    reads: frozenset[str] = frozenset()
    texts: Mapping[str, str] | None = None
    problem: str | None = None
    kept: bool = False
    """Whether it comes from earlier, so that nothing was seen in this session."""


class EditorSources:
    """The files of a project as the editor has them: what is open there counts before what is on disk."""

    def __init__(self) -> None:
        self.disk = DiskSources()
        self.open: Mapping[str, str] = {}
        self.asked: set[str] = set()
        self._trees: dict[str, tuple[str, cst.Module | None]] = {}

    def exists(self, path: str) -> bool:
        """Whether there is a file or a directory."""
        return path in self.open or self.disk.exists(path)

    def text(self, path: str) -> str | None:
        """The text of a file, with "\\n" for every line end; None when it cannot be read."""
        self.asked.add(path)
        held = self.open.get(path)
        return self.disk.text(path) if held is None else unify_newlines(held)

    def searches(self, directory: str, path: str) -> bool:
        """Whether a file is one of those below a directory that are searched, as they are on disk."""
        return self.disk.searches(directory, path)

    def mentioning(self, directory: str, word: str, *, notebooks: bool = False) -> tuple[str, ...]:
        """The Python files (or notebooks) below a directory that have a word, as they are on disk."""
        return self.disk.mentioning(directory, word, notebooks=notebooks)

    def tree(self, path: str) -> cst.Module | None:
        """The parsed text; None when there is none or it does not parse."""
        import libcst as cst

        text = self.text(path)
        if path not in self.open or text is None:
            return self.disk.tree(path)
        kept = self._trees.get(path)
        if kept is None or kept[0] != text:
            try:
                kept = text, cst.parse_module(text)
            except (cst.ParserSyntaxError, cst.CSTValidationError, UnicodeError, RecursionError):
                kept = text, None
            self._trees = {known: tree for known, tree in self._trees.items() if known in self.open}
            self._trees[path] = kept
        return kept[1]


@dataclass(frozen=True, slots=True, eq=False)
class _Wanted:
    """One time that the configuration was to be read."""

    preferences: Preferences


class Reader:
    """Reads programs one after the other. It belongs to one thread, but for `configure` and `look_again`."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._wanted = _Wanted(Preferences())
        self._settings: tuple[_Wanted, Settings] | None = None
        self._kept: Kept | None = None
        self._stale = False
        self._sources = EditorSources()
        self._memories: OrderedDict[str, Memory] = OrderedDict()

    def configure(self, preferences: Preferences) -> None:
        """Read the configuration again, with other preferences."""
        self._wanted = _Wanted(preferences)

    def look_again(self) -> None:
        """Files may have come, gone or changed on disk."""
        self._stale = True

    def analyse(
        self,
        program: Program,
        open_texts: Mapping[str, str],
        goes_on: Callable[[], bool],
        *,
        observed: bool = False,
    ) -> Analysis:
        """Check a program. Raises `InterruptedReadingError` as soon as `goes_on` says no.

        `open_texts`: what the editor has, by path. What is known of the program from earlier is taken, unless it is to be `observed`.
        """
        from torchdev_lint.flow.incremental.observations import InterruptedReadingError, Observer

        if not goes_on():
            raise InterruptedReadingError
        if self._stale:
            self._stale = False
            self._sources.disk.look_again()
        try:
            config, excluded = self._config_for(program.path)
        except ConfigError as error:
            return Analysis(program, Config(), problem=str(error))
        if excluded or not may_matter(program.text.encode("utf-8", "replace"), config):
            return Analysis(program, config)
        observer = Observer(goes_on)
        try:
            known = (
                None if observed or self._kept is None else self._kept.look_up(program, config, open_texts)
            )
            if known is not None:
                self._sources.open, self._sources.asked = open_texts, set()
                return self._analysis(
                    program, config, program.text, known.found, reads=known.reads, kept=True
                )
            return self._checked(program, config, open_texts, observer)
        except InterruptedReadingError:
            raise
        except Exception as error:  # The server must outlive its mistakes.
            return Analysis(program, config, problem=f"{program.path}: {describe_bug(error)}")

    def fix_all(self, analysis: Analysis) -> str | None:
        """The program's text with all safe fixes applied; None when there is nothing to apply."""
        program = analysis.program
        if not any(one.fix and one.fix.applicability is Applicability.SAFE for one in analysis.found):
            return None

        def code(text: str) -> str:
            return text if program.cells is None else program.cells.masked(text, analysis.left_out)

        def check(text: str) -> list[Diagnostic]:
            return findings(code(text), program.path, analysis.config, sources=self._sources)

        judge = judge_of(code(program.text))
        newline = dominant_newline(program.text)
        allowed = frozenset({Applicability.SAFE})
        fixed = fix_text(program.text, check, lambda text: judge(code(text)), allowed, newline)
        return None if fixed.errors or fixed.text == program.text else fixed.text

    def _config_for(self, path: str) -> tuple[Config, bool]:
        """The configuration for a file, and whether it leaves the file out. Raises `ConfigError`."""
        # It may be replaced while the files are read: then they are read again the next time.
        wanted = self._wanted
        if self._settings is None or self._settings[0] is not wanted:
            shelf.cache_clear()  # Stub files are read again, too.
            self._settings = wanted, wanted.preferences.settings(self.root)
            self._kept = Kept(self._settings[1], self.root)
        settings = self._settings[1]
        rules = settings.file_rules(os.path.dirname(path))
        return settings.for_file(path), rules.excludes_within(path)

    def _checked(
        self, program: Program, config: Config, open_texts: Mapping[str, str], observer: Observer
    ) -> Analysis:
        sources = self._sources
        before = stamped(program, open_texts)
        # What is kept depends on what is on disk, and has to be read from there.
        sources.open, sources.asked = open_texts if before is None else {}, set()
        seen = sources.disk.watch()
        broken: dict[int, Diagnostic] = {}
        text = program.text
        if program.cells is not None:
            broken = broken_among(program.cells, program.path)
            text = program.cells.masked(text, frozenset(broken))
        bare: list[Diagnostic] = []
        memory = self._memory(program.path)
        found = findings(
            text, program.path, config, sources=sources, recorder=observer, bare=bare, memory=memory
        )
        if before is not None and self._kept is not None:
            self._kept.keep(program, config, before, seen, found, bare)
        return self._analysis(program, config, text, tuple(found), broken, observer)

    def _memory(self, path: str) -> Memory:
        """What is remembered of a file; what has not been edited for longest is forgotten."""
        from torchdev_lint.engine.memory import Memory  # Loads LibCST: the client is answered first.

        memory = self._memories.pop(path, None)
        self._memories[path] = memory = memory or Memory()
        while len(self._memories) > MAX_REMEMBERED:
            self._memories.popitem(last=False)
        return memory

    def _analysis(
        self,
        program: Program,
        config: Config,
        code: str,
        found: tuple[Diagnostic, ...],
        broken: Mapping[int, Diagnostic] | None = None,
        observer: Observer | None = None,
        reads: frozenset[str] = frozenset(),
        *,
        kept: bool = False,
    ) -> Analysis:
        """What is shown of what was found, and what it depends on."""
        sources, broken = self._sources, broken or {}
        placed = [program.placed(one) for one in found]
        if config.selects(SYNTAX_ERROR, program.path):
            placed += broken.values()
        if not self._wanted.preferences.syntax_errors:
            placed = [one for one in placed if one.code != SYNTAX_ERROR]
        pointed = {note.path for one in placed for note in one.related if note.path is not None}
        texts = {path: sources.text(path) or "" for path in pointed}
        return Analysis(
            program,
            config,
            code,
            found,
            tuple(sorted(placed, key=Diagnostic.sort_key)),
            frozenset(broken),
            observer,
            frozenset(sources.asked | reads) - {program.path},
            texts,
            kept=kept,
        )
