"""Nests that a function goes through with another one, named tuples in batches, and queues that a loop takes things out of."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.registry import all_rules

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

HEAD = """\
import collections
from typing import NamedTuple
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 4).to(device)


"""


def told(text: str) -> list[tuple[str, str]]:
    """The codes of what is found, and the lines where."""
    whole = HEAD + textwrap.dedent(text)
    lines = whole.splitlines()
    found = check_source(whole, "program.py", DEFAULT_RULES)
    return sorted({(one.code, lines[one.range.start.row - 1].strip()) for one in found})


NEST = """
def through(fn, nest):
    if isinstance(nest, dict):
        return {{key: through(fn, one) for key, one in nest.items()}}
    if isinstance(nest, {sequences}):
        return [through(fn, one) for one in nest]
    {records}
    return fn(nest) if isinstance(nest, torch.Tensor) else nest


class Pair(NamedTuple):
    near: torch.Tensor
    far: torch.Tensor


nest = {{"x": torch.rand(2, 4), "deep": {{"y": [torch.rand(2, 4)]}}, "pair": Pair(torch.rand(4), torch.rand(4))}}
moved = through(lambda one: one.to(device), nest)
print(model(moved["x"]))
print(model(moved["deep"]["y"][0]))
print(moved["pair"].far * model.bias)
"""
RECORDS = "if hasattr(nest, '_fields'):\n        return type(nest)(*[through(fn, one) for one in nest])"


@pytest.mark.parametrize(
    ("sequences", "records", "expected"),
    [
        ("list", RECORDS, []),
        ("list", "", ["TDV005"]),
        ("set", RECORDS, ["TDV001"]),
    ],
)
def test_what_is_done_with_each_part_may_be_said_first(
    sequences: str, records: str, expected: list[str]
) -> None:
    assert [code for code, _ in told(NEST.format(sequences=sequences, records=records))] == expected


ROWS = """
class Row(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


class Rows(Dataset):
    def __len__(self):
        return 9

    def __getitem__(self, i):
        return {item}


for batch in DataLoader(Rows(), batch_size=3):
    {body}
"""
ROW = "Row(torch.rand(4), torch.rand(4))"


@pytest.mark.parametrize(
    ("item", "body", "expected"),
    [
        (ROW, "print(model(batch.x.to(device)) - batch.y.to(device))", False),
        (ROW, "print(model(batch.x.to(device)) - batch.y)", True),
        (ROW, "x, y = batch; print(model(x.to(device)) - y)", True),
        (ROW, "x, y = (one.to(device) for one in batch); print(model(x) - y)", False),
        (f"{{'row': {ROW}}}", "print(model(batch['row'].x.to(device)) - batch['row'].y)", True),
        (f"{{'row': {ROW}}}", "row = batch['row']; print(model(row.x.to(device)) - row.y.to(device))", False),
        (f"({ROW}, 1)", "print(model(batch[0].x.to(device)) - batch[0].y)", True),
    ],
)
def test_named_tuples_are_put_together_field_by_field(item: str, body: str, expected: bool) -> None:
    assert bool(told(ROWS.format(item=item, body=body))) == expected


QUEUE = """
class Bank:
    def __init__(self, size):
        self.size = size
        self.kept = {start}
        self.push(torch.rand(8, 4))

    def __len__(self):
        return sum(len(one) for one in self.kept)

    def push(self, rows):
        self.kept.append(rows.detach(){moved})
        {shrinks}

    def all(self):
        return torch.cat(tuple(self.kept))


bank = Bank(16)
out = model(torch.rand(2, 4, device=device))
bank.push(out)
print(out @ bank.all(){read}.t())
"""


@pytest.mark.parametrize(
    ("start", "shrinks"),
    [
        ("collections.deque()", "while len(self) > self.size:\n            self.kept.popleft()"),
        ("[]", "while len(self) > self.size:\n            self.kept.pop(0)"),
        ("[]", "for _ in range(len(self) - self.size):\n            self.kept.pop()"),
        ("collections.deque()", "pass"),
    ],
)
def test_a_loop_may_take_nothing_out_of_a_queue(start: str, shrinks: str) -> None:
    wrong = QUEUE.format(start=start, shrinks=shrinks, moved=".cpu()", read="")
    assert told(wrong) == [("TDV004", "print(out @ bank.all().t())")]
    for moved, read in [(".cpu()", ".to(device)"), (".to(device)", ".to(device)"), (".to(device)", "")]:
        assert told(QUEUE.format(start=start, shrinks=shrinks, moved=moved, read=read)) == [], (moved, read)


STACK = """
for _ in {rounds}:
    parts = [torch.rand(2, 4), torch.rand(2, 4).to(device)]
    first = parts.pop(0)
    print(model(parts.pop()))
"""


@pytest.mark.parametrize("rounds", ["range(n)", "(1, 2)", "open('rounds')"])
def test_what_a_round_makes_and_takes_apart_itself(rounds: str) -> None:
    assert told(STACK.format(rounds=rounds)) == []
    wrong = STACK.format(rounds=rounds).replace("parts.pop()", "first")
    assert told(wrong) == [("TDV001", "print(model(first))")]


def test_rounds_that_are_counted_take_out_what_they_say() -> None:
    text = """
    parts = [torch.rand(2, 4), torch.rand(2, 4), torch.rand(2, 4).to(device)]
    for _ in (1, 2):
        parts.pop(0)
    print(model(parts[0]))
    """
    assert told(text) == []
    assert told(text.replace("(1, 2)", "(1,)")) == [("TDV001", "print(model(parts[0]))")]
