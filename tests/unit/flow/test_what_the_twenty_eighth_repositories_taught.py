"""What the twenty-eighth batch of repositories taught, each idiom right and wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]
Checked = Callable[[Path, dict[str, str], str], list[str]]

START = """\
import torch
from torch import nn
from pictures import extract, rows

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 3).to(device)
"""

CASES: dict[str, tuple[str, Ways]] = {
    "what follows a thing of which nothing is known, together": (
        """
        def turned(patches, turns):
            frames = torch.eye(3).repeat(patches.size(0), 1, 1)
            if {0}:
                frames = frames.cuda()
                turns = turns.cuda()
            return torch.bmm(turns, frames)


        def train(images):
            patches = extract(images)
            turned(patches, net(torch.rand(4, 3, 3, device=device)))


        train(rows(4))
        """,
        [("patches.is_cuda", ["TDV016"]), ("patches is None", ["TDV005", "TDV018"])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    told_each_way(START, *CASES[name])


# -- a program whose script takes the current GPU first of all

TRAINER = """\
import torch


class Trainer:
    def __init__(self, net, path):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.net = net.to(self.device)
        self.net.load_state_dict(torch.load(path, map_location="cuda:0"))
"""
SCRIPT = """\
import sys
import torch
from torch import nn

{first}
{imported}

{called}(nn.Linear(3, 2), sys.argv[1])
"""


@pytest.mark.parametrize(
    "imported", ["from parts.trainer import Trainer", "from parts import other, \\\n    trainer"]
)
@pytest.mark.parametrize(
    ("first", "found"),
    [
        ("torch.cuda.set_device(int(sys.argv[2]))", []),
        ("if torch.cuda.is_available():\n    torch.cuda.set_device(int(sys.argv[2]))", ["TDV002"]),
        ("print(sys.argv)", ["TDV002"]),
    ],
)
def test_the_current_gpu_first_of_all(
    imported: str, first: str, found: list[str], checked: Checked, tmp_path: Path
) -> None:
    (tmp_path / "parts").mkdir()
    called = "trainer.Trainer" if "other" in imported else "Trainer"
    train = SCRIPT.format(first=first, imported=imported, called=called)
    files = {"parts/trainer.py": TRAINER, "parts/other.py": "", "train.py": train}
    assert checked(tmp_path, files, "parts/trainer.py") == found


# -- what is made on a way that nobody takes, and used after it

RAYS = """\
import numpy as np
import torch


def sample(weights, count, pytest=False):
    u = torch.rand(weights.size(0), count, device=weights.device)
    if pytest:
        u = torch.Tensor(np.random.rand(weights.size(0), count))
    return torch.searchsorted(weights.cumsum(-1), u)
"""


@pytest.mark.parametrize(("given", "found"), [("", []), (", pytest=True", ["TDV005"])])
def test_a_flag_that_nobody_sets(given: str, found: list[str], checked: Checked, tmp_path: Path) -> None:
    main = f"import sys\nfrom rays import sample\n\n\ndef march(weights):\n    return sample(weights, 4{given})\n"
    files = {"rays.py": RAYS, "main.py": f"{main}\n\nif __name__ == '__main__':\n    march(sys.argv)\n"}
    assert checked(tmp_path, files, "rays.py") == found


# -- names that are imported on a second line

HELPER = """\
import torch


def to_torch(x, device="cuda:0"):
    return torch.tensor(x, device=device)


def on_host(x):
    return torch.tensor(x, device="cuda" if torch.cuda.is_available() else "cpu")
"""


@pytest.mark.parametrize(("given", "found"), [(", device=device", []), ("", ["TDV002"])])
def test_an_import_of_two_lines(given: str, found: list[str], checked: Checked, tmp_path: Path) -> None:
    main = (
        "from helper import on_host, \\\n    to_torch\n\n\n"
        f"def build(rows, device):\n    return to_torch(rows{given}), on_host(rows)\n\n\n"
        "if __name__ == '__main__':\n    build([1, 2], input())\n"
    )
    assert checked(tmp_path, {"helper.py": HELPER, "main.py": main}, "helper.py") == found
