"""Pairs of look-alikes from the sixteenth batch of repositories that nobody had looked at: projects, right beside wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

OFF = frozenset(f"TDV1{number:02}" for number in range(1, 12))


def _in_project(tmp_path: Path, files: dict[str, str], checked: str) -> list[str]:
    """The codes of what is told of one file of a program."""
    (tmp_path / ".git").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    config = Config(root=str(tmp_path), off_by_default=OFF)
    told = findings(files[checked], str(tmp_path / checked), config, sources=DiskSources())
    return [one.code for one in told]


# -- what stands in a comment is not done

GAME = """
import torch
from net import Net


class Player:
    def __init__(self, mode, path):
        if mode == "predict":
            self.net = torch.load(path)
            self.net.eval()
        else:
            self.net = Net()
        {move}

    def learn(self, state, score):
        loss = (self.net(state) - score).pow(2).mean()
        loss.backward()

    def keep(self, path):
        torch.save(self.net, path)
"""
NET = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 1)

    def forward(self, x):
        return self.inner(x)
"""
RUN = """
import sys

import torch
from game import Player

player = Player(sys.argv[1], "best.pt")
player.learn(torch.zeros(1, 3), 1)
player.keep("best.pt")
"""


@pytest.mark.parametrize(
    ("move", "found"),
    [
        ("# if torch.cuda.is_available(): self.net.cuda()", []),
        ("if torch.cuda.is_available(): self.net.cuda()", ["TDV009"]),
    ],
)
def test_what_is_commented_out(tmp_path: Path, move: str, found: list[str]) -> None:
    """A program that moves nothing but in its comments saves from the CPU."""
    files = {"game.py": GAME.replace("{move}", move), "net.py": NET, "run.py": RUN}
    assert _in_project(tmp_path, files, "game.py") == found


PLAY = """
import torch

net = torch.load("../weights/best.pt")
net.eval()
"""


@pytest.mark.parametrize(
    ("move", "found"), [("# self.net.cuda()", []), ("self.net.to(self.device)", ["TDV009"])]
)
def test_what_is_saved_elsewhere_in_the_project(tmp_path: Path, move: str, found: list[str]) -> None:
    """So is what another file loads, which says nothing of devices itself."""
    (tmp_path / "tools").mkdir()
    given = GAME.replace("{move}", move)
    if "device" in move:
        given = given.replace("mode, path):", "mode, path):\n        self.device = torch.device('cuda')")
    files = {"game.py": given, "net.py": NET, "run.py": RUN, "tools/play.py": PLAY}
    assert _in_project(tmp_path, files, "tools/play.py") == found


# -- arguments that nobody gives

PADS = """
import torch
from torch.nn import functional as F


def sample(size):
    return torch.eye(3).unsqueeze(0).repeat(size, 1, 1)


def reach_of(G, height, width):
    extreme = G[:, :2, :] @ torch.tensor([(-1.0, -1, 1), (-1, 1, 1), (1, -1, 1), (1, 1, 1)]).t()
    low = ((extreme.min(-1).values + 1) * torch.tensor((width, height))).clamp(max=0)
    return low.max(0).values.to(torch.int64).tolist()


def padded(image, k, G=None):
    batch, _, height, width = image.shape
    chosen = G
    if G is None:
        chosen = sample(batch)
    a, b = reach_of(torch.inverse(chosen), height, width)
    return F.pad(image, (a + k, b + k), mode="reflect"), chosen


def turned(image, G=None):
    image, G = padded(image, 2, G)
    return image @ G.to(image), G


def augment(image, matrices=(None, None)):
    image, G = turned(image, matrices[0])
    return image, G
"""
TRAIN = """
import argparse

import torch
from pads import augment

parser = argparse.ArgumentParser()
parser.add_argument("--augment", action="store_true")
args = parser.parse_args()
device = "cuda"


def train(loader, net):
    for image in loader:
        image = image.to(device)
        if args.augment:
            image, _ = augment(image{given})
        net(image).mean().backward()


train(torch.utils.data.DataLoader(read(args)), torch.nn.Linear(3, 3).to(device))
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("", []),
        (", (None, None)", []),
        (", (torch.eye(3).to(device)[None], None)", ["TDV005", "TDV005"]),
        (", matrices", ["TDV005", "TDV005"]),
    ],
)
def test_an_argument_that_every_caller_leaves_at_none(tmp_path: Path, given: str, found: list[str]) -> None:
    """What is None is no tensor of an accelerator, however many functions hand it on."""
    assert (
        _in_project(tmp_path, {"pads.py": PADS, "train.py": TRAIN.replace("{given}", given)}, "pads.py")
        == found
    )


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ("", []),
        ("step = augment\n", ["TDV005", "TDV005"]),
        ("G = torch.eye(3, device=device)[None]\nturned(read(args).to(device), G)\n", ["TDV005", "TDV005"]),
    ],
)
def test_a_function_that_is_handed_on(tmp_path: Path, rest: str, found: list[str]) -> None:
    """Who calls a function that is handed on is not known; and one caller that gives it is enough."""
    train = TRAIN.replace("{given}", "").replace("import augment", "import augment, turned")
    assert _in_project(tmp_path, {"pads.py": PADS, "train.py": train + rest}, "pads.py") == found


@pytest.mark.parametrize(
    "bound",
    ["for G in read(image):\n        print(G)", "with kept() as G:\n        print(G)"],
)
def test_a_name_that_a_loop_or_a_context_binds(tmp_path: Path, bound: str) -> None:
    """It is not what the function was given."""
    pads = PADS.replace("    image, G = padded(", f"    {bound}\n    image, G = padded(")
    files = {"pads.py": pads, "train.py": TRAIN.replace("{given}", "")}
    assert _in_project(tmp_path, files, "pads.py") == ["TDV005", "TDV005"]


# -- what a module's own methods give

SHAPES = """
import torch
from elsewhere.shapes import Base
from torch import nn


