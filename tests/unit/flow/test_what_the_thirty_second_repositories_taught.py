"""What the repositories of the thirty-second and thirty-third batch taught, each kind of false alarm wrong and right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import libcst as cst
import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.flow.instances.confinement import brings_what_it_is_given
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

START = """\
import argparse

import numpy as np
import torch
from torch import nn
"""

CASES: dict[str, tuple[str, Ways]] = {
    "parts of what an unknown model gave, compared on the host": (
        """
        from models import build_model


        def test_model():
            net = build_model()
            if torch.cuda.is_available():
                net = net.cuda()
                batch = {{"image": torch.rand(1, 3).cuda()}}
                outputs = net(**batch)
                assert torch.equal({0}, batch["image"].cpu())
        """,
        [('outputs["image"]', []), ("outputs", ["TDV004"])],
    ),
    "a device of which nothing is known, asked for its type": (
        """
        class Settings:
            values = None


        class Pipe:
            def place(self):
                device = torch.device(Settings.values.device)
                if {0}:
                    device = torch.device("cuda:0")
                return device
        """,
        [('device.type == "cuda" and device.index is None', []), ("device.index is None", ["TDV002"])],
    ),
    "layers that are looked for by their dimension": (
        """
        class Net(nn.Module):
            def __init__(self, dims):
                super().__init__()
                layer = getattr(nn, {0} % dims)
                self.layers = [layer(2, 2) for _ in range(3)]
                self.body = nn.Conv2d(3, 3, 3)

            def forward(self, x):
                x = self.body(x)
                for one in self.layers:
                    x = one(x)
                return x
        """,
        [('"MaxPool%dd"', []), ('"Conv%dd"', ["TDV007"])],
    ),
    "more is asked before something is brought to the host": (
        """
        def show(first, second=None):
            if torch.is_tensor(first) and second.is_cuda:
                {0}
            second = second.transpose(1, 0)
            print(np.log(second + 1e-6))
        """,
        [
            ("second = second.cpu().numpy()", []),
            ("second = second.cuda()", ["TDV010"]),
        ],
    ),
    "entries of a batch, of which one is moved": (
        """
        class Model:
            def feed(self, data):
                self.image = {0}
                style = data["style"]
                if torch.is_tensor(style) and style.size(2) == 1:
                    style = style * torch.ones(1, 3, 4)
                return style
        """,
        [('data["image"].to(self.device)', []), ('data["image"]', ["TDV005"])],
    ),
    "some of a list of modules": (
        """
        from settings import steps

        pipeline = [{0} for step in steps]
        for step in np.random.choice(pipeline, size=2):
            step(torch.ones(3))
        """,
        [("step.cuda()", []), ("torch.ones(3).cuda()", ["TDV010"])],
    ),
    "what only a later function of the file gives": (
        """
        def probed(features, targets):
            chosen = features[torch.randperm(features.size(0))]
            probe = nn.Linear(features.size(1), 3)
            return nn.functional.cross_entropy(probe(chosen), targets)


        def collected(model, loader, device):
            features, targets = [], []
            for x, y in loader:
                features.append(model.encode(x.to(device)){0})
                targets.append(y if torch.is_tensor(y) else torch.tensor(y))
            return torch.cat(features), torch.cat(targets)


        def run(model, loader, device):
            features, targets = collected(model, loader, device)
            return probed(features, targets)
        """,
        [(".cpu()", []), (".detach()", ["TDV001"])],
    ),
    "a module of the file that another method moves": (
        """
        vgg = nn.Sequential(nn.Linear(3, 3))


        class Client:
            def __init__(self, device):
                self.device = device

            def fit(self, batch):
                {0}
                return self.styled(batch)

            def styled(self, batch):
                return vgg(batch.to(self.device))
        """,
        [
            ("vgg.to(self.device)", []),
            ("vgg = nn.Linear(3, 3).to(self.device)", ["TDV001"]),
            ("pass", ["TDV001"]),
        ],
    ),
    "an activation that may be a function": (
        """
        def activation(name):
            if name == "prelu":
                return nn.PReLU()
            if name == "none":
                return {0}
            assert False, name


        class Net(nn.Module):
            def __init__(self, name):
                super().__init__()
                self.act = activation(name)
                self.body = nn.Linear(3, 3)

            def forward(self, x):
                return self.body(self.act(x))


        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        Net(input()).to(device)(torch.ones(3, device=device))
        """,
        [("lambda x: x", []), ("[nn.PReLU()][0]", [])],
    ),
    "an index that a model is given by a name": (
        """
        from models import build


        def train(args):
            net = build(args).cuda()
            labels = torch.arange(8)
            order = torch.randperm(8)
            others = {0}
            return net(torch.ones(8, 3).cuda(), order=order), others
        """,
        [("labels[order]", []), ("labels + order", ["TDV001"])],
    ),
    "a program for GPUs that loads to the CPU at first": (
        """
        def main(path, x):
            net = nn.Linear(3, 3)
            net.load_state_dict(torch.load(path, map_location={0}))
            net.to("cuda")
            return net(x.to("cuda:0"))
        """,
        [
            ("torch.device('cpu')", []),
            ('"cpu"', []),
        ],
    ),
    "a class that stands for another one in tests": (
        """
        class {0}:
            def __init__(self, device="cpu"):
                self.device = torch.device(device)
                self.held = torch.randn(3, 3)

            def state_dict(self):
                return {{"held": self.held}}
        """,
        [("MockModel", []), ("FakeModel", []), ("Model", ["TDV017"])],
    ),
    "a call that leaves out what is needed": (
        """
        class Net(nn.Module):
            def __init__(self, size, device):
                super().__init__()
                self.body = nn.Linear(size, size)
                self.scale = torch.ones(size).to(device)

            def forward(self, x):
                y = self.body(x)
                y += torch.diag(self.scale)
                return y


        if __name__ == "__main__":
            Net({0})(torch.ones(3, 3))
        """,
        [("size=3", []), ("3", []), ('3, device="cuda"', ["TDV004"]), ('3, "cuda"', ["TDV004"])],
    ),
    "the best of what a loop over epochs has saved": (
        """
        def main(args):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net = nn.Linear(3, 3).to(device)
            for {0} in range(args.epochs):
                run(net, args)
                {1}
            net.load_state_dict(torch.load(args.folder + "/best.pth"))
            return net
        """,
        [
            (("epoch", "save_checkpoint(net.state_dict(), args.folder)"), []),
            (("epoch", "print(epoch)"), ["TDV009"]),
            (("step", "save_checkpoint(net.state_dict(), args.folder)"), ["TDV009"]),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    source, ways = CASES[name]
    told_each_way(START, source, ways)


@pytest.mark.parametrize(
    ("line", "brings"),
    [
        ('y = batch["y"].to(self.device)', True),
        ("y = batch.y[:, 1:].float().cuda()", True),
        ('y = batch["y"]; y = y[:3]; y = y.to(self.device)', True),
        ("y = self.table.to(self.device)", False),
        ('y = batch["y"]; z = x.to(self.device)', False),
    ],
)
def test_a_method_that_brings_parts_of_what_it_is_given(line: str, brings: bool) -> None:
    """What is asked of a `forward` that is out of reach."""
    function = cst.parse_module(f"def forward(self, batch):\n    {line}\n    return y\n").body[0]
    assert isinstance(function, cst.FunctionDef)
    assert brings_what_it_is_given(function) is brings


SIZES = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 3).to(device)


def measured(model, device="cuda"):
    return model(torch.ones(2, 3, device=device)).numel()


if __name__ == "__main__":
    {0}
"""


@pytest.mark.parametrize(
    ("line", "found"), [("pass", []), ("measured(net, device)", []), ("measured(net)", ["TDV018"])]
)
def test_a_default_that_nobody_takes(line: str, found: list[str], tmp_path: Path) -> None:
    """Of a program everything that may call is in sight."""
    text = SIZES.replace("{0}", line)
    (tmp_path / "sizes.py").write_text(text)
    (tmp_path / "pyproject.toml").touch()
    told = check_source(text, str(tmp_path / "sizes.py"), DEFAULT, DiskSources())
    assert [one.code for one in told] == found
