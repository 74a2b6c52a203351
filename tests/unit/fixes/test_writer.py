"""Replacing a file's content."""

import os
from pathlib import Path

import pytest

from torchdev_lint.fixes.writer import WriteError, replace_content


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_bytes(b"old\r\n")
    return path


def test_replaces_and_leaves_nothing_behind(file: Path) -> None:
    replace_content(str(file), b"new\r\n", b"old\r\n")
    assert file.read_bytes() == b"new\r\n"
    assert os.listdir(file.parent) == ["a.py"]


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o664])
def test_keeps_the_mode(file: Path, mode: int) -> None:
    file.chmod(mode)
    replace_content(str(file), b"new", b"old\r\n")
    assert file.stat().st_mode & 0o7777 == mode


def test_writes_through_a_symbolic_link(file: Path) -> None:
    link = file.parent / "sub" / "link.py"
    link.parent.mkdir()
    link.symlink_to("../a.py")
    replace_content(str(link), b"new", b"old\r\n")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert os.listdir(link.parent) == ["link.py"]


def test_refuses_a_file_that_was_changed_meanwhile(file: Path) -> None:
    with pytest.raises(WriteError, match="changed while it was checked"):
        replace_content(str(file), b"new", b"older\r\n")
    assert file.read_bytes() == b"old\r\n"


def test_notices_a_change_that_comes_at_the_last_moment(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: file.write_bytes(b"mine"))
    with pytest.raises(WriteError, match="changed while it was checked"):
        replace_content(str(file), b"new", b"old\r\n")
    assert file.read_bytes() == b"mine"
    assert os.listdir(file.parent) == ["a.py"]


def test_refuses_a_read_only_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # Root may write everywhere.
    with pytest.raises(WriteError, match="read-only"):
        replace_content(str(file), b"new", b"old\r\n")
    assert file.read_bytes() == b"old\r\n"


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_failure_loses_nothing(file: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(WriteError, match="not written: No space left on device"):
        replace_content(str(file), b"new", b"old\r\n")
    assert file.read_bytes() == b"old\r\n"
    assert os.listdir(file.parent) == ["a.py"]


def test_an_interruption_loses_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        replace_content(str(file), b"new", b"old\r\n")
    assert os.listdir(file.parent) == ["a.py"]


def test_a_file_that_has_gone_is_not_made_anew(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="not written"):
        replace_content(str(tmp_path / "gone.py"), b"new", b"old")
    assert os.listdir(tmp_path) == []


def test_refuses_a_file_with_more_names(file: Path) -> None:
    other = file.parent / "b.py"
    os.link(file, other)
    with pytest.raises(WriteError, match="hard links"):
        replace_content(str(file), b"new", b"old\r\n")
    assert file.read_bytes() == other.read_bytes() == b"old\r\n"
    assert file.samefile(other)


def test_keeps_extended_attributes(file: Path) -> None:
    try:
        os.setxattr(file, "user.origin", b"here")
    except (OSError, AttributeError):
        pytest.skip("NOT PROVED: no extended attributes on this file system")
    replace_content(str(file), b"new", b"old\r\n")
    assert os.getxattr(file, "user.origin") == b"here"
