"""What forward pre-hooks bring to the parts of a model that a program has split, beside hooks that only look."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.registry import all_rules

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

HEAD = """\
from functools import partial
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def bring(module, args):
    return tuple(one.to(device) for one in args)


def to_place(where, module, args):
    return relocate(args, where)


def relocate(nest, where):
    if isinstance(nest, tuple):
        return tuple(relocate(one, where) for one in nest)
    return nest.to(where)


def hook_for(where):
    def hook(module, args):
        return relocate(args, where)
    return hook


def look(module, args):
    print(args[0].shape, args[0].device)


def halve(module, args):
    return (args[0] / 2,)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(9, 4), nn.Linear(4, 9)

    def forward(self, token, state):
        return self.head(self.table(token) + state)


class Talk(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.words = nn.Linear(4, 4), Words()

    def forward(self, state):
        state = self.first(state)
        token = torch.full((len(state),), 1)
        return self.words(token, state)


"""
TOKEN = ("TDV005", "token = torch.full((len(state),), 1)")
BRINGING = [
    "bring",
    "partial(to_place, device)",
    "hook_for(device)",
    "lambda module, args: relocate(args, device)",
]
LOOKING = ["look", "halve", "lambda module, args: print(len(args))", "print"]


def told(text: str) -> list[tuple[str, str]]:
    """The codes of what is found, and the lines where."""
    whole = HEAD + textwrap.dedent(text)
    lines = whole.splitlines()
    found = check_source(whole, "program.py", DEFAULT_RULES)
    return sorted({(one.code, lines[one.range.start.row - 1].strip()) for one in found})


DISPATCH = """
def dispatch(model, places):
    for name, place in places.items():
        part = model.get_submodule(name)
        part.to(place)
        part.register_forward_pre_hook({})
    return model
"""


@pytest.mark.parametrize("hook", BRINGING)
def test_a_class_of_which_any_part_may_have_a_hook(hook: str) -> None:
    assert told(DISPATCH.format(hook)) == []


@pytest.mark.parametrize("hook", LOOKING)
def test_hooks_that_move_nothing(hook: str) -> None:
    assert told(DISPATCH.format(hook)) == [TOKEN]


def test_what_meets_in_no_part_is_not_brought() -> None:
    meets = "class Tilt(nn.Linear):\n    def forward(self, x):\n        return x @ self.weight + torch.ones(3, 1)\n"
    assert told(DISPATCH.format("bring") + meets) == [
        ("TDV005", "return x @ self.weight + torch.ones(3, 1)"),
    ]


PROGRAM = """
words = Words().to(device)
{}
words(torch.zeros(2, dtype=torch.long), torch.zeros(2, 4, device=device))
"""
ON_CPU = ("TDV001", "words(torch.zeros(2, dtype=torch.long), torch.zeros(2, 4, device=device))")


@pytest.mark.parametrize(
    ("register", "hook", "expected"),
    [
        ("words.get_submodule('table').register_forward_pre_hook({})", "bring", []),
        ("for name in open('parts'):\n    getattr(words, name).register_forward_pre_hook({})", "bring", []),
        ("words.get_submodule('table').register_forward_pre_hook({})", "look", [ON_CPU]),
        ("print({})", "bring", [ON_CPU]),
        ("Talk().get_submodule('first').register_forward_pre_hook({})", "bring", [ON_CPU]),
    ],
)
def test_a_hook_of_a_part_that_is_not_known(register: str, hook: str, expected: list[object]) -> None:
    assert [one for one in told(PROGRAM.format(register.format(hook))) if one != TOKEN] == expected
