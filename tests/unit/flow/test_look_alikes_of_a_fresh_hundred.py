"""Pairs of look-alikes from a batch of a hundred programs: what was reported there and right, or missed, beside its opposite."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.registry import all_rules

HEAD = """\
import torch
from torch import nn
"""

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

PLAN = """
def plan():
    n = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if n {}:
        return torch.device("cuda:0"), torch.device("cuda:1")
    return torch.device("cpu"), torch.device("cpu")
print(plan())
"""

BINS = """
class Bins(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        self.register_buffer("edges", torch.empty(0))
    def fit(self, values):
        q = torch.linspace(0, 1, self.n + 1)[1:-1]
        self.edges = torch.quantile(values, q)
        return self
    def forward(self, v):
        return torch.bucketize(v, self.edges)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

LOOKED_UP = """
def fit(net, x):
    return net(x.cuda()).sum()
net = nn.Linear(3, 1).cuda()
x = torch.randn(4, 3)
"""

WALKS = """
class World:
    def __init__(self, n):
        self.moves = torch.tensor([[0.0, 1.0], [0.0, -1.0]])
        self.at = torch.zeros(n, 2)
    def step(self, action):
        self.at = self.at + self.moves[action]
        return self.at.clone()
class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 8), nn.Tanh())
        self.head = nn.Linear(8, 2)
    def forward(self, at):
        return torch.distributions.Categorical(logits=self.head(self.body(at))).sample()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
agent = Agent().to(device)
"""

PARTS = """
class Batch:
    def __init__(self, x, y):
        self.x, self.y = x, y
    def to(self, device):
        for name, value in vars(self).items():
            {}:
                {}
        return self
"""

PAIRS: dict[str, tuple[str, str]] = {
    "a number of GPUs that is 0 where there are none, asked for enough": (
        PLAN.format(">= 2"),
        PLAN.format(">= 1"),
    ),
    "the same, with the number on the left": (PLAN.format("and 1 < n"), PLAN.format("and 0 < n")),
    "a function that is looked up by its name, given a model and what is on the host": (
        LOOKED_UP + 'for name in ("fit",):\n    globals()[name](net, x)\n',
        LOOKED_UP + "from helpers import generate\ngenerate(net, x)\n",
    ),
    "a method of a module, given by the program what it made, before the module is moved": (
        BINS + "times = torch.rand(64)\nbins = Bins(5).fit(times).to(device)\nbins(times.to(device))\n",
        BINS
        + "times = torch.rand(64)\nbins = Bins(5).to(device)\nbins.fit(times.to(device))\nbins(times.to(device))\n",
    ),
    "the same, drawn from a distribution of numbers": (
        BINS
        + "times = torch.distributions.Weibull(2.0, 1.5).sample((64,))\n"
        + "bins = Bins(5).fit(times).to(device)\nbins(times.to(device))\n",
        BINS
        + "times = torch.distributions.Weibull(2.0, torch.ones(1, device=device)).sample((64,))\n"
        + "bins = Bins(5).to(device).fit(times)\nbins(times)\n",
    ),
    "what is drawn for each row of a table, as an index on the host": (
        WALKS
        + "at = torch.zeros(3, 2).to(device)\nfor _ in range(3):\n    at = World(3).step(agent(at).cpu()).to(device)\n",
        WALKS
        + "at = torch.zeros(3, 2).to(device)\nfor _ in range(3):\n    at = World(3).step(agent(at)).to(device)\n",
    ),
    "what is drawn alone is a number, which a table on the host may be asked for": (
        WALKS + "World(1).step(agent(torch.zeros(2).to(device)))\n",
        WALKS + "World(1).step(agent(torch.zeros(1, 2).to(device)))\n",
    ),
    "each tensor that an object holds, moved in a loop": (
        PARTS.format("if torch.is_tensor(value)", "setattr(self, name, value.to(device))"),
        PARTS.format("if torch.is_tensor(value)", "value.to(device)"),
    ),
    "each module that an object holds, which moves in place": (
        PARTS.format("if isinstance(value, nn.Module)", "value.to(device)"),
        PARTS.format("if isinstance(value, torch.Tensor) and value.numel()", "value.to(device)"),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_is_silent_and_the_wrong_one_is_not(name: str) -> None:
    right, wrong = (HEAD + textwrap.dedent(program) for program in PAIRS[name])
    assert [str(one) for one in findings(right, "right.py", DEFAULT_RULES)] == []
    assert findings(wrong, "wrong.py", DEFAULT_RULES) != []


@pytest.mark.parametrize(
    "family", ["Weibull", "Pareto", "Kumaraswamy", "InverseGamma", "FisherSnedecor", "VonMises"]
)
def test_a_distribution_of_numbers_draws_on_the_host(family: str) -> None:
    program = (
        HEAD
        + f"x = torch.distributions.{family}(2.0, 1.5).sample((4,))\nnet = nn.Linear(4, 1).cuda()\nnet(x)\n"
    )
    assert [one.code for one in findings(program, "train.py", DEFAULT_RULES)] == ["TDV001"]
