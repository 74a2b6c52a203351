"""Parts that a function attaches to a module that its caller has moved: a fix only uses names that are there."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

CHOICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'
PROGRAM = """\
import torch
from torch import nn
{before}

class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        return self.head(self.body(x))


def attach(model):
    model.head = nn.Linear(4, 2)


def main():
    {within}
    net = Backbone().to(device)
    attach(net)
    net(torch.randn(2, 4, device=device))


main()
"""


@pytest.mark.parametrize(
    ("before", "within", "added"),
    [("", CHOICE, ".to(next(model.parameters()).device)"), (CHOICE, "pass", ".to(device)")],
    ids=["the caller's own name", "a name of the module"],
)
def test_the_names_of_a_fix(before: str, within: str, added: str) -> None:
    program = PROGRAM.format(before=before, within=within)
    [told] = check_source(program, "a.py", Config(select=("TDV0",)))
    assert told.code == "TDV008"
    assert told.fix is not None
    assert [edit.content for edit in told.fix.edits] == [added]


WRAPPED = """\
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Adapted(nn.Module):
    def __init__(self, old):
        super().__init__()
        self.old = old
        self.down = nn.Linear(4, 4)

    def forward(self, x):
        return self.old(x) + self.down(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x)


net = Net(){moved}
for name, layer in list(net.named_children()):
    setattr(net, name, Adapted(layer))
net(torch.randn(2, 4, device=device))
"""


@pytest.mark.parametrize(
    ("moved", "told"),
    [
        (".to(device)", "`Adapted(layer)` is attached after the module was moved"),
        ("", "the model `net` is never moved"),
    ],
)
def test_what_was_never_moved(moved: str, told: str) -> None:
    """The part, where the whole was moved before it was put in."""
    found = check_source(WRAPPED.format(moved=moved), "a.py", Config(select=("TDV0",)))
    assert [one.message.partition(":")[0] for one in found] == [told]
