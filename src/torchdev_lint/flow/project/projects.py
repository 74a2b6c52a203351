"""The other files of the project: what imports bind, and reading a file when something of it is needed.

A name that is imported from a file of the project is an `Import` until it is used. Then the file is found, its top level is
interpreted once for the file that is checked, without publishing anything, and the name is what the file made it: a
function to be followed, a class, a constant. What is not part of the project stays an `Api`, a name known by its path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Any, Protocol

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis, Source
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.imports import joined
from torchdev_lint.flow.calling.registries import enters
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.environment import Environment
from torchdev_lint.flow.domain.lattice import CPU
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    Api,
    Either,
    Import,
    Items,
    Namespace,
    Object,
    State,
    Value,
    join,
)
from torchdev_lint.flow.project.reach import said
from torchdev_lint.flow.syntax.trees import SCRIPT, dotted, is_main_guard, remembered, walk
from torchdev_lint.source.imports import Location, locate, resolve, search_path, submodule
from torchdev_lint.source.missing_imports import lacks
from torchdev_lint.source.roots import up_to_given, up_to_root
from torchdev_lint.torch_api.devices import speaks_of_devices
from torchdev_lint.torch_api.factories import DEFAULT_TENSOR_CONSTRUCTORS

BUDGET = 1_200
BUDGET_PER_LINE = 4
"""Statements of other files executed for one file that is checked: this many, and so many for each of its lines."""
MAX_MODULES = 40
"""Files read for one file that is checked."""
MAX_TEXT = 600_000
"""Characters of such files in all."""
MAX_NESTING = 10
"""Files read while reading another, each for the one before."""


MAX_CALLERS = 16
"""Files that call a function, of which so many are looked at."""

_TEST = re.compile(r"[/\\](?:tests?[/\\]|test_[^/\\]*$|[^/\\]*_test\.py$|conftest\.py$)")
_READ = "characters read"
_HANDED_OUT = "objects handed out"
_STAR = re.compile(r"import\s*\*")
_CLASS_NAME = re.compile(r"[A-Z]\w*[a-z]")


_INSTALLED_BY = ("setup.py", "setup.cfg", "pyproject.toml")
"""What makes a project something that others install and put on the device that they want."""

_INSTALLS = re.compile(
    r"\bsetup\(|(?m:^\[(?:project|build-system|metadata|options|tool\.(?:poetry|flit|pdm|hatch)[\w.]*)\])"
)
"""What a file says that makes it one: others only configure tools."""

_PRESENTS = re.compile(
    r"(?m)\b(?:classifiers|long_description|author|authors|maintainers?|url|urls|license|keywords)\b *[=:\]]"
)
"""How a file that installs a project presents it to those who do not know it."""


_DOCUMENTS = ("README.md", "Readme.md", "readme.md", "README.rst", "README.txt", "README")


class Sources(Protocol):
    """Where the texts of a project come from."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or a directory."""

    def text(self, path: str) -> str | None:
        """The text of a file; None when it cannot be read or is too long to be worth it."""

    def tree(self, path: str) -> cst.Module | None:
        """The parsed text; None when it does not parse."""

    def searches(self, directory: str, path: str) -> bool:
        """Whether a file is one of those below a directory that are searched: none is where there are too many."""

    def mentioning(self, directory: str, word: str, *, notebooks: bool = False) -> tuple[str, ...]:
        """The Python files (or notebooks) below a directory whose text has the word; none where there are too many files to look."""


