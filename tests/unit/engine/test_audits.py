"""What only rules that are off by default ask for is looked for where one of them is on."""

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.flow.mistakes import unproven_reads, unstated_by_use
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

TEXT = """\
import torch

def masked(scores, model):
    fill = torch.full((1, 4), -1.0)
    return torch.cat([scores, fill]), model(scores).detach().numpy()
"""
DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)


@pytest.mark.parametrize(("config", "asked"), [(DEFAULT, False), (Config(), True)])
def test_functions_are_read_for_rules_that_are_on(
    monkeypatch: pytest.MonkeyPatch, config: Config, asked: bool
) -> None:
    read = []
    monkeypatch.setattr(unstated_by_use, "_makes_some", lambda frame, node: read.append("made"))
    monkeypatch.setattr(unproven_reads, "_origin", lambda frame, node: read.append("read") or "")
    check_source(TEXT, "a.py", config)
    assert sorted(set(read)) == (["made", "read"] if asked else [])
