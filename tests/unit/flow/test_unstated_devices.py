"""Factories that are told no device where one is at hand (TDV106): what is told of them, and what is not."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = "import torch\nfrom torch import nn\n\n\n"


def _told(program: str) -> list[str]:
    config = Config(select=("TDV106",))
    return [one.message for one in findings(HEAD + textwrap.dedent(program), "program.py", config)]


CLASS = """
    class Wrapper:
        def __init__(self, engine, device):
            self.engine = engine
            self.device = torch.device(device)

        def batch(self, rows):
            return torch.tensor(rows, device=self.device)

        def width(self, features, logger):
            probe = torch.rand(1, features)
            {use}
"""

FUNCTION = """
    def begin(hidden: torch.Tensor, beams: int, outer):
        scores = torch.zeros(beams, 1)
        {use}
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (CLASS.format(use="return self.engine.run(probe)"), "`self.device` is at hand, and is given"),
        (
            CLASS.format(use="return self.engine.run([probe, probe])"),
            "`self.device` is at hand, and is given",
        ),
        (FUNCTION.format(use="return scores"), "`hidden.device` is at hand, and is returned"),
        (FUNCTION.format(use="return hidden, scores"), "`hidden.device` is at hand, and is returned"),
        (FUNCTION.format(use="return outer(hidden, scores)"), "`hidden.device` is at hand, and is given"),
    ],
    ids=["given", "given in a list", "returned", "returned with others", "given with others"],
)
def test_goes_where_nothing_is_known(program: str, said: str) -> None:
    (message,) = _told(program)
    assert said in message


@pytest.mark.parametrize(
    "program",
    [
        CLASS.format(use="return self.engine.run(probe.to(self.device))"),
        CLASS.format(use="return self.engine.run(probe).to(self.device)"),
        CLASS.format(use="logger.log_shape(probe)"),
        CLASS.format(use="probe = probe.to(self.device)\n            return self.engine.run(probe)"),
        FUNCTION.format(use="return scores.to(hidden.device)"),
        FUNCTION.format(use="return float(scores.sum())"),
        FUNCTION.format(use="return scores").replace("begin(", "collect("),
        FUNCTION.format(use="return scores").replace("hidden: torch.Tensor, ", ""),
        FUNCTION.format(use="return scores")
        + "\n\n    def run(x, outer):\n        return begin(x, 3, outer).to(x.device)\n",
        FUNCTION.format(use="return scores").replace("torch.zeros(beams, 1)", "torch.arange(beams)"),
        FUNCTION.format(use="return scores").replace("(beams, 1)", "(beams, 1, **outer)"),
    ],
    ids=[
        "moved where it is given",
        "what it is given to works on the CPU",
        "shown",
        "moved before",
        "moved where it is returned",
        "read",
        "collected",
        "no device at hand",
        "moved by the caller",
        "an index",
        "told by who knows what",
    ],
)
def test_is_silent(program: str) -> None:
    assert _told(program) == []


def test_what_another_rule_says_of_it_is_not_said_again() -> None:
    program = (
        HEAD + "def f(x: torch.Tensor, outer):\n    y = torch.ones(3, 1)\n    outer(y)\n    return x + y\n"
    )
    assert [one.code for one in findings(program, "program.py", Config())] == ["TDV005"]
