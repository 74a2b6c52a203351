"""What happened when a program was run: plain data, no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any


class Kind(str, Enum):
    """The outcomes of a run; the values are the spellings of every output format."""

    PASSED = "passed"
    """The program ended by itself with exit status 0."""
    DEVICE_ERROR = "device-error"
    """It ended with an error about where a tensor, a module or a generator lives."""
    OTHER_ERROR = "other-error"
    """It ended with any other error, a missing file and a non-zero `sys.exit` included."""
    TIMEOUT = "timeout"
    """It did not end in time; it and all its children were killed."""
    CRASH = "crash"
    """The process died without a word: a signal, `os._exit(n)`."""
    UNSUPPORTED = "unsupported"
    """It asked the simulator for what that cannot do; nothing is known about the program."""
    UNAVAILABLE = "unavailable"
    """The backend cannot be used here (no torch, no GPU, an unknown torch); the program was not started."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of user code on the way to the error: absolute `filename`, 1-based `row`, `function` name."""

    filename: str
    row: int
    function: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one run.

    `error_type` and `message` are those of the exception (a device error that was the declared cause of the
    last exception is reported in its stead); `frames` are the user's frames, outermost first: not those of
    the standard library, of installed packages or of this harness. `seconds` is wall time including the start
    of the process. `stdout` and `stderr` are what the program printed, cut in the middle when it was very
    long. `exit_status` is the process's, negative for a signal; None when nothing was started.
    """

    kind: Kind
    backend: str
    error_type: str | None = None
    message: str | None = None
    frames: tuple[Frame, ...] = ()
    seconds: float = 0.0
    stdout: str = ""
    stderr: str = ""
    exit_status: int | None = None
    torch_version: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def at(self) -> tuple[str, int] | None:
        """The innermost user line, as (filename, row): where it fails, which need not be where the cause
        is.
        """
        if not self.frames:
            return None
        last = self.frames[-1]
        return last.filename, last.row

    @property
    def filename(self) -> str | None:
        """The file of the innermost user line."""
        return self.at[0] if self.at else None

    @property
    def row(self) -> int | None:
        """The 1-based row of the innermost user line."""
        return self.at[1] if self.at else None

    def __bool__(self) -> bool:
        raise TypeError("a Verdict is neither true nor false: compare its `kind`")

    def to_json(self) -> dict[str, Any]:
        """The verdict as JSON-ready data, with the innermost line spelled out as `filename` and `row`."""
        data = asdict(self)
        data["kind"] = self.kind.value
        data["frames"] = [asdict(frame) for frame in self.frames]
        data["notes"] = list(self.notes)
        data["filename"], data["row"] = self.at or (None, None)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """The inverse of `to_json`."""
        fields = {key: value for key, value in data.items() if key not in {"filename", "row"}}
        fields["kind"] = Kind(fields["kind"])
        fields["frames"] = tuple(Frame(**frame) for frame in fields.get("frames", ()))
        fields["notes"] = tuple(fields.get("notes", ()))
        return cls(**fields)

    def describe(self) -> str:
        """A few lines for a person."""
        where = f" at {self.at[0]}:{self.at[1]}" if self.at else ""
        lines = [f"{self.kind} on {self.backend}{where} ({self.seconds:.2f} s)"]
        if self.error_type is not None or self.message is not None:
            first_line = (self.message or "").strip().split("\n", 1)[0]
            lines.append(f"{self.error_type}: {first_line}" if self.error_type else first_line)
        return "\n  ".join([*lines, *(f"note: {note}" for note in self.notes)])
