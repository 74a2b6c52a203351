"""Parts of what a function is given that it shows to be tensors: items of a batch, elements of a tuple."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = "import torch\nfrom lib import helper\n\ndevice = helper()\n"

PAIRS: dict[str, tuple[str, str]] = {
    "an item that has a method of tensors": (
        """
        def mask(batch):
            x = batch[0]
            n = len(x)
            return torch.ones(n, 3) + x
        """,
        """
        def mask(batch):
            x = batch[0]
            n = x.size(0)
            return torch.ones(n, 3) + x
        """,
    ),
    "elements of a tuple, by its annotation": (
        """
        def decode(given: tuple):
            scores, lengths = given
            steps = scores.size(1)
            return lengths - torch.zeros(steps)
        """,
        """
        def decode(given: tuple):
            scores, lengths = given
            steps = scores.size(1)
            return scores - torch.zeros(steps)
        """,
    ),
    "one of two parts": (
        """
        def mask(*given):
            x = given[0] if torch.is_tensor(given[0]) else given[0][0]
            return torch.ones(3, 1) * x
        """,
        """
        def mask(*given):
            x = given[0] if torch.is_tensor(given[0]) else given[0][0]
            x = x.long()
            return torch.ones(3, 1) * x
        """,
    ),
    "an attribute that a function of PyTorch's is given": (
        """
        def order(data):
            x = data.x
            ranks = torch.as_tensor(x)
            return x * torch.ones(3, 1)
        """,
        """
        def order(data):
            x = data.x
            ranks = torch.argsort(x)
            return x * torch.ones(3, 1)
        """,
    ),
}


def _codes(text: str) -> list[str]:
    return [
        finding.code
        for finding in findings(
            HEAD + textwrap.dedent(text), "run.py", Config(off_by_default=frozenset({"TDV106"}))
        )
    ]


@pytest.mark.parametrize("name", PAIRS)
def test_only_the_second_of_a_pair_is_at_fault(name: str) -> None:
    good, bad = PAIRS[name]
    assert _codes(good) == []
    assert _codes(bad) == ["TDV005"]
