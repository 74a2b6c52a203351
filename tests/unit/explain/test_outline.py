"""Which statements lead to a line."""

from __future__ import annotations

from torchdev_lint.explain.outline import Outline

TEXT = """\
import torch

SCALE = torch.ones(3)


def mask(n):
    made = torch.ones(n)
    return made


def unrelated(x):
    y = torch.zeros(3)
    return y


class Net:
    def __init__(self):
        self.bias = torch.ones(3)

    def forward(self, x, batch):
        batch["x"].to("cuda")
        if x.is_cuda:
            half = x / 2
        if batch:
            pass
        other = torch.zeros(1)
        m = mask(3)
        batch["m"] = m
        return (half * SCALE * batch["m"]
                + self.bias + batch["x"])
"""


def row(code: str) -> int:
    return next(number for number, line in enumerate(TEXT.split("\n"), 1) if code in line)


def test_the_statement_on_a_row() -> None:
    found = Outline(TEXT).at(row("+ self.bias"))
    assert (found.first, found.last) == (row("return (half"), row("+ self.bias"))
    assert {"half", "SCALE", "batch", "self.bias"} <= found.names
    assert found.function == (row("def forward"), row("+ self.bias"))
    head = Outline(TEXT).at(row("def forward"))
    assert (head.first, head.last) == (row("def forward"), row("def forward"))


def test_what_leads_to_it() -> None:
    rows = Outline(TEXT).leading_to(row("return (half"))
    expected = (
        "SCALE =",
        "made =",
        'batch["x"].to',
        "half =",
        "if x.is_cuda",
        "m = mask",
        'batch["m"] =',
        "self.bias =",
    )
    assert {row(code) for code in expected} <= rows
    assert not {row(code) for code in ("other =", "y = ", "if batch")} & rows


def test_what_does_not_parse_is_a_row() -> None:
    outline = Outline("x = (\n")
    assert (outline.at(1).first, outline.at(1).names) == (1, frozenset())
    assert outline.leading_to(1) == {1}
