"""`--executor`: whoever checks the files, the outcome is that of a local run; a process that dies costs its own file."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.elsewhere import BATCH_FILES, cut
from torchdev_lint.engine.jobs import Checked, Checker, Job
from torchdev_lint.engine.remote import Batch, check_batch, tool
from torchdev_lint.engine.workers import Lost

FIXTURES = Path(__file__).parents[1] / "fixtures"
STANDARD = "concurrent.futures:ProcessPoolExecutor"


def needs(package: str, extra: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        importlib.util.find_spec(package) is None,
        reason=f"{package} is not installed: NOTHING IS TESTED OF --executor {extra} (pip install 'torchdev-lint[{extra}]')",
    )


DASK = pytest.param("dask", marks=needs("distributed", "dask"))
LOKY = pytest.param("loky", marks=needs("loky", "loky"))

TROUBLE = """
import os, signal, time
from torchdev_lint.engine import check

real = check.check_source

def check_source(text, path, config, *more):
    if "KILLER" in text:
        os.kill(os.getpid(), 9)
    if "ONCE" in text and os.path.exists("once"):
        os.unlink("once")
        os.kill(os.getpid(), 9)
    if "ENDLESS" in text:
        open("began", "w").close()
        time.sleep(600)
    if "FOREVER" in text:
        while True:
            pass
    return real(text, path, config, *more)

check.check_source = check_source
"""
BAD = "import torch\nx = torch.ones(2, device='cuda') + torch.ones(2)\n"


def troubled(where: Path, trouble: str = TROUBLE) -> dict[str, str]:
    """An environment in which every process has the trouble, whoever starts it."""
    (where / "sitecustomize.py").write_text(trouble)
    given = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(where), *([given] if given else [])])}


def lint(
    *arguments: str, cwd: Path, trouble: Path | None = None, which: str = TROUBLE
) -> "subprocess.CompletedProcess[str]":
    environment = dict(os.environ) if trouble is None else troubled(trouble, which)
    command = [sys.executable, "-m", "torchdev_lint", "--no-cache", "--output-format=full", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, check=False, timeout=300, env=environment
    )


def outcome(result: "subprocess.CompletedProcess[str]") -> tuple[int, str, str]:
    return result.returncode, result.stdout, result.stderr


def some_files(where: Path) -> None:
    """Fixtures, a program in two files with a finding whose note points into the other, a notebook, what is no Python."""
    for folder in ("TDV001", "TDV004"):
        (where / folder).mkdir()
        for path in sorted((FIXTURES / folder).glob("*.py"))[:10]:
            (where / folder / path.name).write_bytes(path.read_bytes())
    package = where / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "made.py").write_text("import torch\n\n\ndef made():\n    return torch.ones(2)\n")
    (package / "used.py").write_text(
        "import torch\nfrom package.made import made\n\nx = torch.ones(2, device='cuda')\ny = x + made()\n"
    )
    (where / "broken.py").write_text("import torch\ndef (\n")
    cell = (
        '{"cell_type": "code", "source": ["import torch\\n", "x = torch.ones(2).cuda() + torch.ones(2)\\n"], '
    )
    (where / "notes.ipynb").write_text(
        '{"cells": [' + cell + '"metadata": {}, "outputs": [], "execution_count": null}], "metadata": {}, '
        '"nbformat": 4, "nbformat_minor": 5}'
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", [DASK, LOKY, STANDARD, "concurrent.futures:ThreadPoolExecutor"])
def test_results_are_those_of_a_local_run(project: Path, name: str) -> None:
    some_files(project)
    here = lint(".", "--jobs=1", cwd=project)
    assert here.returncode == 1
    assert here.stdout.count("TDV") > 10
    assert "package/made.py:5" in here.stdout.replace(os.sep, "/")
    assert outcome(lint(".", f"--executor={name}", "--jobs=2", cwd=project)) == outcome(here)


@pytest.mark.slow
@pytest.mark.parametrize("name", [DASK, LOKY, STANDARD])
def test_a_file_that_kills_its_process_costs_no_other(
    project: Path, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    trouble = tmp_path_factory.mktemp("trouble")
    for number in range(24):
        (project / f"{'az'[number % 2]}{number}.py").write_text(BAD)
    (project / "killer.py").write_text("import torch\n# KILLER\n")
    result = lint(
        ".", f"--executor={name}", "--jobs=2", "--output-format=concise", cwd=project, trouble=trouble
    )
    assert result.returncode == 1
    assert result.stdout.count("TDV005") == 24
    assert result.stdout.count("TDV999") == 1
    assert "killer.py:1:1: TDV999 Not checked: the process that checked it did not answer: " in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", [DASK, LOKY, STANDARD])
def test_a_process_that_dies_once_costs_nothing(
    project: Path, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    trouble = tmp_path_factory.mktemp("trouble")
    for number in range(24):
        (project / f"{'az'[number % 2]}{number}.py").write_text(BAD)
    (project / "once.py").write_text(BAD + "# ONCE\n")
    here = lint(".", "--jobs=1", cwd=project)
    (project / "once").touch()
    assert outcome(lint(".", f"--executor={name}", "--jobs=2", cwd=project, trouble=trouble)) == outcome(here)
    assert not (project / "once").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", [DASK, LOKY, STANDARD, "concurrent.futures:ThreadPoolExecutor"])
def test_a_file_that_takes_too_long_is_given_up(
    project: Path, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    """Dask's workers and threads get no signals."""
    trouble = tmp_path_factory.mktemp("trouble")
    for number in range(6):
        (project / f"{'az'[number % 2]}{number}.py").write_text(BAD)
    (project / "forever.py").write_text("import torch\n# FOREVER\n")
    arguments = (".", f"--executor={name}", "--jobs=2", "--output-format=concise", "--file-timeout=4")
    result = lint(*arguments, cwd=project, trouble=trouble)
    assert result.stdout.count("TDV005") == 6
    assert "forever.py:1:1: TDV999 Not checked: it took more than 4 seconds" in result.stdout
    assert (result.returncode, result.stderr) == (1, "")