class Shapes(Base):
    def __init__(self, corners):
        super().__init__(corners)
        self.inner = nn.Linear(3, 3)

    def forward(self, x):
        corners, faces = {taken}
        faces = faces.cuda()
        first = corners.view(2, -1, 3)[0]
        return torch.Tensor([[[-1, 1, 1]]]).cuda() * first, faces, self.inner(x)
"""


@pytest.mark.parametrize(("taken", "found"), [("self.mean(x.size(0))", []), ("next(batches)", ["TDV004"])])
def test_what_a_module_computes_is_no_batch(tmp_path: Path, taken: str, found: list[str]) -> None:
    """One part of what its method gives is moved; the other may come of parameters, which moved with it."""
    assert _in_project(tmp_path, {"shapes.py": SHAPES.replace("{taken}", taken)}, "shapes.py") == found


# -- where a move has failed

JACOBIAN = """
import torch


def rows(model, x, n):
    h = model(x)
    try:
        h = h.reshape(1, -1).cuda()
    except AssertionError:
        h = h.reshape(1, -1)
    for i in range(n):
        one = torch.zeros(1, n)
        try:
            g = torch.autograd.grad(h, x, grad_outputs=one.cuda(), retain_graph=True)[0]
        except {error}:
            g = torch.autograd.grad(h, x, grad_outputs=one, retain_graph=True)[0]
    return g
"""


@pytest.mark.parametrize(("error", "found"), [("AssertionError", []), ("ValueError", ["TDV004"])])
def test_a_failed_move_means_no_gpu(tmp_path: Path, error: str, found: list[str]) -> None:
    """PyTorch without CUDA raises an AssertionError: whoever handles it has nothing on a GPU."""
    assert _in_project(tmp_path, {"rows.py": JACOBIAN.replace("{error}", error)}, "rows.py") == found


# -- who calls what loads

BASE = """
import os

import torch
from torch import nn


class Base(nn.Module):
    def prepare(self, use_gpu=True):
        self.use_gpu = use_gpu

    def keep_network(self, network, label):
        torch.save(network.state_dict(), os.path.join(self.folder, "%s_net.pth" % label))

    def load_network(self, network, label):
        network.load_state_dict(torch.load(os.path.join(self.folder, "%s_net.pth" % label)))
"""
WORKER = """
import torch
from base import Base


class Worker{bases}:
    def __init__(self, args):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.net = Base().to(self.device)
        self.{called}(self.net, args.path)

    def {named}(self, network, path):
        network.load_state_dict(torch.load(path, map_location="cpu"))

    def learn(self, x):
        self.net(x).backward()
        self.net.keep_network(self.net, "last")
"""


@pytest.mark.parametrize(
    ("bases", "called", "named", "found"),
    [
        ("", "load_network", "load_network", []),
        ("", "net.load_network", "load_network", ["TDV009"]),
        ("(Base)", "load_network", "load_network", ["TDV009"]),
        ("", "load_network", "load_other", ["TDV009"]),
    ],
)
def test_a_method_of_the_same_name(
    tmp_path: Path, bases: str, called: str, named: str, found: list[str]
) -> None:
    """`self.load_network(...)` in a class that has one of its own does not call another's."""
    worker = WORKER.replace("{bases}", bases).replace("{called}", called).replace("{named}", named)
    assert _in_project(tmp_path, {"base.py": BASE, "worker.py": worker}, "base.py") == found


# -- what callers call the file

NETWORK = '''
import torch
from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)

    def begin_with(self, path):
        self.first.load_state_dict(torch.load(path))

    def forward(self, x):
        return self.first(x)


def create(kind, path=None):
    """Make a detector.

    path: {told}
    """
    net = Detector()
    if kind == "base":
        net.begin_with(path)
    return net


if __name__ == "__main__":
    print(Detector())
'''
LEARN = """
import argparse

import torch
from network import create

parser = argparse.ArgumentParser()
parser.add_argument("--{option}")
args = parser.parse_args()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = create("base", args.{option}).to(device)
for x in torch.utils.data.DataLoader(read(args)):
    net(x.to(device)).mean().backward()
torch.save(net.first.state_dict(), "last.pth")
"""


