"""Pairs of look-alikes from libraries that no study had looked at before: what was reported there and is right, beside what is wrong."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = """\
import numpy as np
import torch
from torch import nn
"""

PAIRS: dict[str, tuple[str, str]] = {
    "a module takes the output of its own part to where both are": (
        """
        class Encoder(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.device = device
                self.items = nn.Embedding(5, 3)
            def forward(self, ids):
                return self.items(ids).to(self.device)
            def scores(self, ids):
                return self.items(ids).to(next(self.parameters()).device)
        """,
        """
        def scores(items: nn.Module, ids):
            device = next(items.parameters()).device
            return items(ids).to(device)
        """,
    ),
    "the branch for what is no tensor, where it may be one thing or the other": (
        """
        class Separator:
            def executed(self, x, device):
                if (
                    self.backend == "mlx"
                    and torch.device(device).type == "mps"
                    and self.run is not None
                    and (self.run.a or self.run.b)
                    and (self.run.c or self.run.d)
                    and not self.run.training
                ):
                    import mlx.core as mx
                    return mx.array(x)
                return torch.from_numpy(x).to(device)
            def mask(self, x, device, again):
                mask = self.executed(x, device)
                if again:
                    mask = (mask[:, :2] + self.executed(x, device)[:, :2]) * 0.5
                else:
                    mask = mask[:, :2]
                if not isinstance(mask, torch.Tensor):
                    return np.array(mask)
                return mask.cpu().numpy()
        """,
        """
        class Separator:
            def executed(self, x, device):
                if (
                    self.backend == "mlx"
                    and torch.device(device).type == "mps"
                    and self.run is not None
                    and (self.run.a or self.run.b)
                    and (self.run.c or self.run.d)
                    and not self.run.training
                ):
                    import mlx.core as mx
                    return mx.array(x)
                return torch.from_numpy(x).to(device)
            def mask(self, x, device, again):
                mask = self.executed(x, device)
                if again:
                    mask = (mask[:, :2] + self.executed(x, device)[:, :2]) * 0.5
                else:
                    mask = mask[:, :2]
                return np.array(mask)
        """,
    ),
    "a default device that the function insists on": (
        """
        class Voice:
            def __init__(self, device="cuda:0"):
                if "cuda" in device:
                    assert torch.cuda.is_available()
                self.model = nn.Linear(3, 3).to(device)
        def insisting(device="cuda:0"):
            if not torch.cuda.is_available():
                raise RuntimeError("a GPU is needed")
            return torch.ones(3, device=device)
        """,
        """
        class Voice:
            def __init__(self, device="cuda:0"):
                if "cuda" in device:
                    assert device
                self.model = nn.Linear(3, 3).to(device)
        """,
    ),
}


def _codes(program: str) -> list[str]:
    return [finding.code for finding in findings(HEAD + textwrap.dedent(program), "program.py", Config())]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []
