"""What fifty repositories taught that nobody had read (the twentieth batch, docs/precision.md), each idiom right and wrong."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.flow.read_alone.host_functions import HOST_FILE
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)
Checked = Callable[[Path, dict[str, str], str], list[str]]


def _told(text: str, path: str = "train.py") -> list[str]:
    return [one.code for one in findings(textwrap.dedent(text), path, DEFAULT)]


# -- parts of a batch that are words

VISION = """\
import torch
from models import make
from torch.utils.data import DataLoader, Dataset
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
class Pictures(Dataset):
    def __init__(self, table, start):
        self.table, self.start = table, start
    def __getitem__(self, i):
        {second} = self.start + cleaned(self.table[i])
        return torch.rand(3), {second}
net = make().to(device)
for image, {second} in DataLoader(Pictures(read(), "a "), batch_size=8):
    image = image.to(device)
    loss = net(image, {second})
"""
LOOP = """\
def train(net, log, device):
    net = net.to(device)
    for image, {second} in log(3):
        image = image.to(device)
        loss = net(image, {second})
"""


@pytest.mark.parametrize("text", [VISION, LOOP], ids=["of a loader", "beside what is moved"])
@pytest.mark.parametrize(("second", "found"), [("caption", []), ("question", []), ("mask", ["TDV001"])])
def test_words_are_no_tensors(text: str, second: str, found: list[str]) -> None:
    """Models for pictures and words are given lists of strings, which they look up themselves."""
    assert _told(text.format(second=second)) == found


@pytest.mark.parametrize(("folder", "prepares"), [("dataset", True), ("datasets", True), ("subset", False)])
def test_folders_of_code_that_prepares_data(folder: str, prepares: bool) -> None:
    assert (HOST_FILE.search(f"src/{folder}/faces/rotated.py") is not None) is prepares


# -- programs for one GPU

CHOSEN = """\
import os
import torch
from torch import nn
os.environ["CUDA_VISIBLE_DEVICES"] = {number}
available = torch.cuda.is_available()
device = torch.device("cuda:0")
print("GPU:", available, device)
{then}
net = nn.Linear(3, 2).to(device)
net.load_state_dict(torch.load("net.pt"))
net(torch.rand(4, 3, device=device)).sum().backward()
torch.save(net.state_dict(), "net.pt")
"""


@pytest.mark.parametrize(
    ("number", "then", "found"),
    [
        ("config['gpu']", "", []),
        ("'3'", "", []),
        ("config['gpu']", "workers = 4 if available else 0", ["TDV002"]),
    ],
)
def test_the_gpu_that_the_environment_chooses(number: str, then: str, found: list[str]) -> None:
    """Whether there is a GPU is asked to print it: no sign that the program does without."""
    assert _told(CHOSEN.format(number=number, then=then)) == found


@pytest.mark.parametrize(("flag", "found"), [("cpu", []), ("verbose", ["TDV009"])])
def test_the_other_branch_of_the_cpu(flag: str, found: list[str]) -> None:
    text = f"""
    import torch
    def restored(net, path, {flag}=False):
        if {flag}:
            held = torch.load(path, map_location="cpu")
        else:
            held = torch.load(path)
        net.load_state_dict(held["model"])
    def train(net, x, device):
        net.to(device)(x.to(device)).sum().backward()
        torch.save({{"model": net.state_dict()}}, "net.pt")
    """
    assert _told(text) == found


# -- weights of others

ZOO = """\
import argparse
import os
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
parser = argparse.ArgumentParser()
parser.add_argument("--pool", default="{option}")
args = parser.parse_args()
folder = "{folder}"
def main(net, name):
    path = os.path.join({parts}, name + ".pth")
    net.load_state_dict(torch.load(path))
    return net.to(device)
def train(net, x):
    net(x).sum().backward()
    torch.save(net.state_dict(), "runs/net.pth")