SLOW_TO_WAKE = """
import sys, time
from concurrent.futures import process

real = process._ThreadWakeup.wakeup

def wakeup(self):
    if sys._getframe(1).f_code.co_name != "_python_exit":
        return real(self)
    closed = self._closed
    time.sleep(1)
    if not closed:
        self._writer.send_bytes(b"")

process._ThreadWakeup.wakeup = wakeup
end = process._ThreadWakeup.close

def close(self):
    time.sleep(0.5)
    end(self)

process._ThreadWakeup.close = close
"""


@pytest.mark.slow
def test_nothing_is_left_for_python_to_end(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """CPython 3.10 and 3.11 look whether a pool's pipe is open, and write to it later: here both are slow."""
    trouble = tmp_path_factory.mktemp("trouble")
    (project / "bad.py").write_text(BAD)
    arguments = (".", f"--executor={STANDARD}", "--jobs=2", "-q")
    result = lint(*arguments, cwd=project, trouble=trouble, which=SLOW_TO_WAKE)
    assert (result.returncode, result.stderr) == (1, "")


SLOW_TO_START = """
import sys, time

if "loky.backend.popen_loky_posix" in sys.orig_argv:
    try:
        open("first", "x").close()
    except FileExistsError:
        time.sleep(60)
"""
"""Of loky's workers all but one. Dask's are all there before they are given anything."""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups")
@pytest.mark.parametrize("name", [DASK, LOKY])
def test_an_interruption_ends_all_processes(
    project: Path, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    for number in range(3):
        (project / f"slow{number}.py").write_text("import torch\n# ENDLESS\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "torchdev_lint", ".", "--no-cache", f"--executor={name}", "--jobs=2"],
        cwd=project,
        env=troubled(tmp_path_factory.mktemp("trouble"), SLOW_TO_START + TROUBLE),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # What a shell runs in the background ignores it, and so would all that it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        until(lambda: (project / "began").exists())
        os.killpg(process.pid, signal.SIGINT)  # As a terminal does: to all of them.
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (130, b"", b"")
        until(lambda: not is_there(process.pid))
    finally:
        if is_there(process.pid):
            os.killpg(process.pid, signal.SIGKILL)


def is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@contextmanager
def cluster(where: Path) -> Iterator[str]:
    """The address of a cluster of two worker processes that stand in the directory `where`."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address="127.0.0.1:0") as made,
        distributed.Client(made, set_as_default=False) as client,
    ):
        client.run(os.chdir, str(where))
        yield made.scheduler_address


@pytest.mark.slow
@needs("distributed", "dask")
def test_a_cluster_that_is_there_is_asked_wherever_it_stands(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    some_files(project)
    here = lint(".", "--jobs=1", cwd=project)
    with cluster(tmp_path_factory.mktemp("elsewhere")) as address:
        assert outcome(lint(".", f"--executor=dask={address}", cwd=project)) == outcome(here)
        arguments = ("--fix", "--unsafe-fixes", "--output-format=concise")
        copies = {}
        for name, more in (("a", "--jobs=1"), ("b", f"--executor=dask={address}")):
            (project / name).mkdir()
            some_files(project / name)
            result = lint(".", *arguments, more, cwd=project / name)
            contents = {
                path.name: path.read_bytes() for path in (project / name).rglob("*.*") if path.is_file()
            }
            copies[name] = (*outcome(result), contents)
        assert copies["a"] == copies["b"]
        assert "ixed" in copies["a"][1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["--executor=spark"],
            "--executor: expected dask, dask=ADDRESS, loky or MODULE:FACTORY, not 'spark'",
        ),
        (["--executor=dask="], "not 'dask='"),
        (["--executor=dask=tcp://a:1", "--jobs=2"], "is not --jobs to say"),
        (
            ["--executor=nowhere_at_all:made"],
            "--executor nowhere_at_all:made: No module named 'nowhere_at_all'",
        ),
        (["--executor=os:no_such_thing"], "--executor os:no_such_thing: module 'os' has no attribute"),
        (["--executor=builtins:dict"], "made a dict, which is no concurrent.futures.Executor"),
        (["--executor=os:getenv"], "--executor os:getenv: cannot be opened: TypeError: "),
        (["--executor=loky", "--file-memory=300"], "--file-memory cannot be given together with it"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(project: Path, arguments: list[str], told: str) -> None:
    (project / "bad.py").write_text(BAD)
    result = lint("bad.py", *arguments, cwd=project)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert told in result.stderr


def test_standard_input_is_refused(project: Path) -> None:
    result = lint("-", "--executor=loky", cwd=project)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "--executor needs files to check" in result.stderr


@needs("distributed", "dask")
def test_a_scheduler_that_is_not_there_is_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchdev_lint.engine.executors.CONNECT_TIMEOUT", 0.5)
    from torchdev_lint.cli import main

    (project / "bad.py").write_text(BAD)
    assert main(["bad.py", "--no-cache", "--executor=dask=tcp://127.0.0.1:9"]) == 2


def test_nothing_is_opened_for_nothing(project: Path) -> None:
    (project / "plain.py").write_text("print(1)\n")
    result = lint(".", "--executor=dask=tcp://127.0.0.1:9", "--output-format=concise", "-q", cwd=project)
    assert outcome(result) == (0, "", "")


def jobs_of(*sizes: int) -> dict[int, Job]:
    return {number: Job(f"{number:04}.py", Config(), frozenset(), size) for number, size in enumerate(sizes)}


def test_batches_are_shares_of_the_work_with_the_largest_first() -> None:
    jobs = jobs_of(*[100] * 40, 90_000, 5, 5)
    batches = cut(jobs, 2)
    assert sorted(key for batch in batches for key in batch) == sorted(jobs)
    assert batches[0] == [40] or 40 in batches[0]
    assert all(len(batch) <= BATCH_FILES for batch in batches)
    assert len(cut(jobs_of(*[10] * 80), 2)) >= 8
    assert cut(jobs_of(0, 0), 4) == [[0, 1]]


def test_another_version_is_no_answer() -> None:
    job = Job("a.py", Config(), frozenset(), content=BAD.encode())
    answer = check_batch(Batch("run", "torchdev-lint 0 with LibCST 0", Checker(), (job, job)))
    assert (
        answer
        == [Lost(f"it was given to a process that has {tool()}, not torchdev-lint 0 with LibCST 0")] * 2
    )


def test_what_the_linter_does_is_its_own_file_s() -> None:
    class Broken(Checker):
        def __call__(self, job: Job) -> Checked:
            if job.path == "bug.py":
                raise BaseException("a\nbug")
            return super().__call__(job)

    good, bug = (
        Job(name, Config(), frozenset(), content=b"import torch\n") for name in ("good.py", "bug.py")
    )
    answers = check_batch(Batch("other run", tool(), Broken(), (good, bug, good)))
    assert [isinstance(answer, Checked) for answer in answers] == [True, False, True]
    assert answers[1] == Lost("BaseException: a bug")


def test_an_executor_that_cannot_even_say_what_it_has_ends_the_run() -> None:
    from concurrent.futures import Executor, Future

    from torchdev_lint.config import ConfigError
    from torchdev_lint.engine.elsewhere import Elsewhere, Opened

    class Old(Executor):
        def submit(self, *arguments: object, **more: object) -> "Future[object]":  # type: ignore[override]
            future: Future[object] = Future()
            future.set_result("torchdev-lint 0 with LibCST 0")
            return future

    with pytest.raises(
        ConfigError, match=r"--executor old: its processes have torchdev-lint 0 with LibCST 0, not"
    ):
        list(Elsewhere("old", lambda: Opened(Old(), 1)).answered(Checker(), jobs_of(1)))


def test_what_loky_cleans_up_after_a_run_is_not_told(tmp_path: Path) -> None:
    pytest.importorskip("loky", reason="loky is not installed")
    # Killed, the run leaves its semaphores to loky's tracker for certain; interrupted, it may. Without workers: they outlive it.
    code = (
        "import os, signal, loky; from torchdev_lint.engine import executors; "
        "loky.ProcessPoolExecutor.submit = lambda *_: None; "
        "opened = executors._loky('loky', 1); os.kill(os.getpid(), signal.SIGKILL)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert result.stderr == ""
