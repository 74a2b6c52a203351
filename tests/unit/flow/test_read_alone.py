"""Functions and methods read on their own: whoever calls them, what is certain is reported, and nothing else.

The bad programs are run on the simulated accelerator by their fixtures' kind; here each shape is looked at alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from torchdev_lint.flow.activation.events import ModelCall

AGENT = """
class Agent:
    def __init__(self, device):
        self.device = device
        self.net = nn.Linear(2, 2).to(device)
"""
MODULE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("table", torch.zeros(2, 2))
        self.plain = torch.zeros(2, 2)
"""

TABLE = """
def ones(n):
    return torch.ones(n, 2)
def there(n):
    return torch.ones(n, 2, device="cuda")
MAKERS = {"ones": ones, "there": there}
"""

CERTAIN = {
    "moved to a parameter": "def f(net, device):\n    net = nn.Linear(2, 2).to(device)\n    net(torch.zeros(1, 2))",
    "a default device": "def f(device='cuda'):\n    net = nn.Linear(2, 2).to(device)\n    net(torch.zeros(1, 2))",
    "self.device": AGENT + "    def act(self, rows):\n        return self.net(torch.tensor(rows))",
    "from an array": AGENT
    + "    def act(self, array):\n        return self.net(torch.from_numpy(array).float())",
    "an optional input": AGENT
    + "    def act(self, x=None):\n        if x is None:\n            x = torch.zeros(1, 2)\n            self.net(x)",
    "through another method": AGENT
    + "    def run(self, x):\n        return self.net(x)\n    def act(self):\n        return self.run(torch.zeros(1, 2))",
    "in a property": AGENT
    + "    @property\n    def value(self):\n        return self.net(torch.zeros(1, 2))",
    "in an inner function": "def f(device):\n    net = nn.Linear(2, 2).to(device)\n    def g():\n"
    "        return net(torch.zeros(1, 2))\n    return g",
    "one of a table's functions": TABLE
    + "def f(kind, device):\n    net = nn.Linear(2, 2).to(device)\n    net(MAKERS[kind](2))",
    "one that a table is asked for": TABLE
    + "def f(kind, device):\n    net = nn.Linear(2, 2).to(device)\n    make = MAKERS.get(kind)\n    if make is None:\n"
    "        raise ValueError(kind)\n    net(make(2))",
    "one of a list's functions": TABLE
    + "def f(n, device):\n    net = nn.Linear(2, 2).to(device)\n    net([ones, there][n - 1](2))",
    "an inherited network": AGENT
    + "class Child(Agent):\n    def act(self):\n        return self.net(torch.zeros(1, 2))",
}
"""Fails for every caller that uses an accelerator."""

