"""Files that are no files, and names that are no text: the right result or one clear line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchdev_lint.config import OUTPUT_FORMATS

BAD = b"import torch\nmodel = torch.nn.Linear(2, 2).cuda()\nx = torch.ones(2, 2)\nmodel(x)\n"
NAMES = [b"a\nb.py", b" sp ace.py", b"\xff\xfe.py", "ünï.py".encode(), b"-x.py", b"a%20b.py", b"a:1.py"]

posix = pytest.mark.skipif(os.name != "posix", reason="names are text on this system")


def lint(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "torchdev_lint", "check", "--isolated", *arguments],
        cwd=cwd,
        capture_output=True,
        timeout=60,
        check=False,
    )


@posix
@pytest.mark.parametrize("shape", OUTPUT_FORMATS)
def test_names_that_are_no_text(tmp_path: Path, shape: str) -> None:
    try:
        for name in NAMES:
            Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(BAD)
    except OSError:
        pytest.skip("NOT PROVED: this file system has only text for names")
    outcome = lint("--output-format", shape, ".", cwd=tmp_path)
    assert outcome.returncode == 1, outcome.stderr
    assert b"Traceback" not in outcome.stderr
    if shape in ("json", "sarif", "gitlab"):
        json.loads(outcome.stdout)
    if shape == "json":
        assert len(json.loads(outcome.stdout)) == len(NAMES)


@posix
def test_such_files_are_fixed_too(tmp_path: Path) -> None:
    for name in NAMES[:2] + NAMES[3:]:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(BAD)
    outcome = lint("--fix", ".", cwd=tmp_path)
    assert outcome.returncode == 0, outcome.stdout
    assert all(path.read_bytes() != BAD for path in tmp_path.iterdir() if path.is_file())


@posix
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_has_no_end_is_not_read(tmp_path: Path, kind: str) -> None:
    path = Path("/dev/zero")
    if kind == "pipe":
        path = tmp_path / "a.py"
        os.mkfifo(path)
    outcome = lint("--output-format", "concise", str(path), cwd=tmp_path)
    assert outcome.returncode == 1
    assert f"{path}:1:1: TDV999 cannot be read: not a regular file".encode() in outcome.stdout
