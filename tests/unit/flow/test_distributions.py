"""Distributions of `torch.distributions` are where the tensors are that they were made from."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = "import torch\nimport torch.distributions as D\nfrom torch import nn\nfrom torch.distributions import Categorical, Normal\n"

PAIRS: dict[str, tuple[str, str]] = {
    "a prior made from tensors stays on the CPU": (
        """
        class Flow(nn.Module):
            def __init__(self):
                super().__init__()
                self.prior = Normal(0.0, 1.0)

            def forward(self, z: torch.Tensor):
                return self.prior.log_prob(z).sum()
        """,
        """
        class Flow(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.prior = D.MultivariateNormal(torch.zeros(n), torch.eye(n))

            def forward(self, z: torch.Tensor):
                return self.prior.log_prob(z).sum()
        """,
    ),
    "the chosen class is picked by an index, be it a number": (
        """
        def surprise(logits: torch.Tensor):
            return D.Bernoulli(torch.tensor(0.5)).log_prob(logits), D.Categorical(logits=logits).log_prob(logits.new_tensor(1))
        """,
        """
        def surprise(logits: torch.Tensor):
            return D.Categorical(logits=logits).log_prob(torch.tensor(1))
        """,
    ),
    "numbers that were read on the host make a tensor there": (
        """
        def again(x: torch.Tensor):
            row = torch.zeros(4, device=x.device).tolist()
            number = torch.zeros((), device=x.device).tolist()
            return x + torch.tensor(number), x + torch.tensor(row, device=x.device)
        """,
        """
        def again(x: torch.Tensor):
            row = torch.zeros(4, device=x.device).tolist()
            return x + torch.tensor(row)
        """,
    ),
    "a draw is where the parameters are": (
        """
        def accept(p: torch.Tensor):
            return D.Uniform(torch.zeros_like(p), 1).sample() < p
        """,
        """
        def accept(p: torch.Tensor):
            return D.Uniform(torch.zeros(3), torch.ones(3)).sample() < p
        """,
    ),
    "a draw from numbers": (
        """
        def noisy(x: torch.Tensor):
            return x + Normal(0.0, 1.0).sample()
        """,
        """
        def noisy(x: torch.Tensor):
            return x + Normal(0.0, 1.0).sample(x.shape)
        """,
    ),
    "parameters together": (
        """
        def spread(mean: torch.Tensor):
            return D.Independent(Normal(mean, torch.ones_like(mean)), 1).rsample()
        """,
        """
        def spread(mean: torch.Tensor):
            return D.Independent(Normal(mean, torch.ones(3)), 1).rsample()
        """,
    ),
    "actions and their probabilities": (
        """
        def loss(logits: torch.Tensor):
            policy = Categorical(logits=logits)
            return policy.log_prob(policy.sample()).mean()
        """,
        """
        def loss(logits: torch.Tensor):
            policy = Categorical(logits=logits)
            return policy.log_prob(torch.zeros(8)).mean()
        """,
    ),
    "some copy what they are asked about": (
        """
        def score(rate: torch.Tensor):
            return D.Gamma(rate, rate).log_prob(torch.ones(3))
        """,
        """
        def score(rate: torch.Tensor):
            return D.Exponential(rate).log_prob(torch.ones(3))
        """,
    ),
    "a policy that is kept where the program says": (
        """
        class Config:
            DEVICE = torch.device("cpu")

        class Policy(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)
                self.to(Config.DEVICE)

            def forward(self, x, action: torch.Tensor):
                return Normal(self.lin(x.to(Config.DEVICE)), 1.0).log_prob(action)
        """,
        """
        class Policy(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)

            def forward(self, x: torch.Tensor):
                return Normal(self.lin(x), 1.0).log_prob(torch.ones(3))
        """,
    ),
    "parameters that are not known": (
        """
        def scores(x: torch.Tensor, build):
            return Normal(build(), torch.ones(3)).log_prob(x)
        """,
        """
        def scores(x: torch.Tensor, build):
            return Normal(0, torch.ones(3)).log_prob(x)
        """,
    ),
}


def _codes(program: str) -> list[str]:
    return [found.code for found in findings(HEAD + textwrap.dedent(program), "program.py", Config())]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []


def test_a_fix_never_moves_a_distribution() -> None:
    program = PAIRS["a prior made from tensors stays on the CPU"][1]
    (found,) = findings(HEAD + textwrap.dedent(program), "program.py", Config())
    assert found.fix is None
