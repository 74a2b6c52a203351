"""Pairs of look-alikes: what a block, a branch, an error or a loop leaves behind, where something is done in one of several ways."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.registry import all_rules

HEAD = """\
import os
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

BATCHES = """
class Batch:
    def __init__(self, items):
        self.x = torch.stack([item[0] for item in items])
        self.y = torch.tensor([item[1] for item in items])
    def to(self, where):
        self.x{rest} = self.x.to(where){moved}
        return self
net = nn.Linear(3, 3).to(device)
data = [(torch.randn(3), i % 2) for i in range(6)]
"""

PAIRS: dict[str, tuple[str, str]] = {
    "a function that returns from a block with a device of its own": (
        """
        def build(where):
            with torch.device(where):
                return nn.Linear(3, 3)
        net = build(device)
        shift = torch.ones(2, 3)
        shift + net(torch.zeros(2, 3).to(device)).cpu()
        """,
        """
        def build(where):
            with torch.device(where):
                return nn.Linear(3, 3)
        net = build(device)
        shift = torch.ones(2, 3)
        shift + net(torch.zeros(2, 3).to(device))
        """,
    ),
    "a loop that is left from a block with a device of its own": (
        """
        for _ in range(3):
            with torch.device(device):
                x = torch.ones(3)
                if x.sum() > 2:
                    break
        torch.zeros(3) + x.cpu()
        """,
        """
        for _ in range(3):
            with torch.device(device):
                x = torch.ones(3)
                if x.sum() > 2:
                    break
        torch.zeros(3) + x
        """,
    ),
    "a conditional expression that asks for what is known": (
        """
        def host(x):
            return x.cpu().numpy() if torch.is_tensor(x) else np.asarray(x)
        host(torch.zeros(3, device=device))
        """,
        """
        def host(x):
            return x.numpy() if torch.is_tensor(x) else np.asarray(x)
        host(torch.zeros(3, device=device))
        """,
    ),
    "a move in the case that is not taken": (
        """
        def place(module, gpu):
            return module.cuda() if gpu else module.cpu()
        if torch.cuda.is_available():
            net = nn.Linear(2, 2)
            place(net, True)
            net(torch.zeros(1, 2).cuda())
        """,
        """
        def place(module, gpu):
            return module.cuda() if gpu else module.cpu()
        if torch.cuda.is_available():
            net = nn.Linear(2, 2)
            place(net, False)
            net(torch.zeros(1, 2).cuda())
        """,
    ),
    "a read on the host that is tried": (
        """
        def host(x):
            try:
                return x.numpy()
            except (TypeError, AttributeError):
                return x.cpu().numpy()
        host(torch.zeros(3, device=device))
        """,
        """
        def host(x):
            try:
                return x.numpy()
            except AttributeError:
                return x.cpu().numpy()
        host(torch.zeros(3, device=device))
        """,
    ),
    "a read on the host whose error is another": (
        """
        def host(x):
            try:
                return np.log(x)
            except TypeError:
                return np.log(x.cpu())
        host(torch.zeros(3, device=device))
        """,
        """
        def host(x):
            try:
                return np.log(x)
            except TypeError:
                raise ValueError("not a number")
        host(torch.zeros(3, device=device))
        """,
    ),
    "brought to the host where an accelerator is wanted": (
        """
        def evaluate(net, x, use_cuda):
            matrix = torch.zeros(3, 3, dtype=torch.long)
            net.eval()
            p = net(x).argmax(1)
            if use_cuda:
                p = p.cpu()
            matrix += torch.bincount(p, minlength=9).view(3, 3)
            return matrix
        """,
        """
        def evaluate(net, x, verbose):
            matrix = torch.zeros(3, 3, dtype=torch.long)
            net.eval()
            p = net(x).argmax(1)
            if verbose:
                print(p.cpu())
            matrix += torch.bincount(p, minlength=9).view(3, 3)
            return matrix
        """,
    ),
    "brought to the host where an accelerator is there and not forbidden": (
        """
        FLAGS = {"gpu": torch.cuda.is_available() and os.environ.get("NO_GPU") is None}
        def evaluate(net, x):
            matrix = torch.zeros(3, 3, dtype=torch.long)
            net.eval()
            p = net(x).argmax(1)
            if FLAGS["gpu"]:
                p = p.cpu()
            matrix += torch.bincount(p, minlength=9).view(3, 3)
            return matrix
        """,
        """
        FLAGS = {"gpu": torch.cuda.is_available() and os.environ.get("NO_GPU") is None}
        def evaluate(net, x):
            matrix = torch.zeros(3, 3, dtype=torch.long)
            net.eval()
            p = net(x).argmax(1)
            if FLAGS["gpu"]:
                p = p.cuda()
            matrix += torch.bincount(p, minlength=9).view(3, 3)
            return matrix
        """,
    ),
    "a class that keeps count of the modules it is given": (
        """
        class Task:
            def __init__(self):
                self.parts = []
            def __setattr__(self, name, value):
                if isinstance(value, nn.Module):
                    self.parts.append(value)
                object.__setattr__(self, name, value)
            def configure(self):
                self.net = nn.Linear(3, 3)
        task = Task()
        task.configure()
        for part in task.parts:
            part.to(device)
        task.net(torch.zeros(2, 3).to(device))
        """,
        """
        class Task:
            def __init__(self):
                self.parts = []
            def configure(self):
                self.net = nn.Linear(3, 3)
        task = Task()
        task.configure()
        for part in task.parts:
            part.to(device)
        task.net(torch.zeros(2, 3).to(device))
        """,
    ),
    "batches that a class puts together": (
        BATCHES.format(rest=", self.y", moved=", self.y.to(where)")
        + """
for batch in DataLoader(data, 3, collate_fn=Batch):
    batch = batch.to(device)
    nn.functional.cross_entropy(net(batch.x), batch.y)
""",
        BATCHES.format(rest="", moved="")
        + """
for batch in DataLoader(data, 3, collate_fn=Batch):
    batch = batch.to(device)
    nn.functional.cross_entropy(net(batch.x), batch.y)
""",
    ),
    "a second loop over a loader has batches of its own": (
        BATCHES.format(rest=", self.y", moved=", self.y.to(where)")
        + """
loader = DataLoader(data, 3, collate_fn=lambda items: Batch(items))
for i, batch in enumerate(loader):
    batch.to(device)
    net(batch.x)
for batch in loader:
    batch.x.numpy()
""",
        BATCHES.format(rest=", self.y", moved=", self.y.to(where)")
        + """
loader = DataLoader(data, 3, collate_fn=lambda items: Batch(items))
for i, batch in enumerate(loader):
    batch.to(device)
    net(batch.x)
for batch in loader:
    net(batch.x)
""",
    ),
    "the part of a table under each of some numbers": (
        """
        class Means:
            def __init__(self, n):
                self.table = torch.zeros(n, 3)
            def update(self, x, y):
                for c in sorted(y.unique().tolist()):
                    self.table[c] = 0.9 * self.table[c] + 0.1 * x[y == c].mean(0).cpu()
        net = nn.Linear(3, 3).to(device)
        Means(4).update(net(torch.zeros(5, 3).to(device)), torch.zeros(5).long().to(device))
        """,
        """
        class Means:
            def __init__(self, n):
                self.table = torch.zeros(n, 3)
            def update(self, x, y):
                for c in sorted(y.unique().tolist()):
                    self.table[c] = 0.9 * self.table[c] + 0.1 * x[y == c].mean(0)
        net = nn.Linear(3, 3).to(device)
        Means(4).update(net(torch.zeros(5, 3).to(device)), torch.zeros(5).long().to(device))
        """,
    ),
    "the rest of a number that an instance keeps, times what may be of one element": (
        """
        class Mean:
            def __init__(self, n, momentum=0.9):
                self.mean, self.momentum = torch.zeros(n), momentum
            def update(self, x, y):
                new = x[y > 0].mean(0).cpu()
                self.mean = self.momentum * self.mean + (1 - self.momentum) * new
        net = nn.Linear(3, 3).to(device)
        Mean(3).update(net(torch.zeros(5, 3).to(device)), torch.zeros(5).to(device))
        """,
        """
        class Mean:
            def __init__(self, n, momentum=0.9):
                self.mean, self.momentum = torch.zeros(n), momentum
            def update(self, x, y):
                new = x[y > 0].mean(0)
                self.mean = self.momentum * self.mean + (1 - self.momentum) * new
        net = nn.Linear(3, 3).to(device)
        Mean(3).update(net(torch.zeros(5, 3).to(device)), torch.zeros(5).to(device))
        """,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_is_silent_and_the_wrong_one_is_told(name: str) -> None:
    right, wrong = (HEAD + textwrap.dedent(program) for program in PAIRS[name])
    assert [str(one) for one in findings(right, "right.py", DEFAULT_RULES)] == []
    assert findings(wrong, "wrong.py", DEFAULT_RULES) != []
