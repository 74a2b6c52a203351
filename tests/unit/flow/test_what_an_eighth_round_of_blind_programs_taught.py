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
    "what is kept by device, or by something else": (
        """
        class Table:
            def __init__(self):
                self.kept = {{}}

            def __call__(self, like):
                key = {0}
                hit = self.kept.get(key)
                if hit is None:
                    hit = torch.arange(3).to(like.device)
                    self.kept[key] = hit
                return self.kept[key]


        table = Table()
        table(torch.ones(3))
        x * table(x)
        """,
        [("(like.device, like.dtype)", []), ("(like.shape, like.dtype)", ["TDV004"])],
    ),
    "what is made without a device is on the CPU, whatever it is kept by": (
        """
        class Table:
            def __init__(self):
                self.kept = {{}}

            def __call__(self, like):
                key = like.device, like.shape
                if key not in self.kept:
                    self.kept[key] = torch.arange(3{0})
                return self.kept[key]


        table = Table()
        x * table(x)
        """,
        [("", ["TDV004"]), (", device=like.device", [])],
    ),
    "an optimizer that a function makes of the parameters it is given": (
        """
        OPTIMIZERS = {{
            "adagrad": lambda parameters, lr: torch.optim.Adagrad(parameters, lr=lr),
            "sgd": lambda parameters, lr: torch.optim.SGD(parameters, lr=lr),
        }}


        def build(net, name):
            return OPTIMIZERS[name](net.parameters(), 0.1)


        net = nn.Linear(3, 1)
        opt = build(net, "{0}")
        net.to(device)
        net(x).sum().backward()
        opt.step()
        """,
        [("adagrad", ["TDV014"]), ("sgd", [])],
    ),
    "what was loaded takes the place of a tensor": (
        """
        class Whitener:
            def __init__(self):
                self.mean = {0}

            def load_state_dict(self, state):
                self.mean = state["mean"]


        class Manager:
            def __init__(self, **parts):
                self.parts = parts

            def restore(self, path):
                saved = torch.load(path, map_location="cpu")
                for name, part in self.parts.items():
                    part.load_state_dict(saved[name])


        whitener = Whitener()
        Manager(whitener=whitener).restore("last.pt")
        x - 0.5 * whitener.mean
        """,
        [("torch.zeros(3, device=device)", ["TDV004"]), ("0.0", []), ("torch.zeros((), device=device)", [])],
    ),
    "a descriptor that keeps what it made under a name of its own": (
        """
        class Temperature:
            def __set_name__(self, owner, name):
                self.slot = "_" + name

            def __get__(self, thing, owner=None):
                if self.slot not in thing.__dict__:
                    thing.__dict__[self.slot] = torch.full((1,), 0.2{0})
                return thing.__dict__[self.slot]


        class Agent:
            temperature = Temperature()

            def __init__(self):
                self.device = device


        x * Agent().temperature.exp()
        """,
        [("", ["TDV004"]), (", device=thing.device", [])],
    ),
    "a dict of one's own that is asked with several keys": (
        """
        class Grids(dict):
            def __init__(self, like):
                super().__init__()
                self.like = like

            def __missing__(self, key):
                height, width = key
                self[key] = torch.ones(height, width){0}
                return self[key]


        grids = Grids(x)
        for _ in range(2):
            x + grids[2, 3]
        """,
        [("", ["TDV004"]), (".to(self.like.device)", [])],
    ),
    "an object that is a hook, and tells those that listen": (
        """
        class Listener:
            def __init__(self):
                self.last = torch.zeros(2)

            def report(self, values):
                self.last = self.last + values


        class Reporter:
            def __init__(self):
                self.listeners = weakref.WeakSet()

            def __call__(self, module, args, out):
                for one in self.listeners:
                    one.report(out.detach(){0})


        net, listener, reporter = nn.Linear(3, 1).to(device), Listener(), Reporter()
        reporter.listeners.add(listener)
        net.register_forward_hook(reporter)
        net(x)
        """,
        [("", ["TDV004"]), (".cpu()", [])],
    ),
    "what a dict makes for a key that it has not": (
        """
        from collections import defaultdict

        sums = defaultdict(lambda: torch.zeros(3{0}))
        for name in ("a", "b"):
            sums[name] = sums[name] + x[0]
        """,
        [("", ["TDV004"]), (", device=device", [])],
    ),
    "layers of one's own among those that a model goes through": (
        """
        class Scaled:
            def attach(self):
                self.register_buffer("scale", None)
                return self

            def freeze(self):
                self.scale = torch.ones(3){0}


        class Linear(Scaled, nn.Linear):
            def forward(self, x):
                return super().forward(x) * self.scale


        net = nn.Sequential(Linear(3, 3).attach(), nn.ReLU()).to(device)
        for layer in net.modules():
            if isinstance(layer, Scaled):
                layer.freeze()
        net(x)
        """,
        [("", ["TDV004"]), (".to(self.weight.device)", [])],
    ),
    "a record that is gone through by its fields": (
        """
        from dataclasses import dataclass, fields


        @dataclass
        class Batch:
            x: torch.Tensor
            y: torch.Tensor


        def moved(thing):
            if isinstance(thing, torch.Tensor):
                return thing.to(device)
            if hasattr(thing, "{0}"):
                return type(thing)(**{{one.name: moved(getattr(thing, one.name)) for one in fields(thing)}})
            return thing


        batch = moved(Batch(torch.ones(3), torch.ones(3)))
        x + batch.y
        """,
        [("__dataclass_fields__", []), ("_no_fields", ["TDV005"])],
    ),
    "a part of the program that works on the host": (
        """
        class Kernel(nn.Module):
            def __init__(self):
                super().__init__()
                self.noise = nn.Parameter(torch.zeros(()))

            def gram(self, a):
                return a @ a.T + self.noise.exp() * torch.eye(len(a))


        class Process:
            def __init__(self):
                self.features = nn.Linear(3, 3).to(device)
                self.kernel = Kernel()

            def loss(self, x):
                return self.kernel.gram(self.features(x){0}).sum()


        def main():
            Process().loss(x)


        main()
        """,
        [(".cpu()", []), ("", ["TDV005"])],
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
