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
    from torchdev_lint.engine.caches import Caches
    from torchdev_lint.engine.jobs import Checker
    from torchdev_lint.engine.results import Bare
    from torchdev_lint.engine.settings import Settings

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
    _checker: ClassVar[Checker | None] = None
    _keeps: ClassVar[bool] = True
    _caches: ClassVar[Caches | None] = None

    def __init__(self, tree: ast.AST, filename: str = "-", lines: Sequence[str] = ()) -> None:
        # flake8 runs every plugin on every file, whatever was selected: nothing is done before `run`.
        self.filename = filename
        self.lines = lines

    @staticmethod
    def add_options(option_manager: Any) -> None:
        """Declare our options; rules that are off by default join flake8's default ignores."""
        from torchdev_lint.rules.codes import OFF_BY_DEFAULT

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
        option_manager.add_option(
            "--tdv-no-cache",
            action="store_true",
            parse_from_config=True,
            help="Neither use nor keep results, which the command line shares.",
        )
        option_manager.extend_default_ignore(sorted(OFF_BY_DEFAULT))

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Take over flake8's options."""
        given = {name.replace("-", "_"): getattr(options, f"tdv_{name.replace('-', '_')}") for name in _LISTS}
        cls._overrides = {field: tuple(value) for field, value in given.items() if value}
        chosen, more = _rules_among(options.select), _rules_among(options.extend_select)
        if chosen or more:
            from torchdev_lint.config import Selection

            cls._overrides["command_line"] = Selection(chosen or None, more)
        if cls._shows_what_is_off_by_default(options):
            cls._overrides["off_by_default"] = frozenset()  # which of them it shows is for flake8 to say
        from torchdev_lint.source.roots import given_as_roots

        cls._overrides["given"] = given_as_roots([os.curdir])
        cls._config_file = options.tdv_config
        cls._settings = None
        cls._keeps = not options.tdv_no_cache
        cls._checker = None
        cls._caches = None

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Yield row (1-based), column (0-based), `CODE message` and this class, for each finding."""
        # The configuration may name constructors, which widens the search; only then is it worth more.
        if not any("torch" in line or "return_tensors" in line for line in self.lines):
            config = self._config()
            if not config.tensor_constructors and not config.stubs:
                return
        for row, column, code, message in self._found():
            yield row, column - 1, f"{code} {message}", type(self)

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
        return replace(config, **cls._overrides) if cls._overrides else config

    @classmethod
    def _shows_what_is_off_by_default(cls, options: argparse.Namespace) -> bool:
        """Whether flake8 would show findings of rules that are off by default; to look for them takes time."""
        if not options.select and not options.extend_select and not options.ignore:
            return False
        from torchdev_lint.rules.codes import OFF_BY_DEFAULT

        # Untyped, hence imported by name.
        style_guide = import_module("flake8.style_guide")
        engine = style_guide.DecisionEngine(options)
        return any(engine.decision_for(code) is style_guide.Decision.Selected for code in OFF_BY_DEFAULT)

    @classmethod
    def _read(cls) -> Settings:
        from torchdev_lint.config_file import load_config_file
        from torchdev_lint.engine.settings import Settings

        if not cls._config_file:
            return Settings()
        return Settings(load_config_file(cls._config_file, os.path.dirname(cls._config_file)))

    def _found(self) -> Sequence[Bare]:
        from torchdev_lint.engine.prefilter import may_matter

        text = "".join(self.lines)
        config = self._config()
        if not may_matter(text.encode("utf-8", "surrogatepass"), config):
            return ()
        try:
            return self._kept_or_checked(text, config)
        except Exception as error:  # Let go, it would end flake8 and cost the user every other finding.
            from torchdev_lint.engine.results import to_bare

            return [to_bare(self._bug(error))]

    def _kept_or_checked(self, text: str, config: Config) -> Sequence[Bare]:
        from torchdev_lint.engine.sources import is_text_of

        on_disk = self.filename not in STDIN_NAMES
        caches = self._its_caches() if on_disk and is_text_of(self.filename, text) else None
        known: Sequence[Bare] | None = None if caches is None else caches.bare(self.filename, config)
        if known is not None:
            return known
        # Only now, so that a file whose findings are known does not load what checks files.
        from torchdev_lint.engine.findings import findings
        from torchdev_lint.engine.jobs import Job
        from torchdev_lint.engine.results import NO_FIXES, to_bare

        checker = self._its_checker()
        if caches is not None:
            checked = checker(Job(self.filename, config, NO_FIXES))
            caches.keep(self.filename, config, checked)
            if not checked.result.errors and checked.result.bare is not None:
                return checked.result.bare
        sources = checker.sources if on_disk else None
        return [to_bare(one) for one in findings(text, self.filename, config, noqa=False, sources=sources)]

    @classmethod
    def _its_checker(cls) -> Checker:
        """Whoever checks files, with those that they import, which are read once for all."""
        from torchdev_lint.engine.jobs import Checker

        if cls._checker is None:
            cls._checker = Checker(keeps=True)
        return cls._checker

    @classmethod
    def _its_caches(cls) -> Caches | None:
        """The kept results of this process, which are written when it ends."""
        if cls._caches is None and cls._keeps:
            from multiprocessing.util import Finalize

            from torchdev_lint.engine.caches import of_project

            cls._caches = of_project(cls._settings or cls._read())
            # Of the processes that flake8 starts, too, which end without `atexit`.
            Finalize(None, cls._caches.save, exitpriority=1)
        return cls._caches

    def _bug(self, error: Exception) -> Diagnostic:
        from torchdev_lint.config import SYNTAX_ERROR
        from torchdev_lint.diagnostics import Diagnostic, Position, Range
        from torchdev_lint.engine.results import describe_bug

        start = Position(1, 1)
        return Diagnostic(
            self.filename, SYNTAX_ERROR, "internal-error", describe_bug(error), Range(start, start)
        )


def _rules_among(selectors: Sequence[str] | None) -> tuple[str, ...]:
    """Those that speak of single rules of ours; a mere `TDV` only turns the plugin on, and the rules are the file's to choose."""
    return tuple(one for one in selectors or () if one.startswith("TDV") and one != "TDV")
