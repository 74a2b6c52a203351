"""Pairs of look-alikes of errors that users reported: the way that it is right, beside the one that they met."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

HEAD = """\
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
"""

NETS = """
    class Net(nn.Module):
        def __init__(self, size):
            super(Net, self).__init__()
            self.layer = nn.Linear(size, size)

        def forward(self, x):
            return self.layer(x)

        def act(self, state, device):
            return self.forward(torch.tensor([state]).to(device)).argmax()

        def choose(self, state, device):
            return self.forward(torch.tensor([state]).to(device)).argmax()

    def build(size, *, device=None):
        net = Net(size)
        return net.eval() if device is None else net.to(device)

    def both(size):
        return Net(size), {"other": Net(size)}

    KEPT = Net(3)

    def the_one(size):
        return KEPT
"""


def _codes(folder: Path, files: dict[str, str]) -> list[str]:
    (folder / "pyproject.toml").touch()
    for name, text in files.items():
        (folder / name).write_text(HEAD + textwrap.dedent(text))
    path = folder / "main.py"
    told = findings(path.read_text(), str(path), Config(root=str(folder)), sources=DiskSources())
    return [finding.code for finding in told if not finding.code.startswith("TDV1")]


BUILT_ELSEWHERE: dict[str, tuple[str, list[str]]] = {
    "moved by the function that builds it": (
        """
        from nets import build
        def main(device):
            net = build(3, device=device)
            return net(torch.zeros(3).to(device))
        """,
        [],
    ),
    "moved by nobody": (
        """
        from nets import build
        def main(device):
            net = build(3)
            return net(torch.zeros(3).to(device))
        """,
        ["TDV001"],
    ),
    "moved by the program": (
        """
        import nets
        net = nets.build(3).cuda()
        print(net(torch.zeros(3).cuda()))
        """,
        [],
    ),
    "in a program": (
        """
        import nets
        net = nets.build(3)
        print(net(torch.zeros(3).cuda()))
        """,
        ["TDV001"],
    ),
    "run by a helper": (
        """
        import nets
        def inferred(net, picture, device):
            return net(torch.from_numpy(picture).float().to(device))
        def main(args, picture):
            net = nets.build(3)
            inferred(net, picture, args.device)
        """,
        ["TDV001"],
    ),
    "one of several": (
        """
        from nets import both
        def main(device):
            net, others = both(3)
            net = net.to(device)
            x = torch.zeros(3).to(device)
            return net(x), others["other"](x)
        """,
        ["TDV001"],
    ),
    "each of several": (
        """
        from nets import both
        def main(device):
            net, others = both(3)
            net, other = net.to(device), others["other"].to(device)
            x = torch.zeros(3).to(device)
            return net(x), other(x)
        """,
        [],
    ),
}


@pytest.mark.parametrize(("program", "found"), BUILT_ELSEWHERE.values(), ids=BUILT_ELSEWHERE)
def test_built_by_a_function_of_another_file(tmp_path: Path, program: str, found: list[str]) -> None:
    """The call that gets the model from there is where this file could have moved it."""
    assert _codes(tmp_path, {"main.py": program, "nets.py": NETS}) == found


def _worker(rest: str, *, made: str = "Net(3)") -> str:
    return f"""
        import multiprocessing
        from nets import Net
        class Worker(multiprocessing.Process):
            def __init__(self, shared, device):
                super(Worker, self).__init__()
                self.device = device
                self.shared = shared
                self.net = {made}
            def learn(self, states):
                return self.net(torch.tensor(states).to(self.device)).sum()
            {rest}
        """


KEPT_BY_A_CLASS: dict[str, tuple[str, list[str]]] = {
    "nothing else": (_worker("pass"), ["TDV001"]),
    "moved where it is made": (_worker("pass", made="Net(3).to(device)"), []),
    "gradients are handed over, one by one": (
        _worker(
            "def push(self):\n"
            "                for theirs, own in zip(self.shared.parameters(), self.net.parameters()):\n"
            "                    theirs._grad = own.grad\n"
            "                    theirs.data.copy_(0.9 * theirs.data + 0.1 * own.data)"
        ),
        ["TDV001"],
    ),
    "parameters are moved, one by one": (
        _worker(
            "def push(self):\n"
            "                for own in self.net.parameters():\n"
            "                    own.data = own.data.to(self.device)"
        ),
        [],
    ),
    "parameters are handed over, one by one": (
        _worker(
            "def push(self):\n"
            "                for own in self.net.parameters():\n"
            "                    bring(own)"
        ),
        [],
    ),
    "a method of the model's own runs it": (
        _worker("def run(self, state):\n                return self.net.choose(state, self.device)"),
        ["TDV001"],
    ),
    "the model is handed out": (
        _worker("def run(self, state):\n                return bring(self.net, self.device)"),
        [],
    ),
}


@pytest.mark.parametrize(("program", "found"), KEPT_BY_A_CLASS.values(), ids=KEPT_BY_A_CLASS)
def test_kept_by_a_class(tmp_path: Path, program: str, found: list[str]) -> None:
    """What a class does with the parameters of its model, and what the model does by itself, leaves it where it was built."""
    assert _codes(tmp_path, {"main.py": program, "nets.py": NETS}) == found


@pytest.mark.parametrize(
    ("own", "found"),
    [
        ("return self.forward(state)", ["TDV001"]),
        ("self.layer.to(device)\n        return self.forward(state)", []),
        ("bring(self, device)\n        return self.forward(state)", []),
        ("return self.layer", []),
    ],
)
def test_methods_that_only_run_the_model(tmp_path: Path, own: str, found: list[str]) -> None:
    net = f"""
