"""Pairs of look-alikes from the twelfth batch of repositories that no study had looked at: what is right, beside what is wrong."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

HEAD = "import torch\nfrom torch import nn\nfrom lib import make, mixed, opt\n"

PAIRS: dict[str, tuple[str, str]] = {
    "what comes anew with a name that was moved before": (
        """
        def run(model, loader, loss_fn):
            model.cuda()
            for data, label in loader:
                data, label = data.cuda(), label.cuda()
                data, targets, lam = mixed(data, label)
                loss = loss_fn(model(data), targets, lam)
        """,
        """
        def run(model, loader, loss_fn):
            model.cuda()
            for batch in loader:
                data, targets, lam = mixed(batch)
                data = data.cuda()
                loss = loss_fn(model(data), targets, lam)
        """,
    ),
    "a part that takes its inputs to the device itself": (
        """
        model = make()
        model.features = nn.DataParallel(model.features)
        model.cuda()
        out = model(torch.ones(4, 3))
        """,
        """
        model = make()
        model.features = nn.Sequential(model.features)
        model.cuda()
        out = model(torch.ones(4, 3))
        """,
    ),
    "lengths by a name in one word": (
        """
        def run(model, loader):
            model.cuda()
            for x in loader:
                charlen = torch.LongTensor([3, 2])
                out = model(x.cuda(), charlen)
        """,
        """
        def run(model, loader):
            model.cuda()
            for x in loader:
                chars = torch.LongTensor([3, 2])
                out = model(x.cuda(), chars)
        """,
    ),
    "the default of an argument that is not read": (
        """
        class Net(nn.Module):
            def __init__(self, width, device=torch.device("cuda:0")):
                super().__init__()
                self.fc = nn.Linear(width, width)
        def grown(width, where="cuda:0"):
            return Net(width)
        net = grown(3)
        """,
        """
        class Net(nn.Module):
            def __init__(self, width, device=torch.device("cuda:0")):
                super().__init__()
                self.fc = nn.Linear(width, width, device=device)
        net = Net(3)
        """,
    ),
    "the default of an argument that is read by another name": (
        """
        def grown(width, where="cuda:0"):
            return nn.Linear(width, width)
        net = grown(3)
        """,
        """
        def grown(width, where="cuda:0"):
            return make(**locals())
        net = grown(3)
        """,
    ),
}


def told(text: str) -> list[str]:
    found = findings(HEAD + textwrap.dedent(text), "one.py", Config(), sources=DiskSources())
    return [finding.code for finding in found if finding.code != "TDV101"]


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_right_is_silent(name: str) -> None:
    assert told(PAIRS[name][0]) == []


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_wrong_is_told(name: str) -> None:
    assert told(PAIRS[name][1])
