"""Pairs of look-alikes of the eighteenth fresh programs: the way that it is right, beside the nearest one that is wrong."""

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
from torch.utils._pytree import tree_map

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


def told(text: str) -> list[tuple[str, str]]:
    """The codes of what is found, and the lines where."""
    whole = HEAD + textwrap.dedent(text)
    lines = whole.splitlines()
    found = check_source(whole, "program.py", DEFAULT_RULES)
    return sorted({(one.code, lines[one.range.start.row - 1].strip()) for one in found})


HOOKED = """
    bias = torch.rand(3)
    seen = []

    {hook}

    def prepare(model):
        model.to(device)
        {register}
        return model

    model = prepare({module})
    out = model(torch.rand(2, 3, device=device))
    print(out + bias)
"""

HOME = "def home(module, args, output):\n        return output.to('cpu')"
HOME_WITH_KWARGS = (
    "def home(module, args, kwargs, output):\n        return tree_map(lambda t: t.cpu(), output)"
)
PLAIN = "model.register_forward_hook(home)"
LAYER = "nn.Linear(3, 3)"
ADDED = [("TDV005", "bias = torch.rand(3)")]


@pytest.mark.parametrize(
    ("hook", "register", "module", "expected"),
    [
        (HOME, PLAIN, LAYER, []),
        (HOME_WITH_KWARGS, "model.register_forward_hook(home, with_kwargs=True)", LAYER, []),
        # the hook of the last part of a container
        (HOME, "model[1].register_forward_hook(home)", "nn.Sequential(nn.Linear(3, 3), nn.ReLU())", []),
        # what takes its hook off again may do so before the call: it is not known then, rather than where the hook takes it
        (HOME, f"handle = {PLAIN}\n        handle.remove()", LAYER, []),
        # one that keeps what it is given changes nothing
        (
            "def keep(module, args, output):\n        seen.append(output)",
            "model.register_forward_hook(keep)",
            LAYER,
            ADDED,
        ),
        ("", "model.register_forward_hook(lambda module, args, out: seen.append(out.cpu()))", LAYER, ADDED),
        # nor does one that returns what is where it was, or one of a backward pass
        ("", "model.register_forward_hook(lambda module, args, out: out * 2)", LAYER, ADDED),
        (
            "def home(module, given, taken):\n        return tuple(t.cpu() for t in given)",
            "model.register_full_backward_hook(home)",
            LAYER,
            ADDED,
        ),
    ],
)
def test_what_a_forward_hook_returns_stands_in_for_the_output(
    hook: str, register: str, module: str, expected: list[tuple[str, str]]
) -> None:
    assert told(HOOKED.format(hook=hook, register=register, module=module)) == expected


def test_what_a_hook_brings_home_meets_nothing_that_is_elsewhere() -> None:
    text = """
    def home(module, args, output):
        return output.to("cpu")

    model = nn.Linear(3, 3).to(device)
    model.register_forward_hook(home)
    out = model(torch.rand(2, 3, device=device))
    {line}
    """
    assert told(text.format(line="print(out.numpy())")) == []
    wrong = "loss = nn.functional.mse_loss(out, torch.rand(2, 3, device=device))"
    assert told(text.format(line=wrong)) == [("TDV004", wrong)]