class Net(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.layer = nn.Linear(size, size)
    def forward(self, x):
        return self.layer(x)
    def choose(self, state, device):
        {own}
"""
    program = KEPT_BY_A_CLASS["a method of the model's own runs it"][0]
    assert _codes(tmp_path, {"main.py": program, "nets.py": net}) == found


PAIRS: dict[str, tuple[str, str]] = {
    "a data set that gives other things for tests": (
        """
        class Counts(Dataset):
            def __init__(self, names, training):
                self.names, self.training = names, training
            def __getitem__(self, index):
                count = np.array(read(self.names[index]), dtype=np.float32)
                picture = torch.zeros(3)
                if self.training:
                    return picture, count, count
                return picture, count
        net = nn.Linear(3, 3).cuda()
        for picture, count in DataLoader(Counts(["a"], False)):
            print(net(picture.cuda()).sum() - count.cuda())
        """,
        """
        class Counts(Dataset):
            def __init__(self, names, training):
                self.names, self.training = names, training
            def __getitem__(self, index):
                count = np.array(read(self.names[index]), dtype=np.float32)
                picture = torch.zeros(3)
                if self.training:
                    return picture, count, count
                return picture, count
        net = nn.Linear(3, 3).cuda()
        for picture, count in DataLoader(Counts(["a"], False)):
            print(net(picture.cuda()).sum() - count)
        """,
    ),
    "an item by several keys": (
        """
        def shown(loader):
            for x, y in loader:
                x, y = x.cuda(), y.cuda()
                plt.imshow(x[0, 0].cpu())
        """,
        """
        def shown(loader):
            for x, y in loader:
                x, y = x.cuda(), y.cuda()
                plt.imshow(x[0, 0])
        """,
    ),
    "an item by one key, which may be a name": (
        """
        def shown(loader, key):
            for x, y in loader:
                x = x.cuda()
                plt.imshow(x[key])
        """,
        """
        def shown(loader, key):
            for x, y in loader:
                x = x.cuda()
                plt.imshow(x[key, 0])
        """,
    ),
    "axes of a part of a figure": (
        """
        def shown(frames, count):
            parts = plt.figure().subfigures(nrows=2, ncols=1)
            for part in parts:
                places = part.subplots(1, count)
                for i in range(count):
                    place = places[i]
                    place.imshow(frames[0, i].cpu())
        shown(torch.zeros(3, 3, 3, 3).cuda(), 3)
        """,
        """
        def shown(frames, count):
            parts = plt.figure().subfigures(nrows=2, ncols=1)
            for part in parts:
                places = part.subplots(1, count)
                for i in range(count):
                    place = places[i]
                    place.imshow(frames[0, i])
        shown(torch.zeros(3, 3, 3, 3).cuda(), 3)
        """,
    ),
}


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(tmp_path: Path, right: str, _wrong: str) -> None:
    assert _codes(tmp_path, {"main.py": right}) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(tmp_path: Path, _right: str, wrong: str) -> None:
    assert _codes(tmp_path, {"main.py": wrong}) != []
