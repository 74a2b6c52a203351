"""What the forty-sixth batch of repositories taught: look-alikes that were told, beside the mistakes that they look like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Checked = Callable[[Path, dict[str, str], str], list[str]]

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "an array is asked for, which has nothing to be moved with": (
        """
        import numpy as np
        import torch

        def adjusted(matrix, scale):
            if {0}:
                found = np.copy(matrix)
                found[0, 0] *= scale
                return found
            return matrix * scale

        def kept(model, batch, device):
            matrix = batch["matrix"].float().to(device)
            return model(adjusted(matrix, 2.0))
        """,
        [("isinstance(matrix, np.ndarray)", []), ("matrix.ndim == 2", ["TDV010"])],
    ),
    "where what an unread call gave is": (
        """
        import torch
        from torch import nn
        from padding import unpadded

        class Bias(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("table", torch.zeros(3))
                self.build(3)

            def build(self, size, device=None):
                self.table = torch.ones(size).to(device)

            def forward(self, x):
                y = {0}
                if self.table.shape[0] < x.shape[0]:
                    self.build(x.shape[0], device=y.device)
                elif self.table.device != y.device:
                    self.table = self.table.to(y.device)
                return x + self.table

        bias = Bias()
        bias.to("cpu")
        print(bias(torch.zeros(3)))
        """,
        [("unpadded(x)", []), ("x.cuda()", ["TDV005"])],
    ),
    "what is bound the first time that a loop is run through": (
        """
        import torch

        def test(model, loader):
            outputs = []
            for {1}:
                if {0}:
                    device = batch.x.device
                outputs.append(model(batch.x).cpu())
            return [one.to(device) for one in outputs]
        """,
        [
            (("i == 0", "i, batch in enumerate(loader)"), []),
            (("not i", "i, batch in enumerate(loader)"), []),
            (("i == 1", "i, batch in enumerate(loader)"), ["TDV012"]),
            (("i == 0", "i, batch in enumerate(loader, 1)"), ["TDV012"]),
            (("i == 0", "i, batch in loader"), ["TDV012"]),
        ],
    ),
    "integers that are made for a model that cannot be read": (
        """
        import torch
        from torch.utils.data import DataLoader
        from recognition import build

        def run(model, loader: DataLoader, device):
            for images in loader:
                images = images.to(device)
                given = {0}
                print({1}(images, given))

        def main(config, loader):
            run(build(config), loader, torch.device("cuda"))
        """,
        [
            (("torch.LongTensor(images.size(0), 26).fill_(0)", "model"), []),
            (("torch.zeros(images.size(0), 26, dtype=torch.int64)", "model"), []),
            (("torch.zeros(images.size(0), 26)", "model"), ["TDV001"]),
            (("torch.zeros(images.size(0), dtype=torch.int64)", "config.loss"), ["TDV001"]),
        ],
    ),
    "a loop that is over": (
        """
        import torch

        def test(model, loader):
            for i, batch in enumerate(loader):
                print(i)
            if i == 0:
                device = batch.x.device
            return {0}
        """,
        [("model.to(device)", ["TDV012"]), ("model", [])],
    ),
    "a module has parameters to ask": (
        """
        import torch
        from torch import nn

        def device_of(net):
            {0}
            return torch.device("cpu")

        def accuracy(net, x, y):
            device = device_of(net)
            if device.type == "cpu":
                return (net(x).argmax(1) == y).float().mean()
            return (net(x.to(device)).argmax(1) == y.to(device)).float().mean()

        net = nn.Linear(3, 3)
        x, y = torch.randn(4, 3), torch.randint(0, 3, (4,))
        if torch.cuda.is_available():
            net = net.cuda()
        print(accuracy(net, x, y))
        """,
        [
            ("for one in net.parameters():\\n        return one.device", []),
            (
                "for one in [p for p in net.extra() if wanted(p)]:\\n        return one.device",
                ["TDV001", "TDV001"],
            ),
        ],
    ),
    "an iterator over parameters does not end at once": (
        """
        import torch
        from torch import nn

        class Aware:
            @property
            def device(self):
                try:
                    return next({0}).device
                except StopIteration:
                    return torch.device("cpu")

        class Net(Aware, nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 3)

            def forward(self, x):
                return self.layer(x.to(self.device))

        net = Net()
        if torch.cuda.is_available():
            net.cuda()
        print(net(torch.randn(4, 3)))
        """,
        [("self.parameters()", []), ("iter(self.given)", ["TDV001"])],
    ),
    "an attribute that is set to the CPU": (
        """
        import torch
        from torch import nn

        class Config:
            def __init__(self, device, **others):
                self.export_device = {0}
                for name, value in others.items():
                    setattr(self, name, value)

        def export(net, config):
            before = next(net.parameters()).device
            net.to(config.export_device).eval()
            probe = net(torch.zeros(1, 6))
            net.to(before)
            return probe

        config = Config("cuda" if torch.cuda.is_available() else "cpu", steps=8)
        print(export(nn.Linear(6, 2), config))
        """,
        [("torch.device('cpu')", []), ("device", ["TDV001"])],
    ),
    "a table of devices, of which one is chosen by what there is": (
        """
        import torch

        def resolved(name):
            return {"auto": {1} if torch.cuda.is_available() else "cpu", "gpu": "cuda:0", {0}}[name]

        x = torch.zeros(3, device=resolved("auto"))
        """,
        [
            (('"cpu": "cpu"', '"cuda:0"'), []),
            (('"none": "none"', '"cuda:0"'), ["TDV002"]),
            (('"cpu": "cpu"', "best()"), ["TDV002"]),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_time: Callable[[str, Ways], None]) -> None:
    told_each_time(*CASES[name])


SOLVE = """\
import torch


class Solver:
    def together(self, x, times):
        return x, times.to(x.device)

    def step(self, f, x, time):
        return x + f(time, x)


def solve(field, x, times, solver):
    {0}
    for time in times:
        x = solver.step(field, x, time)
    return x
"""
USE = """\
import torch
from torch import nn
from solving import Solver, solve


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, time, x):
        return self.layer(x) * time


