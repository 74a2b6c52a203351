"""What the system refuses: the right result or one clear line, never a torn file, a traceback or a wait without end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

BAD = "import torch\nmodel = torch.nn.Linear(2, 2).cuda()\nx = torch.ones(2, 2)\nmodel(x)\n"
COMMAND = ["check", "--isolated", "--quiet", "--output-format=concise"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the faults are made with what Linux has")

WITH_A_FAULT = """
import sys
{fault}
from torchdev_lint.cli import main
sys.exit(main(sys.argv[1:]))
"""


def lint(
    cwd: Path, *arguments: str, fault: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITH_A_FAULT.format(fault=fault), *COMMAND, *arguments],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def files(directory: Path, count: int = 4, text: str = BAD) -> list[Path]:
    paths = [directory / f"file{number}.py" for number in range(count)]
    for path in paths:
        path.write_text(text)
    return paths


def many(count: int) -> str:
    """A program with as many findings."""
    row = "x{0} = torch.ones(2, device='cuda') + torch.ones({0})\n"
    return "import torch\n" + "".join(row.format(number) for number in range(count))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of 64 KiB."""
    directory = tmp_path / "disk"
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(directory)]
    try:
        mounted = subprocess.run(mount, capture_output=True, timeout=30, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("NOT PROVED: nothing may be mounted here")
    yield directory
    subprocess.run(["umount", "-l", str(directory)], timeout=30, check=True)


def fill(directory: Path) -> None:
    with (directory / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 512)


def test_a_full_disk_leaves_every_file_as_it_was(small_disk: Path) -> None:
    paths = files(small_disk)
    fill(small_disk)
    result = lint(small_disk, "--fix", ".")
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        f"error: {path.name}: not written: No space left on device" for path in paths
    ]
    assert result.stdout.count("TDV001") == len(paths)
    assert [path.read_text() for path in paths] == [BAD] * len(paths)
    assert sorted(os.listdir(small_disk)) == sorted(["filler", *(path.name for path in paths)])


def test_a_disk_that_becomes_full_costs_the_later_files_only(small_disk: Path) -> None:
    page = os.sysconf("SC_PAGE_SIZE")
    text = f"{BAD}#".ljust(2 * page - 1, "#") + "\n"  # what the fix adds takes one page more
    paths = files(small_disk, count=4, text=text)
    whole = files(small_disk.parent, count=1, text=text)[0]
    assert lint(whole.parent, "--fix", whole.name).returncode == 0
    quota = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))"
    assert lint(small_disk, "--fix", ".", fault=quota).returncode == 2
    assert [path.read_text() for path in paths] == [text] * 4
    fill(small_disk)
    filler = small_disk / "filler"
    os.truncate(
        filler, filler.stat().st_size - 4 * page
    )  # three for a new file, and what two of them take more
    result = lint(small_disk, "--no-cache", "--fix", ".")
    assert result.returncode == 2
    assert [path.read_text() for path in paths] == [whole.read_text()] * 2 + [text] * 2
    assert result.stderr.splitlines() == [
        f"error: {path.name}: not written: No space left on device" for path in paths[2:]
    ]


def test_a_report_that_does_not_fit_is_told(small_disk: Path) -> None:
    files(small_disk)
    fill(small_disk)
    result = lint(small_disk, "--output-file=report.txt", ".")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "report.txt" in result.stderr
    assert "No space left on device" in result.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_fits_in_part_is_told(small_disk: Path, unbuffered: str) -> None:
    files(small_disk, count=1, text=many(100))
    fill(small_disk)
    os.truncate(small_disk / "filler", (small_disk / "filler").stat().st_size // 4096 * 4096 - 4096)
    command = '"$@" --no-cache --output-format=full . > report.txt'
    result = subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, "-m", "torchdev_lint", *COMMAND],
        cwd=small_disk,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert 0 < (small_disk / "report.txt").stat().st_size < 6000, "it was to fit in part"
    assert result.returncode == 2
    assert result.stderr == "torchdev-lint: error: [Errno 28] No space left on device\n"


