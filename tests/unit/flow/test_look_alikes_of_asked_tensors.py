"""Pairs of look-alikes about what is asked of a tensor: its type, and which of its parts a loop takes."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config, Selection
from torchdev_lint.engine.check import check_source

HEAD = """
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
whole = nn.Linear(3, 3).to(device).state_dict()
there = torch.ones(3, 4).to(device)
def anchors(best, table, n):
"""
TESTS = {
    "the type on the CPU": ("if {}['a'].type() == 'torch.LongTensor':", 0),
    "the type on the GPU": ("if {}['a'].type() == 'torch.cuda.LongTensor':", 1),
    "another type than that on the CPU": ("if {}['a'].type() != 'torch.LongTensor':", 1),
    "another type than that on the GPU": ("if not {}['a'].type() != 'torch.LongTensor':", 0),
    "the type of something": ("if {}['a'].type() == kind:", 1),
    "no type": ("if {}['a'].type() == 'long':", 1),
    "something else": ("if {}['a'].layout == 'torch.LongTensor':", 1),
}


def _told(text: str) -> int:
    config = Config(command_line=Selection(select=("TDV004", "TDV005")))
    return len(check_source(HEAD.partition("def anchors")[0] + text, "run.py", config))


@pytest.mark.parametrize(("test", "told"), TESTS.values(), ids=TESTS)
def test_a_question_for_the_type(test: str, told: int) -> None:
    """`Tensor.type()` names the device as well."""
    text = test.format("whole") + "\n    whole['a'] += torch.ones(3, 3).type(torch.LongTensor)\n"
    assert _told(text) == told


@pytest.mark.parametrize(("kind", "told"), [("torch.LongTensor", 0), ("torch.cuda.LongTensor", 1)])
def test_a_question_for_the_type_of_one_of_two(kind: str, told: int) -> None:
    """Whichever it is, where it is known where it is."""
    text = f"""
import os
either = whole if os.environ.get("FULL") else eval("whole")
if either['a'].type() == '{kind}':
    either['a'] += torch.ones(3, 3).type(torch.LongTensor)
"""
    assert _told(text) == told


PARTS = {
    "by its number": ("for i in range(n):\n    a = ({t})[best[i], 0]", 0),
    "by its number, under a name": ("for i in range(n):\n    b = best[i]\n    a = ({t})[b, 0]", 0),
    "in turn": ("for b in best:\n    a = ({t})[b, 0]", 0),
    "all": ("for i in range(n):\n    a = ({t})[best, 0]", 1),
    "some": ("for i in range(n):\n    a = ({t})[best[i:], 0]", 1),
}


@pytest.mark.parametrize(("lines", "told"), PARTS.values(), ids=PARTS)
def test_which_parts_index(lines: str, told: int) -> None:
    """A part of what has one dimension is a number: so is what it indexes, and PyTorch admits it on the CPU."""
    body = lines.format(t="torch.Tensor(table)") + "\n    x = there[0, i] / a\n"
    body = body.replace("there[0, i]", "there[0, 1]") if "range" not in lines else body
    text = f"def anchors(scores, table, n):\n    best = scores.argmax(dim=1)\n{textwrap.indent(body, '    ')}"
    assert _told(text) == told
