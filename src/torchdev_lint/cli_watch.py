"""`torchdev-lint check --watch`: checks again whenever a file, or a configuration, has changed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable

from torchdev_lint.cli_options import Options
from torchdev_lint.config import ConfigError
from torchdev_lint.source.discovery import DiscoveryError, discover

PERIOD = 0.5
"""Seconds between two looks at the files."""
CONFIGURATIONS = ("pyproject.toml", "torchdev-lint.toml", ".torchdev-lint.toml")
_CLEAR = "\x1b[2J\x1b[1;1H"

_State = dict[str, "tuple[int, int, int] | None"]


def watch(options: Options, check: Callable[[], int]) -> int:
    """Run `check` now and after every change of what `options` name; returns 0 when the user ends it with Ctrl-C.

    `check` reads the command line and the configuration anew. An error of either, once it runs, is told and waited out.
    """
    try:
        _say("Starting the linter in watch mode...", clear=True)
        while True:
            before = _state(options)  # What changes while it is checked is checked again,
            _checked(check)
            if options.fix:
                before = _state(options)  # but not what the check itself has changed.
            _say("Watching for file changes.")
            while (after := _state(options)) == before:
                time.sleep(PERIOD)
            _say("File change detected...", clear=True)
            _settled(after, options)
    except KeyboardInterrupt:
        return 0


def _checked(check: Callable[[], int]) -> None:
    try:
        check()
    except (ConfigError, DiscoveryError) as error:
        print(f"torchdev-lint: error: {error}", file=sys.stderr)
    sys.stdout.flush()


def _settled(state: _State, options: Options) -> None:
    """Wait until nothing has changed for a moment: editors and `git checkout` write several files."""
    for _ in range(20):
        time.sleep(0.05)
        current = _state(options)
        if current == state:
            return
        state = current


def _state(options: Options) -> _State:
    """What tells whether a file has changed, of every file that is checked and every configuration that may hold for it."""
    try:
        files = discover(options.paths, options.settings.file_rules).files
    except (ConfigError, DiscoveryError):
        files = ()
    return {path: _stamp(path) for path in (*files, *_configurations(files or options.paths))}


def _configurations(files: Iterable[str]) -> list[str]:
    directories: set[str] = set()
    for file in files:
        directory = os.path.abspath(file if os.path.isdir(file) else os.path.dirname(file))
        while directory not in directories:
            directories.add(directory)
            directory = os.path.dirname(directory)
    return [os.path.join(directory, name) for directory in sorted(directories) for name in CONFIGURATIONS]


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _say(text: str, *, clear: bool = False) -> None:
    if clear and sys.stdout.isatty():
        sys.stdout.write(_CLEAR)
        sys.stdout.flush()
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)
