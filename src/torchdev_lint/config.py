"""What a user can set, as plain data, and which rules that selects.

Sits at the bottom beside `diagnostics`: it knows rule codes only as strings.
`config_file` reads it from TOML.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
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

    def selectors(self) -> tuple[str, ...]:
        """Every selector of the layer."""
        return (*(self.select or ()), *self.extend_select, *self.ignore)

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
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    command_line: Selection = Selection()
    """Selectors of the command line, which go over those of the file."""
    off_by_default: frozenset[str] = frozenset()
    """Codes of the rules that have to be asked for; filled in by the loader, which knows the rules."""
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    src: tuple[str, ...] = (".", "src")
    """The directories, below `root`, that imports of the project's own modules start from."""
    tensor_constructors: tuple[str, ...] = ()
    """More functions known to return CPU tensors, by bare or dotted name."""
    stubs: tuple[str, ...] = ()
    """Paths of stub files, which tell what libraries do to devices."""
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    unsafe_fixes: bool = False
    output_format: str = "full"

    def selectors(self) -> tuple[str, ...]:
        """Every rule selector that is used anywhere."""
        per_file = (code for _, codes in self.per_file_ignores for code in codes)
        return (*self._file_layer().selectors(), *self.command_line.selectors(), *per_file)

    def selects(self, code: str, path: str) -> bool:
        """Whether the rule `code` is on for the file `path`."""
        if not self._enabled(code):
            return False
        if not self.per_file_ignores:
            return True
        absolute = os.path.abspath(path)
        return not any(
            covers(selector, code)
            for pattern, codes in self.per_file_ignores
            if compiled((pattern,), self.root).match(absolute)
            for selector in codes
        )

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
    for selector in config.selectors():
        if not any(covers(selector, code) for code in known):
            raise ConfigError(f"unknown rule selector {selector!r}{did_you_mean(selector, known)}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'near'?`, or nothing when no known word is near."""
    import difflib  # Only needed once something is wrong.

    near = difflib.get_close_matches(word, list(known), n=1)
    upper = difflib.get_close_matches(word.upper(), list(known), n=1)
    found = near or upper
    return f"; did you mean {found[0]!r}?" if found else ""
