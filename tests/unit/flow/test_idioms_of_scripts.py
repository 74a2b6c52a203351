"""Idioms of scripts that users write, each right and wrong: found when whole programs were written without looking at the linter."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

HEAD = """\
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
there, here = torch.rand(4, 3, device=device), torch.rand(4, 3).cpu()
"""

CHOSEN_IN_TURN = """
def pick():
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")
x = torch.rand(4, 3, device=pick())
x @ here.T%s
"""

CHOSEN_IN_A_LOOP = """
def pick(wanted=("cuda", "mps")):
    for name in wanted:
        if name == "cuda" and torch.cuda.is_available():
            return torch.device("cuda")
        if name == "mps" and torch.backends.mps.is_available():
            return torch.device("mps")
    return torch.device("cpu")
x = torch.rand(4, 3, device=pick())
x @ here.T%s
"""

NESTED_RETURNS = """
def pick(flag):
    if torch.cuda.is_available():
        if flag:
            return torch.device("cuda:0")
        return torch.device("cuda")
    return torch.device("cpu")
def main(flag):
    x = torch.rand(4, 3, device=pick(flag))
    return x @ here.T%s
"""

QUEUE = """
class Queue(nn.Module):
    def __init__(self):
        super().__init__()
        %s
        self.queue = nn.functional.normalize(self.queue, dim=0)
    def forward(self, x):
        return x @ self.queue
Queue().to(device)(there)
"""

PAIRS: dict[str, tuple[str, str]] = {
    "a device chosen by two tests, each of which returns": (
        CHOSEN_IN_TURN % ".to(x.device)",
        CHOSEN_IN_TURN % "",
    ),
    "a device chosen in a loop over names": (
        CHOSEN_IN_A_LOOP % ".to(x.device)",
        CHOSEN_IN_A_LOOP % "",
    ),
    "a device chosen by a test inside of another": (
        NESTED_RETURNS % ".to(x.device)",
        NESTED_RETURNS % "",
    ),
    "a buffer that is assigned again": (
        QUEUE % 'self.register_buffer("queue", torch.rand(3, 5))',
        QUEUE % "self.queue = torch.rand(3, 5)",
    ),
}

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)


def _codes(code: str) -> list[str]:
    return [found.code for found in findings(HEAD + textwrap.dedent(code), "program.py", DEFAULT)]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS.keys())
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS.keys())
def test_wrong(_right: str, wrong: str) -> None:
    assert len(_codes(wrong)) == 1
