"""Pairs of look-alikes from research code and hobby projects: generators beside devices, lengths, assigners, scalers, samplers.

Each program is written once; what is filled in makes it right or wrong, and then says in which line.
"""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.registry import all_rules

HEAD = """\
from typing import NamedTuple
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""
DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

DRAWN = """
def drawn(shape, generator, device):
    where = device
    kind = (generator[0] if isinstance(generator, list) else generator).device.type
    if {test}:
        where = torch.device("cpu")
    return torch.randn(shape, generator=generator, device=where).to(device)
for generator in (torch.Generator(), torch.Generator(device=device)):
    print(drawn((2, 3), generator, device))
"""

LENGTHS = """
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 3, batch_first=True)
    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True)
        return pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
class Trainer:
    def __init__(self, model, device):
        self.model = model.to(device)
        self.device = device
    def step(self, x, lengths):
        out, {name} = self.model(x.to(self.device), lengths)
        frames = out.argmax(-1).sum(1).cpu()
        return (frames / {name}).mean().item()
{run}
"""
STEP = "print(Trainer(Encoder(), device).step(torch.randn(2, 5, 3), torch.tensor([5, 4])))"

Case = tuple[str, dict[str, str], dict[str, str], str]

CASES: dict[str, Case] = {
    "a generator decides where a tensor is drawn": (
        DRAWN,
        {"test": 'kind != device.type and kind == "cpu"'},
        {"test": 'kind != device.type and kind == "cuda"'},
        "return torch.randn",
    ),
    "lengths that an unread model gives": (
        LENGTHS,
        {"name": "olen", "run": ""},
        {"name": "olds", "run": ""},
        "return (frames",
    ),
    "what the program itself computes with what a model gives": (
        LENGTHS,
        {"name": "held", "run": STEP},
        {"name": "held", "run": ""},
        "return (frames",
    ),
}


def _told(template: str, filled: dict[str, str]) -> list[str]:
    program = HEAD + textwrap.dedent(template.format(**filled))
    rows = program.splitlines()
    return [rows[one.range.start.row - 1].strip() for one in findings(program, "program.py", DEFAULT_RULES)]


@pytest.mark.parametrize("name", CASES)
def test_right(name: str) -> None:
    template, right, _, _ = CASES[name]
    assert _told(template, right) == []


@pytest.mark.parametrize("name", CASES)
def test_wrong(name: str) -> None:
    template, _, wrong, line = CASES[name]
    told = _told(template, wrong)
    assert len(told) == 1
    assert told[0].startswith(line)
