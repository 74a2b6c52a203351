"""Programs of every kind are run, and each gets the verdict it deserves."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import pytest

from torchdev_lint.harness import Kind, Verdict, run_program

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="the program that is run imports torch")


@pytest.fixture
def program(tmp_path: Path):
    """Writes a program and returns its path."""

    def write(source: str, name: str = "program.py") -> Path:
        path = tmp_path / name
        path.write_text(dedent(source), encoding="utf-8")
        return path

    return write


def test_the_end_of_a_good_program_is_passed_with_what_it_printed(program):
    verdict = run_program(program("import sys\nprint('hello', *sys.argv[1:])"), args=["a", "b c"])
    assert (verdict.kind, verdict.stdout, verdict.exit_status) == (Kind.PASSED, "hello a b c\n", 0)
    assert verdict.at is None
    assert verdict.torch_version is None  # torch is not imported for a program that does not


def test_it_is_run_as_main_from_its_own_directory(program, tmp_path):
    program("VALUE = 7", "neighbour.py")
    main = program("import neighbour, sys\nassert __name__ == '__main__'\nprint(neighbour.VALUE, __file__)")
    verdict = run_program(main, cwd=tmp_path)
    assert verdict.stdout.split() == ["7", str(main)]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such limits")
def test_a_program_cannot_take_all_memory(program):
    main = program(
        "import resource\nprint(resource.getrlimit(resource.RLIMIT_CORE))\nx = bytearray(200 * 2**30)\n"
    )
    verdict = run_program(main)
    assert (verdict.kind, verdict.error_type, verdict.stdout) == (Kind.OTHER_ERROR, "MemoryError", "(0, 0)\n")


def test_an_error_has_its_innermost_user_line_and_all_user_frames(program):
    main = program(
        """\
        import json

        def helper(text):
            return json.loads(text)

        helper("{")
        """
    )
    verdict = run_program(main)
    assert (verdict.kind, verdict.error_type) == (Kind.OTHER_ERROR, "JSONDecodeError")
    assert verdict.at == (str(main), 4)
    assert [(frame.row, frame.function) for frame in verdict.frames] == [(6, "<module>"), (4, "helper")]


@needs_torch
def test_cuda_on_a_cpu_build_is_a_device_error(program):
    main = program("import torch\nmodel = torch.nn.Linear(2, 2)\nmodel.to('cuda:0')\n")
    verdict = run_program(main, backend="cpu")
    assert (verdict.kind, verdict.at) == (Kind.DEVICE_ERROR, (str(main), 3))
    assert verdict.torch_version is not None


@needs_torch
def test_a_forgotten_transfer_raises_on_the_simulated_accelerator(program):
    main = program(
        """\
        import torch
        device = "cuda" if torch.cuda.is_available() else "cpu"
        model = torch.nn.Linear(2, 2).to(device)
        model(torch.ones(1, 2))
        """
    )
    assert run_program(main, backend="cpu").kind is Kind.PASSED
    verdict = run_program(main, backend="simulated")
    assert (verdict.kind, verdict.error_type, verdict.row) == (Kind.DEVICE_ERROR, "RuntimeError", 4)
    assert "wrapper_CUDA_addmm" in (verdict.message or "")


@needs_torch
def test_the_number_of_devices_is_what_was_asked_for(program):
    main = program("import torch\nprint(torch.cuda.device_count())\ntorch.zeros(1, device='cuda:1')")
    assert run_program(main, backend="simulated", devices=2).kind is Kind.PASSED
    verdict = run_program(main, backend="simulated", devices=1)
    assert (verdict.kind, verdict.stdout) == (Kind.DEVICE_ERROR, "1\n")
    assert "invalid device ordinal" in (verdict.message or "")


@needs_torch
def test_mps_can_be_simulated_too(program):
    main = program(
        "import torch\nassert torch.backends.mps.is_available() and not torch.cuda.is_available()\n"
        "torch.ones(2, dtype=torch.float64).to('mps')"
    )
    verdict = run_program(main, backend="simulated", accelerator="mps")
    assert (verdict.kind, verdict.error_type, verdict.row) == (Kind.DEVICE_ERROR, "TypeError", 3)


def test_the_cuda_backend_says_why_it_is_unavailable_or_runs(program):
    verdict = run_program(
        program("import torch\nprint(torch.zeros(1, device='cuda').device)"), backend="cuda"
    )
    if verdict.kind is Kind.UNAVAILABLE:
        assert "torch" in (verdict.message or "")
        assert verdict.stdout == ""
        pytest.skip(f"NO GPU HERE: {verdict.message}")
    assert (verdict.kind, verdict.stdout) == (Kind.PASSED, "cuda:0\n")


@needs_torch
def test_auto_says_what_it_chose(program):
    verdict = run_program(program("import torch\nassert torch.cuda.is_available()"), backend="auto")
    assert verdict.kind is Kind.PASSED
    assert verdict.backend in ("cuda", "simulated")


def test_an_unknown_backend_is_the_callers_mistake(program):
    with pytest.raises(ValueError, match="unknown backend 'gpu'"):
        run_program(program(""), backend="gpu")


def test_a_missing_program(tmp_path):
    verdict = run_program(tmp_path / "absent.py")
    assert (verdict.kind, verdict.error_type) == (Kind.OTHER_ERROR, "FileNotFoundError")


def test_a_syntax_error_has_its_line(program):
    main = program("x = 1\ny = (\n")
    verdict = run_program(main)
    assert (verdict.kind, verdict.error_type, verdict.at) == (Kind.OTHER_ERROR, "SyntaxError", (str(main), 2))


def test_standard_input_is_closed(program):
    verdict = run_program(program("input()"))
    assert (verdict.kind, verdict.error_type) == (Kind.OTHER_ERROR, "EOFError")


@pytest.mark.parametrize(
    ("source", "kind", "status"),
    [
        ("raise SystemExit", Kind.PASSED, 0),
        ("raise SystemExit(3)", Kind.OTHER_ERROR, 3),
        ("raise SystemExit('no')", Kind.OTHER_ERROR, 1),
        ("import os; os._exit(0)", Kind.PASSED, 0),
        ("import os; os._exit(4)", Kind.CRASH, 4),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", Kind.CRASH, -11),
        ("raise KeyboardInterrupt", Kind.OTHER_ERROR, 1),
    ],
)
def test_ways_to_leave(program, source, kind, status):
    verdict = run_program(program(source))
    assert (verdict.kind, verdict.exit_status) == (kind, status)


def test_a_crash_names_the_signal(program):
    verdict = run_program(program("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"))
    assert "SIGSEGV" in (verdict.message or "")


def test_a_program_that_never_ends_is_killed_with_its_children(program, tmp_path):
    main = program(
        f"""\
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
        child.wait()
        """
    )
    started = time.monotonic()
    verdict = run_program(main, timeout=3)
    assert verdict.kind is Kind.TIMEOUT
    assert time.monotonic() - started < 10
    assert_gone(int((tmp_path / "pid").read_text()))


def assert_gone(pid: int) -> None:
    for _ in range(100):
        stat = Path(f"/proc/{pid}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] in ("Z", "X"):
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} is still running")


def test_a_child_that_outlives_the_program_does_not_hold_the_verdict_up(program, tmp_path):
    main = program(
        f"""\
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
        print("done")
        """
    )
    started = time.monotonic()
    verdict = run_program(main, timeout=60)
    assert (verdict.kind, verdict.stdout) == (Kind.PASSED, "done\n")
    assert time.monotonic() - started < 10
    assert_gone(int((tmp_path / "pid").read_text()))


def test_a_child_in_a_session_of_its_own_does_not_hold_the_verdict_up(program):
    main = program(
        """\
        import subprocess, sys
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(8)"], start_new_session=True)
        """
    )
    started = time.monotonic()
    assert run_program(main, timeout=60).kind is Kind.PASSED
    assert time.monotonic() - started < 7


def test_megabytes_of_output_are_cut_in_the_middle(program):
    main = program("print('first'); print('x' * 30_000_000); print('last')")
    verdict = run_program(main)
    assert verdict.kind is Kind.PASSED
    assert len(verdict.stdout) < 1_100_000
    assert verdict.stdout.startswith("first\n")
    assert verdict.stdout.endswith("last\n")
    assert "bytes left out" in verdict.stdout


def test_a_fork_that_falls_off_its_end_does_not_report_in_its_parents_place(program):
    main = program(
        """\
        import os, time
        if os.fork() == 0:
            raise ValueError("in the child")
        os.wait()
        time.sleep(0.2)
        print("parent")
        """
    )
    verdict = run_program(main)
    assert (verdict.kind, verdict.stdout) == (Kind.PASSED, "parent\n")
    assert "ValueError: in the child" in verdict.stderr


def test_threads_are_waited_for(program):
    main = program(
        """\
        import threading, time
        def late():
            time.sleep(0.3)
            print("late", NAME)
        NAME = "global"
        threading.Thread(target=late).start()
        """
    )
    verdict = run_program(main)
    assert (verdict.kind, verdict.stdout) == (Kind.PASSED, "late global\n")


@needs_torch
def test_a_device_error_in_a_thread_is_reported_although_python_passes(program):
    main = program(
        """\
        import threading, torch
        def work():
            torch.ones(2, device="cuda") + torch.ones(2)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """
    )
    verdict = run_program(main, backend="simulated")
    assert (verdict.kind, verdict.row) == (Kind.DEVICE_ERROR, 3)
    assert verdict.notes == ("the error ended a thread, not the program",)


def test_an_ordinary_error_in_a_thread_passes_as_in_python(program):
    main = program("import threading\nthreading.Thread(target=lambda: 1 / 0).start()")
    verdict = run_program(main)
    assert verdict.kind is Kind.PASSED
    assert "ZeroDivisionError" in verdict.stderr


CATCHES = """\
import torch
try:
    torch.ones(2, device="cuda") + torch.ones(2)
