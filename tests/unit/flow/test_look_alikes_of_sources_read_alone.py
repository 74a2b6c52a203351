"""Pairs of look-alikes from a data set of sources, each of which was read without its project: what is right, beside what is wrong."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

HEAD = "import torch\nfrom torch import nn\n"

PAIRS: dict[str, tuple[str, str]] = {
    "a group of processes has a size, too": (
        """
        def offset(lengths: torch.Tensor, group):
            counts = torch.stack([torch.zeros(1) for _ in range(group.size())])
            offsets = torch.cat([torch.zeros(1), counts.view(-1)])
            rank = group.rank()
            return offsets[rank]
        """,
        """
        def offset(lengths: torch.Tensor, group):
            counts = torch.stack([torch.zeros(1) for _ in range(group.size(0))])
            offsets = torch.cat([torch.zeros(1), counts.view(-1)])
            rank = group.unsqueeze(0)
            return offsets + rank
        """,
    ),
    "a truth value for a condition in TorchScript": (
        """
        def decode(model, encoded: torch.Tensor):
            tokens = torch.tensor([[1]], device=encoded.device)
            return model.decoder(tokens, need_pad=torch.tensor([False]))
        """,
        """
        def decode(model, encoded: torch.Tensor):
            tokens = torch.tensor([[1]], device=encoded.device)
            return model.decoder(tokens, need_pad=torch.tensor([False, True]))
        """,
    ),
    "what is given to a tokenizer": (
        """
        def embed(self, model, text):
            device = next(model.parameters()).device
            return model(["a", text]).to(device)
        """,
        """
        def embed(self, model, text):
            device = next(model.parameters()).device
            return model(text).to(device)
        """,
    ),
    "an input that is where the output is taken to": (
        """
        class Trunk(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.LayerNorm(3)
            def forward(self, x, given):
                device = x.device
                return self.norm(torch.zeros_like(x).detach()).to(device)
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(3, 3)
                self.trunk = Trunk()
            def forward(self, ids, given):
                return self.trunk(self.embedding(ids), given)
        """,
        """
        class Trunk(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.LayerNorm(3)
            def forward(self, x, given):
                device = x.device
                return self.norm(given).to(device)
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(3, 3)
                self.trunk = Trunk()
            def forward(self, ids, given):
                return self.trunk(self.embedding(ids), given)
        """,
    ),
}


def told(program: str) -> list[str]:
    text = HEAD + textwrap.dedent(program)
    return [
        f"{finding.code} {finding.message}"
        for finding in findings(
            text, "/one.py", Config(off_by_default=frozenset({"TDV106"})), sources=DiskSources()
        )
        if finding.code != "TDV101"
    ]


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_right_is_silent(name: str) -> None:
    assert told(PAIRS[name][0]) == []


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_wrong_is_told(name: str) -> None:
    assert told(PAIRS[name][1])


def test_the_name_of_an_argument_has_no_comma() -> None:
    (message,) = told(PAIRS["a truth value for a condition in TorchScript"][1])
    assert "but meets `tokens` on `encoded.device`" in message
