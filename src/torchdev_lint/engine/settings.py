"""The configuration for each directory of a run: that of the nearest file, under the command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from torchdev_lint.config import Config, ConfigError, check_selectors
from torchdev_lint.config_file import config_in
from torchdev_lint.rules.codes import CODES, OFF_BY_DEFAULT
from torchdev_lint.source.discovery import FileRules


class Settings:
    """Looks up configurations, each directory once.

    `fixed` is used everywhere in place of any file that is found; `overlay` puts the command line on top of what
    is found. Every lookup may raise `ConfigError`.
    """

    def __init__(
        self,
        fixed: Config | None = None,
        overlay: Callable[[Config], Config] = lambda config: config,
    ) -> None:
        self._fixed = fixed
        self._overlay = overlay
        self._found: dict[str, Config | None] = {}
        self._finished: dict[Config, Config] = {}
        self._of_directories: dict[str, Config] = {}
        """As they were named: every file asks, and to hash a configuration takes longer than to look at the file's stamp."""

    def for_directory(self, directory: str) -> Config:
        """The configuration for the files in `directory`."""
        known = self._of_directories.get(directory)
        if known is None:
            config = self._fixed or self._nearest(os.path.abspath(directory)) or Config(root=os.getcwd())
            known = self._of_directories[directory] = self._finish(config)
        return known

    def _nearest(self, directory: str) -> Config | None:
        """The configuration in `directory` or the nearest one above."""
        if directory not in self._found:
            config = config_in(directory)
            parent = os.path.dirname(directory)
            if config is None and parent != directory:
                config = self._nearest(parent)
            self._found[directory] = config
        return self._found[directory]

    def for_file(self, path: str) -> Config:
        """The configuration for the file `path`, which need not exist."""
        return self.for_directory(os.path.dirname(path) or ".")

    def file_rules(self, directory: str) -> FileRules:
        """What is left out in `directory`."""
        config = self.for_directory(directory)
        return FileRules(
            config.root,
            (*config.exclude, *config.extend_exclude),
            config.respect_gitignore,
            config.force_exclude,
            (*config.include, *config.extend_include),
        )

    def _finish(self, config: Config) -> Config:
        if config not in self._finished:
            finished = replace(self._overlay(config), off_by_default=OFF_BY_DEFAULT)
            check_selectors(finished, CODES)
            if finished.stubs:
                _read_stubs(finished.stubs)
            self._finished[config] = finished
        return self._finished[config]


def _read_stubs(paths: tuple[str, ...]) -> None:
    from torchdev_lint.stubs.reading import StubError
    from torchdev_lint.stubs.shelf import shelf

    try:
        shelf(paths)
    except StubError as error:
        raise ConfigError(str(error)) from None
