"""What makes kept results those of another program."""

from __future__ import annotations

import os
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import version
from pathlib import Path

import pytest

from torchdev_lint.engine import program as module
from torchdev_lint.engine.stamps import stamp_of_path


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in which the module seems to lie."""
    root = tmp_path / "package"
    for name in ("engine/program.py", "a.py", "stubs/b.toml", "stubs/deep/c.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x = 1\n" * len(name))
        os.utime(root / name, ns=(10**18, 10**18 + len(name)))
    monkeypatch.setattr(module, "__file__", str(root / "engine" / "cache_key.py"))
    return root


SIZE = 6 * sum(map(len, ("engine/program.py", "a.py", "stubs/b.toml", "stubs/deep/c.py")))


def test_the_files_of_the_package_count(package: Path) -> None:
    assert module._own_code() == [10**18 + len("engine/program.py"), 4, SIZE]


@pytest.mark.parametrize("name", ["__pycache__/a.py", "harness/a.py", "notes.txt", "a.pyc"])
def test_what_has_no_say_in_findings_does_not(package: Path, name: str) -> None:
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_text("x = 2\n")
    assert module._own_code() == [10**18 + len("engine/program.py"), 4, SIZE]


@pytest.mark.parametrize("name", ["flow/d.py", "stubs/d.toml"])
def test_a_file_more_counts(package: Path, name: str) -> None:
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_text("x = 2\n")
    assert module._own_code()[1:] == [5, SIZE + 6]


def test_links_to_directories_are_not_followed(package: Path) -> None:
    (package / "loop").symlink_to("..", target_is_directory=True)
    assert module._own_code()[1:] == [4, SIZE]


def libcst_at(monkeypatch: pytest.MonkeyPatch, spec: ModuleSpec | None) -> str:
    def find_spec(name: str) -> ModuleSpec | None:
        assert name == "libcst"
        return spec

    monkeypatch.setattr(PathFinder, "find_spec", find_spec)
    return module._libcst()


def test_the_version_of_the_parser_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert version("libcst") in module._libcst()
    assert libcst_at(monkeypatch, None) == ""
    assert libcst_at(monkeypatch, ModuleSpec("libcst", None)) == ""
    origin = tmp_path / "__init__.py"
    origin.write_text("x = 1\n")
    spec = ModuleSpec("libcst", None, origin=str(origin))
    assert libcst_at(monkeypatch, spec) == repr(stamp_of_path(str(origin)))
    (tmp_path / "_version.py").write_text("version = '9'\n")
    assert libcst_at(monkeypatch, spec) == "version = '9'\n"
