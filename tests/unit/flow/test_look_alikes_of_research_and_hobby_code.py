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
import os
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

SEEDED = """
def seeded(seeds, device):
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    if {test}:
        return torch.stack([torch.randn(2, generator=one, device=device) for one in generators])
    return torch.stack([torch.randn(2, generator=one) for one in generators]).to(device)
print(seeded([1, 2], device), seeded(range(3), device))
"""

LENGTHS = """
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 3, batch_first=True)
    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True)
        out, counted = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return out, counted{there}
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

LARGE = """
class Boxes(NamedTuple):
    rows: Tensor
class Matcher:
    def __init__(self, limit=4):
        self.limit = limit
    def match(self, boxes):
        home = boxes.device
        large = {large}
        if large:
            boxes = boxes.cpu()
        rows = (boxes[:, None] - boxes[None]).sum((1, 2))
        {back}
        return Boxes(rows)
def loss(pred, boxes, matcher):
    found = matcher.match(boxes)
    return (pred * found.rows).sum()
for n in (3, 7):
    print(loss(torch.randn(n, device=device), torch.rand(n, 4, device=device), Matcher()))
"""

SCALER = """
class Scaler:
    def fit(self, x):
        self.mean, self.std = x.mean(dim=0){there}, x.std(dim=0){there}
        return self
    def restore(self, z):
        return z * self.std
def series(n):
    t = np.arange(n)
    rows = np.{joined}
    return torch.{taken}
raw = series(30)
scaler = Scaler().fit(raw[:20])
model = nn.Linear(raw.shape[1], 2).to(device)
print(scaler.restore(model(raw[20:].to(device))))
"""

KEPT = """
class Solver:
    def __init__(self, count):
        self.net = nn.Linear(2, 1).to(device)
        {begun}
    def residual(self, points):
        return self.net(points).pow(2).mean()
    def draw(self, count):
        found = torch.rand(count, 2{there})
        self.points, self.kept = found.clone(), len(found)
    def step(self):
        return self.residual(self.points)
solver = Solver(8)
solver.draw(8)
print(solver.step().item())
"""
BEGUN = "self.points = torch.rand(count, 2, device=device)"

SAMPLED = """
class Replay:
    def __init__(self):
        self.rows = dict(seen=np.zeros((9, 3), np.float32), gain=np.zeros((9, 1), np.float32))
    def sample(self, place):
        index = np.random.randint(0, 9, 4)
        batch = {{key: torch.as_tensor(rows[index]{placed}) for key, rows in self.rows.items()}}
        batch["weight"] = torch.from_numpy(np.random.rand(4, 1).astype(np.float32)){there}
        return index, batch
class Agent:
    def __init__(self):
        self.net = nn.Linear(3, 1).to(device)
    def update(self, seen, gain, weight):
        return ((self.net(seen) - gain).pow(2) * weight).mean()
    def learn(self, replay):
        index, batch = replay.sample(device)
        return self.update(**batch)
print(Agent().learn(Replay()))
"""

Case = tuple[str, dict[str, str], dict[str, str], str]

CASES: dict[str, Case] = {
    "a generator decides where a tensor is drawn": (
        DRAWN,
        {"test": 'kind != device.type and kind == "cpu"'},
        {"test": 'kind != device.type and kind == "cuda"'},
        "return torch.randn",
    ),
    "all generators are asked": (
        SEEDED,
        {"test": "all(one.device.type == device.type for one in generators)"},
        {"test": "any(one.device.type != device.type for one in generators)"},
        "return torch.stack",
    ),
    "lengths that an unread model gives": (
        LENGTHS,
        {"name": "olen", "there": "", "run": ""},
        {"name": "held", "there": ".to(x.device)", "run": ""},
        "return (frames",
    ),
    "what the program itself computes with what a model gives": (
        LENGTHS,
        {"name": "held", "there": "", "run": STEP},
        {"name": "held", "there": ".to(x.device)", "run": STEP},
        "return (frames",
    ),
    "what is large is brought to the host, and not back": (
        LARGE,
        {"large": "boxes.shape[0] > self.limit", "back": "rows = rows.to(home)"},
        {"large": "boxes.shape[0] > self.limit", "back": "pass"},
        "return (pred",
    ),
    "what is brought to the host in a case of which it is not known what it has to do with the other": (
        LARGE,
        {"large": 'bool(os.environ.get("SPILL"))', "back": "pass"},
        {"large": "len(boxes) >= self.limit", "back": "pass"},
        "return (pred",
    ),
    "an attribute that is made on a device elsewhere": (
        KEPT,
        {"begun": BEGUN, "there": ", device=device"},
        {"begun": BEGUN, "there": ""},
        "found = torch.rand",
    ),
    "an attribute that is given a value in one place": (
        KEPT,
        {"begun": "pass", "there": ", device=device"},
        {"begun": "pass", "there": ""},
        "return self.residual",
    ),
    "what is put beside parts on a device": (
        SAMPLED,
        {"placed": ", device=place", "there": ".to(place)"},
        {"placed": ", device=place", "there": ""},
        'batch["weight"] =',
    ),
    **{
        f"a scaler of an array: {joined}": (
            SCALER,
            {"there": ".to(device)", "joined": joined, "taken": taken},
            {"there": "", "joined": joined, "taken": taken},
            "return z",
        )
        for joined, taken in (
            ("stack([np.sin(t), np.cos(t)], axis=1)", "tensor(rows, dtype=torch.float32)"),
            ("array([np.sin(t), np.cos(t)]).T", "tensor(rows, dtype=torch.float32)"),
            ("concatenate([t[:, None], t[:, np.newaxis]], axis=1)", "tensor(rows, dtype=torch.float32)"),
            ("hstack([np.expand_dims(t, 1)] * 2)", "tensor(rows, dtype=torch.float32)"),
            ("array([[np.sin(i), np.cos(i)] for i in range(n)])", "tensor(rows, dtype=torch.float32)"),
            ('column_stack([np.sin(t), np.cos(t)]).astype("float32")', "from_numpy(rows)"),
            ("array([i / n for i in t], dtype=np.float32)[:, None]", "from_numpy(rows).abs()"),
            ("column_stack([np.sin(t), np.cos(t)])", "FloatTensor(rows)"),
            ("linalg.norm(np.stack([t, t]), axis=0, keepdims=True).T", "tensor(rows).float()"),
            ("percentile(np.stack([t, t]), [5, 95], axis=0).T", "tensor(rows).float()"),
            ("array([[i, n] for i in t]).cumsum(axis=0)[::-1].copy()", "tensor(rows / n).float()"),
        )
    },
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
