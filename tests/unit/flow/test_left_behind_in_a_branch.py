"""A tensor that follows another in one branch and is made on the CPU in the other."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = "import torch\nfrom torch import nn\nfrom lib import Base, draw\n"

PAIRS: dict[str, tuple[str, str]] = {
    "a mode says which": (
        """
        class Weighted(nn.Module):
            def __init__(self, mode):
                super().__init__()
                self.mode = mode
                self.lin = nn.Linear(3, 3)

            def forward(self, x: torch.Tensor):
                if self.mode == "flat":
                    w = torch.ones(4, 3, device=x.device)
                else:
                    w = torch.ones_like(x)
                return self.lin(x * w)
        """,
        """
        class Weighted(nn.Module):
            def __init__(self, mode):
                super().__init__()
                self.mode = mode
                self.lin = nn.Linear(3, 3)

            def forward(self, x: torch.Tensor):
                if self.mode == "flat":
                    w = torch.ones(4, 3)
                else:
                    w = torch.ones_like(x)
                return self.lin(x * w)
        """,
    ),
    "a flag for accelerators says which": (
        """
        def scaled(x: torch.Tensor, use_cuda: bool):
            w = torch.ones_like(x) if use_cuda else torch.ones(4, 3)
            return x * w
        """,
        """
        def scaled(x: torch.Tensor, smooth: bool):
            w = torch.ones_like(x) if smooth else torch.ones(4, 3)
            return x * w
        """,
    ),
    "moved where it matters": (
        """
        def scaled(x: torch.Tensor, late: bool):
            w = torch.ones(4, 3)
            if late:
                w = w.to(x.device)
            return x * w
        """,
        """
        def scaled(x: torch.Tensor, late: bool):
            w = torch.ones(4, 3)
            if late:
                w = x.exp()
            return x * w
        """,
    ),
    "a degenerate case that may never be met": (
        """
        def curve(coef, x: torch.Tensor):
            if len(coef) < 1:
                return torch.zeros(4)
            return x * coef[0]

        def scaled(x: torch.Tensor):
            return curve([0.5, 1.0], x) * x.exp()
        """,
        """
        def curve(flat, x: torch.Tensor):
            if flat:
                return torch.zeros(x.shape)
            return x * 0.5

        def scaled(x: torch.Tensor, flat):
            return curve(flat, x) * x.exp()
        """,
    ),
    "a condition that asks about devices": (
        """
        def scaled(x: torch.Tensor):
            if draw().is_gpu:
                w = x.exp()
            else:
                w = torch.ones(4, 3)
            return x * w
        """,
        """
        def scaled(x: torch.Tensor):
            if draw().is_wide:
                w = x.exp()
            else:
                w = torch.ones(4, 3)
            return x * w
        """,
    ),
    "the device is given": (
        """
        def scaled(device, smooth):
            x = torch.rand(3).to(device)
            if smooth:
                w = torch.ones(3, device=x.device)
            else:
                w = torch.zeros(3, device=device)
            return x * w
        """,
        """
        def scaled(device, smooth):
            x = torch.rand(3).to(device)
            if smooth:
                w = torch.ones(3)
            else:
                w = torch.zeros(3, device=device)
            return x * w
        """,
    ),
    "the module's own weight in the other branch": (
        """
        class Scaled(nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.kind = kind
                self.lin = nn.Linear(3, 3)

            def forward(self, x: torch.Tensor):
                if self.kind == "none":
                    w = torch.tensor(1.0)
                else:
                    w = self.lin.weight
                return x * w
        """,
        """
        class Scaled(nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.kind = kind
                self.lin = nn.Linear(3, 3)

            def forward(self, x: torch.Tensor):
                if self.kind == "none":
                    w = torch.ones(3, 3)
                else:
                    w = self.lin.weight
                return x * w
        """,
    ),
}


def _codes(program: str) -> list[str]:
    return [
        found.code
        for found in findings(
            HEAD + textwrap.dedent(program), "program.py", Config(off_by_default=frozenset({"TDV106"}))
        )
    ]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []
