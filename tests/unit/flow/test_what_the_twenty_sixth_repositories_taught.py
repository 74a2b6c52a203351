"""What repositories taught that nobody had read (the twenty-sixth batch, docs/precision-batches.md), each idiom right and wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Ways = Sequence[tuple[str, list[str]]]
Checked = Callable[[Path, dict[str, str], str], list[str]]

START = """\
import numpy as np
import torch
from torch import nn

device = torch.device("cuda")
x = torch.rand(4, 3, device=device)
"""

CASES: dict[str, tuple[str, Ways]] = {
    "one place of an array is given a number": (
        "table = {}\n",
        [
            ("np.zeros(4)\ntable[0] = x[0, :1]", []),
            ("np.zeros(4)\ntable[0] = x.sum()", []),
            ("np.zeros((4, 3))\ntable[0, 1] = x[0, :1]", []),
            ("np.empty(len(x))\nfor i in range(len(x)):\n    table[i] = (x[i, :1] - x[i, 1:2]) ** 2", []),
            ("np.zeros((4, 3))\ntable[0] = x[0]", ["TDV010"]),
            ("np.zeros(4)\ntable[0:1] = x[0, :1]", ["TDV010"]),
            ("np.zeros(4)\ntable[np.array([0])] = x[0, :1]", ["TDV010"]),
        ],
    ),
    "parts of what a function gives that is told of the device": (
        """
        model = nn.Linear(3, 2).to(device)
        a, b = {}
        a = a.to(device)
        print(nn.functional.mse_loss(model(a), b))
        """,
        [
            ("batches.draw(4, cuda=True)", []),
            ("batches.draw(4, device)", []),
            ("batches.draw(4, 3)", ["TDV004"]),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    told_each_way(START, *CASES[name])


CLIP = """\
import torch


def clip(batch, length, device="cuda:0"):
    return batch[:length].to(device)


if __name__ == "__main__":
    print(clip(torch.rand(4, 3), 2))
"""
MAIN = "import torch\nfrom data import clip\n\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n"


@pytest.mark.parametrize(
    ("main", "found"),
    [
        (MAIN + "print(clip(torch.rand(3), 2, device=device))\n", []),
        (MAIN + "print(clip(torch.rand(3), 2))\n", ["TDV002"]),
        (MAIN, ["TDV002"]),
    ],
)
def test_a_default_that_only_a_self_test_takes(
    main: str, found: list[str], checked: Checked, tmp_path: Path
) -> None:
    assert checked(tmp_path, {"data.py": CLIP, "main.py": main}, "data.py") == found


SCALED = """\
import torch


def scaled(box: torch.Tensor, size):
    return box / torch.tensor([size, size])


class {name}:
    def scaled(self, box: torch.Tensor):
        return box / torch.tensor([640, 480])
"""


@pytest.mark.parametrize(
    ("path", "name", "found"),
    [
        ("ltr/data/processing_utils.py", "BoxProcessing", []),
        ("tools/specAugment/boxes.py", "BoxHead", []),
        ("ltr/models/boxes.py", "BoxProcessing", ["TDV005"]),
        ("ltr/models/boxes.py", "BoxHead", ["TDV005", "TDV005"]),
    ],
)
def test_data_is_processed_on_the_host(
    path: str, name: str, found: list[str], checked: Checked, tmp_path: Path
) -> None:
    assert checked(tmp_path, {path: SCALED.format(name=name)}, path) == found


OPTIONS = "import torch\n\nclass Options:\n    dtype = {dtype}\n"
READER = """\
import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.dtype = args.dtype
        self.layer = nn.Linear(3, 3)
        self.reset()

    def reset(self):
        self.usage = torch.zeros(3, 3)
        self.used = self.usage.type(self.dtype)

    def forward(self, x):
        return self.layer(x) @ self.used + torch.eye(3).type(self.dtype)
"""


RUN_READER = """\
import torch
from options import Options
from reader import Reader

reader = Reader(Options()).to("cuda")
reader(torch.rand(3, 3, device="cuda"))
"""


@pytest.mark.parametrize(
    ("dtype", "found"),
    [
        ("torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor", []),
        ("torch.float16", ["TDV006", "TDV005"]),
    ],
)
def test_a_type_of_tensors_that_another_file_chooses(
    dtype: str, found: list[str], checked: Checked, tmp_path: Path
) -> None:
    files = {"options.py": OPTIONS.format(dtype=dtype), "reader.py": READER, "main.py": RUN_READER}
    assert checked(tmp_path, files, "reader.py") == found


DETECTOR = """\
import torch
from torch import nn
from tools import totensor


def nograd(f):
    def new_f(*args, **kwargs):
        with torch.no_grad():
            return f(*args, **kwargs)

    return new_f


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    {decorator}
    def predict(self, images):
        {log}
        return [self.layer({image}) for image in images]
"""
TOOLS = "import torch\n\ndef totensor(data, cuda=True):\n    return data.detach().cuda() if cuda else data\n"
SHOW = """\
import torch
from detector import Detector

detector = Detector().cuda()
images = torch.rand(4, 3)
for i in range(3):
    detector.predict(images)
    detector.predict(images)
"""


@pytest.mark.parametrize("decorator", ["@nograd", ""])
@pytest.mark.parametrize(("image", "found"), [("totensor(image[None])", []), ("image[None]", ["TDV001"])])
def test_what_is_out_of_reach_may_bring_what_it_is_given_one_by_one(
    decorator: str,
    image: str,
    found: list[str],
    checked: Checked,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However much of other files was read already."""
    text = DETECTOR.format(decorator=decorator, image=image, log="")
    files = {"detector.py": text, "tools.py": TOOLS, "show.py": SHOW}
    monkeypatch.setattr("torchdev_lint.flow.calling.calls.is_out_of_reach", lambda *_: True)
    assert sorted(set(checked(tmp_path, files, "show.py"))) == found
