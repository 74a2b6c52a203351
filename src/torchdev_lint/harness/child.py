"""The inside of a run: executes a program as `__main__` and reports how it ended.

Started by `run_program` in a fresh interpreter, or called in a fork of the fork server. The report is
written to a file of its own: standard output and error belong to the program.
"""

from __future__ import annotations

import builtins
import json
import os
import re
import sys
import sysconfig
import threading
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from torchdev_lint.harness.backends import Backend, BackendUnavailableError, create
from torchdev_lint.harness.classify import classify, device_cause
from torchdev_lint.harness.limits import bound_this_process
from torchdev_lint.harness.verdict import Frame, Kind

_HARNESS = os.path.dirname(os.path.abspath(__file__)) + os.sep


@dataclass(frozen=True, slots=True)
class Request:
    """What to run: all that the parent tells the child."""

    program: str
    """Absolute path of the program."""
    args: tuple[str, ...]
    report: str
    """Path of the file to write the report to."""
    backend: str = "cpu"
    devices: int = 2
    accelerator: str = "cuda"
    cwd: str | None = None

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Request:
        """The inverse of `to_json`."""
        data = json.loads(text)
        data["args"] = tuple(data["args"])
        return cls(**data)

    def make_backend(self) -> Backend:
        """The backend that the request names."""
        return create(self.backend, devices=self.devices, accelerator=self.accelerator)


@dataclass(slots=True)
class Report:
    """How the program ended, as the child saw it; `Verdict` has the same fields and the parent's."""

    kind: Kind
    backend: str
    error_type: str | None = None
    message: str | None = None
    frames: tuple[Frame, ...] = ()
    torch_version: str | None = None
    notes: list[str] = field(default_factory=list)

    def write(self, path: str) -> None:
        """Atomically, so that a killed child leaves a whole report or none."""
        data = asdict(self)
        data["kind"] = self.kind.value
        temporary = f"{path}.part"
        Path(temporary).write_text(json.dumps(data), encoding="utf-8")
        os.replace(temporary, path)


def main(argv: list[str]) -> int:
    """Run the request in the file named by the only argument; the exit status is the program's."""
    request = Request.from_json(Path(argv[0]).read_text(encoding="utf-8"))
    backend = request.make_backend()
    try:
        name = backend.prepare()
    except BackendUnavailableError as error:
        Report(Kind.UNAVAILABLE, request.backend, message=str(error), torch_version=_torch_version()).write(
            request.report
        )
        return 0
    return run(request, name)


def run(request: Request, backend_name: str) -> int:
    """Execute the program in this process, write the report; the exit status to leave with."""
    bound_this_process(backend_name)
    if request.cwd is not None:
        os.chdir(request.cwd)
    process = os.getpid()
    with _ThreadErrors() as thread_errors:
        ended_by = _execute(request)
        if os.getpid() != process:
            # A fork of the program that fell off its end: the report belongs to the process that was started.
            status = _print_like_python(ended_by)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        _wait_for_threads()
    report = _report(ended_by, backend_name, request.program)
    if report.kind is Kind.PASSED:
        for error in thread_errors.caught:
            of_thread = _report(error, backend_name, request.program)
            if of_thread.kind in (Kind.DEVICE_ERROR, Kind.UNSUPPORTED):
                # Python ends with status 0 when a thread dies, but the question here is whether an error
                # happens.
                of_thread.notes.append("the error ended a thread, not the program")
                report = of_thread
                break
    status = _print_like_python(ended_by)
    report.notes += _simulators_notes()
    report.write(request.report)
    return status


def _simulators_notes() -> list[str]:
    machine = sys.modules.get("torchdev_lint.harness.simulator.machine")
    return [] if machine is None else list(machine.notes)


def _execute(request: Request) -> BaseException | None:
    """Run the program in a new `__main__`; the exception that ended it."""
    # A new module object instead of runpy: runpy takes `__main__` away again when the program's last line is
    # done, while its threads and exit handlers still run.
    module = ModuleType("__main__")
    module.__dict__.update(__file__=request.program, __builtins__=builtins, __spec__=None)
    sys.modules["__main__"] = module
    sys.argv = [request.program, *request.args]
    directory = os.path.dirname(request.program)
    if sys.path:
        sys.path[0] = directory
    else:
        sys.path.insert(0, directory)
    try:
        code = compile(Path(request.program).read_bytes(), request.program, "exec")
        exec(code, module.__dict__)
    except BaseException as error:  # SystemExit and KeyboardInterrupt end programs too
        return error
    return None


def _wait_for_threads() -> None:
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


