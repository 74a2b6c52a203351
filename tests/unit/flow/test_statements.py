"""What statements bind their names to. Each expectation is also compared with PyTorch on the simulated accelerator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CASES: list[tuple[str, str, dict[str, str]]] = [
    # -- assignment
    ("assign", "x = torch.zeros(2)", {"x": "cpu"}),
    ("assign a chain", "x = y = torch.zeros(2).to('cuda:1')", {"x": "cuda:1", "y": "cuda:1"}),
    (
        "unpack a tuple",
        "x, (y, z) = torch.zeros(2), (torch.zeros(2).cuda(), 3)",
        {"x": "cpu", "y": "cuda", "z": "3"},
    ),
    (
        "unpack with a star",
        "a, *b, c = torch.zeros(1), torch.zeros(1).cuda(), torch.zeros(1).cuda(), torch.zeros(1)",
        {"a": "cpu", "b": "(cuda, cuda)", "c": "cpu"},
    ),
    ("swap", "x, y = torch.zeros(2), torch.zeros(2).cuda()\nx, y = y, x", {"x": "cuda", "y": "cpu"}),
    ("annotated", "x: torch.Tensor = torch.zeros(2).cuda()", {"x": "cuda"}),
    ("augmented", "x = torch.zeros(2).cuda()\nx *= 2", {"x": "cuda"}),
    ("augmented list", "x = [torch.zeros(2)]\nx += [torch.zeros(2).cuda()]\ny = x[1]", {"y": "cuda"}),
    ("item of a list", "x = [torch.zeros(2), 0]\nx[1] = torch.zeros(2).cuda()", {"x": "(cpu, cuda)"}),
    ("item of a dict", "x = {}\nx['a'] = torch.zeros(2).cuda()\ny = x['a']", {"x": "{a: cuda}", "y": "cuda"}),
    ("an item set in a tensor stays", "x = torch.zeros(2)\nx[0] = torch.ones(()).cuda()", {"x": "cpu"}),
    (
        "attribute of a thing",
        "class Box: pass\nb = Box()\nb.x = torch.zeros(2).cuda()\ny = b.x",
        {"y": "cuda"},
    ),
    ("delete and bind again", "x = torch.zeros(2)\ndel x\nx = torch.zeros(2).cuda()", {"x": "cuda"}),
    # -- moves
    ("a tensor's move is a copy", "x = torch.zeros(2)\ny = x.cuda()", {"x": "cpu", "y": "cuda"}),
    ("a tensor's discarded move", "x = torch.zeros(2)\nx.to('cuda:1')", {"x": "cpu"}),
    (
        "a module moves in place",
        "m = nn.Linear(2, 2)\nn = m.cuda()",
        {"m": "module cuda", "n": "module cuda"},
    ),
    ("an alias moves along", "m = nn.Linear(2, 2)\nn = m\nn.to('cuda:1')", {"m": "module cuda:1"}),
    ("back again", "m = nn.Linear(2, 2).cuda()\nm.cpu()", {"m": "module cpu"}),
    # -- if
    (
        "a known test",
        "if True:\n    x = torch.zeros(2)\nelse:\n    x = torch.zeros(2).cuda()",
        {"x": "cpu"},
    ),
    (
        "two branches",
        "f = torch.cuda.is_available()\nx = torch.zeros(2)\nif f:\n    x = x.cuda()",
        {"x": "cuda or cpu"},
    ),
    (
        "elif and else",
        """
        if torch.backends.mps.is_available():
            x = torch.zeros(2, device="mps")
        elif torch.cuda.is_available():
            x = torch.zeros(2).cuda()
        else:
            x = torch.zeros(2)
        """,
        {"x": "mps or cuda or cpu"},
    ),
    (
        "one condition asked twice",
        """
        use = torch.cuda.is_available()
        if use:
            d = "cuda:0"
        if not use:
            d = "cpu"
        x = torch.zeros(2, device=d)
        """,
        {"x": "cpu or cuda:0"},
    ),
    (
        "both branches alike",
        "if torch.rand(()) > 2:\n    x = torch.zeros(2)\nelse:\n    x = torch.ones(2)",
        {"x": "cpu"},
    ),
    ("None until set", "x = None\nif x is None:\n    x = torch.zeros(2).cuda()", {"x": "cuda"}),
    ("not None", "x = torch.zeros(2).cuda()\nif x is None:\n    x = torch.zeros(2)", {"x": "cuda"}),
    # -- early return
    (
        "early return",
        """
        def pick(n):
            if n > 1:
                return torch.zeros(2).cuda()
            return torch.zeros(2).cuda()
        x = pick(2)
        """,
        {"x": "cuda"},
    ),
    (
        "return in one branch only",
        """
        def pick():
            if torch.cuda.is_available():
                return torch.zeros(2).cuda()
            return torch.zeros(2)
        x = pick()
        """,
        {"x": "cuda or cpu"},
    ),
    ("falls off the end", "def f():\n    pass\nx = f()", {"x": "None"}),
    (
        "a branch that raises",
        """
        def need():
            if not torch.cuda.is_available():
                raise SystemExit
            return torch.zeros(2, device="cuda")
        x = need()
        """,
        {"x": "cuda"},
    ),
    # -- loops
    (
        "known items, one by one",
        "last = None\nfor x in (torch.zeros(2), torch.zeros(2).cuda()):\n    last = x",
        {"last": "cuda", "x": "cuda"},
    ),
    (
        "two targets",
        "for i, x in enumerate([torch.zeros(2), torch.zeros(2).cuda()]):\n    pass",
        {"i": "1", "x": "cuda"},
    ),
    (
        "the second iteration sees the first",
        """
        x = y = torch.zeros(2)
        for _ in range(3):
            y = x
            x = torch.zeros(2).cuda()
        """,
        {"y": "?"},
    ),
    ("moved before the loop", "x = torch.zeros(2).cuda()\nfor _ in range(3):\n    x = x + 1", {"x": "cuda"}),
    (
        "a list filled in a loop",
        "xs = []\nfor _ in range(3):\n    xs.append(torch.zeros(2).cuda())\nx = xs[0]",
        {"x": "cuda"},
    ),
    (
        "break",
        """
        x = torch.zeros(2)
        for x in (torch.zeros(2).cuda(), torch.zeros(2)):
            break
        """,
        {"x": "?"},
    ),
    (
        "continue",
        """
        y = torch.zeros(2).cuda()
        for i in range(3):
            if i == 1:
                continue
            y = y * 2
        """,
        {"y": "cuda"},
    ),
    ("for and else", "for _ in ():\n    pass\nelse:\n    x = torch.zeros(2).cuda()", {"x": "cuda"}),
    (
        "while",
        "n, x = 0, torch.zeros(2).cuda()\nwhile n < 3:\n    n += 1\n    x = x + n",
        {"x": "cuda"},
    ),
    ("while that ends by break", "while True:\n    x = torch.zeros(2).cuda()\n    break", {"x": "cuda"}),
    ("while and else", "n = 0\nwhile n:\n    pass\nx = torch.zeros(2).cuda()", {"x": "cuda"}),
    (
        "modules moved in a loop",
        "a, b = nn.Linear(2, 2), nn.Linear(2, 2)\nfor m in (a, b):\n    m.to('cuda:1')",
        {"a": "module cuda:1", "b": "module cuda:1"},
    ),
    (
        "modules of a dict moved in a loop",
        "nets = {'a': nn.Linear(2, 2)}\nfor net in nets.values():\n    net.cuda()\na = nets['a']",
        {"a": "module cuda"},
    ),
    # -- try
    (
        "try that works",
        "try:\n    x = torch.zeros(2).cuda()\nexcept RuntimeError:\n    x = torch.zeros(2)",
        {"x": "cuda or cpu"},
    ),
    (
        "try and else",
        "x = None\ntry:\n    pass\nexcept ValueError:\n    raise\nelse:\n    x = torch.zeros(2).cuda()",
        {"x": "cuda"},
    ),
    (
        "finally",
        "x = torch.zeros(2)\ntry:\n    pass\nfinally:\n    x = x.cuda()",
        {"x": "cuda"},
    ),
    (
        "return in try with finally",
        """
        def f():
            try:
                return torch.zeros(2).cuda()
            finally:
                print("done")
        x = f()
        """,
        {"x": "cuda"},
    ),
    # -- with
    ("no_grad", "with torch.no_grad():\n    x = torch.zeros(2).cuda()", {"x": "cuda"}),
    (
        "device context",
        "with torch.device('cuda:1'):\n    x = torch.zeros(2)\ny = torch.zeros(2)",
        {"x": "cuda:1", "y": "cpu"},
    ),
    (
        "device context under another name",
        "d = torch.device('cuda:0')\nwith d:\n    x, m = torch.zeros(2), nn.Linear(2, 2)",
        {"x": "cuda:0", "m": "module cuda:0"},
    ),
    (
        "nested contexts",
        "with torch.device('cuda:1'), torch.device('cpu'):\n    x = torch.zeros(2)",
        {"x": "cpu"},
    ),
    (
        "context with a name",
        "import contextlib\nwith contextlib.nullcontext(3) as n:\n    x = torch.zeros(2)",
        {"x": "cpu"},
    ),
    # -- match
    (
        "match",
        """
        match torch.cuda.is_available():
            case True:
                x = torch.zeros(2).cuda()
            case _:
                x = torch.zeros(2).cuda()
        """,
        {"x": "cuda"},
    ),
    (
        "match with different results",
        """
        x = torch.zeros(2)
        match torch.zeros(2).ndim:
            case 1:
                x = x.cuda()
            case 2 | 3:
                pass
        """,
        {"x": "?"},
    ),
    ("match that captures", "match [torch.zeros(2).cuda()]:\n    case [x]:\n        pass", {"x": "cuda"}),
    # -- scopes
    (
        "global",
        """
        x = torch.zeros(2)
        def move():
            global x
            x = x.cuda()
        move()
        """,
        {"x": "cuda"},
    ),
    (
        "nonlocal",
        """
        def outer():
            x = torch.zeros(2)
            def move():
                nonlocal x
                x = x.cuda()
            move()
            return x
        y = outer()
        """,
        {"y": "cuda"},
    ),
    (
        "a local of the same name",
        "x = torch.zeros(2)\ndef f():\n    x = torch.zeros(2).cuda()\n    return x\ny = f()",
        {"x": "cpu", "y": "cuda"},
    ),
    ("imported names", "from torch import zeros as nought\nx = nought(2)", {"x": "cpu"}),
    ("imported module", "import torch.nn.functional as F\nx = F.relu(torch.zeros(2).cuda())", {"x": "cuda"}),
    ("default device", "torch.set_default_device('cuda:1')\nx = torch.zeros(2)", {"x": "cuda:1"}),
    (
        "default device back",
        "torch.set_default_device('cuda:1')\ntorch.set_default_device(None)\nx = torch.zeros(2)",
        {"x": "cpu"},
    ),
    (
        "main guard",
        "x = None\nif __name__ == '__main__':\n    x = torch.zeros(2).cuda()",
        {},
    ),
    ("assert", "x = torch.zeros(2).cuda()\nassert x.is_cuda", {"x": "cuda"}),
]


def test_inferred(case: Any, bound: Callable[..., dict[str, str]]) -> None:
    assert bound(case.code, *case.expected) == case.expected


def test_true_of_torch(case: Any, disagreements: Callable[[Any], list[str]]) -> None:
    assert disagreements(case) == []