def test_results_that_cannot_be_kept_are_not(small_disk: Path) -> None:
    paths = files(small_disk)
    fill(small_disk)
    result = lint(small_disk, ".")
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout.count("TDV001") == len(paths)
    assert not list(small_disk.rglob("*.json"))


@pytest.mark.parametrize("directory", ["/proc/nothing", "/dev/full", "file0.py", "\udcff/\x01"])
def test_a_place_for_the_cache_that_is_none(tmp_path: Path, directory: str) -> None:
    files(tmp_path)
    for _ in range(2):
        result = lint(tmp_path, f"--cache-dir={directory}", ".")
        assert (result.returncode, result.stderr) == (1, "")
        assert result.stdout.count("TDV001") == 4
    assert (tmp_path / "file0.py").read_text() == BAD


NO_FORK = (
    "import os, errno\ndef refuse(): raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))\nos.fork = refuse"
)
ONE_FORK = """
import os, errno
real, count = os.fork, 0
def refuse():
    global count
    count += 1
    if count > 1:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return real()
os.fork = refuse
"""
FEW_DESCRIPTORS = (
    "import resource, torchdev_lint.rules.registry\nresource.setrlimit(resource.RLIMIT_NOFILE, ({0}, {0}))"
)


@pytest.mark.parametrize(
    "fault", [NO_FORK, ONE_FORK, *(FEW_DESCRIPTORS.format(count) for count in (5, 6, 8, 10))]
)
def test_processes_that_cannot_be_started_are_done_without(tmp_path: Path, fault: str) -> None:
    files(tmp_path)
    result = lint(tmp_path, "--no-cache", "--jobs=3", ".", fault=fault)
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout.count("TDV001") == 4


def test_a_process_that_cannot_be_replaced(tmp_path: Path) -> None:
    """The only process there is dies with its file, and no other can be started: the rest is done here."""
    files(tmp_path)
    (tmp_path / "killed.py").write_text("import torch\n# KILLED\n" + "#" * 9999)
    killing = """
import os, signal
from torchdev_lint.engine import check
usual = check.check_source
def check_source(text, *more):
    if "KILLED" in text:
        os.kill(os.getpid(), signal.SIGSEGV)
    return usual(text, *more)
check.check_source = check_source
"""
    result = lint(tmp_path, "--no-cache", "--jobs=3", ".", fault=ONE_FORK + killing)
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout.count("TDV001") == 4
    assert (
        "killed.py:1:1: TDV999 Not checked: the process that checked it was ended by SIGSEGV" in result.stdout
    )