except RuntimeError as error:
    {handler}
"""


@needs_torch
@pytest.mark.parametrize(
    ("handler", "kind"),
    [
        ("print('caught')", Kind.PASSED),
        ("raise SystemExit(1)", Kind.DEVICE_ERROR),
        ("raise ValueError('no training') from error", Kind.DEVICE_ERROR),
        ("raise ValueError('something else')", Kind.OTHER_ERROR),
    ],
)
def test_programs_that_catch_the_error(program, handler, kind):
    verdict = run_program(program(CATCHES.format(handler=handler)), backend="simulated")
    assert verdict.kind is kind
    if kind is Kind.DEVICE_ERROR:
        assert (verdict.error_type, verdict.row) == ("RuntimeError", 3)


@needs_torch
def test_an_error_in_a_dataloader_worker_points_into_the_dataset(program):
    main = program(
        """\
        import torch
        class Data(torch.utils.data.Dataset):
            def __len__(self):
                return 2
            def __getitem__(self, index):
                return torch.ones(2).to("cuda")
        torch.zeros(1, device="cuda")
        list(torch.utils.data.DataLoader(Data(), num_workers=1))
        """
    )
    verdict = run_program(main, backend="simulated")
    assert (verdict.kind, verdict.row) == (Kind.DEVICE_ERROR, 6)
    assert "Cannot re-initialize CUDA in forked subprocess" in (verdict.message or "")


def test_a_verdict_survives_json(program):
    verdict = run_program(program("1 / 0"))
    assert Verdict.from_json(verdict.to_json()) == verdict
    assert verdict.to_json()["row"] == 1


def test_a_verdict_has_no_truth_value(program):
    with pytest.raises(TypeError, match="compare its `kind`"):
        bool(run_program(program("")))


def test_the_command_line_prints_the_verdict(program):
    main = program("print('out')\n1 / 0")
    done = subprocess.run(
        [sys.executable, "-m", "torchdev_lint.harness", "run", "--backend", "cpu", str(main)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.startswith(f"out\nother-error on cpu at {main}:2")
    assert "ZeroDivisionError" in done.stdout


@needs_torch
def test_the_printed_traceback_is_pytorchs_own(program):
    verdict = run_program(program("import torch\ntorch.ones(2).cuda() + torch.ones(2)"), backend="simulated")
    assert verdict.stderr.startswith("Traceback (most recent call last):\n")
    assert "torchdev_lint" not in verdict.stderr
    assert "torch.ones(2).cuda() + torch.ones(2)" in verdict.stderr
