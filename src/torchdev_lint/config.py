"""What a user can set, as plain data, and which rules that selects.

Sits at the bottom beside `diagnostics`: it knows rule codes only as strings.
`config_file` reads it from TOML.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torchdev_lint.globs import compiled

ALL = "ALL"
"""The selector that stands for every rule."""

SYNTAX_ERROR = "TDV999"
"""The code for a file that cannot be read, decoded or parsed: on unless it is ignored by this very code."""

REVEALED = "TDV000"
"""The code of what `reveal_device(x)` was asked to show: a note, on unless it is ignored by this very code."""

UNUSED_SUPPRESSION = "TDV900"
"""The code for a comment that silences nothing: on only if it is asked for by this code, and not part of `ALL`."""

OUTPUT_FORMATS = (
    "full",
    "concise",
    "grouped",
    "json",
    "json-lines",
    "sarif",
    "github",
    "gitlab",
    "junit",
    "pylint",
    "azure",
    "rdjson",
    "html",
)

DEFAULT_INCLUDE = ("*.py", "*.pyi", "*.ipynb")
"""What is checked in a directory."""

DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".git-rewrite",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pyenv",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)
"""Names of directories that are not visited; the list of Ruff, and `__pycache__`."""


class ConfigError(Exception):
    """A configuration or command line that cannot be used; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Selection:
    """One layer of rule selectors: prefixes of codes, or `ALL`.

    `select` is None where the layer does not say which rules are on; otherwise the layer starts afresh.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def decide(self, code: str) -> bool | None:
        """Whether the layer turns `code` on (True), off (False) or leaves it (None).

        The longest selector wins; where two are equally long, the one to ignore.
        """
        on = _specificity(code, (*(self.select or ()), *self.extend_select))
        off = _specificity(code, self.ignore)
        if on < 0 and off < 0:
            return None if self.select is None else False
        return on > off


def _specificity(code: str, selectors: Iterable[str]) -> int:
    """The length of the longest selector that covers `code`; 0 for `ALL`, -1 for none."""
    lengths = [0 if selector == ALL else len(selector) for selector in selectors if covers(selector, code)]
    return max(lengths, default=-1)


def covers(selector: str, code: str) -> bool:
    """Whether a rule selector stands for `code`."""
    return selector == ALL or (selector != "" and code.startswith(selector))


@dataclass(frozen=True, slots=True)
class Config:
    """Settings of a run for the files below `root`; hashable."""

    root: str = "."
    """The directory that the patterns are relative to."""
    source: str = ""
    """The file that was read, for messages; empty when there was none."""
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    command_line: Selection = Selection()
    """Selectors of the command line, which go over those of the file."""
    off_by_default: frozenset[str] = frozenset()
    """Codes of the rules that have to be asked for; filled in by the loader, which knows the rules."""
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    extend_per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    ignore_noqa: bool = False
    """Whether `# noqa` comments count for nothing; only the command line says so."""
    src: tuple[str, ...] = (".", "src")
    """The directories, below `root`, that imports of the project's own modules start from."""
    given: tuple[str, ...] = ()
    """Directories that are the root of a project where no marker stands above a file: what the run was told to check."""
    tensor_constructors: tuple[str, ...] = ()
    """More functions known to return CPU tensors, by bare or dotted name."""
    device_sources: tuple[str, ...] = ()
    """Functions that return the device that the program works on, by bare or dotted name."""
    stubs: tuple[str, ...] = ()
    """Paths of stub files, which tell what libraries do to devices."""
    target_torch: tuple[int, ...] = ()
    """The oldest version of PyTorch that the code has to run with; empty when none was named."""
    include: tuple[str, ...] = DEFAULT_INCLUDE
    extend_include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    fixable: tuple[str, ...] | None = None
    extend_fixable: tuple[str, ...] = ()
    unfixable: tuple[str, ...] = ()
    unsafe_fixes: bool = False
    output_format: str = "full"

    def selectors(self) -> Iterator[tuple[str, str]]:
        """Every rule selector that is used anywhere, after the key or flag that it was given to."""
        flags = self.command_line
        given = {
            "'select'": self.select,
            "'extend-select'": self.extend_select,
            "'ignore'": self.ignore,
            "--select": flags.select,
            "--extend-select": flags.extend_select,
            "--ignore": flags.ignore,
            "'fixable'": self.fixable,
            "'extend-fixable'": self.extend_fixable,
            "'unfixable'": self.unfixable,
        }
        for where, codes in given.items():
            yield from ((where, code) for code in codes or ())
        for key in ("per-file-ignores", "extend-per-file-ignores"):
            for _, codes in getattr(self, key.replace("-", "_")):
                yield from ((repr(key), code) for code in codes)

    def selects(self, code: str, path: str) -> bool:
        """Whether the rule `code` is on for the file `path`."""
        if not self._enabled(code):
            return False
        ignores = (*self.per_file_ignores, *self.extend_per_file_ignores)
        if not ignores:
            return True
        absolute = os.path.abspath(path)
        return not any(
            covers(selector, code)
            for pattern, codes in ignores
            if compiled((pattern,), self.root).match(absolute)
            for selector in codes
        )

    def fixes(self, code: str) -> bool:
        """Whether the fixes of the rule `code` are offered."""
        return Selection(self.fixable, self.extend_fixable, self.unfixable).decide(code) is not False

    def _file_layer(self) -> Selection:
        return Selection(self.select, self.extend_select, self.ignore)

    def _enabled(self, code: str) -> bool:
        file, over = self._file_layer(), self.command_line
        if code in (SYNTAX_ERROR, REVEALED):
            # Silence about a file that was not understood would read as "nothing wrong".
            return code not in file.ignore and code not in over.ignore
        if code == UNUSED_SUPPRESSION:
            return any(covers(selector, code) for selector in _asked_for(file, over))
        if over.select is not None:
            return bool(over.decide(code))
        decision = over.decide(code)
        if decision is None:
            decision = file.decide(code)
        return code not in self.off_by_default if decision is None else decision


def _asked_for(file: Selection, over: Selection) -> tuple[str, ...]:
    """The selectors that turn on what is off unless it is named, less those that turn it off again."""
    layers = [over] if over.select is not None else [file, over]
    asked = [selector for layer in layers for selector in (*(layer.select or ()), *layer.extend_select)]
    refused = {selector for layer in (file, over) for selector in layer.ignore}
    return tuple(
        selector
        for selector in asked
        if selector.startswith(UNUSED_SUPPRESSION[:4]) and selector not in refused
    )


def check_selectors(config: Config, codes: Iterable[str]) -> None:
    """Raise `ConfigError` for the first selector that stands for none of `codes`."""
    known = [*codes, SYNTAX_ERROR, REVEALED, UNUSED_SUPPRESSION]
    for where, selector in config.selectors():
        if not any(covers(selector, code) for code in known):
            file = f"{config.source}: " if config.source and not where.startswith("-") else ""
            near = did_you_mean(selector, known)
            raise ConfigError(f"{file}{where}: unknown rule selector {selector!r}{near}")


def did_you_mean(word: str, known: Iterable[str], a: str = "") -> str:
    """`; did you mean 'near'?`, or nothing when no known word is near; `a` says what a known word is."""
    found = nearest(word, known)
    return f"; did you mean {a}{found!r}?" if found else ""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is most like, if it is like any."""
    import difflib  # Only needed once something is wrong.

    words = list(known)
    found = difflib.get_close_matches(word, words, n=1) or difflib.get_close_matches(word.upper(), words, n=1)
    return found[0] if found else None
