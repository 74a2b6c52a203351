"""`check` over several processes: the same as in one, whatever happens to them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[1] / "fixtures"

TROUBLE = """
import os, signal, sys, time
from torchdev_lint.engine import check

real = check.check_source

def check_source(text, path, config, *more):
    if "KILLED" in text:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "ENDLESS" in text:
        os.write(2, b"waiting\\n")  # In one piece, with two processes writing.
        while True: pass
    if "WAITING" in text:
        time.sleep(float(os.environ["WAIT"]))
    if "HUNGRY" in text:
        bytearray(2**30)
    return real(text, path, config, *more)

check.check_source = check_source
if "SHORT" in os.environ:
    from torchdev_lint.engine import checking
    checking.FILE_TIMEOUT = float(os.environ["SHORT"])
signal.signal(signal.SIGINT, signal.default_int_handler)
from torchdev_lint.cli import main
sys.exit(main(sys.argv[1:]))
"""

GOOD = "import torch\n"
BAD = "import torch\nx = torch.ones(2, device='cuda') + torch.ones(2)\n"


def lint(*arguments: str, cwd: Path, code: str = TROUBLE) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code, "--output-format=concise", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False, timeout=120)


def some_fixtures(where: Path) -> None:
    for folder in ("TDV001", "TDV004", "TDV006"):
        for path in sorted((FIXTURES / folder).glob("*.py"))[:8]:
            (where / f"{folder}_{path.name}").write_bytes(path.read_bytes())


def test_any_number_of_processes_says_the_same(project: Path) -> None:
    some_fixtures(project)
    results = {jobs: lint(".", "--no-cache", f"--jobs={jobs}", cwd=project) for jobs in (1, 2, 3)}
    assert results[1].returncode == 1
    assert results[1].stdout.count("TDV") > 10
    for result in results.values():
        assert (result.returncode, result.stdout, result.stderr) == (1, results[1].stdout, results[1].stderr)


SPAWNED = """
import sys
from torchdev_lint.engine import checking, pool, workers
workers.start_method = pool.start_method = checking.start_method = lambda: "spawn"
from torchdev_lint.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_spawned_processes_are_told_everything(project: Path) -> None:
    some_fixtures(project)
    here = lint(".", "--no-cache", "--jobs=1", "--select=TDV00", cwd=project)
    there = lint(".", "--no-cache", "--jobs=2", "--select=TDV00", cwd=project, code=SPAWNED)
    assert (there.returncode, there.stdout, there.stderr) == (1, here.stdout, here.stderr)
    baseline = ("--baseline=known.json", "--select=TDV00", "--no-cache")
    assert lint(".", *baseline, "--write-baseline", cwd=project).returncode == 0
    known = lint(".", *baseline, "--jobs=2", cwd=project, code=SPAWNED)
    assert (known.returncode, "TDV" in known.stdout) == (0, False)


def test_fixes_are_the_same(project: Path) -> None:
    contents = {}
    for jobs in (1, 2):
        folder = project / str(jobs)
        folder.mkdir()
        some_fixtures(folder)
        result = lint(".", "--no-cache", "--fix", "--unsafe-fixes", f"--jobs={jobs}", cwd=folder)
        assert result.returncode in (0, 1)
        contents[jobs] = (result.stdout, {path.name: path.read_bytes() for path in folder.iterdir()})
    assert contents[1] == contents[2]
    assert "ixed" in contents[1][0]


@pytest.mark.skipif(sys.platform != "linux", reason="the trouble is forked")
def test_a_file_that_kills_its_process_costs_no_other(project: Path) -> None:
    for number in range(4):
        (project / f"bad{number}.py").write_text(BAD)
    (project / "killed.py").write_text("import torch\n# KILLED\n")
    (project / "slow.py").write_text("import torch\n# ENDLESS\n")
    result = lint(".", "--jobs=2", "--file-timeout=3", cwd=project)
    assert result.returncode == 1
    assert result.stdout.count("TDV005") == 4
    assert (
        "killed.py:1:1: TDV999 Not checked: the process that checked it was ended by SIGSEGV" in result.stdout
    )
    assert "slow.py:1:1: TDV999 Not checked: it took more than 3 seconds" in result.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="the trouble is forked")
def test_a_time_limit_holds_for_a_single_file(project: Path) -> None:
    (project / "slow.py").write_text("import torch\n# ENDLESS\n")
    result = lint("slow.py", "--file-timeout=0.5", cwd=project)
    assert "slow.py:1:1: TDV999 Not checked: it took more than 0.5 seconds" in result.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how long another process has run")
