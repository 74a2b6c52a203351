"""Run one program in a fresh process and say what happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchdev_lint.harness.child import Request
from torchdev_lint.harness.process import Outcome, supervise
from torchdev_lint.harness.verdict import Frame, Kind, Verdict

# Not `-m`: runpy would execute the module a second time, since the package imports it.
_START_CHILD = "import sys; from torchdev_lint.harness.child import main; sys.exit(main(sys.argv[1:]))"


def run_program(
    path: str | os.PathLike[str],
    *,
    backend: str = "cpu",
    args: Sequence[str] = (),
    timeout: float = 60.0,
    devices: int = 2,
    accelerator: str = "cuda",
    cwd: str | os.PathLike[str] | None = None,
    python: str | None = None,
) -> Verdict:
    """Run the program at `path` as `__main__` with `args` and classify how it ends.

    The program is **executed**, in a new process (of `python`, this interpreter unless told) with its
    standard input closed, in directory `cwd` (the current one unless told). After `timeout` seconds, and at
    its end, its process group is killed. `backend` is `cpu`, `simulated` (`devices` accelerators of type
    `accelerator`, `cuda` or `mps`), `cuda` or `auto`.

    A program that catches its device error and goes on has passed. The reported line is the one that fails,
    not the one where a transfer is missing.

    Raises ValueError for an unknown backend; whatever is wrong with the program becomes a verdict.
    """
    with tempfile.TemporaryDirectory(prefix="torchdev-lint-") as scratch:
        request = Request(
            program=os.path.abspath(path),
            args=tuple(args),
            report=os.path.join(scratch, "report.json"),
            backend=backend,
            devices=devices,
            accelerator=accelerator,
            cwd=None if cwd is None else os.path.abspath(cwd),
        )
        environment = {**os.environ, **request.make_backend().environment()}
        problem = cannot_start(request)
        if problem is not None:
            return problem
        request_file = Path(scratch, "request.json")
        request_file.write_text(request.to_json(), encoding="utf-8")
        started = time.monotonic()
        process = subprocess.Popen(
            [python or sys.executable, "-c", _START_CHILD, str(request_file)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        outputs = [os.dup(process.stdout.fileno()), os.dup(process.stderr.fileno())]
        process.stdout.close()
        process.stderr.close()
        try:
            outcome = supervise(process.pid, outputs, process.poll, timeout=timeout, started=started)
        except BaseException:
            process.kill()
            process.wait()
            raise
        return conclude(request, outcome, timeout)


def cannot_start(request: Request) -> Verdict | None:
    """The verdict on a program that is not there or cannot be read, or None."""
    error: OSError | None = None
    try:
        with open(request.program, "rb"):
            pass
    except OSError as caught:
        error = caught
    if request.cwd is not None and not os.path.isdir(request.cwd):
        error = NotADirectoryError(f"no such directory to run in: {request.cwd}")
    if error is None:
        return None
    return Verdict(Kind.OTHER_ERROR, request.backend, type(error).__name__, str(error))


def conclude(request: Request, outcome: Outcome, timeout: float) -> Verdict:
    """Put the child's report and what the parent saw together."""
    try:
        report = json.loads(Path(request.report).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        report = None
    common: dict[str, Any] = {
        "seconds": round(outcome.seconds, 3),
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "exit_status": outcome.status,
    }
    if outcome.timed_out:
        message = f"still running after {timeout:g} s; the process group was killed"
        return Verdict(Kind.TIMEOUT, request.backend, message=message, **common)
    if report is None:
        return Verdict(request_kind(outcome), request.backend, message=_silent_end(outcome), **common)
    frames = tuple(Frame(**frame) for frame in report.pop("frames"))
    notes = tuple(report.pop("notes"))
    return Verdict(Kind(report.pop("kind")), frames=frames, notes=notes, **report, **common)


def request_kind(outcome: Outcome) -> Kind:
    """The kind for a process that left no report: `os._exit(0)` is a way to end well, anything else a
    crash.
    """
    return Kind.PASSED if outcome.status == 0 else Kind.CRASH


def _silent_end(outcome: Outcome) -> str | None:
    status = outcome.status
    if status == 0:
        return None
    if status is None:
        return "the process could not be reaped"
    last = next((line for line in reversed(outcome.stderr.splitlines()) if line.strip()), "")
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return f"killed by {name}" + (f": {last}" if last else "")
    return f"left with status {status} without unwinding" + (f": {last}" if last else "")
