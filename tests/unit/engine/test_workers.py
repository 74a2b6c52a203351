"""Processes: every job is answered, in whichever way they end."""

import os
import platform
import subprocess
import sys
import time

import pytest

from torchdev_lint.engine import pool
from torchdev_lint.engine.pool import answered
from torchdev_lint.engine.workers import Lost, Workers

METHODS = [pytest.param("fork", marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")), "spawn"]

KILLED = "__import__('os').kill(__import__('os').getpid(), 9)"
ENDED = "__import__('os').kill(__import__('os').getpid(), 15)"
LEFT = "__import__('os')._exit(3)"
ENDLESS = "any(iter(int, 1))"


@pytest.mark.parametrize("method", METHODS)
def test_a_process_that_dies_costs_its_own_job(method: str) -> None:
    # `eval` is something that a spawned process can be given, too.
    jobs = ["1", KILLED, "2", ENDED, "1 / 0", LEFT, "3"]
    found = dict(answered(eval, jobs, 2, 60, method))
    assert found == {
        0: 1,
        1: Lost("the process that checked it was ended by SIGKILL (out of memory?)"),
        2: 2,
        3: Lost("the process that checked it was ended by SIGTERM"),
        4: Lost("ZeroDivisionError: division by zero"),
        5: Lost("the process that checked it ended (exit code 3)"),
        6: 3,
    }


@pytest.mark.parametrize("method", METHODS)
def test_a_job_that_takes_too_long_is_given_up(method: str) -> None:
    jobs = [ENDLESS, "1", "2", "3"]
    found = dict(answered(eval, jobs, 2, 1, method))
    assert found == {0: Lost("it took more than 1 seconds"), 1: 1, 2: 2, 3: 3}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_no_process_is_left_when_nobody_wants_more() -> None:
    answers = answered(eval, ["__import__('os').getpid()", ENDLESS, ENDLESS], 2, 60, "fork")
    _, pid = next(answers)
    answers.close()
    with pytest.raises(ChildProcessError):  # It was waited for: there is nothing left of it.
        os.waitpid(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("method", METHODS)
def test_a_process_that_does_not_end_is_ended(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "END_TIMEOUT", 0.3)
    lingering = "__import__('multiprocessing.util').util.Finalize(None, __import__('time').sleep, (600,), exitpriority=1) and 5"
    assert dict(answered(eval, [lingering, "6"], 2, 60, method)) == {0: 5, 1: 6}


def test_processes_that_cannot_start_do_not_go_on_for_ever() -> None:
    class Gone:
        def __reduce__(self) -> tuple[object, tuple[int]]:
            return os._exit, (7,)

        def __call__(self, job: str) -> str:
            return job

    found = dict(answered(Gone(), ["a", "b"], 1, 60, "spawn"))
    assert found == dict.fromkeys(
        (0, 1), Lost("no process could be started for it: the process that checked it ended (exit code 7)")
    )


def test_work_decides_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchdev_lint.engine.workers.processors", lambda: 8)
    monkeypatch.setattr("torchdev_lint.engine.workers.start_method", lambda: "fork")
    automatic = Workers(None)
    assert automatic.count([]) == 0
    assert automatic.count([100] * 20) == 0
    assert automatic.count([1_000_000]) == 0
    assert 2 <= automatic.count([30_000, 30_000]) <= 8
    assert automatic.count([1_000_000] * 20) == 8
    assert Workers(1).count([1_000_000] * 20) == 0
    assert Workers(4).count([100] * 20) == 4
    assert Workers(4).count([100] * 3) == 3
    # a time limit can only be kept from outside
    assert Workers(1, timeout=5).count([100]) == 1
    assert Workers(None, timeout=5).count([100] * 2) == 1


def test_jobs_are_taken_in_order() -> None:
    before = time.monotonic()
    jobs = ["__import__('time').monotonic()"] * 6
    started = dict(answered(eval, jobs, 1, 60))
    times = [started[index] for index in range(6)]
    assert times == sorted(times)
    assert min(times) >= before


def bytes_after(code: str) -> int:
    """What a process of our own has, in bytes, when it has allocated and freed 64 MB in small blocks, all but every 1,000th."""
    program = (
        "import ctypes\n"
        "from torchdev_lint.engine import workers\n"
        f"{code}\n"
        "blocks = [ctypes.create_string_buffer(2_000) for _ in range(50_000)]\n"
        "kept = blocks[::1_000]\n"
        "del blocks\n"
        "workers.let_go()\n"
        "print(workers.resident())\n"
    )
    return int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_freed_memory_is_given_back_in_processes_of_our_own() -> None:
    others, own = bytes_after(""), bytes_after("workers.own_process()")
    assert own < others - 50_000_000


_CONDITIONS = """\
import gc
from torchdev_lint.config import Config
from torchdev_lint.engine import workers
from torchdev_lint.engine.check import check_source
from torchdev_lint.flow.domain.conditions import Atom

def atoms():
    return sum(type(one) is Atom for one in gc.get_objects())

workers.own_process()
before = atoms()
text = "import torch\\ndef f(x, a, b):\\n    y = x.cuda() if a or b and a.c else x\\n    if a:\\n        return y + x\\n    return y\\n"
for _ in range(3):
    check_source(text, "x.py", Config())
    assert atoms() > before
    workers.let_go()
# what a file that is checked meanwhile pushes out must not be held by itself where nobody looks for garbage
gc.unfreeze()
print(atoms() - before)
"""


def test_no_condition_of_a_file_is_held_when_the_next_one_is_checked() -> None:
    run = subprocess.run([sys.executable, "-c", _CONDITIONS], capture_output=True, text=True, check=True)
    assert run.stdout == "0\n"
