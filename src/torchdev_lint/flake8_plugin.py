"""The flake8 face: `flake8 --select TDV` finds what the command line finds, at the same places.

`# noqa` is flake8's own business; `# torchdev: ignore[...]` it does not know, so that is done here.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from torchdev_lint import __version__

if TYPE_CHECKING:
    import argparse

    from torchdev_lint.config import Config
    from torchdev_lint.diagnostics import Diagnostic
    from torchdev_lint.engine.settings import Settings
    from torchdev_lint.engine.sources import DiskSources
    from torchdev_lint.flow.projects import Sources

STDIN_NAMES = ("-", "stdin")

_LISTS = {
    "tensor-constructors": "Functions known to return CPU tensors",
    "device-sources": "Functions known to return the device that the program works on",
    "stubs": "Stub files",
    "src": "Directories that imports of the project's own modules start from",
}
"""Options of the configuration that flake8 can be given instead, as `--tdv-NAME`."""


class Plugin:
    """Made by flake8 once per file, with the arguments that it finds by name."""

    name = "torchdev-lint"
    version = __version__

    _overrides: ClassVar[dict[str, Any]] = {}
    """Fields of the configuration that flake8's options replace."""
    _config_file: ClassVar[str] = ""
    _settings: ClassVar[Settings | None] = None
    _sources: ClassVar[DiskSources | None] = None

    def __init__(self, tree: ast.AST, filename: str = "-", lines: Sequence[str] = ()) -> None:
        # flake8 runs every plugin on every file, whatever was selected: nothing is done before `run`.
        self.filename = filename
        self.lines = lines

    @staticmethod
    def add_options(option_manager: Any) -> None:
        """Declare our options; rules that are off by default join flake8's default ignores."""
        from torchdev_lint.rules.registry import all_rules

        for name, what in _LISTS.items():
            option_manager.add_option(
                f"--tdv-{name}",
                default="",
                parse_from_config=True,
                comma_separated_list=True,
                normalize_paths=name in ("stubs", "src"),
                metavar=name.split("-")[-1],
                help=f"{what}, instead of those that the configuration names.",
            )
        option_manager.add_option(
            "--tdv-config",
            default="",
            parse_from_config=True,
            normalize_paths=True,
            metavar="path",
            help="The configuration file, instead of the nearest pyproject.toml or torchdev-lint.toml.",
        )
        option_manager.extend_default_ignore([rule.code for rule in all_rules() if not rule.default])

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Take over flake8's options."""
        given = {name.replace("-", "_"): getattr(options, f"tdv_{name.replace('-', '_')}") for name in _LISTS}
        cls._overrides = {field: tuple(value) for field, value in given.items() if value}
        chosen, more = _rules_among(options.select), _rules_among(options.extend_select)
        if chosen or more:
            from torchdev_lint.config import Selection

            cls._overrides["command_line"] = Selection(chosen or None, more)
        cls._config_file = options.tdv_config
        cls._settings = None
        cls._sources = None

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Yield row (1-based), column (0-based), `CODE message` and this class, for each finding."""
        # The configuration may name constructors, which widens the search; only then is it worth more.
        if not any("torch" in line or "return_tensors" in line for line in self.lines):
            config = self._config()
            if not config.tensor_constructors and not config.stubs:
                return
        for one in self._diagnostics():
            yield one.range.start.row, one.range.start.column - 1, f"{one.code} {one.message}", type(self)

    def _config(self) -> Config:
        """The file's configuration. Raises flake8's `ExecutionError`."""
        from torchdev_lint.config import ConfigError

        cls = type(self)
        try:
            if cls._settings is None:
                cls._settings = cls._read()
            config = cls._settings.for_file("" if self.filename in STDIN_NAMES else self.filename)
        except ConfigError as error:
            # The one exception that flake8 prints as a message; untyped, hence imported by name.
            raise import_module("flake8.exceptions").ExecutionError(f"torchdev-lint: {error}") from None
        # What is off by default is flake8's to filter: `--extend-select` must find it.
        config = replace(config, off_by_default=frozenset())
        return replace(config, **cls._overrides)

    @classmethod
    def _read(cls) -> Settings:
        from torchdev_lint.config_file import load_config_file
        from torchdev_lint.engine.settings import Settings

        if not cls._config_file:
            return Settings()
        return Settings(load_config_file(cls._config_file, os.path.dirname(cls._config_file)))

    def _diagnostics(self) -> list[Diagnostic]:
        from torchdev_lint.engine.findings import findings
        from torchdev_lint.engine.prefilter import may_matter

        text = "".join(self.lines)
        config = self._config()
        if not may_matter(text.encode("utf-8", "surrogatepass"), config):
            return []
        try:
            return findings(text, self.filename, config, noqa=False, sources=self._texts())
        except Exception as error:  # Let go, it would end flake8 and cost the user every other finding.
            return [self._bug(error)]

    def _texts(self) -> Sources | None:
        """Where the other files of the project come from; None for standard input."""
        from torchdev_lint.engine.sources import DiskSources

        if self.filename in STDIN_NAMES:
            return None
        cls = type(self)
        if cls._sources is None:
            cls._sources = DiskSources()
        return cls._sources

    def _bug(self, error: Exception) -> Diagnostic:
        from torchdev_lint.config import SYNTAX_ERROR
        from torchdev_lint.diagnostics import Diagnostic, Position, Range
        from torchdev_lint.engine.run import describe_bug

        start = Position(1, 1)
        return Diagnostic(
            self.filename, SYNTAX_ERROR, "internal-error", describe_bug(error), Range(start, start)
        )


def _rules_among(selectors: Sequence[str] | None) -> tuple[str, ...]:
    """Those that speak of single rules of ours; a mere `TDV` only turns the plugin on, and the rules are the file's to choose."""
    return tuple(one for one in selectors or () if one.startswith("TDV") and one != "TDV")