@pytest.mark.parametrize("flags", [("--jobs=1",), ("--jobs=1", "--file-timeout=1")])
def test_a_file_that_has_to_wait_has_more_time(
    project: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    monkeypatch.setenv("SHORT", "1")
    (project / "bad.py").write_text(f"{BAD}# WAITING\n")
    monkeypatch.setenv("WAIT", "2")
    assert "TDV005" in lint(".", *flags, cwd=project).stdout
    monkeypatch.setenv("WAIT", "20")
    result = lint(".", "--no-cache", *flags, cwd=project)
    assert "bad.py:1:1: TDV999 Not checked: it took more than 1 seconds" in result.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="there is no alarm")
def test_a_file_that_takes_too_long_costs_no_other_in_the_same_process(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORT", "4")
    (project / "a_slow.py").write_text("import torch\n# ENDLESS\n")
    (project / "bad.py").write_text(BAD)
    for _ in range(2):  # not kept: the next run may have more time
        result = lint(".", "--jobs=1", cwd=project)
        assert result.returncode == 1
        assert "a_slow.py:1:1: TDV999 Not checked: it took more than 4 seconds" in result.stdout
        assert "TDV005" in result.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a limit")
@pytest.mark.parametrize("jobs", ["--jobs=1", "--jobs=2"])
def test_a_file_that_takes_too_much_memory_costs_no_other(project: Path, jobs: str) -> None:
    (project / "hungry.py").write_text("import torch\n# HUNGRY\n")
    (project / "bad.py").write_text(BAD)
    enough = lint(".", jobs, "--file-memory=2000", "--no-cache", cwd=project)
    assert "TDV999" not in enough.stdout
    result = lint(".", jobs, "--file-memory=300", cwd=project)
    assert result.returncode == 1
    assert "hungry.py:1:1: TDV999 Not checked: it took more than 300 MiB of memory" in result.stdout
    assert result.stdout.count("TDV005") == enough.stdout.count("TDV005") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the trouble is forked")
def test_an_interruption_ends_all_processes(project: Path) -> None:
    for number in range(4):
        (project / f"slow{number}.py").write_text("import torch\n# ENDLESS\n")
    command = [sys.executable, "-c", TROUBLE, ".", "--jobs=2"]
    process = subprocess.Popen(
        command, cwd=project, stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stderr is not None
    for _ in range(2):
        assert process.stderr.readline() == b"waiting\n"
    os.killpg(process.pid, signal.SIGINT)  # As a terminal does: to all of them.
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("a process is left")


@pytest.mark.parametrize(
    "argument",
    [
        "--jobs=0",
        "--jobs=-2",
        "--jobs=many",
        "--file-timeout=0",
        "--file-timeout=nan",
        "--file-memory=0",
        "--file-memory=much",
    ],
)
def test_bad_numbers_are_told(project: Path, argument: str) -> None:
    result = lint(argument, cwd=project)
    assert result.returncode == 2
    assert (
        f"argument {'-j/' if 'jobs' in argument else ''}{argument.partition('=')[0]}: expected"
        in result.stderr
    )


def test_kept_results_say_the_same_and_can_be_removed(project: Path) -> None:
    some_fixtures(project)
    (project / "unread.ipynb").write_text("{")
    first = lint(".", "--jobs=2", cwd=project)
    assert (project / ".torchdev_lint_cache" / "CACHEDIR.TAG").exists()
    for flags in ([], ["--no-cache"], ["--output-format=json"], ["--output-format=full"]):
        warm, cold = (lint(".", *flags, *more, cwd=project) for more in ([], ["--no-cache"]))
        assert (warm.returncode, warm.stdout, warm.stderr) == (cold.returncode, cold.stdout, cold.stderr)
    assert lint(".", cwd=project).stdout == first.stdout
    command = [sys.executable, "-m", "torchdev_lint", "clean"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=project, check=True)
    assert result.stdout == f"Removed {project / '.torchdev_lint_cache'}\n"
    assert not (project / ".torchdev_lint_cache").exists()
    assert subprocess.run(command, capture_output=True, text=True, cwd=project, check=True).stdout == ""
    (project / ".torchdev_lint_cache").mkdir()
    refused = subprocess.run(command, capture_output=True, text=True, cwd=project, check=False)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "not made by torchdev-lint" in refused.stderr
