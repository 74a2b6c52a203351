"""Which directory is a project's root: markers first, else what a run was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdev_lint.source.roots import given_as_roots, up_to_given, up_to_root


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory with a project without a marker, and one with a marker."""
    for name in ("plain/net/parts", "marked/net", "else"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "plain" / "net" / "__init__.py").touch()
    (tmp_path / "plain" / "net" / "layers.py").touch()
    (tmp_path / "plain" / "train.py").touch()
    (tmp_path / "marked" / "pyproject.toml").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "else")
    return tmp_path


def test_up_to_a_marker() -> None:
    assert up_to_root("/p/a/b", {"/p/.git"}.__contains__) == ["/p/a/b", "/p/a", "/p"]
    assert up_to_root("/p/a/b", {"/q/.git"}.__contains__) is None


def test_up_to_the_outermost_of_what_was_given() -> None:
    assert up_to_given("/p/a/b", ["/p/a", "/p"]) == ["/p/a/b", "/p/a", "/p"]
    assert up_to_given("/p", ["/p"]) == ["/p"]
    assert up_to_given("/p/a", ["/q", "/p/a/b"]) is None


def test_a_directory_that_was_named(home: Path) -> None:
    assert given_as_roots([str(home / "plain")]) == (str(home / "plain"),)


def test_markers_say_it_themselves(home: Path) -> None:
    assert given_as_roots([str(home / "marked" / "net"), str(home / "marked" / "net" / "a.py")]) == ()


def test_a_file_elsewhere_is_of_the_directory_that_its_package_is_in(home: Path) -> None:
    given = [str(home / "plain" / "net" / "layers.py"), str(home / "plain" / "train.py")]
    assert given_as_roots(given) == (str(home / "plain"),)


def test_a_file_below_the_working_directory_is_of_that(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home / "plain")
    assert given_as_roots(["net/parts/deep.py"]) == (str(home / "plain"),)


def test_the_home_directory_is_no_project_for_being_stood_in(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    assert given_as_roots(["plain/net/layers.py"]) == (str(home / "plain"),)