class Project:
    """The files around the one that is checked, read on demand; made anew for each check."""

    def __init__(
        self,
        path: str,
        sources: Sources,
        configured: Sequence[str] = (),
        *,
        lines: int = 0,
        given: Sequence[str] = (),
    ) -> None:
        """`path`: the absolute path of the file that is checked, with so many `lines`.

        `configured`: more directories that imports start from; `given`: those that are roots of projects without a marker.
        """
        self.path = path
        self.lines = lines
        self.sources = sources
        self.configured = tuple(configured)
        self.given = tuple(given)
        self._directories: tuple[list[str] | None] | None = None
        self.files: dict[str, Source | None] = {}
        self.heap: dict[Key, State] = {}
        self.analysis: Analysis | None = None
        self._unread: dict[str, bool] = {}
        """Files that an import statement named, of which nothing was needed so far."""
        self._nesting = 0
        self._forcing: set[tuple[str, str]] = set()
        self._absent: dict[tuple[str, str], int] = {}
        """Names that no star of a file brought, and how many files had been read then."""
        self._roots: dict[str, tuple[str, ...]] = {}
        self._mentions: dict[tuple[str, str], bool] = {}
        """By file and name: whether it can come from there by a star."""
        self._entering: dict[str, str | None] = {}
        """By name: the one file that enters something under it. A dict of options is asked for its names over and over."""

    def begin(self, analysis: Analysis, frame: Frame) -> None:
        """The file that is checked is about to be read: who imports it from elsewhere gets this very module."""
        self.analysis = analysis
        self.files, self.heap = analysis.table(self.files), analysis.table(self.heap)
        self._absent, self._unread = analysis.table(self._absent), analysis.table(self._unread)
        analysis.source.path = self.path
        self.files[self.path] = analysis.source
        analysis.source.frame = frame
        analysis.allow_elsewhere(BUDGET + BUDGET_PER_LINE * self.lines)
        frame.env.imported = self.heap

    def in_package(self) -> bool:
        """Whether the file does not stand, outside of any package, beside the script that uses it."""
        beside = os.path.dirname(self.path)
        return self.stands_in_package() or not any(
            self.sources.exists(os.path.join(beside, name)) for name in _SCRIPTS
        )

    def stands_in_package(self, path: str = "") -> bool:
        """Whether an `__init__.py` stands beside the file, or one of another path: what it defines can be imported from there."""
        return self.sources.exists(os.path.join(os.path.dirname(path or self.path), "__init__.py"))

    def runs_on_host(self) -> bool:
        """Whether there are scripts beside the file, and none of them speaks of devices."""
        if self.in_package():
            return False
        beside = os.path.dirname(self.path)
        texts = [self.sources.text(os.path.join(beside, name)) for name in _SCRIPTS]
        return all(text is None or not speaks_of_devices(text) for text in texts)

    def is_known(self) -> bool:
        """Whether there is a project around the file."""
        return self._above() is not None

    def _above(self) -> list[str] | None:
        """The directories from the file's own up to the project's root, if there is one. A lone file is no project for being named."""
        if self._directories is None:
            own = os.path.dirname(self.path)
            found = up_to_root(own, self.sources.exists)
            if found is None and (named := up_to_given(own, self.given)) is not None:
                others = any(path != self.path for path in self.sources.mentioning(named[-1], "import"))
                found = named if others else None
            self._directories = (found,)
        return self._directories[0]

    def is_for_others(self) -> bool:
        """Whether the project is made to be installed by others: what installs it tells them who made it, or what for."""
        above = self._above() or ()
        return any(
            _INSTALLS.search(text) and _PRESENTS.search(text)
            for root in above
            for name in _INSTALLED_BY
            if self.sources.exists(os.path.join(root, name))
            for text in (self.sources.text(os.path.join(root, name)) or "",)
        )

    def in_program(self) -> bool:
        """Whether the file is part of programs of which all is in sight: nobody else installs them."""
        above = self._above()
        if above is None or any(
            _INSTALLS.search(self.sources.text(os.path.join(root, name)) or "")
            for root in above
            for name in _INSTALLED_BY
            if self.sources.exists(os.path.join(root, name))
        ):
            return False
        return self.is_searched()

    def imported_texts(self, importer: str, base: str, names: Sequence[str]) -> list[tuple[str, str]]:
        """The files of the project, by path, with their texts, that `from base import names` in another file reads."""
        found = self._resolve(importer, base)
        if found is None:
            return []
        below = (submodule(found[0], name, self.sources.exists) for name in names)
        files = dict.fromkeys(one.file for one in (found[0], *below) if one is not None)
        texts = [(path, self.sources.text(path)) for path in files if path is not None]
        return [(path, text) for path, text in texts if text is not None]

    def lacks(self, importer: str, base: str, names: Sequence[str]) -> bool:
        """Whether `from base import names` in a file certainly fails: the project has not what it names."""
        self._resolve(importer, base)  # which notes from where the file's imports start
        exists, text = self.sources.exists, self.sources.text
        return self.is_known() and lacks(importer, base, names, self._roots[importer], exists, text)

    def texts_around(self, analysis: Analysis) -> list[str]:
        """The texts of the scripts beside the file, of what saves anything there, and of the files that it imports from at its top."""
        beside = os.path.dirname(self.path)
        paths = [os.path.join(beside, name) for name in _SCRIPTS]
        for line in analysis.module.body:
            for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
                if isinstance(statement, cst.ImportFrom) and statement.module is not None:
                    name = "." * len(statement.relative) + (dotted(statement.module) or "")
                    found = self._resolve(self.path, name)
                    if found is not None and found[0].file is not None:
                        paths.append(found[0].file)
        texts = [self.sources.text(path) for path in dict.fromkeys(paths) if path != self.path]
        saving = [
            text
            for word in ("torch.save(", "th.save(")
            for path, text in self.mentioning(word) or ()
            if self._is_beside(path)
        ]
        return [*(text for text in texts if text is not None), *saving]

    def _is_beside(self, path: str) -> bool:
        return os.path.dirname(path) == os.path.dirname(self.path)

    def callers(self, name: str, told: str) -> list[tuple[str, cst.Module]]:
        """The other files and notebooks of the project, by path, that call something of this name, and name what is `told`.

        Tests do not count: they run on the CPU.
        """
        above = self._above()
        if above is None:
            return []
        root = above[-1]
        named = re.compile(rf"\b{told}\b")
        found = [
            path
            for notebooks in (False, True)
            for path in self.sources.mentioning(root, f"{name}(", notebooks=notebooks)
            if path != self.path
            and not _TEST.search(path[len(root) :])
            and named.search(text := self.sources.text(path) or "")
            and named.search(said(text))  # not in a comment
        ]
        # those that stand near the file first
        found.sort(key=lambda path: _shared_folders(self.path, path), reverse=True)
        trees = [(path, self.sources.tree(path)) for path in found[:MAX_CALLERS]]
        return [(path, tree) for path, tree in trees if tree is not None]

    def tree(self, value: Import) -> cst.Module | None:
        """The file of the project that an imported name is from, parsed but not read."""
        path = value.location.file
        return None if path is None else self.sources.tree(path)

    def parsed(self, path: str) -> cst.Module | None:
        """Another file of the project, as `mentioning` names it, parsed but not read."""
        return self.sources.tree(path)

    def in_notebooks(self, word: str) -> bool:
        """Whether a notebook of the project, other than the checked one, has a word."""
        return bool(self._notebooks_with(word))

    def notebooks(self, word: str) -> list[tuple[str, str]] | None:
        """The other notebooks of the project that have a word, with their cells as one program; None where one cannot be read."""
        found: list[tuple[str, str]] = []
        for path in self._notebooks_with(word):
            text = self.sources.text(path)
            if text is None:
                return None
            found.append((path, text))
        return found

    def _notebooks_with(self, word: str) -> list[str]:
        above = self._above()
        found = () if above is None else self.sources.mentioning(above[-1], word, notebooks=True)
        return [path for path in found if path != self.path]

    def documents(self, words: Sequence[str]) -> bool:
        """Whether a README of the project, beside the checked file or above it, has one of these words."""
        above = self._above() or []
        named = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in words))
        return any(
            named.search(self.sources.text(path) or "")
            for directory in above
            for name in _DOCUMENTS
            if self.sources.exists(path := os.path.join(directory, name))
        )

    def is_searched(self) -> bool:
        """Whether there is a root, and not too many files below it."""
        above = self._above()
        return above is not None and self.sources.searches(above[-1], self.path)

    def mentioning(self, word: str) -> list[tuple[str, str]] | None:
        """The other files of the project, with their texts, that have a word; None without a root, or where there are too many to look.

        Tests do not count.
        """
        above = self._above()
        if above is None or not self.is_searched():
            return None
        found = [
            path
            for path in self.sources.mentioning(above[-1], word)
            if path != self.path and not _TEST.search(path[len(above[-1]) :])
        ]
        return [(path, self.sources.text(path) or "") for path in found]

    def read_entering(self, name: str) -> bool:
        """Read the one file of the project that enters a class or function under a name; whether there is one that was not read yet.

        Of several it is not known which the program imports.
        """
        if name not in self._entering:
            found = [path for path, text in self.mentioning(name) or () if enters(text, name)]
            self._entering[name] = found[0] if len(found) == 1 else None
        only = self._entering[name]
        return only is not None and only not in self.files and self._load(only) is not None

    # -- what import statements bind

    def imported(self, frame: Frame, base: str, name: str) -> Value:
        """What `from base import name` (`import base`) binds: an `Import` for a file of the project, else an `Api`."""
        path = joined(base, name)
        options = frame.analysis.options
        told = (options.tensor_constructors - DEFAULT_TENSOR_CONSTRUCTORS) | options.device_sources
        named = {path, name} & told
        found = None if named else self._resolve(frame.source.path, base)
        location = None if found is None else found[0]
        if location is not None and location.file is None:
            # a directory: all that it has are the modules in it
            location = submodule(location, name, self.sources.exists) if name else None
            name = ""
        if location is None or location.file is None:
            return Api(path)
        self._note_unread(location.file)
        if name.islower() and os.path.basename(location.file) == "__init__.py":
            below = submodule(location, name, self.sources.exists)
            self._note_unread(None if below is None else below.file)
        if not frame.source.foreign:
            self._note_default_device(frame, location.file)
        return Import(location, name, path)

    def package(self, frame: Frame, path: str) -> Value:
        """What `import a.b.c` binds `a` to."""
        top = path.partition(".")[0]
        found = self._resolve(frame.source.path, path)
        if found is None or found[0].file is None:
            return Api(top)
        self._note_unread(found[0].file)
        if not frame.source.foreign:
            self._note_default_device(frame, found[0].file)
        outermost = locate(found[1], [top], self.sources.exists)
        return Api(top) if outermost is None else Import(outermost, "", top)

    def star(self, frame: Frame, base: str) -> None:
        """Note `from base import *`."""
        found = self._resolve(frame.source.path, base)
        if found is not None and found[0].file is not None:
            frame.source.stars.append(found[0])
            self._note_unread(found[0].file)
            if not frame.source.foreign:
                self._note_default_device(frame, found[0].file)

    def _resolve(self, importer: str, base: str) -> tuple[Location, str] | None:
        dotted = base.lstrip(".")
        if importer not in self._roots:
            roots = search_path(importer, self.sources.exists, self.configured, self.given)
            beside = os.path.dirname(importer)
            self._roots[importer] = (*roots, beside) if self._is_run_in(beside, importer) else roots
        level = len(base) - len(dotted)
        return resolve(importer, level, dotted, self._roots[importer], self.sources.exists)

    def _is_run_in(self, directory: str, importer: str) -> bool:
        """Whether a file of a directory is a script: then Python finds the others there, whatever `__init__.py` makes of it."""
        scripts = (path for path in (importer, self.path) if os.path.dirname(path) == directory)
        return any(SCRIPT.search(self.sources.text(path) or "") is not None for path in scripts)

    def _note_default_device(self, frame: Frame, path: str) -> None:
        """Importing a module may set the default device of the whole program."""
        text = self.sources.text(path) or ""
        if "set_default_device(" in text or "set_default_tensor_type(" in text:
            source = self._load(path)
            left = None if source is None or source.frame is None else source.frame.env.default_device
            if left is not None and left != CPU:
                frame.env.default_device = left

    def _note_unread(self, file: str | None) -> None:
        if file is not None and file not in self.files:
            self._unread[file] = True

    def read_for(self, word: str) -> bool:
        """Read the files that have a word, and were imported, but that nothing was needed of; whether there were any."""
        found = [
            file
            for file, pending in self._unread.items()
            if pending and file not in self.files and self._may_bring(file, word)
        ]
        for file in found:
            self._unread[file] = False
            self._load(file)
        return bool(found)

    # -- what they come to

    def held(self, value: Value) -> Value:
        """The value of a name as an expression has it: a class is not read before something is done with it."""
        if isinstance(value, Import) and _CLASS_NAME.match(value.name):
            return value
        return self.force(value)

    def force(self, value: Value) -> Value:
        """The value of an imported name, for which its file is read; any other value is itself."""
        match value:
            case Import(location=location, name="", path=path):
                return Namespace(location, path)
            case Import(location=location, name=name, path=path):
                found = self._member(location, name)
                return Api(path) if found is None else found
            case Either(guard, then, otherwise) if _has_import(value):
                return join(guard, self.force(then), self.force(otherwise))
            case _:
                return value

    def peek(self, value: Value) -> Value:
        """The same, as far as no file needs to be read for it."""
        if isinstance(value, Import) and value.location.file in self.files:
            return self.force(value)
        return value

    def attribute(self, module: Namespace, name: str) -> Value:
        """The value of `module.name`."""
        found = self._member(module.location, name)
        return Api(joined(module.path, name)) if found is None else found

    def assign(self, module: Namespace, name: str) -> None:
        """`module.name` is set to something: its value is not known from here on."""
        source = None if module.location.file is None else self._load(module.location.file)
        if source is not None and source.frame is not None:
            source.frame.env.names[name] = Object(("assigned", source.path, name), name)
            self._absent.clear()

    def starred(self, source: Source, name: str) -> Value | None:
        """What a name stands for that came by a star; the last star wins."""
        key = (source.path, name)
        if name.startswith("_") or self._absent.get(key) == len(self.files):
            return None
        found = self._by_star(source, name, set())
        if found is None and not self._nesting and not self._forcing:
            self._absent[key] = len(self.files)
        return found

    def _by_star(self, source: Source, name: str, searched: set[str]) -> Value | None:
        """The same, less the files that were `searched`: stars of stars lead to one file in very many ways."""
        for location in reversed(source.stars):
            file = location.file
            if file is None or file in searched:
                continue
            searched.add(file)
            # most stars do not bring the name: do not read their files for it
            if self._may_bring(file, name):
                found = self._member(location, name, searched)
                if found is not None:
                    return found
        return None

    def _may_bring(self, file: str, name: str) -> bool:
        """Whether a file mentions a name, or has stars itself."""
        known = self._mentions.get((file, name))
        if known is None or file == self.path:  # which may be edited between two readings
            text = self.sources.text(file) or ""
            # most texts do not have the name: seeing that is many times as fast as looking for the word
            known = (name in text and re.search(rf"\b{name}\b", text) is not None) or self._has_stars(
                file, text
            )
            self._mentions[file, name] = known
        return known

    def _has_stars(self, file: str, text: str) -> bool:
        known = self._mentions.get((file, "*"))
        if known is None or file == self.path:
            known = self._mentions[file, "*"] = _STAR.search(text) is not None
        return known

    def _member(self, location: Location, name: str, searched: set[str] | None = None) -> Value | None:
        """What a module's name stands for; None when that cannot be found out.

        With `searched`, as a star has it: submodules do not count, and files that were searched need not be searched again.
        """
        key = (location.file or location.directory or "", name)
        if key in self._forcing:
            return None
        self._forcing.add(key)
        try:
            source = None if location.file is None else self._load(location.file)
            if source is not None and source.frame is not None:
                value = source.frame.env.names.get(name)
                # a package that says `from . import name` has no other `name` than its module
                if value is not None and not (
                    isinstance(value, Import) and (value.location, value.name) == (location, name)
                ):
                    return _lasting(self.force(value))
                found = self._star_of(source, name, searched)
                if found is not None:
                    return found
            below = submodule(location, name, self.sources.exists) if searched is None else None
            return None if below is None else Namespace(below, name)
        finally:
            self._forcing.discard(key)

    def _star_of(self, source: Source, name: str, searched: set[str] | None) -> Value | None:
        if not source.stars or name.startswith("_"):
            return None
        return self.starred(source, name) if searched is None else self._by_star(source, name, searched)

    # -- reading files

    def _load(self, path: str) -> Source | None:
        if path in self.files:
            return self.files[path]
        analysis = self.analysis
        assert analysis is not None
        length = analysis.notes.get(_READ, 0)
        spent = len(self.files) > MAX_MODULES or length > MAX_TEXT or analysis.elsewhere <= 0
        if spent or self._nesting >= MAX_NESTING:
            return None
        tree = self.sources.tree(path)
        if tree is None:
            self.files[path] = None
            return None
        text = self.sources.text(path) or ""
        analysis.notes[_READ] = length + len(text)
        frame = self._begun(analysis, path, tree)
        source = self.files[path] = frame.source
        with self._aside(analysis):
            frame.execute(tree.body)
        frame.alive = True
        if "global " in text:
            for name in _rebound(tree):
                if name in frame.env.names:
                    # what is `None` until somebody has it set may well stay that: `_DEVICE = None`
                    unset = frame.env.names[name] == NONE
                    frame.env.names[name] = UNKNOWN if unset else Object(("global", name, path), name)
        if "set_default_" in text and sets_default_device(tree):
            analysis.sets_default_device = True
        self.heap.update(frame.env.heap)
        frame.env.names = analysis.table(frame.env.names)
        return source

    def run(self, path: str) -> None:
        """Run another file as the script that it is, with the checked file as it was read; what it does to that is told."""
        analysis, tree = self.analysis, self.sources.tree(path)
        if analysis is None or tree is None:
            return
        analysis.allow_elsewhere(BUDGET)
        self._hand_out(analysis)
        with self._aside(analysis, muted=False):
            self._begun(analysis, path, tree).execute(_as_script(tree))

    def _hand_out(self, analysis: Analysis) -> None:
        """Those who import the checked file get its objects as its own top level left them: its registries are full, its model was moved.

        Once: what others do to them when they are read comes after that.
        """
        own = analysis.source.frame
        if own is not None and not analysis.notes.get(_HANDED_OUT):
            analysis.notes[_HANDED_OUT] = True
            self.heap.update(own.env.heap)

    def _begun(self, analysis: Analysis, path: str, tree: cst.Module) -> Frame:
        """The activation of another file that is about to be read."""
        source = Source(path, tree, foreign=True)
        source.frame = Frame(analysis, Environment(imported=self.heap), source=source)
        return source.frame

    @contextmanager
    def _aside(self, analysis: Analysis, *, muted: bool = True) -> Iterator[None]:
        """Read another file, whatever is going on in the one that is checked; `muted`: what it does wrong is not reported here."""
        quiet, printed = analysis.quiet, analysis.printed
        analysis.quiet = analysis.printed = 0
        analysis.muted += muted
        self._nesting += 1
        try:
            yield
        finally:
            self._nesting -= 1
            analysis.muted -= muted
            analysis.quiet, analysis.printed = quiet, printed

    def read(self) -> Iterator[tuple[str, cst.Module]]:
        """The other files that were read, by absolute path."""
        for path, source in self.files.items():
            if source is not None and source.foreign:
                yield path, source.module


