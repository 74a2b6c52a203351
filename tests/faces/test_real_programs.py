"""The faces on real inference, where the fixtures (`tests/test_fixtures.py`) do not reach."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BAD = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 2)
model.to(device)
print(model(torch.ones(3, 4)))  # the input stays behind
"""


def run(module: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_findings_stand_where_json_says(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(BAD)
    (item,) = json.loads(run("torchdev_lint", "--output-format=json", "a.py", cwd=tmp_path).stdout)
    assert item["code"] == "TDV001"
    (start, end) = item["location"], item["end_location"]
    line = BAD.splitlines()[start["row"] - 1]
    assert line[start["column"] - 1 : end["column"] - 1] == "torch.ones(3, 4)"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_fixing_changes_nothing_but_the_argument(tmp_path: Path, newline: str, mark: bytes) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(mark + BAD.replace("\n", newline).encode())
    first = run("torchdev_lint", "--fix", "a.py", cwd=tmp_path)
    assert (first.returncode, first.stderr) == (0, "")
    fixed = BAD.replace("torch.ones(3, 4)", "torch.ones(3, 4).to(device)")
    assert file.read_bytes() == mark + fixed.replace("\n", newline).encode()
    assert run("torchdev_lint", "--fix", "a.py", cwd=tmp_path).stdout == "All checks passed!\n"


def test_a_constructor_of_the_configuration_is_known_to_every_face(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.torchdev-lint]\ntensor-constructors = ["encode_words"]\n')
    program = BAD.replace("import torch\n", "import torch\nfrom words import encode_words\n")
    (tmp_path / "a.py").write_text(program.replace("torch.ones(3, 4)", "encode_words()"))
    ours = run("torchdev_lint", "-q", "--output-format=concise", "a.py", cwd=tmp_path)
    assert ours.stdout.startswith("a.py:8:13: TDV001 [*]")
    theirs = run("flake8", "--isolated", "--select=TDV", "a.py", cwd=tmp_path)
    assert theirs.stdout == ours.stdout.replace(" [*]", "")
    isolated = run("torchdev_lint", "--isolated", "a.py", cwd=tmp_path)
    assert isolated.stdout == "All checks passed!\n"


SHARED = {
    "boxes.py": """\
import torch


def decode(delta, anchors):
    wide = anchors * 2
    return torch.exp(delta) * wide + delta * wide
""",
    "model.py": """\
import torch
from torch import nn

from boxes import decode


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.box = nn.Linear(4, 4)

    def losses(self, box, anchors):
        return (decode(box, anchors) - box).sum()

    def forward(self, x):
        box = self.box(x)
        anchors = box.detach().cpu()
        if self.training:
            return self.losses(box, anchors)
        return decode(box, anchors)
""",
    "main.py": """\
import torch

from model import Head

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
head = Head().to(device)
print(head(torch.rand(4, 4, device=device)).sum().item())
""",
}


@pytest.mark.parametrize("cache", ["--no-cache", "--cache-dir=kept"])
def test_what_is_mended_in_one_file_is_not_told_in_another(tmp_path: Path, cache: str) -> None:
    for name, text in SHARED.items():
        (tmp_path / name).write_text(text)
    found = run("torchdev_lint", "--isolated", cache, "--output-format=concise", ".", cwd=tmp_path).stdout
    assert [line.split()[0] for line in found.splitlines()[:2]] == ["boxes.py:6:31:", "model.py:20:28:"]
    fixed = run("torchdev_lint", "--isolated", cache, "--fix", ".", cwd=tmp_path)
    assert (fixed.returncode, fixed.stderr) == (0, "")
    # The second of the two places in `boxes.py` is found once the first is mended; that in `model.py` was the call of both.
    assert fixed.stdout == "Found 2 errors (2 fixed, 0 remaining).\n"
    assert run("torchdev_lint", "--isolated", cache, ".", cwd=tmp_path).stdout == "All checks passed!\n"
    assert {name for name, text in SHARED.items() if (tmp_path / name).read_text() != text} == {"boxes.py"}