@pytest.mark.parametrize(
    ("option", "told", "found"),
    [
        ("pretrained_path", "where it is", []),
        ("weights", "pretrained weights", []),
        ("weights", "where it is", ["TDV009"]),
    ],
)
def test_a_file_that_callers_call_pretrained(
    tmp_path: Path, option: str, told: str, found: list[str]
) -> None:
    """What others have trained can be loaded anywhere, whatever the function that loads it calls the path."""
    files = {"network.py": NETWORK.replace("{told}", told), "learn.py": LEARN.replace("{option}", option)}
    assert _in_project(tmp_path, files, "network.py") == found


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("", []),
        ("fast = torch.cuda.is_available()\n", ["TDV009"]),
        ("def keep(net, path):\n    net.save(path)\n", ["TDV009"]),
        ("def learn(net):\n    return torch.optim.Adam(net.parameters())\n", ["TDV009"]),
    ],
)
def test_a_file_that_only_defines_networks(tmp_path: Path, program: str, found: list[str]) -> None:
    """What such a file loads, others publish, unless it trains, saves, or knows machines without an accelerator."""
    network = NETWORK.replace("{told}", "where it is").split("if __name__")[0] + program
    files = {"network.py": network, "learn.py": LEARN.replace("{option}", "weights")}
    assert _in_project(tmp_path, files, "network.py") == found


# -- where a tensor is, is no choice of a program

LAYER = """
import torch
from torch import nn


class Loss(nn.Module):
    def forward(self, x, y):
        device = torch.device("cuda") if x.is_cuda else torch.device("cpu")
        weights = torch.ones(x.shape[0]).to(device)
        labels = torch.zeros(x.shape[0], dtype=torch.long).cuda()
        return (nn.functional.cross_entropy(x, labels, reduction="none") * weights).sum() + y
"""
RUNS = """
import torch
from layer import Loss

net = torch.nn.Linear(3, 3){moved}
loss = Loss()
for x, y in torch.utils.data.DataLoader(read()):
    loss(net(x{moved}), y{moved}).backward()
"""


@pytest.mark.parametrize(
    ("asks", "moved", "found"),
    [
        ("", ".cuda()", []),
        ("", "", []),
        ("pinned = torch.cuda.is_available()\n", "", ["TDV018"]),
    ],
)
def test_where_a_tensor_is(tmp_path: Path, asks: str, moved: str, found: list[str]) -> None:
    """What asks a tensor chooses nothing; where the file asks the machine, `.cuda()` bypasses that."""
    files = {"layer.py": LAYER + asks, "run.py": RUNS.replace("{moved}", moved)}
    told = _in_project(tmp_path, files, "layer.py")
    assert [code for code in told if code != "TDV004"] == found
    # without a move, `labels` meets what the script left on the CPU
    assert ("TDV004" in told) == (not moved)


# -- a module's `type`

DOWN = """
import torch
from torch import nn

dtype = {dtype}
image = torch.zeros(1, 3, 8, 8).cuda()
down = nn.Conv2d(3, 3, 3).type(dtype)
down(image)
"""


@pytest.mark.parametrize(
    ("dtype", "found"),
    [
        ("torch.cuda.FloatTensor", []),
        ("torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor", []),
        ("read()", []),
        ("torch.float32", ["TDV001"]),
        ("torch.FloatTensor", ["TDV001"]),
    ],
)
def test_a_module_is_cast_to_a_type_of_cuda(tmp_path: Path, dtype: str, found: list[str]) -> None:
    """`.type(torch.cuda.FloatTensor)` takes all that a module has to the GPU."""
    assert _in_project(tmp_path, {"down.py": DOWN.replace("{dtype}", dtype)}, "down.py") == found


# -- what a wrapped model scatters

WRAPPED = """
import torch
from torch import nn

class Runner:
    def __init__(self, args, net):
        self.model = net_of(args)().cuda()
        if len(args.devices) > 1:
            self.model = wrap(self.model, args.devices) if args.own else nn.DataParallel(self.model, args.devices)
        self.data = torch.utils.data.DataLoader(read())

    def run(self):
        for x, joint in self.data:
            joint = torch.tensor([1.0, 2.0])
            self.model(x.cuda(), nn.functional.one_hot(x, {classes}), joint)
"""


@pytest.mark.parametrize(
    ("classes", "found"), [("self.model.module.classes", []), ("self.model.classes", ["TDV001"])]
)
def test_a_call_that_asks_for_what_is_wrapped(tmp_path: Path, classes: str, found: list[str]) -> None:
    """Only `DataParallel` and its like have a `module`, and they scatter their inputs."""
    assert _in_project(tmp_path, {"run.py": WRAPPED.replace("{classes}", classes)}, "run.py") == found
