"""Pairs of look-alikes of the nineteenth fresh programs: the way that it is right, beside the nearest one that is wrong."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.registry import all_rules

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

HEAD = """\
import copy
from dataclasses import dataclass, replace
import numpy as np
import torch
from torch import distributions as D
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


def told(text: str) -> list[tuple[str, str]]:
    """The codes of what is found, and the lines where."""
    whole = HEAD + textwrap.dedent(text)
    lines = whole.splitlines()
    found = check_source(whole, "program.py", DEFAULT_RULES)
    return sorted({(one.code, lines[one.range.start.row - 1].strip()) for one in found})


REPLAY = """
    class Replay:
        def __init__(self, size):
            self.obs = np.zeros((size, 3), dtype=np.float32)
            self.done = np.zeros(size, dtype=np.float32)

        def store(self, i, obs, done):
            self.obs[i], self.done[i] = obs, done

        def sample(self, n):
            idx = np.random.randint(0, 5, size=n)
            return torch.as_tensor(self.obs[idx], device=device), {done}

    class Agent:
        def __init__(self):
            self.q = nn.Linear(3, 1).to(device)

        def update(self, replay, n):
            obs, done = replay.sample(n)
            return self.q(obs).squeeze(1) * (1 - done)

    def main():
        replay = Replay(10)
        replay.store(0, np.zeros(3), 0.0)
        Agent().update(replay, 4)

    main()
"""

GRAPHS = """
    @dataclass
    class Graphs:
        x: torch.Tensor
        batch: torch.Tensor = None

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, g):
            h = self.layer(g.x)
            return h.new_zeros(2, 3).index_add_(0, g.batch, h)

    def collate(sizes):
        return Graphs(x=torch.randn(sum(sizes), 3), batch=torch.repeat_interleave(torch.arange(2), sizes))

    def loader(sizes, n):
        for i in range(0, len(sizes), n):
            yield collate(sizes[i : i + n])

    net = Net().to(device)
    for g in loader(torch.randint(1, 5, (8,)), 2):
        g = replace(g, x=g.x.to(device){more})
        net(g)
"""

HOOKS = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(3, 4, 3)
            self.body = nn.Sequential(nn.Conv2d(4, 4, 3), nn.ReLU(), nn.BatchNorm2d(4), nn.ReLU())
            self.last = nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU())
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            return self.head(self.last(self.body(self.stem(x))).mean((2, 3)))

    class Total:
        def __init__(self, n, device=None):
            self.total = torch.zeros(n, device=device)

        def add(self, x):
            self.total = self.total + x.detach().sum((0, 2, 3))

    def record(net):
        totals = {{}}
        for name, layer in net.named_modules():
            if name in ("stem", "body.0"):
                totals[name] = Total({arguments})

                def hook(module, args, output, name=name):
                    totals[name].add(output)

                layer.register_forward_hook(hook)
        return totals

    net = Net().to(device)
    totals = record(net)
    net(torch.randn(2, 3, 8, 8).to(device))
"""

APPLIED = """
    def note(module, flag):
        if isinstance(module, nn.BatchNorm1d):
            flag[0] = True

    def has_norm(model):
        flag = [False]
        model.apply(lambda module: note(module, flag))
        return flag[0]

    def refresh(model, batches):
        if not has_norm(model):
            return
        for x in batches:
            model({x})

    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).to(device)
    refresh(model, torch.randn(12, 3).split(4))
"""

MIXTURE = """
    class Prior(nn.Module):
        def __init__(self, k, n):
            super().__init__()
            self.k = k
            self.means = nn.Parameter(torch.randn(k, n))

        def forward(self):
            weights = torch.ones(self.k{where})
            parts = D.Independent(D.Normal(self.means, 1.0), 1)
            return D.MixtureSameFamily(D.Categorical(weights), parts)

    prior = Prior(3, 2).to(device)
    print(prior().log_prob(torch.zeros(4, 2, device=device)))
