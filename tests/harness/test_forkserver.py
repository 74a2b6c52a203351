"""The fork server gives the verdicts that a fresh process gives, sooner."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from textwrap import dedent

import pytest

from torchdev_lint.harness import Kind, run_program
from torchdev_lint.harness.forkserver import ForkServer

pytest.importorskip("torch", reason="the runtime half needs torch")


@pytest.fixture(scope="module")
def server():
    with ForkServer("simulated") as server:
        yield server


@pytest.fixture
def program(tmp_path: Path):
    def write(source: str) -> Path:
        path = tmp_path / "program.py"
        path.write_text(dedent(source), encoding="utf-8")
        return path

    return write


MISMATCH = """\
import sys, torch
print(sys.argv, __name__)
model = torch.nn.Linear(2, 2).to("cuda")
optimizer = torch.optim.Adam(model.parameters())
model(torch.ones(2, device="cuda")).sum().backward()
optimizer.step()
model(torch.ones(2))
"""


def test_the_same_verdict_as_in_a_fresh_process(server, program):
    main = program(MISMATCH)
    fresh, forked = run_program(main, backend="simulated", args=["a"]), server.run(main, args=["a"])
    assert forked.kind is Kind.DEVICE_ERROR
    for field in (
        "kind",
        "backend",
        "error_type",
        "message",
        "frames",
        "stdout",
        "exit_status",
        "torch_version",
    ):
        assert getattr(forked, field) == getattr(fresh, field), field


def test_a_small_program_takes_less_than_half_a_second(server, program):
    main = program(MISMATCH)
    server.run(main)
    seconds = min(server.run(main).seconds for _ in range(5))
    assert seconds < 0.5


def test_runs_do_not_see_each_other(server, program):
    main = program(
        """\
        import torch, builtins
        assert not hasattr(builtins, "left_behind")
        builtins.left_behind = True
        torch.set_default_device("cuda")
        print(torch.zeros(1).device, torch.rand(1).item())
        """
    )
    first, second = server.run(main), server.run(main)
    assert (first.kind, second.kind) == (Kind.PASSED, Kind.PASSED)
    assert first.stdout == second.stdout


def test_a_run_that_never_ends_is_killed_and_the_next_one_works(server, program):
    assert server.run(program("while True: pass"), timeout=0.5).kind is Kind.TIMEOUT
    verdict = server.run(program("print('alive')"))
    assert (verdict.kind, verdict.stdout) == (Kind.PASSED, "alive\n")


@pytest.mark.parametrize(
    ("source", "kind", "status"),
    [
        ("import os; os._exit(3)", Kind.CRASH, 3),
        ("import os; os.kill(os.getpid(), 11)", Kind.CRASH, -11),
        ("raise SystemExit(2)", Kind.OTHER_ERROR, 2),
        ("input()", Kind.OTHER_ERROR, 1),
    ],
)
def test_ways_to_leave(server, program, source, kind, status):
    verdict = server.run(program(source))
    assert (verdict.kind, verdict.exit_status) == (kind, status)


def test_exit_handlers_run(server, program):
    verdict = server.run(program("import atexit; atexit.register(print, 'bye')"))
    assert verdict.stdout == "bye\n"


def test_dataloader_workers_and_threads(server, program):
    main = program(
        """\
        import threading, torch
        data = torch.utils.data.TensorDataset(torch.ones(8, 2))
        for (batch,) in torch.utils.data.DataLoader(data, batch_size=4, num_workers=2):
            assert batch.to("cuda").is_cuda and batch.is_cpu
        thread = threading.Thread(target=lambda: print(torch.ones(1, device="cuda:1").device))
        thread.start()
        """
    )
    verdict = server.run(main)
    assert (verdict.kind, verdict.stdout) == (Kind.PASSED, "cuda:1\n"), verdict.stderr


def test_the_cpu_backend_too(program):
    with ForkServer("cpu") as server:
        verdict = server.run(
            program(
                "import os\nimport torch\nprint(repr(os.environ['CUDA_VISIBLE_DEVICES']))\ntorch.zeros(1, device='cuda')"
            )
        )
        assert (verdict.kind, verdict.row, verdict.stdout) == (Kind.DEVICE_ERROR, 4, "''\n")


def test_an_unavailable_backend_stays_unavailable(program):
    with ForkServer("cuda") as server:
        verdict = server.run(program("print('ran')"))
        if verdict.kind is Kind.PASSED:
            pytest.skip("THERE IS A GPU HERE: nothing to be unavailable")
        assert (verdict.kind, verdict.stdout) == (Kind.UNAVAILABLE, "")
        assert server.run(program("")).kind is Kind.UNAVAILABLE


def test_it_may_be_shared_between_threads(server, program):
    main = program("import torch; print(torch.ones(1).cuda().device)")
    verdicts = []
    threads = [threading.Thread(target=lambda: verdicts.append(server.run(main))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [verdict.stdout for verdict in verdicts] == ["cuda:0\n"] * 3


def test_a_killed_server_is_a_crash_and_then_a_new_server(program):
    with ForkServer("cpu", preload=()) as server:
        assert server.run(program("")).kind is Kind.PASSED
        assert server._process is not None
        os.kill(server._process.pid, signal.SIGKILL)
        time.sleep(0.1)
        assert server.run(program("print(1)")).stdout == "1\n"


def test_the_server_ends_with_its_client(program):
    server = ForkServer("cpu", preload=())
    server.run(program(""))
    assert server._process is not None
    pid = server._process.pid
    server.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
