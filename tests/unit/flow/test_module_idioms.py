"""Modules put together, called and gone through in less common ways; tensors' types; builtin functions on both.

Each expectation is also compared with PyTorch on the simulated accelerator.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

IMPORTS = """
import collections, copy, itertools, os
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset, random_split
c, g = torch.zeros(2, 2), torch.ones(2, 2, device="cuda")
here, there = nn.Linear(2, 2), nn.Linear(2, 2).cuda()
"""

CASES: list[tuple[str, str, dict[str, str]]] = [
    # -- containers of modules
    (
        "a chain of parts with names",
        """
        net = nn.Sequential(collections.OrderedDict(first=nn.Linear(2, 2), last=nn.Linear(2, 2))).cuda()
        x, y = net.last(g), net[0](g)
        part = net.first
        """,
        {"x": "cuda", "y": "cuda", "part": "module cuda"},
    ),
    (
        "a list from a list of modules",
        "net = nn.ModuleList(nn.ModuleList([there]))\nx = net[0](g)",
        {"x": "?"},
    ),
    (
        "a list of what is not all known",
        "net = nn.ModuleList([nn.Linear(2, 2) for _ in range(c.numel())]).cuda()\nx = net[1](g)",
        {"net": "module cuda", "x": "cuda"},
    ),
    (
        "a list that grows by many",
        "net = nn.ModuleList()\nnet.extend([nn.Linear(2, 2) for _ in range(2)])\nnet.cuda()\nx = net[1](g)",
        {"x": "cuda"},
    ),
    (
        "a dictionary of modules and its keys",
        """
        net = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)}).cuda()
        for key in net:
            x = net[key](g)
        for key in net.keys():
            y = net[key](g)
        for part in net.values():
            z = part(g)
        for key, part in net.items():
            w = part(g)
        """,
        {"x": "cuda", "y": "cuda", "z": "cuda", "w": "cuda"},
    ),
    (
        "a dictionary that takes over another",
        "net = nn.ModuleDict()\nnet.update({'a': nn.Linear(2, 2)})\nnet.cuda()\nx = net['a'](g)",
        {"x": "cuda"},
    ),
    (
        "a dictionary that takes over what is not known",
        "d = {str(i): nn.Linear(2, 2).cuda() for i in range(2)}\nnet = nn.ModuleDict()\nnet.update(d)\nx = net['0'](g)",
        {"x": "cuda"},
    ),
    (
        "children",
        """
        net = nn.Sequential(nn.Linear(2, 2), nn.ReLU()).cuda()
        for part in net.children():
            x = part(g)
        for name, part in net.named_children():
            y = part(g)
        """,
        {"x": "cuda", "y": "cuda"},
    ),
    (
        "parts of two devices",
        "net = nn.Sequential(here, there)\ny = net[0](c)\nz = net[1](g)",
        {"y": "cpu", "z": "cuda"},
    ),
    # -- parameters by name, hooks
    (
        "a parameter by name",
        "x = there.get_parameter('weight')\nnet = nn.BatchNorm1d(2).cuda()\ny = net.get_buffer('running_mean')",
        {"x": "cuda", "y": "cuda"},
    ),
    (
        "a parameter under a name that is computed",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                for i in range(2):
                    self.register_parameter(f"w{i}", nn.Parameter(torch.zeros(2)))
        net = Net().cuda()
        x = net.w1
        """,
        {"x": "cuda"},
    ),
    (
        "a hook on a tensor",
        """
        seen = []
        def keep(gradient):
            seen.append(gradient)
        x = torch.zeros(2, device="cuda", requires_grad=True)
        x.register_hook(keep)
        x.sum().backward()
        y = seen[0]
        """,
        {"y": "cuda"},
    ),
    (
        "a hook on a module",
        """
        seen = {}
        def keep(module, given, output):
            seen["out"] = output
        there.register_forward_hook(keep)
        there(g)
        y = seen["out"]
        """,
        {"y": "cuda"},
    ),
    (
        "a method of its own called like a module",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.zeros(2))
            def forward(self, x):
                return x * self.w
        net = Net().cuda()
        y = net.__call__(torch.zeros(2, device="cuda"))
        z = net.w
        """,
        {"y": "cuda", "z": "cuda"},
    ),
    (
        "another forward, put there",
        "there.forward = lambda x: x.cpu()\ny = there(g)",
        {"y": "cpu"},
    ),
    (
        "a function with a gradient of its own",
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.cuda() * 2
        y = Double.apply(c)
        """,
        {"y": "cuda"},
    ),
    (
        "a subclass that inherits everything",
        """
        class Base(nn.Module):
            size = 2
            def __init__(self):
                super().__init__()
                self.part = nn.Linear(self.size, 2)
            def forward(self, x):
                return self.part(x)
        class Mixin:
            pass
        class Net(Mixin, Base):
            pass
        y = Net().cuda()(g)
        """,
        {"y": "cuda"},
    ),
    (
        "a class that makes itself",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = nn.Linear(2, 2)
            @classmethod
            def made(cls, device):
                return cls().to(device)
            @staticmethod
            def other():
                return c
        net = Net.made("cuda")
        x, y = net.part(g), net.other()
        """,
        {"net": "module cuda", "x": "cuda", "y": "cpu"},
    ),
    (
        "a property that is set",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = nn.Linear(2, 2)
            @property
            def scale(self):
                return self._scale
            @scale.setter
            def scale(self, value):
                self._scale = value.cuda()
        net = Net()
        net.scale = c
        y = net.scale
        """,
        {"y": "cuda"},
    ),
    # -- an iterator of one's own
    (
        "an iterator",
        """
        class Batches:
            def __iter__(self):
                return self
            def __next__(self):
                return torch.zeros(2, device="cuda")
        x = next(iter(Batches()))
        for y in Batches():
            break
        z = next(Batches())
        """,
        {"x": "cuda", "y": "cuda", "z": "cuda"},
    ),
    (
        "an iterator that another class is",
        """
        class One:
            def __next__(self):
                return g
            def __iter__(self):
                return self
        class Batches:
            def __iter__(self):
                return One()
        x = next(iter(Batches()))
        for y in Batches():
            break
        """,
        {"x": "cuda", "y": "cuda"},
    ),
    (
        "items of one's own",
        """
        class Rows:
            def __getitem__(self, index):
                return g
            def __len__(self):
                return 1
        x = Rows()[0]
        """,
        {"x": "cuda"},
    ),
    # -- data
    (
        "parts of a dataset",
        """
        data = TensorDataset(c, c)
        for x, in DataLoader(Subset(TensorDataset(c), [0])): break
        for y, z in DataLoader(ConcatDataset([data, data])): break
        for v, w in DataLoader(random_split(data, [1, 1])[0]): break
        """,
        {"x": "cpu", "z": "?", "w": "cpu"},
    ),
    (
        "a dataset without tensors of its own",
        """
        class Data(Dataset):
            def __getitem__(self, index):
                return index
            def __len__(self):
                return 2
        for x in DataLoader(Data()): break
        """,
        {"x": "cpu"},
    ),
    (
        "batches that are put together on the accelerator",
        """
        def collate(rows):
            return torch.stack(rows).cuda()
        for x in DataLoader([torch.zeros(2), torch.zeros(2)], collate_fn=collate): break
        """,
        {"x": "cuda"},
    ),
    # -- tensors' types
    ("a type with a device", "x = c.type(torch.cuda.FloatTensor)", {"x": "cuda"}),
    ("a type of the CPU", "x = g.type(torch.FloatTensor)", {"x": "cpu"}),
    ("the name of a type with a device", "x = c.type('torch.cuda.FloatTensor')", {"x": "cuda"}),
    ("the name of a type of the CPU", "x = g.type('torch.FloatTensor')", {"x": "cpu"}),
    ("a type without a device", "x = g.type(torch.float16)", {"x": "cuda"}),
    ("the type of another", "x = c.type_as(g)", {"x": "cuda"}),
    ("on the CPU?", "x = c if g.is_cpu else g\ny = c if c.is_cpu else g", {"x": "cuda", "y": "cpu"}),
    ("a result put into another", "x = torch.add(g, 1, out=torch.zeros(2, 2, device='cuda'))", {"x": "cuda"}),
    (
        "an index of the CPU",
        "x = g[torch.tensor([0])]\ny = g[torch.tensor([0]), 1]",
        {"x": "cuda", "y": "cuda"},
    ),
    ("arguments out of a dictionary", "x = torch.add(**{'input': g, 'other': g})", {"x": "cuda"}),
    ("all of a list", "x = torch.cat([*[g, g]])\ny = torch.block_diag(*[g, g])", {"x": "cuda", "y": "cuda"}),
    # -- builtin functions
    ("filtered", "x = [*filter(None, [g.sum()])][0]", {"x": "0-dim cuda"}),
    ("mapped over two", "x = [*map(torch.add, [g], [g])][0]", {"x": "cuda"}),
    ("reversed", "x, y = reversed([c, g])", {"x": "cuda", "y": "cpu"}),
    ("columns", "xs, ys = zip(*[(c, g), (c, g)])\nx, y = xs[0], ys[1]", {"x": "cpu", "y": "cuda"}),
    (
        "columns of many",
        "xs, ys = zip(*[(c, g) for i in range(2)])\nx, y = xs[0], ys[1]",
        {"x": "cpu", "y": "cuda"},
    ),
    ("the type of a dictionary", "x = type({})(a=g)['a']", {"x": "cuda"}),
    ("no device in a list", "x = c if hasattr([], 'to') else g", {"x": "cuda"}),
    ("the rest of a tuple", "x, *rest = c, g, g\ny = rest[1]", {"x": "cpu", "y": "cuda"}),
    (
        "a chosen one of two",
        "pair = c, g\nx = (c, g)[g.is_cuda]\ny = pair[c.is_cuda]",
        {"x": "cuda or cpu", "y": "cuda or cpu"},
    ),
    ("a comprehension under a condition", "x = [t for t in [c, g] if t.is_cuda]\ny = x[0]", {"y": "cuda"}),
    ("merged in place", "d = {'a': c}\nd |= {'a': g}\nx = d['a']", {"x": "cuda"}),
    ("what a generator passes on", "def f():\n    yield from [g]\nx = next(f())", {"x": "cuda"}),
    # -- patterns
    (
        "patterns",
        """
        match [c, g, g]:
            case [x, *rest]:
                y = rest[0]
        match {"a": g}:
            case {"b": z}:
                z = c
            case {"a": z, **others}:
                w = others
        match 3:
            case [v]:
                v = c
            case int(n):
                v = g
        """,
        {"x": "cpu", "y": "cuda", "z": "cuda", "v": "cuda"},
    ),
]
CASES = [(name, IMPORTS + textwrap.dedent(code), expected) for name, code, expected in CASES]


def test_inferred(case: Any, bound: Callable[..., dict[str, str]]) -> None:
    assert bound(case.code, *case.expected) == case.expected


def test_true_of_torch(case: Any, disagreements: Callable[[Any], list[str]]) -> None:
    assert disagreements(case) == []
