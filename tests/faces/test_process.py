"""The command line as a process: what it imports, and how it ends when its output or its user goes away."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HEAVY = (
    "libcst",
    "rich",
    "multiprocessing",
    "concurrent.futures",
    "pathspec",
    "tomllib",
    "tomli",
    "difflib",
    "tempfile",
)

PROBE = """
import sys
from torchdev_lint.cli import main
try:
    code = main(sys.argv[1:])
except SystemExit as exit_:
    code = exit_.code
sys.stderr.write(repr((code, sorted(set({heavy!r}) & set(sys.modules)))))
"""


def imported(*arguments: str) -> str:
    command = [sys.executable, "-c", PROBE.format(heavy=HEAVY), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


@pytest.mark.parametrize("arguments", [["--version"], ["version"], ["--help"], ["rule", "--help"]])
def test_asking_for_help_loads_nothing_heavy(project: Path, arguments: list[str]) -> None:
    assert imported(*arguments) == "(0, [])"


@pytest.mark.parametrize(
    "flags", [[], ["--fix"], ["--diff"], ["--output-format=json"], ["--color=always"], ["--statistics"]]
)
def test_files_without_torch_load_nothing_heavy(project: Path, flags: list[str]) -> None:
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (project / "a.py").write_text("model.to('cuda:0')\n")
    (project / "b.py").write_bytes(b"\xff not even text")
    assert imported(*flags).replace("Would fix", "").endswith("(0, [])")


def test_a_closed_pipe_ends_quietly(project: Path) -> None:
    for number in range(2000):
        (project / f"{number:080}.py").touch()
    process = subprocess.Popen(
        [sys.executable, "-m", "torchdev_lint", "--show-files"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["version"]])
def test_a_pipe_closed_from_the_start_ends_quietly(project: Path, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        result = subprocess.run(
            [sys.executable, "-m", "torchdev_lint", *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writing)
    assert result.stderr == b""
    assert result.returncode in (0, 141)  # argparse keeps a failed write to itself.


def test_an_interruption_ends_quietly(project: Path) -> None:
    # Whoever runs the tests in the background of a script has SIGINT ignored, and all children inherit that.
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    start += "import sys; from torchdev_lint.cli import main; sys.exit(main(['-']))"
    process = subprocess.Popen(
        [sys.executable, "-c", start],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    # Whoever waits for standard input has passed its imports; where that cannot be seen, time has to do.
    patience = time.monotonic() + 5
    while "pipe_read" not in _waiting_in(process.pid) and time.monotonic() < patience:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, b"", b"")


def _waiting_in(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/wchan").read_text()
    except OSError:
        return ""


def test_narrow_locales_lose_nothing(project: Path) -> None:
    name = "é.py"
    (project / name).touch()
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "torchdev_lint", "--show-files"]
    result = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert result.returncode == 0
    assert result.stdout.strip().endswith(b"\\xe9.py")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["check", "--selct", "TDV"],
            "torchdev-lint: error: unrecognized arguments: --selct; did you mean '--select'?\n",
        ),
        (["--foo"], "torchdev-lint: error: unrecognized arguments: --foo; --help lists the options\n"),
        (["--zzz=1"], "torchdev-lint: error: unrecognized arguments: --zzz=1; --help lists the options\n"),
        (["explain", "--output-fromat=json"], "did you mean '--output-format'?\n"),
    ],
)
def test_an_unknown_option_is_told_in_one_line(project: Path, arguments: list[str], told: str) -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "torchdev_lint", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.endswith(told)
    assert outcome.stderr.count("\n") == 1
