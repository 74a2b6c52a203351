"""Default devices that another file of the project sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.sources import DiskSources

NET = """
import torch
from torch import nn


class Toy(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.positions = torch.arange(n)
        self.emb = nn.Embedding(n, 6)

    def forward(self, x):
        return x + self.emb(self.positions)


def rays(height, pose):
    return torch.relu(pose) * torch.linspace(0, 1, height)


def on_gpu(x):
    return x.cuda() + torch.ones(3)
"""
MAIN = """
import argparse

import torch
from net import Toy, rays

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
args = parser.parse_args()
device = torch.device(args.device)


def main():
    {before}
    {block}:
        toy = Toy(4).to(device)
        print(rays(3, pose))
    print(toy(torch.rand(2, 4, 6, device=device)))


pose = torch.eye(3, device=device)
main()
"""
TOLD = ["TDV006", "TDV005", "TDV005"]


def _found(directory: Path, files: dict[str, str], checked: str = "net.py") -> list[str]:
    (directory / ".git").mkdir()
    (directory / ".git" / "HEAD").touch()
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8")
    path = directory / checked
    config = Config(off_by_default=frozenset({"TDV101", "TDV102", "TDV106"}))
    return [
        one.code for one in check_source(path.read_text(encoding="utf-8"), str(path), config, DiskSources())
    ]


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("torch.set_default_device(device)", []),
        ("torch.set_default_device('cuda')", []),
        ("torch.set_default_tensor_type(torch.cuda.FloatTensor)", []),
        ("torch.set_default_tensor_type('torch.cuda.FloatTensor')", []),
        ("torch.set_default_tensor_type(torch.DoubleTensor)", TOLD),
        ("torch.set_default_device('cpu')", TOLD),
        ("torch.set_default_device(None)", TOLD),
        ("pass  # torch.set_default_device('cuda')", TOLD),
    ],
)
def test_a_script_that_sets_it(tmp_path: Path, before: str, found: list[str]) -> None:
    """What is made without `device=` is where the script that imports the file says."""
    main = MAIN.format(before=before, block="if True")
    assert _found(tmp_path, {"net.py": NET, "main.py": main}) == found


def test_a_script_that_does_not_lead_to_the_file(tmp_path: Path) -> None:
    """It says nothing of what others run."""
    other = "import torch\ntorch.set_default_device('cuda')\nprint(torch.ones(2))\n"
    main = MAIN.format(before="pass", block="if True")
    assert _found(tmp_path, {"net.py": NET, "main.py": main, "other.py": other}) == TOLD


def test_a_file_between(tmp_path: Path) -> None:
    """The script need not import the file itself."""
    main = "import torch\nfrom parts import Toy, rays\ntorch.set_default_device('cuda')\nprint(Toy(4)(torch.ones(4, 6)))\n"
    assert _found(tmp_path, {"net.py": NET, "parts.py": "from net import *\n", "main.py": main}) == []


SETUP = """
import torch


def seed(n):
    torch.manual_seed(n)


def place(name):
    {sets}


def setup(n):
    seed(n)
    place("cuda" if torch.cuda.is_available() else "cpu")
"""


@pytest.mark.parametrize(
    ("sets", "call", "found"),
    [
        ("torch.set_default_device(name)", "from common import setup; setup(1)", []),
        ("torch.set_default_device(name)", "import common; common.place('cuda')", []),
        ("torch.set_default_device(name)", "from between import begin; begin()", []),
        ("torch.set_default_device(name)", "from at_once import place; print(place)", []),
        ("torch.set_default_device(name)", "from common import seed; seed(1)", TOLD),
        ("torch.set_default_device(name)", "from common import setup  # setup(1)", TOLD),
        ("torch.set_default_device(name)", "from between import other; other()", TOLD),
        ("torch.set_default_device(name)", "setup(1)", TOLD),
        ("torch.set_default_device('cpu')", "from common import setup; setup(1)", TOLD),
        ("torch.set_default_dtype(name)", "from common import setup; setup(1)", TOLD),
    ],
)
def test_a_function_that_sets_it(tmp_path: Path, sets: str, call: str, found: list[str]) -> None:
    """A script that calls one of another file sets it; one that imports that file for something else does not."""
    files = {
        "net.py": NET,
        "main.py": MAIN.format(before=call, block="if True"),
        "common.py": SETUP.format(sets=sets),
        "between.py": "import common\n\n\ndef begin():\n    common.setup(3)\n\n\ndef other():\n    common.seed(3)\n",
        "at_once.py": "import torch\nfrom common import place\n\ntorch.set_default_device('cuda')\n",
    }
    assert _found(tmp_path, files) == found


def test_what_others_install(tmp_path: Path) -> None:
    """An example sets it for itself; who installs the library may not."""
    install = '[project]\nname = "toy"\nversion = "1"\ndescription = "Toys"\nauthors = [{name = "A"}]\n'
    main = MAIN.format(before="torch.set_default_device('cuda')", block="if True")
    assert _found(tmp_path, {"net.py": NET, "main.py": main, "pyproject.toml": install}) == TOLD


@pytest.mark.parametrize(
    ("block", "more", "found"),
    [
        ("with torch.device(args.device)", "", ["TDV005"]),
        ("with device", "", ["TDV005"]),
        ("with torch.no_grad(), device", "", ["TDV005"]),
        ("with torch.device('cpu')", "", TOLD),
        ("with torch.cuda.device(0)", "", TOLD),
        ("with device", "another = Toy(3)\n", [*TOLD[:1], "TDV005"]),
        ("with device", "print(rays(2, pose))\n", ["TDV005", "TDV005"]),
    ],
)
def test_a_block_that_builds_and_calls(tmp_path: Path, block: str, more: str, found: list[str]) -> None:
    """What is built, or called, in such blocks only; `on_gpu` is called by nobody."""
    main = MAIN.format(before="pass", block=block) + more
    assert _found(tmp_path, {"net.py": NET, "main.py": main}) == found


def test_what_is_made_with_a_device_stays_there(tmp_path: Path) -> None:
    """The default device says nothing of it."""
    net = NET.replace("torch.linspace(0, 1, height)", 'torch.linspace(0, 1, height, device="cpu")')
    net = net.replace("torch.relu(pose)", "pose.cuda()")
    main = MAIN.format(before="torch.set_default_device('cuda')", block="if True")
    assert _found(tmp_path, {"net.py": net, "main.py": main}) == ["TDV004"]
