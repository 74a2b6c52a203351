"""Pairs of look-alikes of the eighteenth fresh programs: the way that it is right, beside the nearest one that is wrong."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.registry import all_rules

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

HEAD = """\
import os
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


def told(text: str) -> list[tuple[str, str]]:
    """The codes of what is found, and the lines where."""
    whole = HEAD + textwrap.dedent(text)
    lines = whole.splitlines()
    found = check_source(whole, "program.py", DEFAULT_RULES)
    return sorted({(one.code, lines[one.range.start.row - 1].strip()) for one in found})


STREAM = """
    class Draw:
        def __init__(self, size):
            self.size = size

        def points(self):
            return torch.rand(self.size, 3)

    class Stream:
        def __iter__(self):
            while True:
                yield Draw(8)

    def endless():
        while True:
            yield Draw(4)

    net = nn.Linear(3, 1).to(device)
    {use}
"""


@pytest.mark.parametrize(
    "use", ["draw = next(iter(Stream()))", "draw = next(endless())", "for draw in Stream(): break"]
)
def test_what_a_generator_without_an_end_makes_is_known(use: str) -> None:
    """It waits at its `yield` when what it gives has been made."""
    assert told(STREAM.format(use=use) + "    net(draw.points().to(device))\n") == []
    assert told(STREAM.format(use=use) + "    net(draw.points())\n") == [
        ("TDV001", "net(draw.points())")
    ]
