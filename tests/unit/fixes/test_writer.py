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
    with pytest.raises(WriteError, match=r"^not written: the file was changed while it was checked$"):
        replace_content(str(file), b"new", b"older\r\n")
    assert file.read_bytes() == b"old\r\n"


def test_notices_a_change_that_comes_at_the_last_moment(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: file.write_bytes(b"mine"))
    with pytest.raises(WriteError, match=r"^not written: the file was changed while it was checked$"):
        replace_content(str(file), b"new", b"old\r\n")
    assert file.read_bytes() == b"mine"
    assert os.listdir(file.parent) == ["a.py"]


def test_refuses_a_read_only_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # Root may write everywhere.
    with pytest.raises(WriteError, match=r"^not written: the file is read-only$"):
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
    with pytest.raises(
        WriteError,
        match=r"^not written: the file has other names \(hard links\), which would keep the old content$",
    ):
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


def test_a_link_is_written_through_within_a_directory(file: Path) -> None:
    link = file.parent / "sub" / "link.py"
    link.parent.mkdir()
    link.symlink_to("../a.py")
    outside = rf"^not written: a link to a file outside of the project; give {file} instead$"
    with pytest.raises(WriteError, match=outside):
        replace_content(str(link), b"new", b"old\r\n", within=str(link.parent))
    with pytest.raises(WriteError, match=outside):
        replace_content(str(link), b"new", b"old\r\n", within=str(file.parent)[:-1])
    assert file.read_bytes() == b"old\r\n"
    replace_content(str(link), b"new", b"old\r\n", within=str(file.parent))
    replace_content(str(file), b"newer", b"new", within=str(link.parent))  # No link: it was asked for.
    assert file.read_bytes() == b"newer"


def test_the_new_content_is_written_beside_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere may be another file system, and a name that ends in `.py` would be checked."""
    real, names = os.replace, []

    def watched(source: str, target: str) -> None:
        names.append(Path(source))
        real(source, target)

    monkeypatch.setattr(os, "replace", watched)
    replace_content(str(file), b"new", b"old\r\n")
    (name,) = names
    assert name.parent == file.parent
    assert name.name.startswith(".a.py.")
    assert name.suffix == ".tmp"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_keeps_the_owner(file: Path) -> None:
    os.chown(file, 12345, 23456)
    replace_content(str(file), b"new", b"old\r\n")
    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 23456)


@pytest.mark.parametrize("missing", ["chown", "listxattr"])
def test_systems_without_owners_or_attributes(
    file: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.delattr(os, missing, raising=False)
    file.chmod(0o640)
    replace_content(str(file), b"new", b"old\r\n")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o7777 == 0o640


def test_a_link_to_another_drive_leads_outside(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(paths: object) -> str:
        raise ValueError("Paths don't have the same drive")

    link = file.parent / "link.py"
    link.symlink_to("a.py")
    monkeypatch.setattr(os.path, "commonpath", fail)
    with pytest.raises(WriteError, match=r"^not written: a link to a file outside of the project"):
        replace_content(str(link), b"new", b"old\r\n", within=str(file.parent))
    assert file.read_bytes() == b"old\r\n"


@pytest.mark.parametrize("step", ["chown", "listxattr"])
def test_what_cannot_be_kept_does_not_matter(file: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    monkeypatch.setattr(
        os, step, lambda *arguments: (_ for _ in ()).throw(PermissionError(1, "no")), raising=False
    )
    replace_content(str(file), b"new", b"old\r\n")
    assert file.read_bytes() == b"new"


def test_a_temporary_file_that_cannot_be_removed_hides_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setattr(os, "unlink", fail)
    with pytest.raises(WriteError, match=r"^not written: Input/output error$"):
        replace_content(str(file), b"new", b"old\r\n")
    assert file.read_bytes() == b"old\r\n"
