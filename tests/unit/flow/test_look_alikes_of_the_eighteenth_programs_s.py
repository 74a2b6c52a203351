"""Pairs of look-alikes from the eighteenth set of programs that nobody had looked at: right beside wrong."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

OFF = frozenset(f"TDV1{number:02}" for number in range(1, 12))


def _told(source: str) -> list[tuple[str, str]]:
    """The codes of what is told of a program, each with the text of its line."""
    lines = source.splitlines()
    found = check_source(source, "program.py", Config(off_by_default=OFF))
    return [(one.code, lines[one.range.start.row - 1].strip()) for one in found]


# -- blocks that a loop builds, of a class of the program, in a plain list

STACK = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return self.inner(x)


class Stack(nn.Module):
    def __init__(self, kinds, depth):
        super().__init__()
        blocks = []
        for kind in kinds:
            for _ in range(depth):
                blocks.append(Block(8))
        self.blocks = {kept}
        self.shift = nn.Parameter(torch.zeros(8))
        {more}

    def forward(self, x):
        x = x - self.shift
        for block in self.blocks:
            x = x + block(x)
        return x
{methods}

def main(depth, kinds):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    stack = Stack({kinds}, depth).to(device)
    {then}
    print(stack(torch.rand(2, 8).to(device)))
"""


def _stack(
    kept: str = "blocks", more: str = "", methods: str = "", then: str = "", kinds: str = "kinds"
) -> str:
    return STACK.format(kept=kept, more=more, methods=methods, then=then, kinds=kinds)


@pytest.mark.parametrize("kinds", ["kinds", '["low", "high"]'])
def test_blocks_of_a_loop_in_a_plain_list_stay_behind(kinds: str) -> None:
    assert _told(_stack(kinds=kinds)) == [("TDV007", "self.blocks = blocks")]


MOVED = """
    def _apply(self, function):
        super()._apply(function)
        for block in self.blocks:
            block._apply(function)
        return self
"""


@pytest.mark.parametrize("kinds", ["kinds", '["low", "high"]'])
@pytest.mark.parametrize(
    "changes",
    [
        {"kept": "nn.ModuleList(blocks)"},
        {"more": "self.held = nn.ModuleList(blocks)"},
        {"more": "self.held = nn.ModuleList(); self.held.extend(blocks)"},
        {"more": "self.held = nn.ModuleList(); self.held += blocks"},
        {"more": "self.held = nn.ModuleList(); [self.held.append(block) for block in blocks]"},
        {"more": "self.held = nn.ModuleDict(); self.held.update({str(i): b for i, b in enumerate(blocks)})"},
        {"more": "for i, block in enumerate(blocks): self.add_module(str(i), block)"},
        {"methods": MOVED},
        {"then": "for block in stack.blocks: block.to(device)"},
        {"then": "stack.blocks = [block.to(device) for block in stack.blocks]"},
        {"then": "for i in range(len(stack.blocks)): stack.blocks[i].to(device)"},
    ],
)
def test_blocks_that_are_registered_or_moved_one_by_one_are_not_left_behind(
    changes: dict[str, str], kinds: str
) -> None:
    assert _told(_stack(**changes, kinds=kinds)) == []


# -- a helper that goes through what it is given, and leaves out tuples

MOVER = """
import queue
from collections import namedtuple

import torch
from torch import nn

Row = namedtuple("Row", ["dense", "bag"])


def put(thing, device):
    if torch.is_tensor(thing):
        return thing.to(device)
    if isinstance(thing, dict):
        return {{key: put(one, device) for key, one in thing.items()}}
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        return type(thing)(*(put(one, device) for one in thing))
    if isinstance(thing, {kinds}):
        return type(thing)(put(one, device) for one in thing)
    return thing


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(9, 4)
        self.dense = nn.Linear(4, 4)

    def forward(self, row):
        return self.dense(row.dense) + self.bag(*row.bag)


class Ahead:
    end = {end}

    def __init__(self, rows, device):
        self.rows = rows
        self.device = device
        self.held = queue.Queue()

    def fill(self):
        for row in self.rows:
            self.held.put(put({{"row": row}}, self.device))
        self.held.put(self.end)

    def __iter__(self):
        self.fill()
        while (row := self.held.get()) is not self.end:
            yield row


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Model().to(device)
    rows = [Row(torch.rand(2, 4), {bag}) for _ in range(3)]
    for row in {walk}:
        model({given})
"""
AHEAD = {"walk": "Ahead(rows, device)", "given": 'row["row"]'}
ALONE = {"walk": "rows", "given": "put(row, device)"}
BAG = "(torch.arange(4), torch.tensor([0, 2]))"
BAGS = "[torch.arange(4), torch.tensor([0, 2])]"


