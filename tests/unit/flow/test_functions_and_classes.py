"""What calls of the file's own functions and classes give, and what they do.

Each expectation is also compared with PyTorch on the simulated accelerator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CASES: list[tuple[str, str, dict[str, str]]] = [
    # -- classes in classes
    (
        "a layer of a class within",
        "class A(nn.Module):\n    class Part(nn.Module):\n        def __init__(self, n):\n            super().__init__()\n"
        "            self.w = nn.Parameter(torch.ones(n))\n    def __init__(self):\n        super().__init__()\n"
        "        self.parts = nn.ModuleList([self.Part(2) for _ in range(2)])\n"
        "a, b = A(), A().cuda()\nx, y = a.parts[1].w, b.parts[0].w",
        {"x": "cpu", "y": "cuda"},
    ),
    (
        "a class that an instance has instead",
        "class A:\n    class Part:\n        def __init__(self):\n            self.w = torch.ones(2)\n"
        "    def __init__(self, part):\n        self.Part = part\n    def make(self):\n        return self.Part().w\n"
        "class B:\n    def __init__(self):\n        self.w = torch.ones(2).cuda()\nx = A(B).make()",
        {"x": "cuda"},
    ),
    (
        "a class that a subclass has instead",
        "class A:\n    class Part:\n        def __init__(self):\n            self.w = torch.ones(2)\n"
        "    def make(self):\n        return self.Part().w\n"
        "class B(A):\n    class Part:\n        def __init__(self):\n            self.w = torch.ones(2).cuda()\n"
        "x, y = A().make(), B().make()",
        {"x": "cpu", "y": "cuda"},
    ),
    # -- arguments
    ("positional", "def f(t, n):\n    return t\nx = f(torch.zeros(2).cuda(), 1)", {"x": "cuda"}),
    ("keyword", "def f(n, t):\n    return t\nx = f(t=torch.zeros(2).cuda(), n=1)", {"x": "cuda"}),
    (
        "default",
        "def f(d='cuda:1'):\n    return torch.zeros(2, device=d)\nx, y = f(), f('cpu')",
        {"x": "cuda:1", "y": "cpu"},
    ),
    (
        "default of a name that changes",
        "D = 'cuda:1'\ndef f(d=D):\n    return torch.zeros(2, device=d)\nD = 'cpu'\nx = f()",
        {"x": "cuda:1"},
    ),
    (
        "keyword-only",
        "def f(*, d='cpu'):\n    return torch.zeros(2, device=d)\nx = f(d='cuda:1')",
        {"x": "cuda:1"},
    ),
    ("positional-only", "def f(t, /):\n    return t\nx = f(torch.zeros(2).cuda())", {"x": "cuda"}),
    (
        "*args",
        "def f(*ts):\n    return ts\nx, y = f(torch.zeros(2), torch.zeros(2).cuda())",
        {"x": "cpu", "y": "cuda"},
    ),
    ("**kwargs", "def f(**ts):\n    return ts['b']\nx = f(a=1, b=torch.zeros(2).cuda())", {"x": "cuda"}),
    (
        "passing *",
        "def f(a, b):\n    return b\nx = f(*[torch.zeros(2), torch.zeros(2).cuda()])",
        {"x": "cuda"},
    ),
    (
        "passing **",
        "def f(a, b):\n    return b\nx = f(**{'b': torch.zeros(2).cuda(), 'a': 1})",
        {"x": "cuda"},
    ),
    (
        "passing on",
        """
        def f(a, b=0):
            return b
        def g(*args, **kwargs):
            return f(*args, **kwargs)
        x = g(1, b=torch.zeros(2).cuda())
        """,
        {"x": "cuda"},
    ),
    (
        "a module as argument is moved",
        "def move(m):\n    m.to('cuda:1')\nm = nn.Linear(2, 2)\nmove(m)",
        {"m": "module cuda:1"},
    ),
    (
        "a tensor as argument is not",
        "def move(t):\n    t = t.to('cuda:1')\nx = torch.zeros(2)\nmove(x)",
        {"x": "cpu"},
    ),
    (
        "several results",
        "def f():\n    return torch.zeros(2), torch.zeros(2).cuda()\nx, y = f()",
        {"x": "cpu", "y": "cuda"},
    ),
    (
        "a result per call",
        "def f(d):\n    return torch.zeros(2).to(d)\nx, y = f('cpu'), f('cuda:1')",
        {"x": "cpu", "y": "cuda:1"},
    ),
    (
        "through three functions",
        """
        def f(t):
            return t.cuda()
        def g(t):
            return f(t)
        def h(t):
            return g(t)
        x = h(torch.zeros(2))
        """,
        {"x": "cuda"},
    ),
    (
        "closure",
        """
        def make(d):
            def f():
                return torch.zeros(2, device=d)
            return f
        x = make('cuda:1')()
        """,
        {"x": "cuda:1"},
    ),
    (
        "a global read in a function",
        "d = 'cuda:1'\ndef f():\n    return torch.zeros(2, device=d)\nx = f()",
        {"x": "cuda:1"},
    ),
    (
        "a global bound after the definition",
        "def f():\n    return torch.zeros(2, device=d)\nd = 'cuda:1'\nx = f()",
        {"x": "cuda:1"},
    ),
    # -- decorators
    ("no_grad", "@torch.no_grad()\ndef f():\n    return torch.zeros(2).cuda()\nx = f()", {"x": "cuda"}),
    (
        "a decorator of the file",
        """
        import functools
        def on_gpu(f):
            @functools.wraps(f)
            def g(*args):
                return f(*(a.cuda() for a in args))
            return g
        @on_gpu
        def same(t):
            return t
        x = same(torch.zeros(2))
        """,
        {"x": "cuda"},
    ),
    (
        "cached",
        """
        import functools
        @functools.lru_cache
        def f(d):
            return torch.zeros(2, device=d)
        x = f('cuda:1')
        """,
        {"x": "cuda:1"},
    ),
    # -- generators and recursion
    (
        "generator",
        "def g():\n    for _ in range(2):\n        yield torch.zeros(2).cuda()\nfor x in g():\n    pass",
        {"x": "cuda"},
    ),
    (
        "yield from",
        "def g():\n    yield from (torch.zeros(2).cuda(), torch.zeros(2).cuda())\nx = next(g())",
        {"x": "cuda"},
    ),
    (
        "recursion",
        "def f(n):\n    return torch.zeros(2).cuda() if n == 0 else f(n - 1)\nx = f(99)",
        {"x": "?"},
    ),
    (
        "mutual recursion",
        "def f(n):\n    return g(n - 1) if n else torch.zeros(2)\ndef g(n):\n    return f(n)\nx = f(99)",
        {"x": "?"},
    ),
    (
        "recursion that moves",
        """
        def to(t):
            return [to(p) for p in t] if isinstance(t, list) else t.cuda()
        x = to(torch.zeros(2))
        """,
        {"x": "cuda"},
    ),
    (
        "async",
        """
        import asyncio
        async def f():
            return torch.zeros(2).cuda()
        async def main():
            return await f()
        x = asyncio.run(main())
        """,
        {"x": "cuda"},
    ),
    # -- classes
    (
        "attributes",
        """
        class A:
            def __init__(self, d):
                self.d = d
            def make(self):
                return torch.zeros(2, device=self.d)
        x = A('cuda:1').make()
        """,
        {"x": "cuda:1"},
    ),
    (
        "two instances",
        """
        class A:
            def __init__(self, d):
                self.t = torch.zeros(2, device=d)
        a, b = A('cuda:0'), A('cuda:1')
        x, y = a.t, b.t
        """,
        {"x": "cuda:0", "y": "cuda:1"},
    ),
    (
        "class attribute",
        "class A:\n    d = 'cuda:1'\nx = torch.zeros(2, device=A.d)\ny = torch.zeros(2, device=A().d)",
        {"x": "cuda:1", "y": "cuda:1"},
    ),
    (
        "hidden by the instance",
        """
        class A:
            d = 'cpu'
        a = A()
        a.d = 'cuda:1'
        x, y = torch.zeros(2, device=a.d), torch.zeros(2, device=A.d)
        """,
        {"x": "cuda:1", "y": "cpu"},
    ),
    (
        "inherited method",
        """
        class A:
            def make(self):
                return torch.zeros(2, device=self.d)
        class B(A):
            d = 'cuda:1'
        x = B().make()
        """,
        {"x": "cuda:1"},
    ),
    (
        "overridden method",
        """
        class A:
            def make(self):
                return torch.zeros(2)
        class B(A):
            def make(self):
                return super().make().cuda()
        x = B().make()
        """,
        {"x": "cuda"},
    ),
    (
        "super().__init__",
        """
        class A:
            def __init__(self, d):
                self.d = d
        class B(A):
            def __init__(self):
                super().__init__('cuda:1')
        x = torch.zeros(2, device=B().d)
        """,
        {"x": "cuda:1"},
    ),
    (
        "property",
        """
        class A:
            @property
            def d(self):
                return 'cuda:1'
        x = torch.zeros(2, device=A().d)
        """,
        {"x": "cuda:1"},
    ),
    (
        "classmethod",
        """
        class A:
            d = 'cuda:1'
            @classmethod
            def make(cls):
                return torch.zeros(2, device=cls.d)
        x = A.make()
        """,
        {"x": "cuda:1"},
    ),
    (
        "alternative constructor",
        """
        class A:
            def __init__(self, d):
                self.d = d
            @classmethod
            def on_gpu(cls):
                return cls('cuda:1')
        x = torch.zeros(2, device=A.on_gpu().d)
        """,
        {"x": "cuda:1"},
    ),
    (
        "staticmethod",
        """
        class A:
            @staticmethod
            def make(d):
                return torch.zeros(2, device=d)
        x, y = A.make('cuda:1'), A().make('cpu')
        """,
        {"x": "cuda:1", "y": "cpu"},
    ),
    (
        "dataclass",
        """
        from dataclasses import dataclass
        @dataclass
        class A:
            t: torch.Tensor
            d: str = 'cuda:1'
        a = A(torch.zeros(2).cuda())
        x, y = a.t, torch.zeros(2, device=a.d)
        """,
        {"x": "cuda", "y": "cuda:1"},
    ),
    (
        "dataclass with to",
        """
        from dataclasses import dataclass
        @dataclass
        class A:
            t: torch.Tensor
            def to(self, d):
                return A(self.t.to(d))
        x = A(torch.zeros(2)).to('cuda:1').t
        """,
        {"x": "cuda:1"},
    ),
    (
        "NamedTuple",
        """
        from typing import NamedTuple
        class A(NamedTuple):
            t: torch.Tensor
            n: int = 0
        a = A(torch.zeros(2).cuda())
        x = a.t
        """,
        {"x": "cuda"},
    ),
    ("setattr", "class A: pass\na = A()\nsetattr(a, 't', torch.zeros(2).cuda())\nx = a.t", {"x": "cuda"}),
    (
        "setattr under any name",
        """
        class A:
            def __init__(self, **kw):
                self.d = 'cpu'
                for k, v in kw.items():
                    setattr(self, k, v)
        x = torch.zeros(2, device=A(d='cuda:1').d)
        """,
        {"x": "cuda:1"},
    ),
    ("getattr", "class A:\n    d = 'cuda:1'\nx = torch.zeros(2, device=getattr(A(), 'd'))", {"x": "cuda:1"}),
    (
        "__dict__",
        """
        class A:
            def __init__(self, **kw):
                self.d = 'cpu'
                self.__dict__.update(kw)
        x = torch.zeros(2, device=A(d='cuda:1').d)
        """,
        {"x": "cuda:1"},
    ),
    (
        "__call__",
        "class A:\n    def __call__(self, t):\n        return t.cuda()\nx = A()(torch.zeros(2))",
        {"x": "cuda"},
    ),
    (
        "a bound method kept",
        "class A:\n    def move(self, t):\n        return t.cuda()\nf = A().move\nx = f(torch.zeros(2))",
        {"x": "cuda"},
    ),
    (
        "method chaining",
        """
        class A:
            def on(self, d):
                self.d = d
                return self
        x = torch.zeros(2, device=A().on('cuda:1').d)
        """,
        {"x": "cuda:1"},
    ),
    # -- modules
    (
        "a module of layers",
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 2)
        m = M()
        n = m.cuda()
        a = m.a
        """,
        {"m": "module cuda", "n": "module cuda", "a": "module cuda"},
    ),
    (
        "its forward",
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 2)
            def forward(self, t):
                return self.a(t)
        x = M().cuda()(torch.zeros(1, 2).cuda())
        """,
        {"x": "cuda"},
    ),
    (
        "a parameter",
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.zeros(2))
        m = M().cuda()
        x = m.w
        """,
        {"x": "cuda", "m": "module cuda"},
    ),
    (
        "a buffer",
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer('b', torch.zeros(2))
        m = M().to('cuda:1')
        x = m.b
        """,
        {"x": "cuda:1"},
    ),
    (
        "a plain tensor stays",
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 2)
                self.t = torch.zeros(2)
        m = M().cuda()
        x = m.t
        """,
        {"x": "cpu"},
    ),
    (
        "modules in a plain list stay",
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.zeros(2))
                self.rest = [nn.Linear(2, 2)]
        m = M().cuda()
        a = m.rest[0]
        """,
        {"a": "module cpu"},
    ),
    (
        "modules in a ModuleList move",
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.rest = nn.ModuleList([nn.Linear(2, 2)])
        m = M().cuda()
        a = m.rest[0]
        """,
        {"a": "module cuda"},
    ),
    (
        "attached after the move",
        "m = nn.Sequential(nn.Linear(2, 2)).cuda()\nm.head = nn.Linear(2, 2)\nh = m.head",
        {"h": "module cpu"},
    ),
    (
        "a submodule alone",
        "m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))\nm[0].cuda()\na, b = m[0], m[1]",
        {"a": "module cuda", "b": "module cpu"},
    ),
    (
        "device=",
        "m = nn.Linear(2, 2, device='cuda:1')\nx = m(torch.zeros(1, 2, device='cuda:1'))",
        {"m": "module cuda:1", "x": "cuda:1"},
    ),
    (
        "Sequential",
        """
        m = nn.Sequential(nn.Linear(2, 2), nn.ReLU()).to('cuda:1')
        x = m(torch.zeros(1, 2, device='cuda:1'))
        """,
        {"m": "module cuda:1", "x": "cuda:1"},
    ),
    (
        "an OrderedDict of layers",
        """
        from collections import OrderedDict
        m = nn.Sequential(OrderedDict(a=nn.Linear(2, 2))).cuda()
        """,
        {"m": "module cuda"},
    ),
    (
        "without parameters",
        "m = nn.ReLU()\nx, y = m(torch.zeros(2)), m(torch.zeros(2).cuda())",
        {"x": "cpu", "y": "cuda"},
    ),
    ("a loss", "x = nn.MSELoss()(torch.zeros(2).cuda(), torch.ones(2).cuda())", {"x": "0-dim cuda"}),
    (
        "its parameters",
        "m = nn.Linear(2, 2).cuda()\nd = next(m.parameters()).device\nx = torch.zeros(2, device=d)",
        {"d": "device cuda", "x": "cuda"},
    ),
    ("its weight", "m = nn.Linear(2, 2).cuda()\nw = m.weight", {"w": "cuda"}),
    ("its state", "m = nn.Linear(2, 2).cuda()\nx = m.state_dict()['weight']", {"x": "cuda"}),
    (
        "eval, train, half",
        "m = nn.Linear(2, 2).cuda().eval().train().double().requires_grad_(False)",
        {"m": "module cuda"},
    ),
    ("to(dtype)", "m = nn.Linear(2, 2).cuda().to(torch.float64)", {"m": "module cuda"}),
    (
        "deepcopy",
        "import copy\nm = nn.Linear(2, 2)\nn = copy.deepcopy(m)\nm.cuda()",
        {"m": "module cuda", "n": "module cpu"},
    ),
    ("apply", "m = nn.Sequential(nn.Linear(2, 2))\nm.apply(lambda part: part.cuda())", {"m": "module ?"}),
    (
        "load_state_dict keeps the device",
        "m, n = nn.Linear(2, 2).cuda(), nn.Linear(2, 2)\nm.load_state_dict(n.state_dict())",
        {"m": "module cuda", "n": "module cpu"},
    ),
    (
        "moved in __init__",
        """
        class M(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.a = nn.Linear(2, 2)
                self.to(d)
        m = M('cuda:1')
        """,
        {"m": "module cuda:1"},
    ),
    (
        "a module that moves its input",
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 2).cuda()
            def forward(self, t):
                return self.a(t.to(self.a.weight.device))
        x = M()(torch.zeros(1, 2))
        """,
        {"x": "cuda"},
    ),
    (
        "shared between two",
        "a = nn.Linear(2, 2)\nm, n = nn.Sequential(a), nn.Sequential(a)\nm.cuda()",
        {"a": "module cuda"},
    ),
    (
        "modules of a loop",
        "ms = []\nfor d in ('cuda:0', 'cuda:1'):\n    ms.append(nn.Linear(2, 2).to(d))\na, b = ms",
        {"a": "module cuda:0", "b": "module cuda:1"},
    ),
    (
        "append to a ModuleList",
        """
        ms = nn.ModuleList()
        ms.append(nn.Linear(2, 2))
        ms.cuda()
        for m in ms:
            x = m(torch.zeros(1, 2).cuda())
        """,
        {"x": "cuda"},
    ),
]


def test_inferred(case: Any, bound: Callable[..., dict[str, str]]) -> None:
    assert bound(case.code, *case.expected) == case.expected


def test_true_of_torch(case: Any, disagreements: Callable[[Any], list[str]]) -> None:
    assert disagreements(case) == []