"""


@pytest.mark.parametrize(
    ("option", "folder", "parts", "found"),
    [
        ("runs", "model_zoo", "folder", []),
        ("model_zoo", "runs", "args.pool", []),
        ("runs", "runs", "'model_zoo'", []),
        ("model_zoo", "runs", "folder", ["TDV009"]),
        ("runs", "model_zoo", "args.pool", ["TDV009"]),
    ],
)
def test_a_folder_of_what_others_have_trained(option: str, folder: str, parts: str, found: list[str]) -> None:
    assert _told(ZOO.format(option=option, folder=folder, parts=parts)) == found


SAVER = """\
import torch
class Trainer:
    def __init__(self, net, device):
        self.net, self.device = net.to(device), torch.device("cuda" if device is None else device)
    def fit(self, x):
        self.net(x.to(self.device)).sum().backward()
    def save(self, path):
        held = self.net.state_dict()
        for key, value in held.items():
            held[key] = value.cpu()
        torch.save(held, path)
    def keep(self, path):
        torch.save({kept}.state_dict(), path)
    def load(self, path):
        self.net.load_state_dict(torch.load(path))
"""


@pytest.mark.parametrize(
    ("kept", "found"), [("self.optimizer", []), ("self.scheduler", []), ("self.net", ["TDV009"])]
)
def test_weights_are_brought_and_what_trains_them_is_not(kept: str, found: list[str]) -> None:
    assert _told(SAVER.format(kept=kept)) == found


# -- what calls a method

BODY = """\
import torch
from torch import nn
class Body(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape, self.net = shape, nn.Linear(3, 8) if shape else nn.Identity()
    def forward(self, x):
        return self.net(x)
    def size(self):
        return self.net(torch.zeros(1, *self.shape)).shape[1]
"""
HEAD = """\
from torch import nn
from body import Body
class Head(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.body = Body(shape)
        self.out = nn.Linear({built}, 2)
    def forward(self, x):
        return self.out(self.body(x)){used}
"""


@pytest.mark.parametrize(
    ("built", "used", "found"),
    [
        ("self.body.size()", "", []),
        ("self.body.size()", " / self.body.size()", ["TDV005"]),
        ("8", " * bool(self.body.size)", ["TDV005"]),
    ],
)
def test_a_size_that_constructors_ask_for(
    checked: Checked, tmp_path: Path, built: str, used: str, found: list[str]
) -> None:
    """Nothing has been moved while a model is built."""
    files = {"body.py": BODY, "head.py": HEAD.format(built=built, used=used)}
    assert checked(tmp_path, files, "body.py") == found


TYPES = """\
import torch
from model import Model
if torch.cuda.is_available():
    torch.set_default_tensor_type({kind})
net = Model()
"""
MODEL = """\
import torch
from torch import nn
from parts import Positions
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.positions = Positions(8)
    def forward(self, x):
        return x + self.positions(torch.arange(8.0))
"""
PARTS = """\
import torch
from torch import nn
class Positions(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("rates", torch.rand(size))
    def forward(self, steps):
        return torch.outer(self.rates, steps)
"""


@pytest.mark.parametrize(
    ("kind", "found"), [("'torch.cuda.FloatTensor'", []), ("'torch.DoubleTensor'", ["TDV005"])]
)
def test_a_default_type_and_the_code_of_a_third_file(
    checked: Checked, tmp_path: Path, kind: str, found: list[str]
) -> None:
    files = {"train.py": TYPES.format(kind=kind), "model.py": MODEL, "parts.py": PARTS}
    assert checked(tmp_path, files, "model.py") == found


NORMS = """\
import torch
from torch import nn
needed = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@needed
def testNorms():
    def compared(first, second, cuda=False):
        x = torch.ones(3, 3)
        if cuda:
            x = x.cuda()
        return first(x), second(x)
    first = nn.BatchNorm1d(3).cuda()
    second = nn.DataParallel(first).cuda()
    compared(first, second, cuda=True)
"""


@pytest.mark.parametrize(
    ("path", "found"), [("tests/unit/test_norms.py", []), ("norms.py", ["TDV018", "TDV018"])]
)
def test_what_a_helper_of_a_test_is_told(
    checked: Checked, tmp_path: Path, path: str, found: list[str]
) -> None:
    assert checked(tmp_path, {path: NORMS}, path) == found


def test_a_library_that_brings_what_it_is_given() -> None:
    text = """
    import torch
    from models import load
    from {where} import clean_accuracy
    net = load("a").to("cuda")
    net.eval()
    x, y = torch.rand(8, 3, device="cuda"), torch.zeros(8, dtype=torch.long)
    clean_accuracy(net, x, y)
    """
    assert _told(text.format(where="robustbench.utils")) == []
    assert _told(text.format(where="unknown")) == ["TDV001"]
