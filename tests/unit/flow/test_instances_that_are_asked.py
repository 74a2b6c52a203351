"""`self.memory.update(...)` changes a dict; of an instance of the program's own class it is a method like any other."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

OTHER_RULES = frozenset({"TDV018", "TDV101", "TDV103", "TDV105", "TDV106"})

AGENT = """\
import numpy as np
import torch
from torch import nn


class Memory:
    def __init__(self):
        self.rows, self.scale = [], torch.ones(4)

    def {method}(self, row):
        self.rows.append(row)

    def sample(self):
        rows = np.asarray(self.rows)
        return torch.from_numpy(rows){place}

    def scaled(self, x):
        return x * self.scale


class Agent:
    def __init__(self):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.net = nn.Linear(4, 1).to(self.device)
        self.memory = {made}

    def remember(self, row):
        self.memory.{method}(row)

    def learn(self):
        return self.net(self.memory.{asked})

    def reset(self):
        {reset}
"""


@pytest.mark.parametrize("method", ["update", "add", "push", "append"])
@pytest.mark.parametrize(
    ("place", "made", "reset", "told"),
    [
        ("", "Memory()", "pass", ["TDV001"]),
        (".cuda()", "Memory()", "pass", []),
        ("", "Memory()", "self.memory = None", []),
        ("", "Memory()", "self.memory.pop()", []),
        ("", "make_memory()", "pass", []),
    ],
)
def test_a_memory_that_an_agent_fills(
    method: str, place: str, made: str, reset: str, told: list[str]
) -> None:
    """Where nothing but its own methods are called, it is the one that `__init__` has made."""
    if method == "push" and reset == "self.memory.pop()":
        return
    text = AGENT.format(method=method, place=place, made=made, reset=reset, asked="sample()")
    default = Config(off_by_default=OTHER_RULES)
    assert [one.code for one in check_source(text, "agent.py", default)] == told


def test_what_it_holds_may_have_been_changed() -> None:
    """Only whose instance it is stays known."""
    text = AGENT.format(
        method="update", place=".cuda()", made="Memory()", reset="pass", asked="scaled(torch.rand(4).cuda())"
    )
    default = Config(off_by_default=OTHER_RULES)
    found = check_source(text.replace("self.rows.append(row)", "self.scale = row"), "agent.py", default)
    assert [one.code for one in found] == []
