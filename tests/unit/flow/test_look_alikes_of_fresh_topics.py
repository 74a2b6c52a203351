"""Pairs of look-alikes: how many dimensions tensors and arrays have, and layers whose weight is computed by another module."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.registry import all_rules

HEAD = """\
import numpy as np
import torch
from torch import nn
from torch.nn.utils import parametrize
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

PARAMETRIZED = """
class Masked(nn.Module):
    def __init__(self, mask):
        super().__init__()
        {kept}
    def forward(self, weight):
        return weight * self.mask
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        parametrize.register_parametrization(self.layer, "weight", Masked(torch.ones(4, 4).tril()))
    def forward(self, x):
        return self.layer(x)
net = Net().to(device)
net(torch.zeros(2, 4, device=device))
"""


REMOVED = """
class Masked(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.mask = mask
    def forward(self, weight):
        return weight * self.mask
layer = nn.Linear(4, 4)
parametrize.register_parametrization(layer, "weight", Masked(torch.ones(4, 4)))
{removed}
layer.to(device)
layer(torch.zeros(2, 4, device=device))
"""

WEIGHTS = """
def importances(tree, count):
    chances = {chances}
    weights = (count * chances) ** -0.4
    return torch.tensor(weights / 2.0, dtype=torch.float32)
def learn(tree, picked, net):
    losses = net(torch.zeros(len(picked), 3, device=device)).pow(2).sum(1)
    return (importances(tree, len(picked)) * losses).mean()
learn([0.1, 0.2, 0.3], [1, 2], nn.Linear(3, 3).to(device))
"""

PAIRS: dict[str, tuple[str, str]] = {
    "a parametrization that keeps a tensor": (
        PARAMETRIZED.format(kept='self.register_buffer("mask", mask)'),
        PARAMETRIZED.format(kept="self.mask = mask"),
    ),
    "a parametrization of a layer that was moved": (
        """
        class Masked(nn.Module):
            def __init__(self, mask):
                super().__init__()
                self.mask = mask
            def forward(self, weight):
                return weight * self.mask
        layer = nn.Linear(4, 4).to(device)
        parametrize.register_parametrization(layer, "weight", Masked(torch.ones(4, 4, device=device)))
        """,
        """
        class Masked(nn.Module):
            def __init__(self, mask):
                super().__init__()
                self.mask = mask
            def forward(self, weight):
                return weight * self.mask
        layer = nn.Linear(4, 4).to(device)
        parametrize.register_parametrization(layer, "weight", Masked(torch.ones(4, 4)))
        """,
    ),
    "a parametrization that is removed before the layer is moved": (
        REMOVED.format(removed='parametrize.remove_parametrizations(layer, "weight")'),
        REMOVED.format(removed="print(layer.weight)"),
    ),
    "the mean over the first of some dimensions": (
        """
        rows = torch.randn(20)
        mean = rows.mean(0)
        torch.zeros(3, device=device) - mean
        """,
        """
        rows = torch.randn(20)[:, None]
        mean = rows.mean(0)
        torch.zeros(3, device=device) - mean
        """,
    ),
    "a slice of rows": (
        """
        rows = torch.randn(20)
        torch.zeros(3, device=device) - rows[2:5].mean(0)
        """,
        """
        rows = torch.randn(20, 3)
        torch.zeros(3, device=device) - rows[2:5].mean(0)
        """,
    ),
    "a spectrum and back": (
        """
        rows = torch.randn(20)
        torch.zeros(3, device=device) - torch.fft.irfft(torch.fft.rfft(rows)).mean(0)
        """,
        """
        rows = torch.randn(20).unsqueeze(0)
        torch.zeros(3, device=device) - torch.fft.irfft(torch.fft.rfft(rows)).mean(0)
        """,
    ),
    "a sum of waves": (
        """
        heights = torch.randn(40, 4)
        rows = sum(heights[:, i] * torch.sin(heights[:, i]) for i in range(4))
        torch.zeros(3, device=device) - rows.mean(0)
        """,
        """
        heights = torch.randn(40, 4)
        rows = sum(heights[:, i : i + 1] * torch.sin(heights[:, i : i + 1]) for i in range(4))
        torch.zeros(3, device=device) - rows.mean(0)
        """,
    ),
    "weights computed in an array of chances": (
        WEIGHTS.format(chances="max(tree)"),
        WEIGHTS.format(chances="np.array([tree[k] for k in range(count)]) / sum(tree)"),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_is_silent_and_the_wrong_one_is_told(name: str) -> None:
    right, wrong = (HEAD + textwrap.dedent(program) for program in PAIRS[name])
    assert [str(one) for one in findings(right, "right.py", DEFAULT_RULES)] == []
    assert findings(wrong, "wrong.py", DEFAULT_RULES) != []


TABLES = """
class Memory:
    def __init__(self, size, width, device):
        self.rows = {rows}
        self.device = device
    def put(self, index, row):
        self.rows[index] = torch.zeros(len(row))
    def take(self, index):
        return self.rows[index].to(self.device)
"""

AHEAD = """
class Ahead:
    def __init__(self, loader, device):
        self.loader = loader
        self.device = torch.device(device)
        self.stream = {stream}
    def wait(self):
        if self.stream is not None:
            torch.cuda.current_stream(self.device).wait_stream(self.stream)
"""

AUDITS: dict[str, tuple[str, str, str]] = {
    "what is written into a table is copied, what is kept in a list is not": (
        "TDV106",
        TABLES.format(rows="torch.zeros(size, width)"),
        TABLES.format(rows="{}"),
    ),
    "a stream that there is for CUDA only": (
        "TDV109",
        AHEAD.format(stream='torch.cuda.Stream(device) if self.device.type == "cuda" else None'),
        AHEAD.format(stream="loader.stream"),
    ),
}


@pytest.mark.parametrize("name", AUDITS)
def test_audits_tell_the_two_apart(name: str) -> None:
    code, *programs = AUDITS[name]
    right, wrong = (findings(HEAD + text, "pool/program.py", Config(select=(code,))) for text in programs)
    assert [str(one) for one in right] == []
    assert wrong != []