SILENT = {
    "one of a table that may have more": TABLE
    + "def f(kind, more, device):\n    net = nn.Linear(2, 2).to(device)\n    net({**MAKERS, **more}[kind](2))",
    "that one of a table which is right": TABLE
    + "def f(kind, device):\n    net = nn.Linear(2, 2).cuda()\n    if kind != 'ones':\n        net(MAKERS[kind](2))",
    "two parameters": "def f(net, x):\n    return net(x)",
    "a parameter and a fresh tensor": "def f(net):\n    return net(torch.zeros(1, 2))",
    "where the input is": "def f(net, x):\n    return net(torch.zeros(1, 2, device=x.device))",
    "where the parameters are": "def f(net):\n    return net(torch.zeros(1, 2).to(next(net.parameters()).device))",
    "like the input": "def f(net, x):\n    return net(torch.zeros_like(x), x.new_zeros(1))",
    "moved to self.device": AGENT + "    def act(self, x):\n        return self.net(x.to(self.device))",
    "made on self.device": AGENT
    + "    def act(self):\n        return self.net(torch.zeros(1, 2, device=self.device))",
    "through a method that moves": AGENT
    + "    def put(self, x):\n        return x.to(self.device)\n    def act(self):\n        return self.net(self.put(torch.zeros(1, 2)))",
    "a network that another method moves": AGENT
    + "    def cpu(self):\n        self.net.cpu()\n    def act(self):\n        return self.net(torch.zeros(1, 2))",
    "a network that another method replaces": AGENT
    + "    def load(self):\n        self.net = nn.Linear(2, 2)\n    def act(self):\n        return self.net(torch.zeros(1, 2))",
    "a forward of its own layers": MODULE + "    def forward(self, x):\n        return self.layer(x)",
    "a buffer": MODULE + "    def forward(self, x):\n        return self.layer(self.table)",
    "a network given to __init__": "class A:\n    def __init__(self, net):\n        self.net = net\n"
    "    def f(self):\n        return self.net(torch.zeros(1, 2))",
    "a callback": "def f(make):\n    net = make()\n    return net(torch.zeros(1, 2))",
    "early return without an accelerator": "def f():\n    if not torch.cuda.is_available():\n"
    "        return nn.Linear(2, 2)(torch.zeros(1, 2))",
    "a CPU function": "def f():\n    return nn.Linear(2, 2)(torch.zeros(1, 2))",
    "parameters of unknown use": "def f(*args, **kwargs):\n    return args[0](*args[1:], **kwargs)",
    "a set_device that rebinds": AGENT
    + "    def to(self, device):\n        self.net = self.net.to(device)\n        self.device = device\n        return self\n"
    "    def act(self, x):\n        return self.net(x.to(self.device))",
    "a stub": "def f(net: nn.Module, x: torch.Tensor) -> torch.Tensor: ...",
    "a method without self": "class A:\n    def f():\n        return nn.Linear(2, 2)(torch.zeros(1, 2))",
}
"""Right for some caller, or for all."""


@pytest.mark.parametrize("code", CERTAIN.values(), ids=CERTAIN)
def test_fails_for_every_caller(code: str, events: Callable[..., list[Any]]) -> None:
    assert len(events(code, ModelCall)) == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_right_for_some_caller(code: str, events: Callable[..., list[Any]]) -> None:
    assert events(code, ModelCall) == []


@pytest.mark.parametrize(
    "code",
    [
        "x = y = z",
        "x.y.z = 3\nx[1][2].y += 1",
        "a, *b = c\n[d, e] = f\n(g) = h",
        "for a.b in c: pass\nfor d[0] in e: pass",
        "with a as b, c as (d, e): pass",
        "del a.b, c[0]\ndel (d, e)",
        "try:\n    pass\nexcept* ValueError as error:\n    pass",
        "async def f():\n    async with a as b:\n        async for c in d:\n            yield [e async for e in g]",
        "match a:\n    case {'k': [1, *rest], **others} if rest:\n        pass\n    case C(x=1) | D(y) as z:\n        pass",
        "lambda *a, b=1, **c: (yield)",
        "x = [*a, *b], {**c, 'd': 1}, {*e}, a[1:2, ..., ::3], a[*b]",
        "print(*a, sep='', **b)",
        "x = a if b else c or d and not e is f in g",
        "x = f'{a!r:>{width}} {b=}' 'c' r'\\d' if a else 1j",
        "class A(B, metaclass=C):\n    x: int\n    class D: pass\n    def f(self, /, a, *, b): pass\n    del x",
        "type_ = type('T', (object,), {})\nx = type_()()()",
        "@a.b(c)\n@d\nclass E: pass\nE.f.g(1)(2)[3]",
        "def f():\n    return f\nf()()()()",
        "x: int\nx: 'a.b' = 1",
        "global a\nnonlocal_ = 1\nassert a, b\nraise a from b",
        "while a:\n    continue\nelse:\n    pass\nbreak_ = 1",
        "import a.b.c as d, e\nfrom . import f\nfrom ..g import *\nfrom h import (i as j, k)",
        "super().f()\nsuper(A, a).f()\nself.x = super()",
        "torch.zeros()\ntorch.zeros(*a, **b)\ntorch.device()\nnn.Linear()\nnn.Sequential(*a)\ntorch.cat()\ntorch.tensor()",
        "x = torch.zeros(2)\nx.to()\nx.to(*a)\nx.to(None)\nx.type()\nx.new()\nx.cuda(None)\nx.to(x.dtype, x.device)",
    ],
)
def test_no_syntax_makes_it_fail(code: str, events: Callable[..., list[Any]]) -> None:
    events(code)