def test_no_process_outlives_one_that_is_killed(tmp_path: Path) -> None:
    for path in files(tmp_path, count=6):
        path.write_text("import torch\n# ENDLESS\n")
    endless = """
import os, time
from torchdev_lint.engine import check
def check_source(text, *more):
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(2)
    return []
check.check_source = check_source
"""
    code = WITH_A_FAULT.format(fault=endless)
    process = subprocess.Popen(
        [sys.executable, "-c", code, *COMMAND, "--jobs=3", "--no-cache", "."],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    workers = [int(process.stdout.readline()) for _ in range(3)]
    process.kill()
    process.wait(timeout=30)
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline, "a process goes on for nobody"
        time.sleep(0.05)
    assert process.stdout.read() == b"", "and takes the next file"
    process.stdout.close()


@pytest.mark.parametrize("leap", [-(10**9), 10**9])
def test_a_clock_that_leaps(tmp_path: Path, leap: int) -> None:
    """Kept results depend on the files, whatever the clock says of their age."""
    leaping = f"import time\nreal = time.time_ns\ntime.time_ns = lambda: real() + {leap} * 10**9"
    files(tmp_path)
    assert lint(tmp_path, ".").stdout.count("TDV001") == 4
    (tmp_path / "file1.py").write_text("import torch\n")
    assert lint(tmp_path, ".", fault=leaping).stdout.count("TDV001") == 3
    (tmp_path / "file2.py").write_text("import torch\n")
    assert lint(tmp_path, ".").stdout.count("TDV001") == 2
    os.utime(tmp_path / "file1.py", (time.time() + leap, time.time() + leap))
    (tmp_path / "file1.py").write_text(BAD)
    os.utime(tmp_path / "file1.py", (time.time() + leap, time.time() + leap))
    assert lint(tmp_path, ".").stdout.count("TDV001") == 3


def test_what_vanishes_while_it_is_looked_at(tmp_path: Path) -> None:
    files(tmp_path)
    for name in ("a_gone", "b_gone"):
        (tmp_path / name).mkdir()
        files(tmp_path / name)
    vanishing = """
import os
real = os.scandir
def scandir(path="."):
    if os.path.basename(path) == "a_gone":
        for name in os.listdir(path):
            os.unlink(os.path.join(path, name))
        os.rmdir(path)
    return real(path)
os.scandir = scandir
usual = os.open
def opened(path, *more, **others):
    if str(path).endswith("b_gone/file1.py"):
        os.unlink(path)
    return usual(path, *more, **others)
os.open = opened
"""
    result = lint(tmp_path, ".", fault=vanishing)
    assert result.returncode == 2
    assert result.stderr.splitlines() == ["error: a_gone: cannot be read: No such file or directory"]
    assert result.stdout.count("TDV001") == 7
    assert "b_gone/file1.py:1:1: TDV999 cannot be read: No such file or directory" in result.stdout


@pytest.mark.parametrize("command", [["-m", "torchdev_lint"], ["-c", WITH_A_FAULT.format(fault="")]])
def test_a_working_directory_that_has_gone(tmp_path: Path, command: list[str]) -> None:
    (path,) = files(tmp_path, count=1)
    (tmp_path / "gone").mkdir()
    script = 'cd gone; rmdir ../gone; "$@"'
    result = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, *command, *COMMAND, str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "working directory" in result.stderr


def test_no_home_and_no_environment(tmp_path: Path) -> None:
    files(tmp_path)
    result = lint(tmp_path, ".", env={"PYTHONPATH": os.pathsep.join(sys.path)})
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout.count("TDV001") == 4


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away(tmp_path: Path, unbuffered: str) -> None:
    """As `| head -1` does: no traceback, no findings for an exit code."""
    files(tmp_path, count=1, text=many(2000))
    command = [sys.executable, "-m", "torchdev_lint", *COMMAND, "."]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stderr as stderr:
        process.stdout.read(1)
        process.stdout.close()
        assert (stderr.read(), process.wait(timeout=60)) == (b"", 128 + signal.SIGPIPE)


@pytest.mark.parametrize(
    "step", ["os.open", "os.replace", "os.stat", "os.fsync", "os.unlink", "os.listxattr", "os.chown"]
)
def test_a_system_call_that_fails_while_a_file_is_written(tmp_path: Path, step: str) -> None:
    (path,) = files(tmp_path, count=1)
    failing = f"""
import os
from torchdev_lint.fixes import writer
real = writer.replace_content
def replace(*arguments, **options):
    usual = {step}
    def fail(*a, **b):
        raise OSError(5, "Input/output error")
    {step} = fail
    try:
        return real(*arguments, **options)
    finally:
        {step} = usual
from torchdev_lint.engine import checking
checking.replace_content = replace
"""
    result = lint(tmp_path, "--fix", ".", fault=failing)
    if step in ("os.unlink", "os.listxattr", "os.chown"):
        assert (result.returncode, result.stderr) == (0, "")
        assert path.read_text() != BAD
    else:
        assert result.returncode == 2
        assert result.stderr.splitlines() == ["error: file0.py: not written: Input/output error"]
        assert path.read_text() == BAD
    shutil.rmtree(tmp_path / ".torchdev_lint_cache", ignore_errors=True)
    assert os.listdir(tmp_path) == ["file0.py"]
