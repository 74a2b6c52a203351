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
