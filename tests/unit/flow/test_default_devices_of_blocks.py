"""What a class makes where the default device is another, whoever sets it: each way that is right beside the nearest that is wrong."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.registry import all_rules

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

HEAD = """\
import contextlib
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Ramp(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = torch.arange(6.0)
        self.mix = nn.Linear(6, 6)

    def forward(self, x):
        return self.mix(x * self.steps) + torch.linspace(0, 1, 6)


"""
LOST = [
    ("TDV005", "return self.mix(x * self.steps) + torch.linspace(0, 1, 6)"),
    ("TDV006", "self.steps = torch.arange(6.0)"),
]
BLOCK = "with {}:\n    print(Ramp()(torch.rand(2, 6)))\n"
MOVED = "with {}:\n    print(Ramp().to(device)(torch.rand(2, 6).to(device)))\n"


def told(text: str) -> list[tuple[str, str]]:
    """The codes of what is found, and the lines where."""
    whole = HEAD + textwrap.dedent(text)
    lines = whole.splitlines()
    found = check_source(whole, "program.py", DEFAULT_RULES)
    return sorted({(one.code, lines[one.range.start.row - 1].strip()) for one in found})


def manager(body: str) -> str:
    """A context manager of the program's own."""
    return "@contextlib.contextmanager\ndef at(where):\n" + textwrap.indent(textwrap.dedent(body), "    ")


ENTERS = """\
class At:
    def __init__(self, where):
        self.where = torch.device(where)
    def __enter__(self):
        {}
    def __exit__(self, *error):
        {}
"""
CHOSEN = "where = torch.device('cuda') if torch.cuda.is_available() else contextlib.nullcontext()\n"

CASES = {
    "a block around `yield`": (
        manager("with torch.device(where):\n    yield\n") + BLOCK.format("at(device)"),
        manager("with torch.no_grad():\n    yield\n") + MOVED.format("at(device)"),
    ),
    "a block that is over before `yield`": (
        manager("with torch.device(where):\n    torch.ones(2)\n    yield\n") + BLOCK.format("at(device)"),
        manager("with torch.device(where):\n    torch.ones(2)\nyield\n") + MOVED.format("at(device)"),
    ),
    "the device that such a block is given": (
        manager("with torch.device(where):\n    yield\n") + BLOCK.format("at(device)"),
        manager("with torch.device(where):\n    yield\n") + MOVED.format("at('cpu')"),
    ),
    "a block on one way": (
        manager("if where is None:\n    yield\n    return\nwith torch.device(where):\n    yield\n")
        + BLOCK.format("at(device)"),
        manager("if where is None:\n    yield\n    return\nwith torch.device(where):\n    yield\n")
        + MOVED.format("at(None)"),
    ),
    "`__enter__` of a class": (
        ENTERS.format("self.where.__enter__()", "self.where.__exit__(*error)") + BLOCK.format("At(device)"),
        ENTERS.format("print(self.where)", "print(error)") + MOVED.format("At(device)"),
    ),
    "a device or nothing": (
        CHOSEN + BLOCK.format("where"),
        CHOSEN.replace("torch.device('cuda')", "torch.autocast('cuda')") + MOVED.format("where"),
    ),
    "what a function gives to enter": (
        "def scope():\n    return device\n" + BLOCK.format("scope()"),
        "def scope():\n    return torch.inference_mode()\n" + MOVED.format("scope()"),
    ),
    "a stack": (
        "with contextlib.ExitStack() as stack:\n"
        "    stack.enter_context(device)\n    print(Ramp()(torch.rand(2, 6)))\n",
        "with contextlib.ExitStack() as stack:\n"
        "    stack.enter_context(torch.no_grad())\n    print(Ramp().to(device)(torch.rand(2, 6).to(device)))\n",
    ),
    "a block that also does something else": (
        BLOCK.format("torch.no_grad(), device"),
        MOVED.format("torch.no_grad(), torch.device('cpu')"),
    ),
    "all that build it": (
        BLOCK.format("device"),
        BLOCK.format("device") + "print(Ramp().to(device)(torch.rand(2, 6).to(device)))\n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_default_device_that_a_block_sets(name: str) -> None:
    right, wrong = CASES[name]
    assert told(right) == []
    assert told(wrong) == LOST


FUNCTION = """
@{}
def run():
    net = {}
    return net(torch.rand(2, 6{}))
"""


def test_a_device_that_decorates_what_builds_a_class() -> None:
    alone = ("TDV006", "self.steps = torch.arange(6.0)")
    assert alone not in told(FUNCTION.format("device", "Ramp()", ""))
    assert alone in told(FUNCTION.format("torch.no_grad()", "Ramp().to(device)", ", device=device"))


def test_what_is_built_on_meta_is_on_no_device_yet() -> None:
    text = "with torch.device('meta'):\n    net = Ramp()\nnet.to_empty(device=device)\nnet(torch.rand(2, 6).to(device))\n"
    assert LOST[0] in told(text)
