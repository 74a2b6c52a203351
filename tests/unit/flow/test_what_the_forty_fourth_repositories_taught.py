"""What the forty-fourth batch of repositories taught: look-alikes that were told, beside the mistakes that they look like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "a program that says there is no accelerator": (
        """
        import torch
        from torch import nn

        {0}
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = nn.Linear(3, 3)
        net.load_state_dict(torch.load("net_checkpoint.pt"))
        torch.save(net.to(device).state_dict(), "net_checkpoint.pt")
        """,
        [("torch.cuda.is_available = lambda: False", []), ("print(torch.cuda.is_available)", ["TDV009"])],
    ),
    "an instance of a class of C++ is called": (
        """
        import argparse
        import torch

        model, device = None, None

        def generate(inputs, length, top_k=None):
            ids = torch.tensor(inputs, device=device)
            if top_k is not None:
                top_k = torch.tensor([top_k], dtype=torch.float32)
            return model.forward(ids, length, top_k)

        def main(args: argparse.Namespace, build):
            global model, device
            device = torch.device(f"cuda:{torch.distributed.get_rank() % torch.cuda.device_count()}")
            weights = [one.to(device) for one in torch.load("part.pt", map_location="cpu")]
            model = {0}(*weights)
            print(generate([1, 2], 3, top_k=args.top_k))
        """,
        [("torch.classes.engine.ParallelDecoder", []), ("build", ["TDV001"])],
    ),
    "what an argument keeps under a name that says where it is": (
        """
        import torch

        def solved(state, grad: torch.Tensor):
            held = torch.empty(3, 4)
            held = held + state.{0}.clone().transpose(0, 1)
            return held.cpu(), state.{0}.device
        """,
        [("b_cpu", []), ("b_saved", ["TDV005"])],
    ),
    "pairs of a matcher": (
        """
        import torch
        from torch import nn

        class Criterion(nn.Module):
            def __init__(self, matcher):
                super().__init__()
                self.{0} = matcher

            def loss_labels(self, outputs, targets, {1}: torch.Tensor):
                return torch.stack((torch.arange(len({1})), {1})).tolist()
        """,
        [
            (("matcher", "indices"), []),
            (("head", "indices"), ["TDV005"]),
            (("matcher", "chosen"), ["TDV005"]),
        ],
    ),
    "a pool of processes runs a function": (
        """
        import multiprocessing
        import torch

        def scaled(boxes: torch.Tensor, size):
            return boxes * torch.tensor([size, size], dtype=torch.float32)

        def one(boxes: torch.Tensor, size):
            return [row.tolist() for row in scaled(boxes, size)]

        def evaluate(rows, net):
            with multiprocessing.Pool(4) as pool:
                return {0}
        """,
        [
            ("pool.starmap_async(one, rows).get()", []),
            ("pool.map(one, rows)", []),
            ("net.map(one, rows)", ["TDV005"]),
            ("[one(net(row), 3) for row in rows]", ["TDV005"]),
        ],
    ),
    "a table of devices": (
        """
        import torch

        def chosen(conf):
            name = conf["accelerator"]
            return {"gpu": torch.device("cuda", 0), "cpu": torch.device("cpu")}[
                name if torch.cuda.is_available() else {0}
            ]

        print(torch.zeros(3, device=chosen({"accelerator": "gpu"})))
        """,
        [("'cpu'", []), ("'gpu'", ["TDV002"])],
    ),
    "a flag by which a function is left": (
        """
        import torch

        try:
            if not torch.cuda.is_available():
                raise RuntimeError("no GPU")
            torch.zeros(1).cuda()
            where = "cuda:0"
        except (RuntimeError, AssertionError):
            where = "cpu"
        ON_GPU = where != "cpu"
        FAST = len(where) > 3

        def ship(*tensors):
            if not {0}:
                return tensors
            return tuple(one.cuda() for one in tensors)

        print(ship(torch.zeros(3)), torch.ones(3, device=where))
        """,
        [("ON_GPU", []), ("FAST", ["TDV018"])],
    ),
    "a module reads what it holds while it is built": (
        """
        import torch
        from torch import nn

        class Scene(nn.Module):
            def __init__(self, sizes):
                super().__init__()
                self.place = nn.Parameter(torch.zeros(3))
                self.conf = nn.ParameterList([torch.zeros(one, device=self.device) for one in sizes])
                {0}

            @property
            def device(self):
                return next(iter(self.parameters())).device

            def masks(self):
                return [one > 0.5 for one in self.conf]

            {1}
        """,
        [
            (("self.mask = self.masks()[0].numpy()", "pass"), []),
            (("pass", "def mask(self):\\n        return self.masks()[0].numpy()"), ["TDV010"]),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_time: Callable[[str, Ways], None]) -> None:
    told_each_time(*CASES[name])


METER = """
import torch


