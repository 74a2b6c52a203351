"""The real Ruff: where it is, and running it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torchdev_lint.shim.flags import FAMILY, RUFF_FORMATS

GUARD = "TORCHDEV_RUFF"
"""In the environment of the Ruff that is started: whoever is started with it again is no Ruff, and works without one."""

_EXTERNAL = re.compile(r"^linter\.external = \[(.*?)\]$", re.MULTILINE | re.DOTALL)
_SWITCHES = {
    "fix = true": "fix",
    "fix_only = true": "fix-only",
    "show_fixes = true": "show-fixes",
    "unsafe_fixes = enabled": "unsafe-fixes",
}
_FORMAT = re.compile(r"^output_format = (\S+)$", re.MULTILINE)


class RuffError(Exception):
    """Ruff ended as only a bad command line or configuration, or a bug of its own, makes it end; it has said why on stderr."""


def find_ruff() -> str | None:
    """The real Ruff: beside the interpreter, else on the PATH; None without one."""
    if os.environ.get(GUARD):
        return None
    folders = [os.path.dirname(sys.executable), *os.environ.get("PATH", "").split(os.pathsep)]
    for folder in folders:
        found = shutil.which("ruff", path=folder) if folder else None
        if found is not None and not _is_this(found):
            return found
    return None


def _is_this(path: str) -> bool:
    """Whether an executable that is named `ruff` is this program, linked or copied."""
    own = shutil.which(sys.argv[0]) or sys.argv[0]
    if os.path.realpath(path) == os.path.realpath(own):
        return True
    try:
        with open(path, "rb") as file:
            return b"ruff_api_shim" in file.read(4096)
    except OSError:
        return True  # What cannot be read cannot be started safely either.


@dataclass(frozen=True, slots=True)
class Output:
    """What a run of Ruff came to."""

    code: int
    out: bytes
    err: bytes


@dataclass(frozen=True, slots=True)
class Ruff:
    """A Ruff to be run."""

    path: str

    def start(self, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start it with pipes to all its streams."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [self.path, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, env=_environment(asking=True)
        )

    def run(self, arguments: Sequence[str], data: bytes = b"") -> Output:
        """Run it to its end. Raises `RuffError` when it fails (exit code 2 or above), its own words printed."""
        return finished(self.start(arguments), data)

    def call(self, arguments: Sequence[str], data: bytes | None = None) -> int:
        """Run it on this process's own streams; `data` in place of standard input. Returns its exit code."""
        sys.stdout.flush()
        sys.stderr.flush()
        return subprocess.run([self.path, *arguments], input=data, env=_environment(), check=False).returncode

    def settings(self, arguments: Sequence[str], path: str) -> Settings:
        """What Ruff's configuration says for `path` of the things that matter to a report of two tools."""
        output = finished(self.start(["check", "--show-settings", *arguments, path]), b"", quiet=True)
        text = output.out.decode("utf-8", "replace")
        external, shape = _EXTERNAL.search(text), _FORMAT.search(text)
        codes = tuple(re.findall(r"[A-Z]+[0-9]*", external.group(1))) if external is not None else ()
        switches = tuple(_SWITCHES[line] for line in text.splitlines() if line in _SWITCHES)
        form = shape.group(1).replace("_", "-") if shape is not None else "full"
        # A format that only a newer Ruff knows could not be written here.
        return Settings(codes, form if form in RUFF_FORMATS else "full", switches)


@dataclass(frozen=True, slots=True)
class Settings:
    """A part of Ruff's settings."""

    external: tuple[str, ...] = ()
    output_format: str = "full"
    switches: tuple[str, ...] = ()
    """The flags whose effect the configuration asks for."""

    def keep_ours(self) -> list[str]:
        """The arguments that make Ruff leave `# noqa: TDV001` alone, besides what it leaves alone anyway."""
        if any(FAMILY.startswith(code) for code in self.external):
            return []
        return ["--config", f"lint.external = {json.dumps([*self.external, FAMILY])}"]


def finished(process: subprocess.Popen[bytes], data: bytes, *, quiet: bool = False) -> Output:
    """The outcome of a Ruff that was started. Raises `RuffError`."""
    out, err = process.communicate(data)
    if process.returncode not in (0, 1) and not quiet:
        sys.stderr.write(err.decode("utf-8", "replace"))
        raise RuffError
    return Output(process.returncode, out, err)


def _environment(*, asking: bool = False) -> dict[str, str]:
    environment = {**os.environ, GUARD: "1"}
    if asking:
        # These would send away the answer that we wait for.
        for name in ("RUFF_OUTPUT_FILE", "RUFF_OUTPUT_FORMAT", "FORCE_COLOR"):
            environment.pop(name, None)
    return environment


def lines_of(output: Output) -> Iterator[str]:
    """What Ruff said on stderr."""
    yield from output.err.decode("utf-8", "replace").splitlines()
