"""Findings for which nothing can be written that would be right: the fix is left out, the finding is not."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

HEADER = "import torch\nfrom torch import nn\n"
PARTS = """\
class Net({module}):
    def __init__(self):
        super().__init__()
        self.parts = [{linear}(2, 2), {linear}(2, 2)]
    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x
Net().cuda()({zeros}(2, device="cuda"))
"""
NOT_NAMED = PARTS.format(module="Module", linear="Linear", zeros="zeros")
CHANGED = "{0}(1)\ny = {1}zeros(2, device=DEVICE)\nz = x + y\n"
MEAN = "there = 'cuda' if torch.cuda.is_available() else 'cpu'\n{0}\ndef f(x: torch.Tensor):\n    {1}\n"
DRAWN = (
    "{0}\nfrom torch.utils.data import DataLoader\nloader = DataLoader([1, 2], shuffle=True, generator={1})\n"
)

CASES = [
    # what would have to be written is not imported
    ("TDV007", f"from torch import zeros\nfrom torch.nn import Linear, Module\n{NOT_NAMED}", 6, False),
    ("TDV007", HEADER + PARTS.format(module="nn.Module", linear="nn.Linear", zeros="torch.zeros"), 6, True),
    ("TDV009", "from torch import load\nmodel = load('a.pt')\nmodel.eval()\n", 2, False),
    ("TDV009", "import torch\nmodel = torch.load('a.pt')\nmodel.eval()\n", 2, True),
    (
        "TDV102",
        "from torch import zeros\nfrom torch.cuda import set_device\nDEVICE = 'cuda'\nx = zeros(2, device=DEVICE)\n"
        + CHANGED.format("set_device", ""),
        3,
        False,
    ),
    (
        "TDV102",
        "import torch\nDEVICE = 'cuda'\nx = torch.zeros(2, device=DEVICE)\n"
        + CHANGED.format("torch.cuda.set_device", "torch."),
        2,
        True,
    ),
    # generators that are made under another name
    ("TDV011", "import torch\nx = torch.randn(2, generator=torch.Generator(), device='cuda')\n", 2, True),
    (
        "TDV011",
        "import torch\nfrom torch import Generator as G\nx = torch.randn(2, generator=G(), device='cuda')\n",
        3,
        False,
    ),
    ("TDV011", DRAWN.format("import torch", "torch.Generator('cuda')"), 3, True),
    ("TDV011", DRAWN.format("from torch import Generator as G", "G('cuda')"), 3, False),
    # where it is attached, there is no expression that could be moved
    (
        "TDV008",
        HEADER + "nets = [nn.Sequential(nn.Linear(2, 2)).cuda()]\nnets[0].append(nn.Linear(2, 2))\n"
        "nets[0](torch.zeros(2, device='cuda'))\n",
        4,
        False,
    ),
    # several arguments at once
    (
        "TDV010",
        "import numpy as np\nimport torch\nx = torch.ones(2, device='cuda')\n"
        "rest = [x for _ in range(len(np.load('a')))]\nnp.savez('a', *rest)\n",
        5,
        False,
    ),
    # the parameter holds something else below, so that what it was is not what is wanted
    (
        "TDV017",
        "import torch\ndef f(n, device):\n    x = torch.zeros(n)\n    device = torch.device('cpu')\n    return x\n",
        3,
        False,
    ),
    ("TDV017", "import torch\ndef f(n, device):\n    x = torch.zeros(n)\n    return x\n", 3, True),
    # the argument has no name where the tensor is put there
    ("TDV104", HEADER + MEAN.format("MEAN = torch.zeros(3).to(there)", "return x - MEAN"), 4, False),
    (
        "TDV104",
        HEADER + MEAN.format("def mean():\n    return torch.zeros(3).to(there)", "return x - mean()"),
        5,
        False,
    ),
    (
        "TDV104",
        HEADER + MEAN.format("", "mean = torch.zeros(3).to(there)\n    return x - mean"),
        6,
        True,
    ),
]


@pytest.mark.parametrize(("rule", "code", "row", "has_fix"), CASES)
def test_fixes(rule: str, code: str, row: int, has_fix: bool) -> None:
    (found,) = check_source(code, "program.py", Config(select=(rule,)))
    assert found.code == rule
    assert found.range.start.row == row
    assert (found.fix is not None) == has_fix
