"""`self.teacher(x)` where `teacher` is a property: what it gives is called, not the property itself."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

HIDDEN = """\
import torch
from functools import cached_property
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Distiller(nn.Module):
    def __init__(self, student, teacher):
        super().__init__()
        self.student = student
        self._teacher = (teacher,)

    @{decorator}
    def teacher(self):
        return self._teacher[0]

    def forward(self, x):
        return self.student(x) - self.teacher(x)


distiller = Distiller(nn.Linear(2, 2), nn.Linear(2, 2))
distiller.to(device)
{moved}
distiller(torch.ones(2, 2).to(device))
"""


@pytest.mark.parametrize(
    ("decorator", "moved", "told"),
    [
        ("property", "", ["TDV007"]),
        ("cached_property", "", ["TDV007"]),
        ("property", "distiller.teacher.to(device)", []),
    ],
)
def test_the_module_that_a_property_gives(decorator: str, moved: str, told: list[str]) -> None:
    text = HIDDEN.format(decorator=decorator, moved=moved)
    assert [one.code for one in check_source(text, "program.py", Config())] == told


@pytest.mark.parametrize(("place", "told"), [("", ["TDV004"]), (", device=x.device", [])])
def test_the_function_that_a_property_gives(place: str, told: list[str]) -> None:
    text = f"""\
import torch


class Noise:
    @property
    def draw(self):
        return lambda x: torch.randn(3{place})


x = torch.ones(3, device="cuda")
y = x + Noise().draw(x)
"""
    default = Config(off_by_default=frozenset({"TDV101"}))
    assert [one.code for one in check_source(text, "program.py", default)] == told
