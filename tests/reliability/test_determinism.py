"""The same input gives the same output, whatever the surroundings."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[1] / "programs"
SAMPLE = [
    "focal_loss_alpha_bad.py",
    "mixup_loss_bad.py",
    "dcgan_bad.py",
    "kv_cache_buffers_bad.py",
    "gcn_by_hand_bad.py",
]


def lint(tree: Path, *arguments: str, cwd: Path | None = None, **environment: str) -> bytes:
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "torchdev_lint",
            "check",
            "--isolated",
            "--select=TDV",
            "--output-format=json",
            *arguments,
        ],
        cwd=cwd or tree,
        env={**os.environ, **environment},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 1, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("tree")
    for name in SAMPLE:
        shutil.copy(PROGRAMS / name, directory)
    return directory


@pytest.fixture(scope="module")
def usual(tree: Path) -> bytes:
    return lint(tree, ".", PYTHONHASHSEED="0")


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "4242", "TZ": "Asia/Kathmandu", "LC_ALL": "C"},
        {"LANG": "tr_TR.UTF-8", "LC_ALL": "", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONOPTIMIZE": "2", "HOME": "/nonexistent"},
    ],
    ids=lambda environment: " ".join(environment),
)
def test_surroundings_change_nothing(tree: Path, usual: bytes, environment: dict[str, str]) -> None:
    assert lint(tree, ".", **environment) == usual


def test_the_order_of_the_arguments_changes_nothing(tree: Path, usual: bytes) -> None:
    assert lint(tree, *reversed(SAMPLE)) == usual
    assert lint(tree, *SAMPLE, ".", *SAMPLE) == usual


def test_the_working_directory_changes_nothing(tree: Path) -> None:
    assert lint(tree, str(tree), cwd=Path("/")) == lint(tree, str(tree), cwd=tree)
