"""Programs without a pyproject.toml and outside of any repository: what a run is told to check is the project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchdev_lint.cli import main

MODEL = """\
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(8, 8)

    def forward(self, words, state):
        return self.rnn(words, state)

    def begin(self, batch):
        return torch.zeros(1, batch, 8)
"""

TRAIN = """\
import torch
from net.model import Tagger

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
tagger = Tagger().to(device)
words = torch.randn(5, 4, 8, device=device)
state = tagger.begin(4)
out, state = tagger(words, state)
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script and a module that it uses; the user is elsewhere."""
    (tmp_path / "program" / "net").mkdir(parents=True)
    (tmp_path / "program" / "net" / "model.py").write_text(MODEL)
    (tmp_path / "program" / "train.py").write_text(TRAIN)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "program"


def _told(capsys: pytest.CaptureFixture[str], *paths: str) -> list[str]:
    main(["check", "--isolated", "--no-cache", "--exit-zero", "--output-format=json", *paths])
    return [
        f"{os.path.basename(one['filename'])}:{one['location']['row']} {one['code']}"
        for one in json.loads(capsys.readouterr().out)
    ]


def test_the_directory_is_named(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _told(capsys, str(program)) == ["model.py:14 TDV001"]


def test_its_files_are_named_from_within(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program)
    assert _told(capsys, os.path.join("net", "model.py")) == ["model.py:14 TDV001"]


def test_a_file_of_nobody_in_sight(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _told(capsys, str(program / "net" / "model.py")) == []


def test_a_lone_file_is_no_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ops.py").write_text(
        "import torch\n\n\ndef f(x):\n    return x.relu() * torch.rand(x.size(0), 1)\n"
    )
    assert _told(capsys, str(tmp_path)) == ["ops.py:5 TDV005"]
    (tmp_path / "main.py").write_text("import torch\nfrom ops import f\nprint(f(torch.ones(4, 1)))\n")
    assert _told(capsys, str(tmp_path)) == []


def test_flake8(program: Path) -> None:
    pytest.importorskip("flake8")
    command = (sys.executable, "-m", "flake8", "--isolated", "--select=TDV0", "--jobs=1", ".")
    told = subprocess.run(command, cwd=program, capture_output=True, text=True, check=False).stdout
    assert [line.split(" ")[:2] for line in told.splitlines()] == [["./net/model.py:14:16:", "TDV001"]]
