"""`--files-from`: the paths to check stand in a file, or come from standard input."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BAD = "import torch\nx = torch.ones(2, device='cuda') + torch.ones(2)\n"


def lint(*arguments: str, cwd: Path, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "torchdev_lint", "--output-format=concise", "-q", *arguments]
    return subprocess.run(command, cwd=cwd, input=given, capture_output=True, check=False)


def found(result: "subprocess.CompletedProcess[bytes]") -> list[str]:
    return [line.partition(":")[0] for line in os.fsdecode(result.stdout).splitlines()]


@pytest.mark.parametrize("separator", [b"\n", b"\r\n", b"\0"])
@pytest.mark.parametrize("source", ["file", "stdin"])
def test_listed_files_are_checked_and_no_others(project: Path, separator: bytes, source: str) -> None:
    for name in ("a.py", "b c.py", "other.py", "d.py"):
        (project / name).write_text(BAD)
    listed = separator.join([b"b c.py", b"", b"a.py", b""])
    (project / "list").write_bytes(listed)
    flag, given = ("list", b"") if source == "file" else ("-", listed)
    result = lint(f"--files-from={flag}", "d.py", cwd=project, given=given)
    assert (result.returncode, found(result), result.stderr) == (1, ["a.py", "b c.py", "d.py"], b"")


def test_an_empty_list_is_not_the_working_directory(project: Path) -> None:
    (project / "a.py").write_text(BAD)
    result = lint("--files-from=-", cwd=project)
    assert (result.returncode, result.stdout) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "given", "told"),
    [
        (["--files-from=missing"], b"", b"--files-from: missing: cannot be read: No such file or directory"),
        (["--files-from=-"], b"gone.py\n", b"gone.py: no such file or directory"),
        (["--files-from=-", "-"], b"", b"--files-from cannot be given together with `-`"),
    ],
)
def test_what_is_wrong_is_told(project: Path, arguments: list[str], given: bytes, told: bytes) -> None:
    result = lint(*arguments, cwd=project, given=given)
    assert result.returncode == 2
    assert told in result.stderr.splitlines()[-1]
