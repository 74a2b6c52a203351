"""What torch's own helpers, wrappers and settings do to devices, and what a batch or a record of them is.

Each expectation is also compared with PyTorch on the simulated accelerator.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

IMPORTS = """
import copy, functools, itertools, operator, os
import torch.nn.functional as F
c, g = torch.zeros(2, 2), torch.ones(2, 2, device="cuda")
there = nn.Linear(2, 2).cuda()
"""

CASES: list[tuple[str, str, dict[str, str]]] = [
    # -- names of devices
    ("a kind and a number", "x = torch.zeros(1, device=torch.device('cuda', 1))", {"x": "cuda:1"}),
    (
        "a number that is asked for",
        "n = torch.cuda.current_device()\nx = torch.zeros(1, device=n)",
        {"x": "cuda"},
    ),
    ("a name in a format", "n = 1\nx = torch.zeros(1, device=f'cuda:{n}')", {"x": "cuda:1"}),
    ("a name in the old format", "x = torch.zeros(1, device='cuda:%d' % 1)", {"x": "cuda:1"}),
    (
        "a format of a wrong type",
        "try:\n    n = '%d' % 'x'\nexcept TypeError:\n    n = 'cuda'\nx = torch.zeros(1, device=n)",
        {"x": "? or cuda"},
    ),
    ("a part of a name", "d = 'cuda:1'\nx = torch.zeros(1, device=d.split(':')[0])", {"x": "?"}),
    (
        "a name in a name",
        "d = 'cuda:1'\nx = torch.zeros(1, device=d if 'cuda' in d else 'cpu')",
        {"x": "cuda:1"},
    ),
    (
        "a name not in a name",
        "d = 'cpu'\nx = torch.zeros(1, device=d if 'cuda' not in d else 'cuda')",
        {"x": "cpu"},
    ),
    (
        "a name that begins",
        "d = 'cuda:1'\nx = torch.zeros(1, device=d if d.startswith('cuda') else 'cpu')",
        {"x": "cuda:1"},
    ),
    ("bytes are no device", "b = b'cuda'\nx = torch.zeros(1, device=b.decode())", {"x": "a symbol"}),
    ("enough devices", "x = c if torch.cuda.device_count() <= 0 else g", {"x": "cpu or cuda"}),
    (
        "devices in a dictionary",
        "where = {'a': 'cuda', 'b': 'cpu'}\nx = torch.zeros(1, device=where['a'])",
        {"x": "cuda"},
    ),
    # -- what is set for all
    (
        "a default type",
        "torch.set_default_tensor_type('torch.FloatTensor')\nx = torch.zeros(1)",
        {"x": "cpu"},
    ),
    (
        "a default device inside of another",
        """
        with torch.device("cuda"):
            x = torch.zeros(1)
            with torch.device("cpu"):
                y = torch.zeros(1)
            z = torch.zeros(1)
        w = torch.zeros(1)
        """,
        {"x": "cuda", "y": "cpu", "z": "cuda", "w": "cpu"},
    ),
    # -- wrappers
    (
        "a copy that is moved",
        "net = nn.Linear(2, 2)\nother = copy.deepcopy(net).cuda()\nx, y = other(g), net(c)",
        {"x": "cuda", "y": "cpu"},
    ),
    (
        "a copy of what holds a part twice",
        "part = nn.Linear(2, 2)\nnet = copy.deepcopy(nn.Sequential(part, part)).cuda()\nx, y = net(g), part(c)",
        {"x": "cuda", "y": "cpu"},
    ),
    ("a parallel model", "net = nn.DataParallel(there)\nx = net.module.weight", {"x": "cuda"}),
    ("a script of a model", "net = torch.jit.script(there)\nx = net(g)", {"x": "cuda"}),
    # -- folds
    ("lists that are joined", "x = sum([[c], [g]], [])\ny = x[1]", {"y": "cuda"}),
    ("many lists that are joined", "x = sum([[g] for i in range(2)], [])\ny = x[0]", {"y": "cuda"}),
    ("reduced", "x = functools.reduce(torch.add, [g, g])", {"x": "cuda"}),
    ("many that are reduced", "x = functools.reduce(torch.add, [g for i in range(3)])", {"x": "cuda"}),
    (
        "reduced from a start",
        "x = functools.reduce(operator.add, [g], torch.zeros(2, device='cuda'))",
        {"x": "cuda"},
    ),
    ("summed", "x = sum([g, g])\ny = sum(t for t in [c, c])", {"x": "cuda", "y": "cpu"}),
    # -- losses
    (
        "a loss with weights",
        "loss = nn.CrossEntropyLoss(weight=torch.ones(2, device='cuda'))\nx = loss(g, g)",
        {"x": "0-dim cuda"},
    ),
    (
        "a loss without weights",
        "x = nn.MSELoss()(g, g)\ny = nn.MSELoss(reduction='none')(c, c)",
        {"x": "0-dim cuda", "y": "cpu"},
    ),
    (
        "a loss that is a function",
        "x = F.mse_loss(g, g)\ny = F.softmax(c, dim=1)",
        {"x": "0-dim cuda", "y": "cpu"},
    ),
    (
        "a tensor that is moved by its own method",
        "x = torch.Tensor.cuda(c)\ny = torch.Tensor.cpu(g)",
        {"x": "?", "y": "?"},
    ),
    # -- distributions
    (
        "a distribution",
        "n = torch.distributions.Normal(g, torch.ones_like(g))\nx = n.sample()\ny = n.log_prob(g)\nz = n.mean",
        {"x": "cuda", "y": "cuda", "z": "cuda"},
    ),
    (
        "a distribution of distributions",
        "n = torch.distributions.Independent(torch.distributions.Normal(g, g + 1), 1)\nx = n.rsample()",
        {"x": "cuda"},
    ),
    (
        "a divergence",
        "n = torch.distributions.Normal(g, g + 1)\nx = torch.distributions.kl_divergence(n, n)",
        {"x": "cuda"},
    ),
    # -- exceptions and loops
    (
        "what is done when an exception came",
        """
        try:
            x = g.cpu()
        except:
            x = c
        try:
            y = g
        except (ValueError, KeyError) as error:
            y = c
        """,
        {"x": "cpu", "y": "cuda or cpu"},
    ),
    (
        "a name of the module in a function",
        """
        kept = None
        def keep(x):
            global kept
            kept = x
        keep(g)
        y = kept
        """,
        {"y": "cuda"},
    ),
    (
        "a name of the function around",
        """
        def outer():
            kept = c
            def inner():
                nonlocal kept
                kept = g
            inner()
            return kept
        y = outer()
        """,
        {"y": "cuda"},
    ),
    (
        "arguments of every kind",
        """
        def f(a, /, b, *rest, key, other=None, **more):
            return a, b, rest, key, more["extra"]
        x = f(c, g, c, g, key=g, extra=c)
        """,
        {"x": "(cpu, cuda, (cpu, cuda), cuda, cpu)"},
    ),
    (
        "arguments out of containers",
        """
        def f(a, b, *, key=None):
            return a, b, key
        x = f(*(c, g), **{"key": g})
        y = f(*[c], b=g)
        """,
        {"x": "(cpu, cuda, cuda)", "y": "(cpu, cuda, None)"},
    ),
    (
        "a function that is completed later",
        "f = functools.partial(torch.full, (2,), device='cuda')\nx = f(1.0)\nh = lambda t, d='cuda': t.to(d)\ny, z = h(c), h(g, 'cpu')",
        {"x": "cuda", "y": "cuda", "z": "cpu"},
    ),
]
CASES = [(name, IMPORTS + textwrap.dedent(code), expected) for name, code, expected in CASES]


def test_inferred(case: Any, bound: Callable[..., dict[str, str]]) -> None:
    assert bound(case.code, *case.expected) == case.expected


def test_true_of_torch(case: Any, disagreements: Callable[[Any], list[str]]) -> None:
    assert disagreements(case) == []