field = Field().cuda()
print(solve(field, torch.randn(4, 3).cuda(), torch.linspace(0, 1, 5), Solver()))
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [("x, times = solver.together(x, times)", []), ("x, rest = solver.split(x)", ["TDV001"])],
)
def test_a_function_that_is_not_read_may_bring_together_what_it_is_given(
    line: str, found: list[str], checked: Checked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much of other files was read already."""
    monkeypatch.setattr("torchdev_lint.flow.calling.calls.is_out_of_reach", lambda *_: True)
    assert checked(tmp_path, {"solving.py": SOLVE.format(line), "use.py": USE}, "use.py") == found


EMBED = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def encode(self, texts):
        found = [self.layer(self.tokens(text)) for text in texts]
        return torch.cat(found){0}

    def tokens(self, text):
        return torch.zeros(1, 3, device=next(self.parameters()).device)


model = Model().cuda()
"""
SAVE = "import numpy as np\nfrom embed import model\n\nnp.save('all.npy', model.encode(['one']).numpy())\n"


@pytest.mark.parametrize(("end", "found"), [(".cpu()", []), ("", ["TDV010"])])
def test_a_method_that_is_not_read_may_take_to_the_host_what_it_gives(
    end: str, found: list[str], checked: Checked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much of other files was read already."""
    monkeypatch.setattr("torchdev_lint.flow.calling.calls.is_out_of_reach", lambda *_: True)
    assert checked(tmp_path, {"embed.py": EMBED.format(end), "save.py": SAVE}, "save.py") == found


METRIC = """\
import torch


def collisions(places: torch.Tensor, boxes: torch.Tensor):
    inside = torch.logical_and(places[:, 0] > 0, places[:, 1] > 0).to(boxes.device)
    times = torch.arange(places.shape[0])
    return times[inside]
"""
EVALUATE = """\
import torch
from metric import collisions


def evaluate(model, batch, known):
    places = torch.cumsum(model(batch), dim=1){0}
    boxes = torch.cumsum(known.float(), dim=1){0}
    return collisions(places, boxes)
"""


@pytest.mark.parametrize(("end", "found"), [(".cpu()", []), (".cuda()", ["TDV005"])])
def test_what_is_moved_to_an_argument_is_where_callers_give_it(
    end: str, found: list[str], checked: Checked, tmp_path: Path
) -> None:
    """That an argument says where to does not say that it is on an accelerator."""
    files = {"metric.py": METRIC, "evaluate.py": EVALUATE.format(end)}
    assert checked(tmp_path, files, "metric.py") == found
