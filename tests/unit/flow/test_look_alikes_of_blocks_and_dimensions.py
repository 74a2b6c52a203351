"""Pairs of look-alikes: classes built in a block with a default device, what `_apply` keeps, tensors without dimensions."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.registry import all_rules

HEAD = """\
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
speed = torch.randn(5, device=device)
drift = torch.zeros(20)[:5]
worst = torch.zeros(20).abs().max()
"""

NET = """
class Net(nn.Module):
    def __init__(self, n=5):
        super().__init__()
        self.layer = nn.Linear(n, n)
        self.scale = torch.ones(n)
    def forward(self, x):
        return self.layer(x) * self.scale
"""

LOCAL = """
class Base(nn.Module):
    where = torch.device("cpu")
    def _apply(self, fn):
        super()._apply(fn)
        self.KEPT = fn(torch.zeros(1)).device
        return self
class Net(Base):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 5)
    def step(self, x):
        return self.layer(x.to(self.where))
net = Net().to(device)
net.step(torch.zeros(2, 5))
"""

HOLDER = """
class Holder:
    def __init__(self, model):
        self.model, self.device = model, torch.device("cpu")
        self.extra = torch.zeros(5)
    def setup(self, where):
        self.device = where
        self.model.to(where)
        for name, value in vars(self).items():
            if torch.is_tensor(value):
                MOVED
    def run(self, x):
        return self.model(x.to(self.device)) + self.extra
holder = Holder(nn.Linear(5, 5))
holder.setup(device)
"""

DEFAULT_RULES = Config(off_by_default=frozenset(rule.code for rule in all_rules() if not rule.default))

PAIRS: dict[str, tuple[str, str]] = {
    "the place of a conditional choice among numbers": (
        "speed * torch.where(worst > 1, torch.tensor(1.0), worst)",
        "speed * torch.where(drift > 1, torch.tensor(1.0), drift)",
    ),
    "a number that is drawn": ("speed * torch.randint(3, ())", "speed * torch.randint(3, (5,))"),
    "a number that is drawn between two": (
        "speed * torch.randint(0, 3, ())",
        "speed * torch.randint(0, 3, (5,))",
    ),
    "a number drawn around one": (
        "speed * torch.normal(torch.tensor(0.0), worst)",
        "speed * torch.normal(torch.tensor(0.0), drift.exp())",
    ),
    "one like a number": ("speed * torch.ones_like(worst)", "speed * torch.ones_like(drift)"),
    "one like a number, of a type": (
        "speed * torch.full_like(worst, 3.0, device='cpu')",
        "speed * torch.full_like(drift, 3.0, device='cpu')",
    ),
    "a new number beside a tensor": ("speed * drift.new_tensor(3.0)", "speed * drift.new_tensor([3.0] * 5)"),
    "a new tensor without sizes": ("speed * drift.new_full((), 3.0)", "speed * drift.new_full((5,), 3.0)"),
    "a number of a legacy type": (
        "speed * worst.type(torch.FloatTensor)",
        "speed * drift.type(torch.FloatTensor)",
    ),
    "a parameter without dimensions": (
        "speed * nn.Parameter(torch.tensor(1.0))",
        "speed * nn.Parameter(torch.tensor([1.0] * 5))",
    ),
    "the real part of a number": ("speed * worst.real", "speed * drift.real"),
    "a class that is built in a block": (
        NET + "with device:\n    net = Net()\nnet(torch.zeros(2, 5).to(device))\n",
        NET + "net = Net().to(device)\nnet(torch.zeros(2, 5).to(device))\n",
    ),
    "what the block says": (
        NET + "with torch.device(device):\n    net = Net()\nnet(torch.zeros(2, 5).to(device))\n",
        NET + 'with torch.device("cpu"):\n    net = Net()\nnet.to(device)(torch.zeros(2, 5).to(device))\n',
    ),
    "all that build it": (
        NET
        + "def build():\n    return Net()\nwith torch.device(device):\n    net = build()\nnet(torch.zeros(2, 5).to(device))\n",
        NET
        + "def build():\n    return Net()\nwith torch.device(device):\n    net = build()\nbuild().to(device)\n",
    ),
    "a part of what is built in a block": (
        NET
        + """
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other = Net(), Net()
    def forward(self, x):
        return self.other(self.one(x))
with torch.device(device):
    two = Two()
two(torch.zeros(2, 5).to(device))
""",
        NET
        + """
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other = Net(), Net()
    def forward(self, x):
        return self.other(self.one(x))
with torch.device(device):
    table = torch.zeros(5)
two = Two().to(device)
two(torch.zeros(2, 5).to(device))
""",
    ),
    "a class that others derive from": (
        NET
        + "class More(Net):\n    pass\nwith torch.device(device):\n    net = More()\nnet(torch.zeros(2, 5).to(device))\n",
        NET
        + "class More(Net):\n    pass\nclass Less(Net):\n    pass\nwith torch.device(device):\n    net = More()\nLess().to(device)\n",
    ),
    "what is made when it is called": (
        NET + "with torch.device(device):\n    net = Net()\nnet(torch.zeros(2, 5).to(device))\n",
        NET.replace("self.scale\n", "torch.ones(5)\n")
        + "with torch.device(device):\n    net = Net()\nnet(torch.zeros(2, 5).to(device))\n",
    ),
    "attributes that are set by the names they have": (
        HOLDER.replace("MOVED", "setattr(self, name, value.to(where))"),
        HOLDER.replace("MOVED", "setattr(self, name, value.clone())"),
    ),
    "attributes that are set in the dict of all": (
        HOLDER.replace("MOVED", "self.__dict__[name] = value.to(where)"),
        HOLDER.replace("MOVED", "other[name] = value.to(where)"),
    ),
    "where a model notes that it has come to": (
        LOCAL.replace("KEPT", "where"),
        LOCAL.replace("KEPT", "elsewhere"),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_right_one_is_silent_and_the_wrong_one_is_not(name: str) -> None:
    right, wrong = (HEAD + textwrap.dedent(program) + "\n" for program in PAIRS[name])
    assert [str(one) for one in findings(right, "right.py", DEFAULT_RULES)] == []
    assert findings(wrong, "wrong.py", DEFAULT_RULES) != []