class {kind}:
    def __init__(self):
        self.correct = torch.zeros(3)

    def update(self, output: torch.Tensor, target: torch.Tensor):
        mask = torch.zeros(target.size())
        mask.scatter_(1, output.topk(3)[1], 1.0)
        self.correct += torch.min(mask, target.float()).sum(0).cpu()
"""

TASK = """
from registry import build


class Task:
    def __init__(self, config, device):
        self.device = device
        self.meters = build(config)

    def update_meters(self, output, target):
        output = output.detach(){0}
        target = target.detach(){0}
        for meter in self.meters:
            {1}.update(output, target)
"""


@pytest.mark.parametrize(
    ("kind", "brought", "called", "codes"),
    [
        ("PrecisionMeter", ".cpu()", "meter", []),
        ("PrecisionMeter", ".float()", "meter", ["TDV005"]),
        ("PrecisionMeter", ".cpu()", "self.optimizer", ["TDV005"]),
        ("PrecisionMeter", ".cpu()", "self.average.update(output, self.target.cuda()), meter", []),
        ("Precision", ".cpu()", "meter", ["TDV005"]),
    ],
)
def test_meters_are_called_by_their_name(
    kind: str,
    brought: str,
    called: str,
    codes: list[str],
    tmp_path: Path,
    checked: Callable[[Path, dict[str, str], str], list[str]],
) -> None:
    """Who calls a class that a registry makes is known by what it calls the instances."""
    files = {
        "pyproject.toml": "",
        "precision.py": METER.format(kind=kind),
        "task.py": TASK.format(brought, called),
    }
    assert checked(tmp_path, files, "precision.py") == codes


SAVED = """
import os
import torch


class Base:
    def save(self, net, path):
        {1}
        torch.save({0}, os.path.join(path, "net.pth"))

    def save_optimizer(self, optimizer, path):
        torch.save(optimizer.state_dict(), os.path.join(path, "optimizer.pth"))

    def load(self, net, path, device):
        net.load_state_dict(torch.load(os.path.join(path, "net.pth")))
        return net.to(device)


def main(net, path):
    base = Base()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    base.save(base.load(net, path, device), path)
"""


@pytest.mark.parametrize(
    ("before", "saved", "codes"),
    [
        ("pass", "net.cpu().state_dict()", []),
        ("net.cpu()", "net.state_dict()", []),
        ("pass", "net.state_dict()", ["TDV009"]),
        ("path.cpu()", "net.state_dict()", ["TDV009"]),
    ],
)
def test_what_is_saved_is_brought_where_it_is_saved(before: str, saved: str, codes: list[str]) -> None:
    text = SAVED.replace("{0}", saved).replace("{1}", before)
    found = check_source(text, "program.py", Config(off_by_default=OFF_BY_DEFAULT))
    assert [one.code for one in found] == codes


@pytest.mark.parametrize(("name", "codes"), [("src/data.py", []), ("src/tokens.py", ["TDV005"])])
def test_a_file_of_data_prepares_it_on_the_host(
    name: str, codes: list[str], tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    text = "import torch\n\n\ndef add(x: torch.Tensor, token: int):\n    return torch.cat((torch.tensor([token]), x))\n"
    assert checked(tmp_path, {name: text}, name) == codes


PARTS = """
import torch
from torch import nn


class Tables(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.user, self.film = nn.Embedding(n, 3), nn.Embedding(n, 3)

    def forward(self, u, f):
        return torch.cat([self.user(u), self.film(f)], dim=1)


class Recommender(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n, self.tables, self.tower = n, Tables(n), nn.Linear(6, 1)

    def forward(self, u, f):
        return self.tower(self.tables(u, f).to(self.tower.weight.device)).squeeze(1)

    def recommend(self, user):
        films = torch.arange(self.n)
        return self(torch.full_like(films, user), films)
"""

MAIN = """
from model import Recommender

model = Recommender(10)
model{0}.to("cuda")
print(model.recommend(3))
"""


@pytest.mark.parametrize(("part", "codes"), [(".tower", []), ("", ["TDV001"])])
def test_a_part_of_a_module_is_moved_by_itself(
    part: str, codes: list[str], tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    files = {"pyproject.toml": "", "model.py": PARTS, "main.py": MAIN.replace("{0}", part)}
    assert checked(tmp_path, files, "model.py") == codes
