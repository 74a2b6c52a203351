"""TDV110: what a module keeps where `Module.to` does not look for it, as the text of its class shows."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

START = """
from abc import ABC

import torch
from torch import Tensor, nn


def table(n):
    rows = torch.arange(n)
    return rows[:, None] * rows


def scaled(rows, by):
    return rows / by


def either(n):
    if n:
        return torch.zeros(n)
    return None
"""

CLASS = """
class Kept({base}):
    def __init__(self, n, weight: Tensor, engine=None, rows=None):
        super().__init__()
        self.engine = engine
        {kept}

    def forward(self, x):
        return {used}
{more}
"""


def told(
    kept: str, used: str = "self.engine.run(x, self.a)", base: str = "nn.Module", more: str = ""
) -> list[str]:
    """What is said of the class, without the part that is always the same."""
    text = START + CLASS.format(
        base=base,
        kept=textwrap.indent(kept, " " * 8).strip(),
        used=used,
        more=textwrap.indent(more, " " * 4),
    )
    found = check_source(text, "kept.py", Config(select=("TDV110",)))
    return [one.message.partition(":")[0] for one in found]


TENSOR = ["`self.a` is a tensor, and neither a parameter nor a buffer"]
TENSORS = ["`self.a` holds tensors that are neither parameters nor buffers"]
MODULES = ["`self.a` holds modules that are not registered"]


@pytest.mark.parametrize(
    ("kept", "found"),
    [
        ("self.a = torch.arange(n)", TENSOR),
        ("self.a = -torch.arange(n).float()[1:] * 2", TENSOR),
        ("self.a: Tensor = torch.eye(n).T", TENSOR),
        ("self.a = weight", TENSOR),
        ("self.a = weight if n else torch.zeros(n)", TENSOR),
        ("rows = torch.eye(n)\nself.a = torch.linalg.inv(rows)", TENSOR),
        ("self.a = table(n)", TENSOR),
        ("self.a = scaled(torch.ones(n), n)", TENSOR),
        ("self.b = torch.ones(n)\nself.a = self.b + 1", TENSOR),
        ("self.a = {k: torch.ones(k) for k in range(n)}", TENSORS),
        ("self.a = {'x': torch.ones(n), 'y': weight}", TENSORS),
        ("self.a = [torch.ones(k) for k in range(n)]", TENSORS),
        ("self.a = tuple(torch.ones(k) for k in range(n))", TENSORS),
        ("self.a = torch.distributions.Normal(torch.zeros(n), torch.ones(n))", TENSORS),
        ("self.a = tuple(nn.Linear(n, n) for _ in range(n))", MODULES),
        ("self.a = [nn.Linear(n, n), nn.ReLU()]", MODULES),
        # numbers, what is put somewhere, what is registered, what nobody can tell
        ("self.a = torch.tensor(0.5)", []),
        ("self.a = torch.tensor(n)", []),
        ("self.a = torch.empty(0)", []),
        ("self.a = torch.arange(n, device=weight.device)", []),
        ("self.a = torch.arange(n).to(weight.device)", []),
        ("self.a = table(n, device=weight.device)", []),
        ("self.a = nn.Parameter(torch.ones(n))", []),
        ("self.a = nn.Linear(n, n)", []),
        ("self.a = nn.ModuleList(nn.Linear(n, n) for _ in range(n))", []),
        ("self.register_buffer('a', torch.ones(n))", []),
        ("self.register_buffer('a', weight)\nself.a = weight", []),
        ("self.a = weight\nself.register_parameter('b', None)", TENSOR),
        ("self.a = torch.ones(n)\nself.a = rows", []),
        ("self.a = rows", []),
        ("self.a = either(n)", []),
        ("self.a = unknown(n)", []),
        ("self.a = weight.size(0)", []),
        ("self.a = torch.Generator()", []),
        ("self.a, self.b = torch.ones(n), n", []),
    ],
)
def test_what_is_kept(kept: str, found: list[str]) -> None:
    assert [one for one in told(kept) if "`self.a`" in one] == found


@pytest.mark.parametrize(
    ("used", "found"),
    [
        ("self.engine.x * self.a", TENSOR),
        ("self.a.exp() @ self.engine.x", TENSOR),
        ("self.engine.run(x, rows=self.a[1:])", TENSOR),
        ("self.engine.run(x, self.a if x.ndim else None)", TENSOR),
        ("self.engine.x > self.a", TENSOR),
        ("x * self.a.to(x.device)", []),
        ("x * self.a.type_as(x)", []),
        ("self.engine.run(x, self.a, device=x.device)", []),
        ("self.engine.to_device(self.a)", []),
        ("x[self.a]", []),
        ("x.new_tensor(self.a)", []),
        ("x * self.a.shape[0]", []),
        ("x * len(self.a)", []),
        ("x if self.a is None else None", []),
        ("x", []),
    ],
)
def test_how_it_is_used(used: str, found: list[str]) -> None:
    assert told("self.a = torch.ones(n)", used) == found


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("self.engine.run(x, held)", TENSOR),
        ("held * x", TENSOR),
        ("x + held.unsqueeze(0)", TENSOR),
        ("held.to(x.device) * x", []),
        ("held.numel()", []),
    ],
)
def test_under_another_name(lines: str, found: list[str]) -> None:
    more = f"def rest(self, x):\n    held = self.a\n    return {lines}"
    assert told("self.a = torch.ones(n)", "x", more=more) == found


@pytest.mark.parametrize(
    ("base", "found"),
    [
        ("nn.Module", TENSOR),
        ("SomeModule", TENSOR),
        ("nn.Module, ABC", TENSOR),
        ("ABC", []),
        ("SomeDataset", []),
        ("ToTensorTransform, nn.Module", []),
    ],
)
def test_of_whom(base: str, found: list[str]) -> None:
    assert told("self.a = torch.ones(n)", base=base) == found


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("def to(self, *args):\n    self.a = self.a.to(*args)\n    return super().to(*args)", []),
        ("def to(self, *args):\n    self.b = self.b.to(*args)\n    return super().to(*args)", TENSOR),
        ("def cuda(self):\n    for k, v in vars(self).items():\n        setattr(self, k, v.cuda())", []),
        ("def _apply(self, fn):\n    return super()._apply(fn)", []),
        ("def reset(self, x):\n    self.a = x", []),
        ("def reset(self, x):\n    self.b, self.a = x", []),
        ("def extra_repr(self):\n    return str(self.a + 1)", TENSOR),
    ],
)
def test_who_else_sets_it(more: str, found: list[str]) -> None:
    assert told("self.a = torch.ones(n)", more=more) == found


def test_what_a_base_moves() -> None:
    """A class of the file that says for its heirs what moves."""
    base = "class Base(nn.Module):\n    def _apply(self, fn):\n        return super()._apply(fn)\n"
    text = (
        START
        + base
        + CLASS.format(base="Base", kept="self.a = weight", used="self.engine(x, self.a)", more="")
    )
    assert check_source(text, "kept.py", Config(select=("TDV110",))) == []
    text = text.replace("_apply", "reset")
    assert [one.code for one in check_source(text, "kept.py", Config(select=("TDV110",)))] == ["TDV110"]


def test_methods_that_make_it() -> None:
    """What `__init__` has a method do counts as its own; what nobody else reads does not."""
    more = "def build(self, n):\n    self.a = self._rows(n)\n\n@staticmethod\ndef _rows(n):\n    return torch.ones(n)"
    assert told("self.build(n)", more=more) == TENSOR
    assert told("self.a = torch.ones(n)", "x", more="def extra_repr(self):\n    return str(self.a + 1)") == []


def test_what_is_certain_is_told_once() -> None:
    """TDV006 says more."""
    text = START + CLASS.format(base="nn.Module", kept="self.a = torch.ones(n)", used="x * self.a", more="")
    found = check_source(text, "kept.py", Config(select=("TDV006", "TDV110")))
    assert [one.code for one in found] == ["TDV006"]


def test_not_in_tests() -> None:
    text = (
        "import pytest\n"
        + START
        + CLASS.format(
            base="nn.Module", kept="self.a = torch.ones(n)", used="self.engine(x, self.a)", more=""
        )
    )
    assert check_source(text, "kept.py", Config(select=("TDV110",))) == []
