"""A run in which nothing was found, remembered as a whole: asked for again, with nothing changed, it is answered at once.

What such a run depends on is written down as lines: every file that it checked or read for that, every directory that it walked
or sought names in, whatever could hold a configuration or a `.gitignore`, each with its stamp; and the command line, the working
directory and this program itself. The next run compares them, before anything else is imported. On any difference it goes the
usual way, through `engine.cache`. A run is remembered only when it had nothing to check, so that those which follow an edit do
not pay for it, and only when every stamp is old enough for the next change to get another one.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from torchdev_lint.engine.cache_directory import DIRECTORY, REMEMBERED, headed, seal, thin_out, write_whole
from torchdev_lint.engine.program import program
from torchdev_lint.engine.stamps import stamp_of_path
from torchdev_lint.files import read_bytes

TYPE_CHECKING = False  # As type checkers know it; to import `typing` takes longer than to compare the stamps of a small project.
if TYPE_CHECKING:
    from torchdev_lint.engine.caches import Caches
    from torchdev_lint.source.discovery import Discovered

HEAD = b"torchdev-lint unchanged 1"
MAX_BYTES = 64_000_000
_STAMP = "%d %d %d %d"
"""How a `stamps.Stamp` is written."""


def answer(arguments: Sequence[str]) -> str | None:
    """What a run with these arguments printed in this working directory, where it would come to the same; None where it might not."""
    here = os.getcwd()
    directory = os.path.join(here, DIRECTORY)
    with suppress(OSError, ValueError):
        head, _, body = read_bytes(_path(directory, arguments), MAX_BYTES).partition(b"\n")
        if head != headed(HEAD, body) or os.path.islink(directory):
            return None
        about, said, *lines = body.decode("utf-8", "surrogateescape").split("\n")
        if about == _about(here, arguments, directory) and all(map(_holds, lines)):
            return said and f"{said}\n"
    return None


def _path(directory: str, arguments: Sequence[str]) -> str:
    number = zlib.crc32("\0".join(arguments).encode("utf-8", "surrogateescape"))
    return os.path.join(directory, f"{number:08x}{REMEMBERED}")


def _about(here: str, arguments: Sequence[str], directory: str) -> str:
    """Which run it was, as one line."""
    return repr((program(), here, list(arguments), seal(directory)))


def _stamp(path: str) -> str:
    """The stamp of a file or directory as text; empty when there is nothing."""
    stamp = stamp_of_path(path)
    return "" if stamp is None else _STAMP % stamp


def _holds(line: str) -> bool:
    """Whether what a line says of a path is still so; called for every file of a project."""
    stamp, path, *names = line.split("\t")
    if stamp == _stamp(path):
        return True
    # Other names come and go in the home directory: what counts are those that were sought.
    return bool(names) and all(
        os.path.exists(os.path.join(path, name[1:])) == (name[0] == "+") for name in names
    )


class Remembering:
    """Writes down a run; begun before it, since what lies around the project is looked at before and after."""

    def __init__(self, arguments: Sequence[str], paths: Iterable[str]) -> None:
        import time

        from torchdev_lint.engine import stamps

        self._arguments = arguments
        self._here = os.getcwd()
        self._sure_before = time.time_ns() - stamps.SURE_AFTER
        self._above = sorted({one for path in (".", *paths) for one in _ancestors(os.path.abspath(path))})
        self._around = self._look_around()

    def keep(self, said: str, found: Discovered, caches: Caches) -> None:
        """Keep that the run printed `said` (at most one line). What cannot be kept is not, and nothing else happens."""
        directory = os.path.join(self._here, DIRECTORY)
        if found.loose or os.path.islink(directory):
            return
        lines = self._lines(found, caches)
        if lines is None or self._look_around() != self._around:
            return
        body = "\n".join((_about(self._here, self._arguments, directory), said.rstrip("\n"), *lines))
        data = body.encode("utf-8", "surrogateescape")
        with suppress(OSError):
            write_whole(_path(directory, self._arguments), headed(HEAD, data) + b"\n" + data)
            thin_out(directory)

    def _look_around(self) -> list[tuple[str, str]]:
        """What could configure the run from above: paths and their stamps."""
        around = []
        for directory in self._above:
            around += [(path, _stamp(path)) for path in _configuring(directory)]
            excluded = os.path.join(directory, ".git", "info", "exclude")
            around.append((excluded, _stamp(excluded)))
        return around

    def _lines(self, found: Discovered, caches: Caches) -> list[str] | None:
        """What the run depends on; None when a change could go unnoticed."""
        told = dict(self._around)
        for directory in found.directories:
            if os.path.basename(directory) == DIRECTORY:
                continue  # Where this is written.
            told[directory] = _stamp(directory)
            told.update((path, stamp) for path in _configuring(directory) if (stamp := _stamp(path)))
        told.update((path, _stamp(path)) for path in caches.configured_by())
        if any(_extends(path) for path, stamp in told.items() if stamp and os.path.isfile(path)):
            return None
        sought: dict[str, dict[str, bool]] = {}
        for path, seen, names in caches.looked_at():
            if names is not None:
                sought.setdefault(path, {}).update(names)  # Each file has sought its own.
            elif seen is None:
                return None
            else:
                told[path] = _STAMP % seen
        if not all(map(self._is_sure, told.values())):
            return None
        lines = [f"{stamp}\t{path}" for path, stamp in told.items()]
        for path, names in sought.items():
            if path not in told:
                marked = (f"{'+' if there else '-'}{name}" for name, there in names.items())
                lines.append("\t".join((_stamp(path), path, *marked)))
        # Above, only whether there is a repository counts: its directory changes with every commit.
        for directory in self._above:
            there = os.path.exists(os.path.join(directory, ".git"))
            lines.append(f"-\t{directory}\t{'+' if there else '-'}.git")
        breaking = any("\n" in line for line in lines) or any("\t" in path for path in (*told, *sought))
        return None if breaking else lines

    def _is_sure(self, stamp: str) -> bool:
        """Whether what has this stamp was last changed so long before the run that another change will show."""
        if not stamp:
            return True
        changed, _, _, set_at = stamp.split()
        return int(changed) < self._sure_before and int(set_at) < self._sure_before


def _ancestors(path: str) -> Iterator[str]:
    """The path, which is absolute, and every directory above it; and those of what it really is."""
    for start in (path, os.path.realpath(path)):
        current = start
        while True:
            yield current
            parent = os.path.dirname(current)
            if parent == current:
                break
            current = parent


def _configuring(directory: str) -> list[str]:
    """What counts in a directory and below it, if it is there."""
    from torchdev_lint.config_file import FILE_NAMES  # Not needed to compare.

    return [os.path.join(directory, name) for name in (*FILE_NAMES, ".gitignore")]


def _extends(path: str) -> bool:
    """Whether a configuration may go on in another file, wherever that is."""
    import re

    try:
        return re.search(rb"extend[\"']?\s*=", read_bytes(path)) is not None
    except OSError:
        return True
