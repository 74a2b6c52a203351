"""The groups of an optimizer hold the parameters of its modules, wherever these are: beside optimizers of which that is not known."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.registry import all_rules

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

HEAD = """\
import itertools
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Outer:
    def __init__(self, inner):
        self.inner = inner
        self.slow = [[p.detach().clone() for p in group["params"]] for group in inner.param_groups]

    @property
    def param_groups(self):
        return self.inner.param_groups

    @torch.no_grad()
    def step(self):
        self.inner.step()
        for group, slow in zip(self.param_groups, self.slow):
            for p, s in zip(group["params"], slow):
                p.lerp_(s, 0.5)


"""


def told(text: str) -> list[str]:
    """The lines where something is found."""
    whole = HEAD + textwrap.dedent(text)
    lines = whole.splitlines()
    found = check_source(whole, "program.py", DEFAULT_RULES)
    return sorted({lines[one.range.start.row - 1].strip() for one in found})


WRAPPED = """
net, other = nn.Sequential(nn.Linear(3, 3)), nn.Linear(3, 3)
{before}
outer = Outer(torch.optim.{made})
{after}
net(torch.rand(2, 3, device=device)).sum().backward()
outer.step()
"""
MOVE = "net.to(device)"
MEETS = ["p.lerp_(s, 0.5)"]


@pytest.mark.parametrize(
    "made",
    [
        "SGD(net.parameters(), lr=0.1)",
        "Adam(list(net.parameters()))",
        "AdamW(filter(lambda p: p.requires_grad, net.parameters()))",
        "SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)",
        "Adam([{'params': net.parameters(), 'lr': 0.1}], lr=0.2)",
        "Adam([*net.parameters()])",
    ],
)
def test_copies_of_parameters_that_move_later(made: str) -> None:
    assert told(WRAPPED.format(before="", made=made, after=MOVE)) == MEETS
    assert told(WRAPPED.format(before=MOVE, made=made, after="")) == []


@pytest.mark.parametrize(
    "made",
    [
        "Adam(itertools.chain(net.parameters(), other.parameters()))",
        "Adam([{'params': net.parameters()}, {'params': other.parameters()}])",
        "Adam(list(net.parameters()) + list(other.parameters()))",
    ],
)
def test_all_modules_of_an_optimizer_count(made: str) -> None:
    both = f"{MOVE}; other.to(device)"
    assert told(WRAPPED.format(before="", made=made, after=both)) == MEETS
    assert told(WRAPPED.format(before=both, made=made, after="")) == []
    # of one parameter it is not known whose it is
    assert told(WRAPPED.format(before="", made=made, after=MOVE)) == []


@pytest.mark.parametrize(
    "made",
    [
        "Adam([torch.zeros(3, requires_grad=True), *net.parameters()])",
        "Adam([{'params': net.parameters()}, {'params': [torch.zeros(3, requires_grad=True)]}])",
        "Adam(get_parameters(net))",
        "Adam([{'params': net.parameters(), **more}])",
        "swa.Averaged(net.parameters())",
    ],
)
def test_optimizers_of_who_knows_what(made: str) -> None:
    assert told(WRAPPED.format(before="", made=made, after=MOVE)) == []


def test_a_group_that_is_added() -> None:
    made, added = "SGD(net.parameters(), lr=0.1)", "outer.inner.add_param_group({'params': [table]})"
    assert told(WRAPPED.format(before="", made=made, after=f"{added}; {MOVE}")) == []


def test_what_is_done_with_a_group() -> None:
    text = """
    net = nn.Linear(3, 3).to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for group in opt.param_groups:
        group["lr"] = 0.2
        for p in group["params"]:
            p.data.add_(torch.randn(p.shape{where}))
    first = opt.param_groups[0]["params"][0]
    print(first + torch.ones(3, 3, device=first.device), opt.param_groups[0]["lr"] * torch.ones(3))
    """
    assert told(text.format(where=", device=p.device")) == []
    assert told(text.format(where="")) == ["p.data.add_(torch.randn(p.shape))"]


def test_what_is_run_with_other_parameters_is_called_by_its_name() -> None:
    text = """
    net = nn.Linear(3, 3)
    held = dict(net.named_parameters())
    torch.func.functional_call(net, held, (torch.rand(2, 3, device=device),))
    """
    found = check_source(HEAD + textwrap.dedent(text), "program.py", DEFAULT_RULES)
    assert ["`net`" in one.message for one in found] == [True]
