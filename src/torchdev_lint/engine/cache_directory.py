"""The directory that results are kept in: made, marked, shared by several runs, thinned out, removed."""

from __future__ import annotations

import os
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from torchdev_lint.files import read_bytes

DIRECTORY = ".torchdev_lint_cache"
"""In the root of a project, unless another is named."""
MAX_FILES = 12
"""Cache files in a directory: those used least recently go first."""
REMEMBERED = ".run"
"""How the names of remembered runs end."""
TAG = "CACHEDIR.TAG"
LOCK = "lock"
LOCK_TIMEOUT = 2.0
"""Seconds to wait for another run to have written its results."""
_TAG_TEXT = (
    "Signature: 8a477f597d28d172789f06886806bc55\n# Made by torchdev-lint; see https://bford.info/cachedir/\n"
)


def seal(directory: str) -> list[int] | None:
    """What only this machine can know of a cache directory; None when nothing can be told."""
    try:
        status = os.lstat(os.path.join(directory, TAG))
    except OSError:
        return None
    return [status.st_ino, status.st_ctime_ns] if stat.S_ISREG(status.st_mode) else None


def prepare(directory: str) -> None:
    """Make the directory, which says of itself what it is and that nobody wants it in git. Raises `OSError`."""
    if os.path.lexists(os.path.join(directory, TAG)):
        return
    os.makedirs(directory, exist_ok=True)
    for name, text in ((".gitignore", "*\n"), (TAG, _TAG_TEXT)):
        # A link that lies there is not followed: it would be its target that is overwritten.
        with suppress(FileExistsError), open(os.path.join(directory, name), "x", encoding="utf-8") as file:
            file.write(text)


@contextmanager
def alone(directory: str) -> Iterator[None]:
    """Make the directory and keep other runs from writing to it, for a moment; where that cannot be done, go on. Raises `OSError`."""
    prepare(directory)
    try:
        import fcntl
    except ImportError:  # Windows: of runs at the same time, the last one's results are kept.
        yield
        return
    descriptor = os.open(
        os.path.join(directory, LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644
    )
    try:
        deadline = time.monotonic() + LOCK_TIMEOUT
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    break  # Its results count less than the user's time.
                time.sleep(0.01)
            except OSError:
                break  # A file system without locks.
        yield
    finally:
        os.close(descriptor)


def headed(kind: bytes, body: bytes) -> bytes:
    """The line before a body: what kind of file it is, and a checksum."""
    return b"%s %08x" % (kind, zlib.crc32(body))


def write_whole(path: str, data: bytes) -> None:
    """Write a file of the directory so that others see all of it or what was there before. Raises `OSError`."""
    temporary = f"{path}.{os.getpid()}.tmp"
    with suppress(FileNotFoundError):
        os.unlink(temporary)
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def thin_out(directory: str) -> None:
    files: dict[str, list[tuple[int, str]]] = {".json": [], REMEMBERED: []}
    with os.scandir(directory) as listing:
        for entry in listing:
            ending = os.path.splitext(entry.name)[1]
            if ending in files:
                files[ending].append((entry.stat().st_mtime_ns, entry.path))
            elif entry.name.endswith(".tmp") and entry.stat().st_mtime < time.time() - 3600:
                os.unlink(entry.path)  # Of a run that was ended in the middle.
    for kind in files.values():
        for _, path in sorted(kind)[:-MAX_FILES]:
            with suppress(OSError):
                os.unlink(path)


def clean(directory: str) -> bool:
    """Remove a cache directory; False when there is none. Raises `OSError`, and `ValueError` if it is not ours."""
    if not os.path.isdir(directory):
        return False
    try:
        ours = b"torchdev-lint" in read_bytes(os.path.join(directory, TAG), 1000)
    except OSError:
        ours = False
    if not ours:
        raise ValueError("it was not made by torchdev-lint")
    import shutil

    shutil.rmtree(directory)
    return True
