"""The executors that `--executor` names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from importlib import import_module
from typing import Any

from torchdev_lint.config import ConfigError
from torchdev_lint.engine.elsewhere import Elsewhere, Opened
from torchdev_lint.engine.interruptions import interruptions_ignored
from torchdev_lint.engine.workers import processors

CONNECT_TIMEOUT = 20.0
"""Seconds for a scheduler to answer, and for it to have a first worker."""

_QUIET = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""What a worker of ours does first: a terminal interrupts it as well, but it is ended by us, and has nothing to say."""
_FACTORY = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def elsewhere(name: str, jobs: int | None) -> Elsewhere:
    """What `--executor NAME` stands for: `dask`, `dask=ADDRESS`, `loky`, or `MODULE:FACTORY`.

    `jobs`: how many processes to start, None for as many as there are processors. Raises `ConfigError` if the name says nothing.
    """
    kind, equals, address = name.partition("=")
    if kind == "dask" and (address or not equals):
        if address and jobs is not None:
            raise ConfigError(f"--executor {name}: how many workers a cluster has is not --jobs to say")
        return Elsewhere(name, lambda: _dask(name, address, jobs))
    if name == "loky":
        return Elsewhere(name, lambda: _loky(name, jobs))
    if _FACTORY.fullmatch(name):
        return Elsewhere(name, lambda: _made(name, jobs))
    raise ConfigError(f"--executor: expected dask, dask=ADDRESS, loky or MODULE:FACTORY, not {name!r}")


def _imported(name: str, module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        missing = error.name == module.partition(".")[0]
        why = f"{module} is not installed: pip install 'torchdev-lint[{extra}]'" if missing else str(error)
        raise ConfigError(f"--executor {name}: {why}") from None


def _dask(name: str, address: str, jobs: int | None) -> Opened:
    """A scheduler's workers; without an address, those that Dask's own configuration names, else processes of this machine.

    See https://distributed.dask.org/en/stable/client.html and `Client.get_executor`.
    """
    distributed = _imported(name, "distributed", "dask")
    settings = import_module("dask.config")
    address = address or settings.get("scheduler-address", None) or ""
    cluster = None
    if not address:
        # What ends a worker is found by trying its files again, one by one: Dask need not try first, nor say so.
        with settings.set({"distributed.scheduler.allowed-failures": 0}):
            cluster = distributed.LocalCluster(
                n_workers=jobs or processors(),
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",
                silence_logs="CRITICAL",
                preload=[_QUIET],
            )
    client = None
    try:
        client = distributed.Client(cluster or address, timeout=CONNECT_TIMEOUT, set_as_default=False)
        client.wait_for_workers(1, timeout=CONNECT_TIMEOUT)
    except Exception as error:
        _closed(client, cluster)
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(f"--executor {name}: no worker can be reached: {reason}") from None

    def alive() -> bool:
        with suppress(Exception):
            return client.status == "running" and bool(client.nthreads())
        return False

    # Equal batches are to be checked again, not remembered.
    executor: Executor = client.get_executor(pure=False)
    return Opened(executor, len(client.nthreads()), None, alive, lambda: _closed(client, cluster))


def _closed(*things: Any) -> None:
    for thing in things:
        if thing is not None:
            thing.close()


def _loky(name: str, jobs: int | None) -> Opened:
    """Processes of this machine (https://loky.readthedocs.io), which are told of each other's deaths."""
    loky = _imported(name, "loky", "loky")
    count = jobs or processors()
    _start_tracker_quietly()
    executor = loky.ProcessPoolExecutor(max_workers=count)
    with interruptions_ignored():
        executor.submit(int)  # Starts all of them. We end them when we are interrupted.
    return Opened(executor, count, count, close=lambda: executor.shutdown(wait=True, kill_workers=True))


def _start_tracker_quietly() -> None:
    """Start the process that cleans up after loky: what an interrupted run has left to it, it would tell on standard error."""
    before = os.environ.get("PYTHONWARNINGS")
    quiet = "ignore:resource_tracker:UserWarning"
    os.environ["PYTHONWARNINGS"] = f"{before},{quiet}" if before else quiet
    try:
        import_module("loky.backend.resource_tracker").ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


def _made(name: str, jobs: int | None) -> Opened:
    """What a factory makes that the user named: `concurrent.futures:ProcessPoolExecutor`, `mpi4py.futures:MPIPoolExecutor`."""
    module, _, path = name.partition(":")
    try:
        factory: Any = import_module(module)
        for part in path.split("."):
            factory = getattr(factory, part)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"--executor {name}: {error}") from None
    arguments: dict[str, int] = {} if jobs is None else {"max_workers": jobs}
    executor = _called(name, factory, arguments)
    count = getattr(executor, "_max_workers", None) or jobs or processors()
    # Python waits for the executor's threads when it ends, in any case; and up to 3.11 its own way to do so may find a pipe closed
    # under its hands and say so on standard error (`_python_exit` in concurrent/futures/process.py takes no lock).
    return Opened(executor, count, count, close=lambda: executor.shutdown(cancel_futures=True))


def _called(name: str, factory: Callable[..., Any], arguments: dict[str, int]) -> Executor:
    executor = factory(**arguments) if callable(factory) else factory
    if not isinstance(executor, Executor):
        raise ConfigError(
            f"--executor {name}: made a {type(executor).__name__}, which is no concurrent.futures.Executor"
        )
    return executor
