"""Modules whose parameters a loop gives other data are where that data is."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.registry import all_rules

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

PROGRAM = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net, other = nn.Linear(3, 3).to(device), nn.Linear(3, 3).{other}
{loop}
print(net(torch.rand(2, 3)))
print(net(torch.rand(2, 3, device=device)))
"""
ON_CPU, ON_DEVICE = "print(net(torch.rand(2, 3)))", "print(net(torch.rand(2, 3, device=device)))"


def told(loop: str, other: str = "cpu()") -> list[str]:
    """The lines where an input meets a model elsewhere."""
    whole = PROGRAM.format(loop=textwrap.dedent(loop), other=other)
    lines = whole.splitlines()
    return sorted(
        {lines[one.range.start.row - 1] for one in check_source(whole, "program.py", DEFAULT_RULES)}
    )


@pytest.mark.parametrize(
    ("loop", "fails"),
    [
        ("for p in net.parameters():\n    p.data = p.data.cpu()", [ON_DEVICE]),
        ("for p in net.parameters():\n    p.data = p.data.to(device)", [ON_CPU]),
        ("for name, p in net.named_parameters():\n    p.data = p.detach().cpu().clone()", [ON_DEVICE]),
        ("for p, q in zip(net.parameters(), other.parameters()):\n    p.data = q.data", [ON_DEVICE]),
        ("for q, p in zip(other.parameters(), net.parameters()):\n    p.data = q.data.to(device)", [ON_CPU]),
        ("for p, q in zip(net.parameters(), other.parameters()):\n    q.data = p.data.cpu()", [ON_CPU]),
        ("for p in net.parameters():\n    p.data = p.data * 2", [ON_CPU]),
        ("for p in net.parameters():\n    p.data.copy_(p.data.cpu())", [ON_CPU]),
        ("for p in net.parameters():\n    p.grad = None", [ON_CPU]),
        # which of them are given anything is not known
        ("for p in net.parameters():\n    if p.ndim > unknown():\n        p.data = p.data.cpu()", []),
    ],
)
def test_what_a_loop_gives_to_all_parameters(loop: str, fails: list[str]) -> None:
    assert told(loop) == fails


def test_both_are_where_the_data_is() -> None:
    loop = "for p, q in zip(other.parameters(), net.parameters()):\n    p.data = q.data\nnet = other"
    assert told(loop) == [ON_CPU]
    assert told(loop.replace("q.data\n", "q.data.cpu()\n"), "to(device)") == [ON_DEVICE]