class _ThreadErrors:
    """Collects what ends other threads, and still prints it as Python does."""

    def __init__(self) -> None:
        self.caught: list[BaseException] = []

    def __enter__(self) -> _ThreadErrors:
        self._before = threading.excepthook

        def hook(args: threading.ExceptHookArgs) -> None:
            if args.exc_value is not None:
                self.caught.append(args.exc_value)
            self._before(args)

        threading.excepthook = hook
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        threading.excepthook = self._before


def _report(ended_by: BaseException | None, backend_name: str, program: str) -> Report:
    kind = classify(ended_by)
    blind = kind is Kind.DEVICE_ERROR and _asks_cpp_for_accelerator(device_cause(ended_by or Exception()))
    if blind:
        kind = Kind.UNSUPPORTED
    report = Report(kind, backend_name, torch_version=_torch_version())
    if kind is Kind.PASSED or ended_by is None:
        return report
    error = (device_cause(ended_by) or ended_by) if kind is Kind.DEVICE_ERROR else ended_by
    report.error_type = type(error).__name__
    report.message = str(error)
    if blind:
        report.message = (
            "the simulated accelerator does not support torch.device(0): with this build of PyTorch an index "
            f'alone names no device; write torch.device("cuda", 0) ({error})'
        )
    report.frames = user_frames(error, program)
    return report


def _asks_cpp_for_accelerator(error: BaseException | None) -> bool:
    """Whether the error is that of `torch.device(0)` while an accelerator is simulated, of which C++ knows nothing.

    c10/core/DeviceAccelerator.h, `getAccelerator`: the type of an index without a type is compiled in.
    """
    machine = sys.modules.get("torchdev_lint.harness.simulator.machine")
    return machine is not None and bool(machine.active()) and NO_ACCELERATOR in str(error)


NO_ACCELERATOR = "Cannot access accelerator device when none is available"


def _torch_version() -> str | None:
    # Not imported for the purpose: a program without torch must not pay for it.
    torch = sys.modules.get("torch")
    version = getattr(torch, "__version__", None)
    return None if version is None else str(version)


def user_frames(error: BaseException, program: str) -> tuple[Frame, ...]:
    """The frames of the user's own code, outermost first.

    An error that happened in a DataLoader worker carries the worker's traceback in its text
    (torch/_utils.py, ExceptionWrapper); its frames are appended, since the line at fault is there.
    """
    frames = [
        Frame(os.path.abspath(entry.filename), entry.lineno or 0, entry.name)
        for entry in traceback.extract_tb(error.__traceback__)
    ]
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        frames.append(Frame(os.path.abspath(error.filename), error.lineno, "<module>"))
    if re.match(r"Caught \w+ in .*[Ww]orker|Caught \w+ in replica", str(error)):
        frames += [
            Frame(os.path.abspath(match["file"]), int(match["row"]), match["function"])
            for match in re.finditer(
                r'^\s*File "(?P<file>[^"]+)", line (?P<row>\d+), in (?P<function>.+)$',
                str(error),
                re.MULTILINE,
            )
        ]
    return tuple(frame for frame in frames if _is_users(frame.filename, program))


def _is_users(filename: str, program: str) -> bool:
    if filename == program:
        return True
    if filename.startswith(_HARNESS) or not os.path.exists(filename):
        return False
    return not any(filename.startswith(library) for library in _LIBRARIES)


def _libraries() -> tuple[str, ...]:
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    torch = sys.modules.get("torch")
    if torch is not None and torch.__file__ is not None:
        paths.add(os.path.dirname(torch.__file__))
    return tuple(
        sorted({os.path.realpath(path) + os.sep for path in paths} | {path + os.sep for path in paths})
    )


_LIBRARIES = _libraries()


def _print_like_python(ended_by: BaseException | None) -> int:
    """Print what the interpreter would print for this end, and return the status it would exit with."""
    if ended_by is None:
        return 0
    if isinstance(ended_by, SystemExit):
        code: Any = ended_by.code
        if code is None:
            return 0
        if isinstance(code, int):
            return code & 0xFF
        print(code, file=sys.stderr)
        return 1
    seen: set[int] = set()
    error: BaseException | None = ended_by
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = without_harness(error.__traceback__)
        error = error.__cause__ or error.__context__
    traceback.print_exception(type(ended_by), ended_by, ended_by.__traceback__)
    return 1


def without_harness(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without this harness's own frames: what it would be if PyTorch itself had raised."""
    frames = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_HARNESS):
            frames.append(trace)
        trace = trace.tb_next
    for entry in reversed(frames):
        trace = TracebackType(trace, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return trace