def _shared_folders(one: str, other: str) -> int:
    """How many parts two paths have in common, from the first one on."""
    pairs = zip(one.split(os.sep), other.split(os.sep), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _as_script(module: cst.Module) -> list[cst.CSTNode]:
    """The statements of a file, and those that it runs only where it is the script: `if __name__ == "__main__":`."""
    found: list[cst.CSTNode] = []
    for line in module.body:
        if isinstance(line, cst.If) and is_main_guard(line.test):
            found += line.body.body
        else:
            found.append(line)
    return found


def _has_import(value: Value) -> bool:
    if isinstance(value, Either):
        return _has_import(value.then) or _has_import(value.otherwise)
    return isinstance(value, Import)


def _lasting(value: Value) -> Value:
    """The value of a module's name as others see it: an empty list is there to be filled."""
    return UNKNOWN if value == Items(()) else value


@remembered(cst.Module)
def _rebound(module: cst.Module) -> tuple[str, ...]:
    """The names that functions of the module assign with `global`."""
    return tuple(dict.fromkeys(_declared_global(module)))


def _declared_global(module: cst.Module) -> Iterator[str]:
    pending: list[Any] = [module]
    while pending:
        node = pending.pop()
        kind = type(node)  # `isinstance` asks LibCST's abstract classes, and takes several times as long.
        if kind is cst.Global:
            for item in node.names:
                yield item.name.value
        elif kind is cst.Try or kind is cst.TryStar:
            pending += [node.body, *node.handlers, node.orelse, node.finalbody]
        elif kind is cst.Match:
            pending += node.cases
        elif node is not None:
            # statements hold others in these, and expressions hold none
            body = getattr(node, "body", ())
            pending += body if isinstance(body, (list, tuple)) else [body]
            pending.append(getattr(node, "orelse", None))


_SCRIPTS = ("main.py", "train.py", "run.py")
"""What programs of several files call the one that is run."""


@remembered(cst.Module)
def sets_default_device(module: cst.Module) -> bool:
    """Whether a function or class of the file sets the default device, or its top level sets it more than once."""
    at_top = 0
    for statement in module.body:
        within = isinstance(statement, (cst.FunctionDef, cst.ClassDef))
        for node in walk(statement):
            if isinstance(node, cst.Name) and node.value in ("set_default_device", "set_default_tensor_type"):
                at_top += 1
                if within or at_top > 1:
                    return True
    return False