"""

COPY = """
    class Learner:
        def __init__(self, online):
            self.target = copy.deepcopy(online){moved}
            self.online = online.to(device)

        def loss(self, x):
            return self.online(x) - self.target(x)

    learner = Learner(nn.Linear(3, 3))
    learner.loss(torch.randn(4, 3).to(device))
"""

TABLES = """
    class Tables:
        def __init__(self):
            self.held = {{}}

        def table(self, device):
            device = torch.device(device)
            if device not in self.held:
                self.held[device] = torch.arange(4){where}
            return self.held[device]

    tables = Tables()
    print(torch.randn(4, device=device) * tables.table(device))
    print(torch.randn(4) * tables.table("cpu"))
"""

PAIRS: dict[str, tuple[str, str, list[tuple[str, str]]]] = {
    "an array that a method writes into": (
        REPLAY.format(done="torch.as_tensor(self.done[idx], device=device)"),
        REPLAY.format(done="torch.as_tensor(self.done[idx])"),
        [("TDV004", "return self.q(obs).squeeze(1) * (1 - done)")],
    ),
    "a record that a generator yields, with some of its parts replaced": (
        GRAPHS.format(more=", batch=g.batch.to(device)"),
        GRAPHS.format(more=""),
        [("TDV004", "return h.new_zeros(2, 3).index_add_(0, g.batch, h)")],
    ),
    "hooks of modules of many kinds": (
        HOOKS.format(arguments="4, device"),
        HOOKS.format(arguments="4"),
        [("TDV004", "self.total = self.total + x.detach().sum((0, 2, 3))")],
    ),
    "what a function finds that is applied to all modules": (
        APPLIED.format(x="x.to(device)"),
        APPLIED.format(x="x"),
        [("TDV001", "model(x)")],
    ),
    "the weights of a mixture": (
        MIXTURE.format(where=", device=self.means.device"),
        MIXTURE.format(where=""),
        [("TDV005", "weights = torch.ones(self.k)")],
    ),
    "a copy of a model that is moved later": (
        COPY.format(moved=".to(device)"),
        COPY.format(moved=""),
        [("TDV001", "self.target = copy.deepcopy(online)")],
    ),
    "a table for each device": (
        TABLES.format(where=".to(device)"),
        TABLES.format(where=""),
        [("TDV004", "print(torch.randn(4, device=device) * tables.table(device))")],
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_is_silent(name: str) -> None:
    assert told(PAIRS[name][0]) == []


@pytest.mark.parametrize("name", PAIRS)
def test_the_wrong_one_is_told(name: str) -> None:
    _, wrong, expected = PAIRS[name]
    assert [one for one in told(wrong) if one in expected] == expected


def test_a_generator_for_each_device() -> None:
    """The default of one call and the argument of another are two keys."""
    text = """
    class Noise:
        def __init__(self, seed):
            self.seed, self.gens = seed, {}

        def gen(self, device):
            device = torch.device(device)
            if device not in self.gens:
                self.gens[device] = torch.Generator(device=device).manual_seed(self.seed)
            return self.gens[device]

        def normal(self, *shape, device="cpu"):
            return torch.randn(*shape, generator=self.gen(device), device=device)

    noise = Noise(7)
    noise.normal(2, device=device)
    noise.normal(3)
    """
    assert told(text) == []


@pytest.mark.parametrize(
    ("place", "found"), [("", [("TDV004", "print(part.x * part.y)")]), (", device=device", [])]
)
def test_records_of_two_classes_are_not_replaced_as_one(place: str, found: list[tuple[str, str]]) -> None:
    text = f"""
    @dataclass
    class One:
        x: torch.Tensor
        y: torch.Tensor

    @dataclass
    class Other:
        x: torch.Tensor
        y: int = 3

    def parts(flag):
        yield One(torch.zeros(3), torch.zeros(3{place}))
        yield Other(torch.zeros(3))

    def main(flag):
        for part in parts(flag):
            part = replace(part, x=part.x.to(device))
            print(part.x * part.y)
    """
    assert told(text) == found
