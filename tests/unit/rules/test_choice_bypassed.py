"""TDV018 on small programs: what shows that a program chooses its device, and what may guard a transfer."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

CHOICE = "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
UNUSED = CHOICE + "print('on', device)\n"
CHOICE += "net = make().to(device)\n"
KEPT = """
class Net(torch.nn.Module):
    def __init__(self):
        self.kept = torch.device('cuda' if torch.cuda.is_available() else 'cpu')

"""
ASKS = "pinned = torch.cuda.is_available()\n"
BYPASSED = [
    (UNUSED + "def f(x):\n    return x.cuda()", 0),
    (UNUSED + "if use_cuda:\n    net.cuda()\ndef f(x):\n    return x.cuda()", 1),
    (CHOICE + "def f(x):\n    return x.cuda()", 1),
    (CHOICE + "def f(x):\n    return x.to('cuda', torch.half)", 1),
    (
        CHOICE + "def f(n):\n    return torch.zeros(n, device='mps')",
        0,
    ),  # another choice than that of `device`
    ("device = torch.device('cuda')\ndef f(x):\n    return x.cuda()", 0),
    ("def f(x, device):\n    return x.cuda()", 0),
    (CHOICE + "USE_CUDA = True\ndef f(x):\n    if USE_CUDA:\n        x = x.cuda()\n    return x", 0),
    (CHOICE + "USE_CUDA = True\ndef f(x):\n    return x.cuda() if USE_CUDA else x", 0),
    (CHOICE + "def to_cuda(x):\n    return x.cuda()", 0),
    (CHOICE + "def f(x, dtype):\n    if dtype == torch.float16:\n        x = x.cuda()\n    return x", 0),
    (CHOICE + "def f(x, n):\n    if n > 2:\n        x = x.cuda()\n    return x", 1),
    (
        CHOICE
        + "def f(x):\n    try:\n        return g(x)\n    except OverflowError:\n        return x.cuda()",
        0,
    ),
    (CHOICE + "def f(x):\n    if device.type == 'cpu':\n        return x\n    return x.cuda()", 0),
    (
        "def f(m, x, use_cuda):\n    if use_cuda:\n        m.cuda()\n    return m(x.cuda())",
        0,
    ),  # nobody is asked
    (ASKS + "def f(m, x, use_cuda):\n    if use_cuda:\n        m.cuda()\n    return m(x.cuda())", 1),
    (
        KEPT.replace("kept", "_device")
        + "def f(x):\n    net = Net()\n    net.to(net._device)\n    return x.cuda()",
        0,
    ),
    (
        KEPT.replace("kept", "device")
        + "def f(x):\n    net = Net()\n    net.to(net.device)\n    return x.cuda()",
        1,
    ),
    ("def f(m, x, args):\n    if args.cuda:\n        m.to('cuda')\n    return m(x.cuda())", 1),
    (
        ASKS
        + "def f(m, x, use_cuda):\n    if use_cuda:\n        m.cuda()\n    else:\n        m.float()\n    return m(x.cuda())",
        0,
    ),
    (ASKS + "def f(m, x, use_cuda):\n    if use_cuda:\n        print(m)\n    return m(x.cuda())", 0),
    (ASKS + "def f(m, x, two_gpus):\n    if two_gpus:\n        m.cuda()\n    return m(x.cuda())", 0),
    (
        ASKS
        + "def f(m, use_cuda):\n    if use_cuda:\n        m.cuda()\ndef g(m, x):\n    return m(x.cuda())",
        0,
    ),
]
"""Programs that choose their device, or do not, and the transfers in them that ask nobody."""


@pytest.mark.parametrize(("code", "expected"), BYPASSED)
def test_choices_bypassed(code: str, expected: int) -> None:
    assert _count("TDV018", code) == expected
    assert _count("TDV018", code) == 0 or _count("TDV101", code) == 0, "one place is told once"


def _count(rule: str, code: str) -> int:
    return len(check_source(f"import torch\n{code}\n", "program.py", Config(select=(rule,))))
