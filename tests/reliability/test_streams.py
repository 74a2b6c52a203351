"""Output that cannot be written, streams that are closed, bugs: exit code 2 or the true result, never a mere 1."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchdev_lint.cli import guarded

BAD = "import torch\nmodel = torch.nn.Linear(2, 2).cuda()\nx = torch.ones(2, 2)\nmodel(x)\n"
CLEAN = "import torch\n"

posix = pytest.mark.skipif(os.name != "posix", reason="descriptors are closed by a shell")


def in_shell(redirection: str, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torchdev_lint", "check", "--isolated", *arguments, "a.py"]
    return subprocess.run(
        ["sh", "-c", f'"$@" {redirection}', "sh", *command],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@posix
@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize(("content", "code"), [(BAD, 1), (CLEAN, 0)])
def test_closed_streams(tmp_path: Path, redirection: str, content: str, code: int) -> None:
    (tmp_path / "a.py").write_text(content)
    result = in_shell(redirection, tmp_path)
    assert result.returncode == code
    assert "Traceback" not in result.stderr


@posix
def test_no_file_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    """A rewritten file that got descriptor 1 would receive the report."""
    (tmp_path / "a.py").write_text(BAD)
    assert in_shell(">&- 2>&- <&-", tmp_path, "--fix").returncode == 0
    fixed = (tmp_path / "a.py").read_text()
    assert "fixed" not in fixed
    compile(fixed, "a.py", "exec")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(BAD)
    result = in_shell("> /dev/full", tmp_path)
    assert result.returncode == 2
    assert result.stderr.splitlines() == ["torchdev-lint: error: [Errno 28] No space left on device"]


def test_a_bug_is_no_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(lambda: 1 // 0, "torchdev-lint") == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("torchdev-lint: error: this is a bug of torchdev-lint")
