"""What a loop takes out of a sampler of batches are lists of indices: what they select keeps its dimensions."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

PROGRAM = """\
import numpy as np
import torch
from torch.utils.data import BatchSampler, SequentialSampler, SubsetRandomSampler
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
kept = torch.zeros(8, 1)
now = torch.randn(8, 1, device=device)
def ratios(pairs):
    sampler = BatchSampler(SubsetRandomSampler(range(8)), 2, drop_last=True)
    {loop}
        yield torch.exp(now[one] - kept[one])
for found in ratios([(0, 0)]):
    print(found)
"""
LISTS = {
    "a sampler with a name": "for one in sampler:",
    "a sampler": "for one in BatchSampler(SequentialSampler(range(8)), 2, False):",
    "parts of an array": "for one in np.array_split(np.arange(8), 2):",
}
OTHERS = {
    "pairs, which give a number": "for one in pairs:",
    "another sampler, of numbers": "for one in SequentialSampler(range(8)):",
    "more than one loop": "for one in sampler: print(one)\n    for one in pairs:",
}


def _told(loop: str) -> list[str]:
    text = PROGRAM.format(loop=loop)
    return [one.code for one in findings(text, "a.py", Config(off_by_default=OFF_BY_DEFAULT))]


@pytest.mark.parametrize("loop", LISTS.values(), ids=LISTS)
def test_lists(loop: str) -> None:
    assert _told(loop) == ["TDV004"]


@pytest.mark.parametrize("loop", OTHERS.values(), ids=OTHERS)
def test_what_may_be_numbers(loop: str) -> None:
    assert _told(loop) == []
