"""Pairs of look-alikes of the nineteenth fresh programs: the way that it is right, beside the nearest one that is wrong."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.registry import all_rules

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

HEAD = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


def told(text: str) -> list[tuple[str, str]]:
    """The codes of what is found, and the lines where."""
    whole = HEAD + textwrap.dedent(text)
    lines = whole.splitlines()
    found = check_source(whole, "program.py", DEFAULT_RULES)
    return sorted({(one.code, lines[one.range.start.row - 1].strip()) for one in found})


STACKED = """
    def stack(sizes, act=nn.ReLU, norm=None):
        layers = []
        for n, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
            layers.append({layer})
            if n < len(sizes) - 2:
                layers.append(act())
        {last}
        return nn.Sequential(*layers)

    old = stack([4, 8, 8, 2])
    {prepared}
    old.eval()
    with torch.no_grad():
        print(old(torch.rand(5, 4, device=device)))
"""
LAYER = "nn.Linear(a, b)"
CALLED = [("TDV001", "print(old(torch.rand(5, 4, device=device)))")]


@pytest.mark.parametrize(
    ("layer", "last", "prepared", "expected"),
    [
        (LAYER, "pass", "old.load_state_dict(torch.load('old.pt', map_location=device))", CALLED),
        (LAYER, "pass", "pass", CALLED),
        (LAYER, "pass", "old.to(device)", []),
        (LAYER, "pass", "old = old.to(device)", []),
        # one of its layers may be anything
        (LAYER, "layers.append(norm(8) if norm is not None else unseen())", "pass", []),
        # some are moved, and some are not: it is nowhere that could be told of
        (LAYER + ".to(device)", "pass", "pass", []),
        ("nn.Linear(a, b) if n else nn.Linear(a, b).to(device)", "pass", "pass", []),
    ],
)
def test_a_stack_of_layers_some_of_which_a_condition_adds(
    layer: str, last: str, prepared: str, expected: list[tuple[str, str]]
) -> None:
    """Where each of them is, whichever there are, all of them are."""
    assert told(STACKED.format(layer=layer, last=last, prepared=prepared)) == expected
