"""The archives that are published: the same bytes from the same sources, and nothing missing in them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = ["pyproject.toml", "README.md", "CHANGELOG.md", "SECURITY.md", "rules.md", "LICENSE", ".gitignore"]
BUILD = """
import sys
from hatchling.build import build_sdist, build_wheel
build_wheel(sys.argv[1])
build_sdist(sys.argv[1])
"""

pytest.importorskip("hatchling", reason="NOT PROVED: what builds the archives is not installed")


def build(directory: Path, *, changed: int, mask: int) -> dict[str, Path]:
    """The archives, built from a copy whose files have the time `changed`, and modes as `mask` leaves them."""
    copy = directory / "sources"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "examples", copy / "examples", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for name in FILES:
        shutil.copy(ROOT / name, copy)
    for path in copy.rglob("*"):
        path.chmod(path.stat().st_mode & ~mask)
        os.utime(path, (changed, changed))
    subprocess.run(
        [sys.executable, "-c", BUILD, str(directory / "dist")],
        cwd=copy,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
        check=True,
        capture_output=True,
        timeout=120,
    )
    return {path.suffix: path for path in (directory / "dist").iterdir()}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build(tmp_path_factory.mktemp("one"), changed=1_600_000_000, mask=0o000)


def test_building_again_gives_the_same_bytes(archives: dict[str, Path], tmp_path: Path) -> None:
    again = build(tmp_path, changed=1_650_000_000, mask=0o077)
    assert set(again) == set(archives) == {".whl", ".gz"}
    for suffix, path in archives.items():
        digests = [hashlib.sha256(one.read_bytes()).hexdigest() for one in (path, again[suffix])]
        assert digests[0] == digests[1], path.name


def test_the_wheel_holds_the_package_and_nothing_else(archives: dict[str, Path]) -> None:
    with zipfile.ZipFile(archives[".whl"]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        (entries,) = [name for name in wheel.namelist() if name.endswith("/entry_points.txt")]
        scripts = wheel.read(entries).decode()
    package = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == package
    assert {
        "torchdev_lint/py.typed",
        "torchdev_lint/report/assets/report.css",
        "torchdev_lint/stubs/data/numpy.toml",
    } <= names
    assert "torchdev-lint = torchdev_lint.cli:main" in scripts


def test_the_source_archive_builds(archives: dict[str, Path], tmp_path: Path) -> None:
    with tarfile.open(archives[".gz"]) as archive:
        archive.extractall(tmp_path, filter="data")
    (top,) = tmp_path.iterdir()
    assert {"LICENSE", "README.md", "SECURITY.md", "PKG-INFO", "src"} <= set(os.listdir(top))
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    command = [sys.executable, "-c", BUILD, str(tmp_path / "dist")]
    subprocess.run(command, cwd=top, env=environment, check=True, capture_output=True, timeout=120)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert wheel.read_bytes() == archives[".whl"].read_bytes()
