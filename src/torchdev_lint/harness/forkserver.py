"""Many runs cheaply: one process imports torch and gets the backend ready, then forks for each program.

A run in a fork costs what the program costs; `import torch` and the installation of the simulator are paid
once. A real GPU cannot be used this way (CUDA does not survive a fork once initialised, and each program
should meet it uninitialised), but a fork of a process that only imported torch is as good as new.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from torchdev_lint.harness import child
from torchdev_lint.harness.backends import BackendUnavailableError
from torchdev_lint.harness.child import Request
from torchdev_lint.harness.process import supervise
from torchdev_lint.harness.run import cannot_start, conclude
from torchdev_lint.harness.verdict import Kind, Verdict

_START = (
    "import sys; from torchdev_lint.harness.forkserver import serve; serve(int(sys.argv[1]), sys.argv[2])"
)
_STARTUP_SECONDS = 120.0
"""How long the import of torch and the self-test may take on a slow machine, and a fork on one that is busy."""


class ForkServer:
    """Runs programs on one backend, one at a time; safe to share between threads.

    Use it as a context manager, or call `close`. The server process ends when this one does.
    """

    def __init__(
        self,
        backend: str = "simulated",
        *,
        devices: int = 2,
        accelerator: str = "cuda",
        python: str | None = None,
        preload: Sequence[str] = ("torch", "torch._dynamo"),
    ) -> None:
        """`preload` are modules that most programs are going to import; those that are missing are left out.
        (torch's optimizers import torch._dynamo at their first step, which takes a second.)

        Raises ValueError for an unknown backend. The server starts with the first run.
        """
        self._template = Request("", (), "", backend, devices, accelerator)
        self._environment = self._template.make_backend().environment()
        self._python = python or sys.executable
        self._preload = tuple(preload)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._received = b""
        self._unavailable: Verdict | None = None

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(
        self,
        path: str | os.PathLike[str],
        *,
        args: Sequence[str] = (),
        timeout: float = 60.0,
        cwd: str | os.PathLike[str] | None = None,
    ) -> Verdict:
        """As `run_program`, on this server's backend. The time limit does not include the start of the
        server.
        """
        with self._lock, tempfile.TemporaryDirectory(prefix="torchdev-lint-") as scratch:
            request = Request(
                program=os.path.abspath(path),
                args=tuple(args),
                report=os.path.join(scratch, "report.json"),
                backend=self._template.backend,
                devices=self._template.devices,
                accelerator=self._template.accelerator,
                cwd=os.path.abspath(cwd) if cwd is not None else os.getcwd(),
            )
            problem = cannot_start(request)
            if problem is not None:
                return problem
            self._start()
            if self._unavailable is not None:
                return self._unavailable
            try:
                return self._run(request, timeout)
            except (OSError, EOFError) as error:
                self._stop()
                return Verdict(Kind.CRASH, request.backend, message=f"the fork server died: {error}")

    def _run(self, request: Request, timeout: float) -> Verdict:
        assert self._socket is not None
        pipes = [os.pipe(), os.pipe()]
        readers = [read for read, _ in pipes]
        try:
            message = request.to_json().encode() + b"\n"
            socket.send_fds(self._socket, [message], [write for _, write in pipes])
        except OSError:
            for read in readers:
                os.close(read)
            raise
        finally:
            for _, write in pipes:
                os.close(write)
        started = time.monotonic()
        self._socket.settimeout(_STARTUP_SECONDS)
        try:
            pid = self._receive()["pid"]
        except (OSError, EOFError):
            for read in readers:
                os.close(read)
            raise
        finally:
            self._socket.settimeout(None)
        outcome = supervise(pid, readers, self._poll, timeout=timeout, started=started)
        if (
            outcome.status is None
        ):  # Killed, and still not gone: the server waits for it, not for the next request.
            self._stop()
        return conclude(request, outcome, timeout)

    def _poll(self) -> int | None:
        """The status of the program that is running, once the server has reaped it."""
        assert self._socket is not None
        self._socket.setblocking(False)
        try:
            answer = self._receive()
        except BlockingIOError:
            return None
        finally:
            self._socket.setblocking(True)
        return int(answer["status"])

    def _receive(self) -> dict[str, Any]:
        assert self._socket is not None
        while b"\n" not in self._received:
            data = self._socket.recv(4096)
            if not data:
                raise EOFError("its connection was closed")
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._stop()
        ours, theirs = socket.socketpair()
        start = json.dumps({"request": self._template.to_json(), "preload": self._preload})
        self._process = subprocess.Popen(
            [self._python, "-c", _START, str(theirs.fileno()), start],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **self._environment},
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        self._socket = ours
        atexit.register(self.close)
        ours.settimeout(_STARTUP_SECONDS)
        try:
            ready = self._receive()
        except (TimeoutError, EOFError) as error:
            self._stop()
            self._unavailable = Verdict(
                Kind.UNAVAILABLE, self._template.backend, message=f"the fork server did not start: {error}"
            )
            return
        ours.settimeout(None)
        if ready["unavailable"] is not None:
            self._unavailable = Verdict(
                Kind.UNAVAILABLE, self._template.backend, message=str(ready["unavailable"])
            )

    def _stop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            self._received = b""
        if self._process is not None:
            try:
                self._process.wait(timeout=5)  # it ends when its connection is closed
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def close(self) -> None:
        """End the server process."""
        self._stop()
        atexit.unregister(self.close)


def serve(fd: int, start: str) -> None:
    """The server process: get ready, then fork for every request until the connection is closed."""
    connection = socket.socket(fileno=fd)
    settings = json.loads(start)
    template = Request.from_json(settings["request"])
    for module in settings["preload"]:
        with contextlib.suppress(ImportError):
            __import__(module)
    try:
        name = template.make_backend().prepare()
    except BackendUnavailableError as error:
        _send(connection, unavailable=str(error))
        return
    _send(connection, unavailable=None)
    while True:
        message, fds, _, _ = socket.recv_fds(connection, 1 << 16, 2)
        while message and not message.endswith(b"\n"):
            message += connection.recv(1 << 16)
        if not message:
            return
        request = Request.from_json(message.decode())
        pid = os.fork()
        if pid == 0:
            _become_program(connection, request, name, fds)
        for descriptor in fds:
            os.close(descriptor)
        # Here too: whoever of the two comes second finds it done.
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        _send(connection, pid=pid)
        status = _wait(connection, pid)
        if status is None:
            return
        _send(connection, status=status)


def _send(connection: socket.socket, **answer: Any) -> None:
    connection.sendall(json.dumps(answer).encode() + b"\n")


def _wait(connection: socket.socket, pid: int) -> int | None:
    """The program's exit status; None when the client is gone, and the program killed."""
    pause = 0.001
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        connection.settimeout(pause)
        try:
            if not connection.recv(1, socket.MSG_PEEK):
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return None
        except TimeoutError:
            pass
        finally:
            connection.settimeout(None)
        pause = min(pause * 1.5, 0.01)


def _become_program(connection: socket.socket, request: Request, backend_name: str, fds: list[int]) -> None:
    """In the fork: run the program and leave without unwinding into the server's loop."""
    status = 1
    try:
        with contextlib.suppress(OSError):
            os.setsid()
        connection.close()
        for target, source in zip((1, 2), fds, strict=True):
            os.dup2(source, target)
            os.close(source)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - for the rest of its life
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
        vars(sys).update(__stdout__=sys.stdout, __stderr__=sys.stderr)
        status = child.run(request, backend_name)
        atexit._run_exitfuncs()
    except BaseException as error:
        with contextlib.suppress(Exception):
            print(f"torchdev-lint: the run failed: {error!r}", file=sys.stderr)
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(status)
