"""A finding that repeats one of a line before is not told again."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config, Selection
from torchdev_lint.engine.check import check_source

PROGRAM = """
import torch
from torch import nn
device = torch.device("cuda")
model = nn.Linear(3, 3).to(device)
other = nn.Linear(3, 3).to("cuda:1")
y = torch.from_numpy(numbers)
z = torch.from_numpy(numbers)
def run(loader):
    for x in loader:
{lines}
"""
LINES = {
    "once": ("model(y)", 1),
    "again": ("model(y)\ntorch.ones(3, device=device) + y", 1),
    "in a block behind it": ("model(y)\nif loader:\n    model(y)", 1),
    "changed in place": ("model(y.fill_(1))\nmodel(y.mul_(2).add_(1))\nmodel(y)", 1),
    "another made of it": ("model(y)\nmodel(y.mul(2))", 2),
    "another name": ("model(y)\nmodel(z)", 2),
    "beside another device": ("model(y)\nother(y)", 2),
    "another value": ("model(y)\nw = z\nmodel(w)\nw = y\nmodel(w)", 3),
    "another value in a loop": ("model(y)\nfor y in [torch.from_numpy(numbers)]: model(y)", 2),
    "on another way": ("if loader:\n    model(y)\nelse:\n    model(y)", 2),
    "behind a way": ("if loader:\n    model(y)\nmodel(y)", 2),
    "behind what may not have run": ("a = model(y) if loader else None\nmodel(y)", 2),
    "behind what was tried": ("try:\n    model(y)\nexcept ValueError:\n    pass\nmodel(y)", 2),
}


def _findings(lines: str, path: str = "run.py", select: tuple[str, ...] = ("TDV001", "TDV004")) -> list[str]:
    text = PROGRAM.format(lines=textwrap.indent(lines, " " * 8))
    found = check_source(text, path, Config(command_line=Selection(select=select)))
    return [f"{one.code} {one.range.start.row}" for one in found]


@pytest.mark.parametrize(("lines", "told"), LINES.values(), ids=LINES)
def test_what_is_told_again(lines: str, told: int) -> None:
    assert len(_findings(lines)) == told


def test_what_was_not_told() -> None:
    """Without the rule that tells the first one, the second one is."""
    lines = "model(y)\ntorch.ones(3, device=device) + y"
    assert [one[:6] for one in _findings(lines)] == ["TDV001"]
    assert [one[:6] for one in _findings(lines, select=("TDV004",))] == ["TDV004"]


@pytest.mark.parametrize(("path", "told"), [("run.py", 1), ("run.ipynb", 2)])
def test_the_cells_of_a_notebook(path: str, told: int) -> None:
    """A cell that raised does not keep the next one from being run."""
    text = PROGRAM.partition("def run")[0] + "model(y)\nmodel(y)\n"
    config = Config(command_line=Selection(select=("TDV001",)))
    assert len(check_source(text, path, config)) == told