@pytest.mark.parametrize("way", [AHEAD, ALONE])
@pytest.mark.parametrize("end", ["object()", "None"])
def test_a_tuple_is_no_list(way: dict[str, str], end: str) -> None:
    told = [
        ("TDV001", "return self.dense(row.dense) + self.bag(*row.bag)"),
    ]
    assert _told(MOVER.format(kinds="list", bag=BAG, end=end, **way)) == told


@pytest.mark.parametrize("way", [AHEAD, ALONE])
@pytest.mark.parametrize("end", ["object()", "None"])
@pytest.mark.parametrize(("kinds", "bag"), [("(list, tuple)", BAG), ("list", BAGS), ("tuple", BAG)])
def test_what_the_helper_goes_through_is_moved(way: dict[str, str], end: str, kinds: str, bag: str) -> None:
    assert _told(MOVER.format(kinds=kinds, bag=bag, end=end, **way)) == []


ABSTRACT = """
from collections.abc import Sequence

import torch


def put(thing, device):
    if isinstance(thing, Sequence):
        return [put(one, device) for one in thing]
    return thing.to(device) if {asked} else thing


class Extra:
    def __init__(self, x):
        self.x = x

    def to(self, device):
        return Extra(self.x.to(device))


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x, extra = put([torch.rand(2), Extra(torch.rand(2))], device)
    return x + extra.x
"""


def test_instances_of_classes_of_the_program() -> None:
    right = "isinstance(thing, (torch.Tensor, Extra))"
    assert _told(ABSTRACT.format(asked=right)) == []
    wrong = "isinstance(thing, torch.Tensor)"
    assert [code for code, _ in _told(ABSTRACT.format(asked=wrong))] != []


# -- a hook on any part of a model of which it is not known what it holds

TAPPED = """
import torch
from functools import partial
from torch import nn


class Tap:
    def __init__(self, model, names):
        self.found = {{}}
        held = dict(model.named_modules())
        for name in names:
            held[name].register_forward_hook(partial(self.keep, name))

    def keep(self, name, module, inputs, output):
        self.found[name] = output


def compare(model, image, names, args):
    device = torch.device(args.device)
    model = model.to(device)
    tap = Tap(model, names)
    model(image.to(device))
    wanted = {{name: held.detach().cpu(){back} for name, held in tap.found.items()}}
    model(image.to(device))
    return sum((tap.found[name] - wanted[name]).pow(2).mean() for name in names)
{then}
"""
SMALL = """

def small():
    net = nn.Sequential()
    for index in range(2):
        net.add_module(f"conv{index}", nn.Conv2d(3, 3, 3))
    return net


def main(args, names):
    return compare(small(), torch.rand(1, 3, 8, 8), names, args)
"""


@pytest.mark.parametrize("then", ["", SMALL])
def test_what_a_hook_of_some_part_keeps_is_where_the_model_is(then: str) -> None:
    meets = "return sum((tap.found[name] - wanted[name]).pow(2).mean() for name in names)"
    assert _told(TAPPED.format(back="", then=then)) == [("TDV004", meets)]
    assert _told(TAPPED.format(back=".to(device)", then=then)) == []


NUMBERED = """
import torch
from torch import nn


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = nn.Sequential()
    net.add_module("first", nn.Linear(3, 3))
    net.add_module("last", nn.Linear(3, 3))
    net.to(device)
    x = torch.rand(2, 3){there}
    for (name, part), scale in zip(net.named_children(), [1.0, 2.0]):
        x = part(x) * scale
    return x
"""


def test_parts_of_a_sequential_that_have_names_are_there_once() -> None:
    assert _told(NUMBERED.format(there=".to(device)")) == []
    assert [code for code, _ in _told(NUMBERED.format(there=""))] == ["TDV001"]
