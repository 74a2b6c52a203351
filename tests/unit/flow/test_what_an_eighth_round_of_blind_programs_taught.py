"""What an eighth round of programs and projects taught, whose authors had not seen the linter, each idiom right and wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

START = """\
import copy
import functools
import weakref
from contextlib import contextmanager

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.ones(2, 3, device=device)
"""

CASES: dict[str, tuple[str, Ways]] = {
    "what a class that derives from dict gives for what it does not hold": (
        """
        class Store(dict):
            def __init__(self, factory):
                super().__init__()
                self.factory = factory

            def __missing__(self, key):
                made = self.factory()
                self[key] = made
                return made


        def blank():
            return torch.zeros(3{0})


        store = Store(blank)
        for name in ("ada", "bob"):
            x = x + store[name]
        """,
        [("", ["TDV004"]), (", device=device", [])],
    ),
    "what it holds is given as it is": (
        """
        class Store(dict):
            def __missing__(self, key):
                return torch.zeros(3)


        store = Store()
        store["a"] = torch.ones(3, device=device)
        x + store["{0}"]
        """,
        [("a", []), ("b", ["TDV004"])],
    ),
    "an array that is divided by its own largest item is no number": (
        """
        def weighted(loss, p, index, beta):
            w = p[index] ** -beta
            return torch.as_tensor({0}, dtype=torch.float32) * loss


        def run(p, index, beta):
            weighted(x[0], p, index, beta)
        """,
        [("w / w.max()", ["TDV005"]), ("w / 2", []), ("(w - w.mean()) / (w.std() + 1e-6)", ["TDV005"])],
    ),
    "a sampler of one's own is run by the loader that has it": (
        """
        class Hard(BatchSampler):
            def __init__(self, targets, hardness):
                self.targets = targets
                self.sizes = torch.bincount(targets)
                self.hardness = hardness

            def __len__(self):
                return 3

            def __iter__(self):
                for _ in range(3):
                    weights = self.hardness{0}[self.targets] / self.sizes[self.targets]
                    yield torch.multinomial(weights, 4).tolist()


        labels = torch.randint(0, 3, (30,))
        sampler = Hard(labels, torch.ones(3, device=device))
        loader = DataLoader(TensorDataset(torch.rand(30, 3), labels), batch_sampler=sampler)
        """,
        [("", ["TDV004"]), (".cpu()", [])],
    ),
    "what a context manager of one's own leaves behind": (
        """
        class Meter:
            def __init__(self):
                self.blank = torch.zeros(3)
                self.total = self.blank.to(device)

            @contextmanager
            def epoch(self):
                try:
                    yield self
                finally:
                    self.total = {0}


        meter = Meter()
        for _ in range(3):
            with meter.epoch() as running:
                running.total += x[0]
        """,
        [
            ("self.blank.clone()", ["TDV004"]),
            ("self.blank.to(device)", []),
            ("torch.zeros_like(self.total)", []),
        ],
    ),
    "a list of modules that is taken apart with a star": (
        """
        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)

            def forward(self, x):
                return self.lin(x)

            def widen(self):
                self.lin = nn.Linear(3, 3){0}


        class Net(nn.Module):
            def __init__(self, count):
                super().__init__()
                self.layers = nn.ModuleList(Layer() for _ in range(count))

            def forward(self, x):
                *hidden, last = self.layers
                for layer in hidden:
                    x = torch.relu(layer(x))
                return last(x)


        net = Net(3).to(device)
        net.layers[1].widen()
        net(x)
        """,
        [("", ["TDV008"]), (".to(device)", [])],
    ),
    "a proxy lives where what it stands for lives": (
        """
        class Norm:
            def __init__(self, module):
                self.module = weakref.proxy(module)
                self.u = torch.ones(3, device=self.module.weight.device)

            def __call__(self):
                return self.u @ self.module.weight


        net = nn.Linear(3, 3)
        {0}
        norm = Norm(net)
        net.to(device)
        norm()
        """,
        [("", ["TDV004"]), ("net.to(device)", [])],
    ),
    "a result that the caller moves is not left behind": (
        """
        def dataset(n):
            xs = torch.empty(n, 3, device=device)
            ys = torch.empty(n, 3)
            for i in range(n):
                xs[i] = i
                ys[i] = i
            return xs, ys


        xs, ys = dataset(4)
        loss = xs - {0}
        """,
        [("ys.to(device)", []), ("ys", ["TDV004", "TDV005"])],
    ),
    "a distribution of one that is sampled with an empty shape": (
        """
        def draw(alpha, size=()):
            return torch.distributions.Beta(alpha, alpha).sample(torch.Size(size))


        x * draw(0.5{0})
        """,
        [("", []), (", (3,)", ["TDV004"])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    source, ways = CASES[name]
    told_each_way(START, source, ways)
