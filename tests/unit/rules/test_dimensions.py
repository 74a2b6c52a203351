"""A tensor without dimensions may meet another device's: what certainly has some is told apart from what may have none."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

PAIR = "a, b = torch.rand(4, 3).cuda().cpu(), torch.rand(4, 3).cuda()\n"


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("torch.max(a, a) - b", 1),
        ("torch.min(a, other=a) - b", 1),
        ("torch.max(a) - b", 0),  # 0-dim: a number to the other device
        ("torch.max(a.sum(), a.mean()) - b", 0),
        ("torch.max(a, 0)[0] - b", 1),
        ("torch.stack((a, a)).sum(0) - b", 1),
        ("torch.stack((a.sum(), a.sum())).sum(0) - b", 0),
        ("torch.stack((a, a)).sum() - b", 0),
    ],
)
def test_what_certainly_has_dimensions(line: str, count: int) -> None:
    found = check_source("import torch\n" + PAIR + line, "program.py", Config(select=("TDV004",)))
    assert len(found) == count


LOADED = """
from torch.utils.data import DataLoader, TensorDataset
b = torch.rand(4, 3).cuda()
part = next(iter(DataLoader(TensorDataset(torch.rand(8, 3)), batch_size=4)))[0]
"""


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("torch.stack((part, part)).sum(0) - b", 1),  # a batch has a dimension more than what is in it
        ("part.sum(0) - b", 0),  # which may have none
    ],
)
def test_a_batch_has_a_dimension_more(line: str, count: int) -> None:
    found = check_source("import torch\n" + LOADED + line, "program.py", Config(select=("TDV004",)))
    assert len(found) == count
