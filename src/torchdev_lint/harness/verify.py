"""Does what the lint says about a program come true when it is run?

The lint itself is handed in as a function: this half does not know it. Programs are **executed**.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torchdev_lint.harness.forkserver import ForkServer
from torchdev_lint.harness.verdict import Kind, Verdict

SAYS_NOTHING = frozenset({Kind.OTHER_ERROR, Kind.TIMEOUT, Kind.CRASH, Kind.UNSUPPORTED, Kind.UNAVAILABLE})
"""Verdicts that neither confirm nor refute a device error."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One diagnostic of the lint about a program.

    `rows` are the 1-based rows of the diagnostic and of its related places in the program itself. `backends` are
    those on which its failure shows (a rule's `witness`). `json` is the diagnostic in Ruff's shape, passed through.
    """

    code: str
    rows: tuple[int, ...]
    backends: tuple[str, ...]
    json: Mapping[str, Any] = field(default_factory=dict)


Lint = Callable[[Path], Sequence[Claim]]
"""Checks one file."""

Fix = Callable[[Path], None]
"""Fixes one file in place."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What was claimed about a program and what happened.

    `fixed` is what happened to a fixed copy, None when that was not asked for.
    """

    program: str
    backend: str
    claims: tuple[Claim, ...]
    runtime: Verdict
    fixed: Verdict | None = None

    @property
    def expected(self) -> tuple[Claim, ...]:
        """The claims whose failure shows on this backend."""
        backend = self.runtime.backend if self.runtime.kind is not Kind.UNAVAILABLE else self.backend
        return tuple(claim for claim in self.claims if backend in claim.backends)

    @property
    def agree(self) -> bool | None:
        """Whether a device error was claimed exactly when one happened, and is gone from the fixed copy.

        None when the run says nothing about it (it timed out, ended otherwise, could not start).
        """
        if self.runtime.kind in SAYS_NOTHING:
            return None
        failed = self.runtime.kind is Kind.DEVICE_ERROR
        if self.fixed is not None and failed and self.fixed.kind is Kind.DEVICE_ERROR:
            return False
        return failed == bool(self.expected)

    @property
    def same_line(self) -> bool | None:
        """Whether the error happened on a line that a claim names; None when nothing was claimed or raised."""
        if self.runtime.kind is not Kind.DEVICE_ERROR or not self.expected:
            return None
        rows = {row for claim in self.expected for row in claim.rows}
        return any(frame.filename == self.program and frame.row in rows for frame in self.runtime.frames)

    def to_json(self) -> dict[str, Any]:
        """The object that `verify --output-format json` prints for a program."""
        return {
            "program": self.program,
            "backend": self.backend,
            "static": [dict(claim.json) for claim in self.claims],
            "runtime": _runtime_json(self.runtime),
            "fixed": None if self.fixed is None else _runtime_json(self.fixed),
            "agree": self.agree,
        }


def _runtime_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "verdict": verdict.kind.value,
        "type": verdict.error_type,
        "message": verdict.message,
        "filename": verdict.filename,
        "row": verdict.row,
        "frames": [
            {"filename": frame.filename, "row": frame.row, "function": frame.function}
            for frame in verdict.frames
        ],
        "seconds": verdict.seconds,
    }


def verify(
    programs: Iterable[str | os.PathLike[str]],
    lint: Lint,
    *,
    backend: str = "simulated",
    args: Sequence[str] = (),
    fix: Fix | None = None,
    timeout: float = 60.0,
    devices: int = 2,
    accelerator: str = "cuda",
) -> Iterator[Verification]:
    """Lint and EXECUTE each program with `args`; with `fix` also a fixed copy of those that were flagged.

    The copy stands beside the program, so that it finds its neighbours, and is removed afterwards. A program that
    cannot be read is not linted. Raises ValueError for an unknown backend.
    """
    with ForkServer(backend, devices=devices, accelerator=accelerator) as server:
        for program in programs:
            path = Path(os.path.abspath(program))
            runtime = server.run(path, args=args, timeout=timeout)
            claims = tuple(lint(path)) if path.is_file() else ()
            fixed = None
            if fix is not None and claims:
                fixed = _run_fixed(path, fix, lambda copy: server.run(copy, args=args, timeout=timeout))
            yield Verification(str(path), backend, claims, runtime, fixed)


def _run_fixed(path: Path, fix: Fix, run: Callable[[Path], Verdict]) -> Verdict:
    handle, name = tempfile.mkstemp(prefix=f"{path.stem}_fixed_", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    copy = Path(name)
    try:
        shutil.copyfile(path, copy)
        fix(copy)
        return run(copy)
    finally:
        copy.unlink(missing_ok=True)


HEADER = ("program", "static", "runtime", "agreement", "line")
"""The columns of the table."""


def row_of(verification: Verification) -> tuple[str, str, str, str, str]:
    """One line of the table, by the columns of `HEADER`."""
    codes = sorted({claim.code for claim in verification.expected})
    runtime = verification.runtime.kind.value
    if verification.fixed is not None:
        runtime += f", fixed: {verification.fixed.kind.value}"
    agreement = {True: "yes", False: "NO", None: "unknown"}[verification.agree]
    if verification.agree and verification.same_line is False:
        agreement = "yes, on another line"
    row = verification.runtime.row
    return (
        os.path.relpath(verification.program),
        " ".join(codes) or "clean",
        runtime,
        agreement,
        "" if row is None else str(row),
    )


def table(verifications: Sequence[Verification]) -> str:
    """The verifications as text in columns."""
    rows = [HEADER, *(row_of(verification) for verification in verifications)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def exit_status(verifications: Iterable[Verification]) -> int:
    """1 when lint and run disagree about any program, else 0."""
    return int(any(verification.agree is False for verification in verifications))
