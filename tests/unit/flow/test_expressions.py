"""What expressions evaluate to. Each expectation is also compared with PyTorch on the simulated accelerator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CASES: list[tuple[str, str, dict[str, str]]] = [
    ("name", "x = torch.zeros(2)\ny = x", {"y": "cpu"}),
    ("constants", "a, b, c, d = 1, -2.5, 'cpu', None", {"a": "1", "b": "-2.5", "c": "'cpu'", "d": "None"}),
    (
        "concatenated strings",
        "d = 'cuda' ':1'\nx = torch.zeros(2, device=d)",
        {"d": "'cuda:1'", "x": "cuda:1"},
    ),
    ("f-string", "n = 1\nx = torch.zeros(2, device=f'cuda:{n}')", {"x": "cuda:1"}),
    ("string formatting", "x = torch.zeros(2, device='cuda:%d' % 1)", {"x": "cuda:1"}),
    ("string sum", "x = torch.zeros(2, device='cuda:' + '1')", {"x": "cuda:1"}),
    ("tuple and list", "x = (torch.zeros(2), [torch.zeros(2).cuda()])", {"x": "(cpu, (cuda))"}),
    ("starred element", "a = [torch.zeros(2)]\nx = [*a, torch.zeros(2).cuda()]", {"x": "(cpu, cuda)"}),
    ("dict", "x = {'a': torch.zeros(2), 'b': 2}", {"x": "{a: cpu, b: 2}"}),
    (
        "dict in a dict",
        "a = {'a': torch.zeros(2)}\nx = {**a, 'b': torch.zeros(2).cuda()}",
        {"x": "{a: cpu, b: cuda}"},
    ),
    ("index", "x = (torch.zeros(2), torch.zeros(2).cuda())\na, b = x[0], x[-1]", {"a": "cpu", "b": "cuda"}),
    ("slice of a list", "x = [torch.zeros(2).cuda()][:1]", {"x": "(cuda)"}),
    (
        "conditional expression",
        "x = torch.zeros(2).cuda() if torch.cuda.is_available() else torch.zeros(2)",
        {"x": "cuda or cpu"},
    ),
    ("known condition", "x = torch.zeros(2).cuda() if 1 else torch.zeros(2)", {"x": "cuda"}),
    ("or", "x = None or torch.zeros(2).cuda()", {"x": "cuda"}),
    ("and", "x = 1 and torch.zeros(2).cuda()", {"x": "cuda"}),
    (
        "the old idiom",
        "d = torch.cuda.is_available() and 'cuda' or 'cpu'\nx = torch.zeros(2).to(d)",
        {"x": "cuda or cpu"},
    ),
    (
        "selected by a truth",
        "d = ('cpu', 'cuda')[torch.cuda.is_available()]\nx = torch.zeros(2).to(d)",
        {"x": "cuda or cpu"},
    ),
    (
        "selected by a key",
        "d = {True: 'cuda', False: 'cpu'}[torch.cuda.is_available()]\nx = torch.zeros(2).to(d)",
        {"x": "cuda or cpu"},
    ),
    ("walrus", "y = (x := torch.zeros(2).cuda()) + 1", {"x": "cuda", "y": "cuda"}),
    ("lambda", "f = lambda t: t.cuda()\nx = f(torch.zeros(2))", {"x": "cuda"}),
    (
        "lambda that closes over a name",
        "d = 'cuda:1'\nf = lambda t: t.to(d)\nx = f(torch.zeros(2))",
        {"x": "cuda:1"},
    ),
    # -- comprehensions
    (
        "list comprehension",
        "xs = [t.cuda() for t in (torch.zeros(2), torch.zeros(2))]\nx = xs[0]",
        {"xs": "(cuda, cuda)", "x": "cuda"},
    ),
    ("its target is its own", "t = torch.zeros(2)\nxs = [t.cuda() for t in (t, t)]", {"t": "cpu"}),
    ("over a range", "xs = [torch.zeros(2).cuda() for _ in range(3)]", {"xs": "many cuda"}),
    (
        "with a filter",
        "xs = [t for t in (torch.zeros(2).cuda(), None) if t is not None]\nx = xs[0]",
        {"x": "cuda"},
    ),
    ("nested", "xs = [t.cuda() for row in [[torch.zeros(2)]] for t in row]", {"xs": "many cuda"}),
    ("set comprehension", "n = len({t for t in (1, 2)})\nx = torch.zeros(n)", {"x": "cpu"}),
    (
        "dict comprehension",
        "a = {'p': torch.zeros(2), 'q': torch.zeros(2)}\nx = {k: v.cuda() for k, v in a.items()}",
        {"x": "{p: cuda, q: cuda}"},
    ),
    (
        "generator unpacked",
        "x, y = (t.cuda() for t in (torch.zeros(2), torch.zeros(2)))",
        {"x": "cuda", "y": "cuda"},
    ),
    (
        "map unpacked",
        "x, y = map(lambda t: t.cuda(), (torch.zeros(2), torch.zeros(2)))",
        {"x": "cuda", "y": "cuda"},
    ),
    (
        "zip",
        "a, b = [torch.zeros(2)], [torch.zeros(2).cuda()]\nfor x, y in zip(a, b):\n    pass",
        {"x": "cpu", "y": "cuda"},
    ),
    (
        "tuple of a generator",
        "x = tuple(t.cuda() for t in (torch.zeros(2), torch.zeros(2)))",
        {"x": "(cuda, cuda)"},
    ),
    (
        "modules made in a comprehension",
        "ms = [nn.Linear(2, 2).to(d) for d in ('cuda:0', 'cuda:1')]\na, b = ms",
        {"a": "module cuda:0", "b": "module cuda:1"},
    ),
    # -- operators
    ("sum", "x = torch.zeros(2).cuda() + torch.ones(2).cuda()", {"x": "cuda"}),
    ("with a number", "x = 1 - torch.zeros(2).cuda()", {"x": "cuda"}),
    ("with a 0-dim tensor", "x = torch.zeros(2).cuda() * torch.tensor(2.0)", {"x": "cuda"}),
    ("two 0-dim tensors", "x = torch.tensor(1.0) + torch.tensor(2.0)", {"x": "0-dim cpu"}),
    ("negation", "x = -torch.zeros(2).cuda()", {"x": "cuda"}),
    ("inversion", "x = ~torch.zeros(2).bool().cuda()", {"x": "cuda"}),
    ("matrix product", "x = torch.zeros(2, 2).cuda() @ torch.zeros(2, 2).cuda()", {"x": "cuda"}),
    ("comparison of tensors", "x = torch.zeros(2).cuda() > 0", {"x": "cuda"}),
    ("a list times a number", "xs = [torch.zeros(2)] * 2", {"xs": "(cpu, cpu)"}),
    # -- indexing tensors
    ("a row", "x = torch.zeros(2, 2).cuda()[0]", {"x": "cuda"}),
    ("a slice", "x = torch.zeros(2).cuda()[1:]", {"x": "cuda"}),
    ("by a mask from the CPU", "x = torch.zeros(2).cuda()[torch.tensor([True, False])]", {"x": "cuda"}),
    ("an element", "x = torch.zeros(2).cuda()[0]\ny = torch.zeros(2) + 1", {"x": "cuda", "y": "cpu"}),
    ("iterating over a tensor", "for x in torch.zeros(2, 2).cuda():\n    pass", {"x": "cuda"}),
    ("unpacking a tensor", "x, y = torch.zeros(2, 2).cuda()", {"x": "cuda", "y": "cuda"}),
    # -- attributes
    (
        "device",
        "d = torch.zeros(2).cuda().device\nx = torch.zeros(2, device=d)",
        {"d": "device cuda", "x": "cuda"},
    ),
    (
        "T, data, grad",
        "w = torch.zeros(2, 2).cuda()\nx, y, z = w.T, w.data, w.mT",
        {"x": "cuda", "y": "cuda", "z": "cuda"},
    ),
    ("shape", "n = torch.zeros(2).cuda().shape[0]\nx = torch.zeros(n)", {"x": "cpu"}),
    ("dtype", "t = torch.zeros(2).cuda().dtype\nx = torch.zeros(2).to(t)", {"t": "dtype", "x": "cpu"}),
]


def test_inferred(case: Any, bound: Callable[..., dict[str, str]]) -> None:
    assert bound(case.code, *case.expected) == case.expected


def test_true_of_torch(case: Any, disagreements: Callable[[Any], list[str]]) -> None:
    assert disagreements(case) == []
