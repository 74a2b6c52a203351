"""What is added to something brought to the CPU is there as well, or that line raises: nothing follows from it further down."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.registry import all_rules

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

AVERAGE = """\
import torch


class Average:
    def __init__(self, model):
        self.kept = {{k: v.detach().clone() for k, v in model.state_dict().items()}}

    def distance(self, model):
        total = {start}
        for k, p in model.named_parameters():
            total += {step}
        return total.sqrt()
"""


@pytest.mark.parametrize(
    ("start", "step", "told"),
    [
        ("torch.zeros(())", "(self.kept[k] - p.detach().cpu()).pow(2).sum()", []),
        ("torch.zeros(())", "(p.detach().cpu() - self.kept[k]).abs().sum()", []),
        ("torch.zeros(())", "(self.kept[k] - p.detach()).pow(2).sum()", ["TDV005"]),
        ("torch.zeros((), device=p0(model))", "(self.kept[k] - p.detach()).pow(2).sum()", []),
    ],
)
def test_what_is_compared_on_the_host(start: str, step: str, told: list[str]) -> None:
    text = AVERAGE.format(start=start, step=step)
    assert [one.code for one in check_source(text, "average.py", DEFAULT_RULES)] == told
