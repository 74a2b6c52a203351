"""Reading files: only what has an end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchdev_lint.files import read_bytes


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\r\n\x00")
    assert read_bytes(str(path)) == b"x = 1\r\n\x00"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "/dev/null", "directory", "nothing"])
def test_what_is_no_file(tmp_path: Path, kind: str) -> None:
    path = Path(kind) if kind.startswith("/") else tmp_path / "a.py"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    with pytest.raises(OSError) as caught:  # noqa: PT011 -- what it says is compared below
        read_bytes(str(path))
    told = {"directory": "Is a directory", "nothing": "No such file or directory"}
    assert caught.value.strerror == told.get(kind, "not a regular file")
