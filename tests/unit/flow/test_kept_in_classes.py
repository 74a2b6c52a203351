"""What classes of dicts, descriptors, partial functions and stacks of contexts keep. Right programs beside wrong ones."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

HEAD = """\
import contextlib
from collections import OrderedDict, UserDict
from functools import partial
from typing import Dict
import numpy as np
import torch
from torch import nn
from torch.func import hessian, jacfwd, jacrev, vmap
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

PAIRS: dict[str, tuple[str, str]] = {
    "a batch that is a dict": (
        """
        class Batch(dict):
            def to(self, where):
                return Batch({k: v.to(where) for k, v in self.items()})
        batch = Batch(x=torch.rand(2, 3), y=torch.rand(2, 1)).to(device)
        nn.Linear(3, 1).to(device)(batch["x"]) - batch["y"]
        """,
        """
        class Batch(dict):
            def to(self, where):
                return Batch({k: v.to(where) for k, v in self.items()})
        batch = Batch(x=torch.rand(2, 3), y=torch.rand(2, 1))
        nn.Linear(3, 1).to(device)(batch["x"])
        """,
    ),
    "a dict that moves its items one by one": (
        """
        class Batch(OrderedDict):
            def __init__(self, **parts):
                super().__init__(mask=torch.ones(3), **parts)
            def to(self, where):
                for k, v in self.items():
                    self[k] = v.to(where)
                return self
        batch = Batch(x=torch.rand(3)).to(device)
        batch["mask"] * torch.rand(3, device=device)
        """,
        """
        class Batch(OrderedDict):
            def __init__(self, **parts):
                super().__init__(mask=torch.ones(3), **parts)
            def to(self, where):
                self["x"] = self["x"].to(where)
                return self
        batch = Batch(x=torch.rand(3)).to(device)
        batch["mask"] * torch.rand(3, device=device)
        """,
    ),
    "the keys of a dict": (
        """
        class Named(Dict[str, torch.Tensor]):
            pass
        named = Named({"a": torch.rand(3), "b": torch.rand(3)})
        for name in named:
            torch.rand(3, device=device) + named[name].to(device)
        """,
        """
        class Named(Dict[str, torch.Tensor]):
            pass
        named = Named({"a": torch.rand(3), "b": torch.rand(3)})
        for name in named:
            torch.rand(3, device=device) + named[name]
        """,
    ),
    "an encoding that is given with two stars": (
        """
        class Encoding(UserDict):
            def to(self, where):
                self.data = {k: v.to(where) for k, v in self.data.items()}
                return self
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(9, 4)
            def forward(self, ids, mask):
                return self.embed(ids) * mask
        net = Net().to(device)
        net(**Encoding({"ids": torch.ones(2, dtype=torch.long), "mask": torch.ones(2, 4)}).to(device))
        """,
        """
        class Encoding(UserDict):
            def to(self, where):
                self.data = {k: v.to(where) for k, v in self.data.items()}
                return self
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(9, 4)
            def forward(self, ids, mask):
                return self.embed(ids) * mask
        net = Net().to(device)
        net(**Encoding({"ids": torch.ones(2, dtype=torch.long), "mask": torch.ones(2, 4)}))
        """,
    ),
    "dicts of an instance of a class of dicts": (
        """
        class Named(dict):
            pass
        named = Named(a=torch.rand(3), b=torch.rand(3, device=device))
        {**named, "a": torch.rand(3, device=device)}["a"] + dict(named)["b"]
        """,
        """
        class Named(dict):
            pass
        named = Named(a=torch.rand(3), b=torch.rand(3, device=device))
        {**named}["a"] + dict(named)["b"]
        """,
    ),
    "an overridden item": (
        """
        class Scaled(dict):
            def __getitem__(self, key):
                return super().__getitem__(key).to(device)
            def __setitem__(self, key, value):
                super().__setitem__(key, value * 2)
        held = Scaled()
        held["a"] = torch.rand(3)
        held["a"] + torch.rand(3, device=device)
        """,
        """
        class Scaled(dict):
            def __getitem__(self, key):
                return super().__getitem__(key)
            def __setitem__(self, key, value):
                super().__setitem__(key, value * 2)
        held = Scaled()
        held["a"] = torch.rand(3)
        held["a"] + torch.rand(3, device=device)
        """,
    ),
    "items as attributes": (
        """
        class Options(dict):
            __getattr__ = dict.__getitem__
        given = Options(weight=torch.rand(3, device=device))
        given.weight + torch.rand(3, device=device)
        """,
        """
        class Options(dict):
            __getattr__ = dict.__getitem__
        given = Options(weight=torch.rand(3))
        given.weight + torch.rand(3, device=device)
        """,
    ),
    "a dict whose items may be set as attributes": (
        """
        class Options(dict):
            __setattr__ = dict.__setitem__
        given = Options()
        given.scale = torch.rand(3, device=device)
        scale = given.get("scale")
        if scale is None:
            scale = torch.rand(3)
        scale + torch.rand(3, device=device)
        """,
        """
        class Options(dict):
            pass
        given = Options()
        scale = given.get("scale")
        if scale is None:
            scale = torch.rand(3)
        scale + torch.rand(3, device=device)
        """,
    ),
    "what a wrapper does not have": (
        """
        class Wrapper:
            def __init__(self, inner):
                self._inner = inner
            def __getattr__(self, name):
                return getattr(self._inner, name)
        class Scale:
            def __init__(self):
                self.factor = torch.rand(3, device=device)
            def apply(self, x):
                return x * self.factor
        Wrapper(Scale()).apply(torch.rand(3, device=device))
        """,
        """
        class Wrapper:
            def __init__(self, inner):
                self._inner = inner
            def __getattr__(self, name):
                return getattr(self._inner, name)
        class Scale:
            def __init__(self):
                self.factor = torch.rand(3)
            def apply(self, x):
                return x * self.factor
        Wrapper(Scale()).apply(torch.rand(3, device=device))
        """,
    ),
    "a descriptor": (
        """
        class Constant:
            def __init__(self, make):
                self.make = make
            def __get__(self, module, owner=None):
                return self.make(module).to(next(module.parameters()).device)
        class Net(nn.Module):
            table = Constant(lambda net: torch.arange(net.dim).float())
            def __init__(self):
                super().__init__()
                self.dim = 4
                self.linear = nn.Linear(4, 4)
            def forward(self, x):
                return self.linear(x + self.table)
        Net().to(device)(torch.rand(2, 4, device=device))
        """,
        """
        class Constant:
            def __init__(self, make):
                self.make = make
            def __get__(self, module, owner=None):
                return self.make(module)
        class Net(nn.Module):
            table = Constant(lambda net: torch.arange(net.dim).float())
            def __init__(self):
                super().__init__()
                self.dim = 4
                self.linear = nn.Linear(4, 4)
            def forward(self, x):
                return self.linear(x + self.table)
        Net().to(device)(torch.rand(2, 4, device=device))
        """,
    ),
    "a thing that has a number of dimensions": (
        """
        def frequencies(config):
            return torch.arange(config.length)[:, None] * torch.arange(config.dim) / config.dim
        torch.rand(3).to(device)
        """,
        """
        def frequencies(config):
            return torch.arange(config.shape[0])[:, None] * torch.arange(config.dim()) / config
        torch.rand(3).to(device)
        """,
    ),
    "an argument that was bound elsewhere": (
        """
        def weighted(x, y, weight):
            return ((x - y) * weight).sum()
        def train(loss_fn, where):
            return loss_fn(torch.rand(3).to(where), torch.rand(3).to(where))
        def main():
            train(partial(weighted, weight=torch.rand(3).to(device)), device)
        main()
        """,
        """
        def weighted(x, y, weight):
            return ((x - y) * weight).sum()
        def train(loss_fn, where):
            return loss_fn(torch.rand(3).to(where), torch.rand(3).to(where))
        def main():
            train(partial(weighted, weight=torch.rand(3)), device)
        main()
        """,
    ),
    "a device that a stack enters on one condition": (
        """
        def make(gpu):
            with contextlib.ExitStack() as stack:
                stack.enter_context(torch.no_grad())
                if gpu:
                    stack.enter_context(torch.device("cuda"))
                x = torch.rand(3)
            return x, torch.arange(3, device=x.device)
        x, steps = make(torch.cuda.is_available())
        x * steps
        """,
        """
        def make(gpu):
            with contextlib.ExitStack() as stack:
                stack.enter_context(torch.no_grad())
                if gpu:
                    stack.enter_context(torch.device("cuda"))
                x = torch.rand(3)
            return x, torch.arange(3)
        x, steps = make(torch.cuda.is_available())
        x * steps
        """,
    ),
    "a derivative by rows": (
        """
        def f(p, x):
            return (p["w"] * x).sum()
        p, x = {"w": torch.rand(3, device=device)}, torch.rand(2, 3, device=device)
        jac = vmap(jacrev(f), in_dims=(None, 0))(p, x)["w"]
        jac.T @ jac + torch.eye(3, device=device) + hessian(torch.sum)(x[0]) + jacfwd(torch.sin)(x[0])
        """,
        """
        def f(p, x):
            return (p["w"] * x).sum()
        p, x = {"w": torch.rand(3, device=device)}, torch.rand(2, 3, device=device)
        jac = vmap(jacrev(f), in_dims=(None, 0))(p, x)["w"]
        jac.T @ jac + torch.eye(3)
        """,
    ),
    "sizes that are told": (
        """
        def grid(n, like):
            steps = torch.linspace(0, 1, n).to(like.device)
            return torch.cartesian_prod(steps, steps).reshape(n, n, 2).sum(-1) + like
        grid(4, torch.rand(4, 4, device=device))
        """,
        """
        def grid(n, like):
            steps = torch.linspace(0, 1, n)
            return torch.cartesian_prod(steps, steps).reshape(n, n, 2).sum(-1) + like
        grid(4, torch.rand(4, 4, device=device))
        """,
    ),
    "a number with a dimension": (
        """
        ratio = torch.rand(5).sum()
        torch.rand(1, device=device) * ratio
        """,
        """
        ratio = torch.rand(5).sum()
        torch.rand(1, device=device) * ratio.view(1)
        """,
    ),
    "the order of what was put together": (
        """
        scores = []
        for _ in range(3):
            scores.append(nn.Linear(3, 1).to(device)(torch.rand(2, 3, device=device)).squeeze(1).cpu())
        torch.rand(6)[torch.cat(scores).argsort()]
        """,
        """
        scores = []
        for _ in range(3):
            scores.append(nn.Linear(3, 1).to(device)(torch.rand(2, 3, device=device)).squeeze(1))
        torch.rand(6)[torch.cat(scores).argsort()]
        """,
    ),
    "an array is no tensor": (
        """
        def ensure(x, where=None):
            if not isinstance(x, torch.Tensor):
                x = torch.as_tensor(x, dtype=torch.float32)
            return x if where is None else x.to(where)
        steps = np.linspace(0, 1, 5)[:, None]
        ensure(steps, device).T @ ensure(np.sin(steps), device)
        """,
        """
        def ensure(x, where=None):
            if not isinstance(x, torch.Tensor):
                x = torch.as_tensor(x, dtype=torch.float32)
            return x if where is None else x.to(where)
        steps = np.linspace(0, 1, 5)[:, None]
        ensure(steps, device).T @ ensure(np.sin(steps))
        """,
    ),
    "the best of some rounds": (
        """
        best, weights = float("inf"), None
        net = nn.Linear(3, 1).to(device)
        for step in range(20):
            loss = net(torch.rand(4, 3, device=device)).mean().item()
            if loss < best:
                best = loss
                weights = {k: v.detach().cpu() for k, v in net.state_dict().items()}
        for k, v in net.state_dict().items():
            v.cpu() - weights[k]
        """,
        """
        best, weights = float("inf"), None
        net = nn.Linear(3, 1).to(device)
        for step in range(20):
            loss = net(torch.rand(4, 3, device=device)).mean().item()
            if loss < best:
                best = loss
                weights = {k: v.detach().cpu() for k, v in net.state_dict().items()}
        for k, v in net.state_dict().items():
            v - weights[k]
        """,
    ),
    "what an object keeps of the best call": (
        """
        class Best:
            def __init__(self):
                self.value, self.parts = 0.0, None
            def offer(self, value, x):
                if value > self.value:
                    self.value = value
                    self.parts = [x.cpu()]
        best = Best()
        for step in range(3):
            x = torch.rand(3, device=device)
            best.offer(x.sum().item(), x)
        best.parts[0] + torch.rand(3)
        """,
        """
        class Best:
            def __init__(self):
                self.value, self.parts = 0.0, None
            def offer(self, value, x):
                if value > self.value:
                    self.value = value
                    self.parts = [x]
        best = Best()
        for step in range(3):
            x = torch.rand(3, device=device)
            best.offer(x.sum().item(), x)
        best.parts[0] + torch.rand(3)
        """,
    ),
    "an attribute of nothing": (
        """
        given = None
        if len(device.type) > 4:
            given = nn.Linear(3, 3)
        getattr(given, "weight", torch.rand(3, device=device)) + torch.rand(3, device=device)
        """,
        """
        given = None
        if len(device.type) > 4:
            given = nn.Linear(3, 3)
        given.weight + torch.rand(3, device=device)
        """,
    ),
    "one instance for all": (
        """
        class Runtime:
            _instance = None
            def __new__(cls):
                if cls._instance is None:
                    cls._instance = super().__new__(cls)
                    cls._instance.device = device
                return cls._instance
            def place(self, x):
                return x.to(self.device)
        Runtime().place(torch.rand(3)).cpu().numpy()
        """,
        """
        class Runtime:
            _instance = None
            def __new__(cls):
                if cls._instance is None:
                    cls._instance = super().__new__(cls)
                    cls._instance.device = device
                return cls._instance
            def place(self, x):
                return x.to(self.device)
        Runtime().place(torch.rand(3)).numpy()
        """,
    ),
    "an instance that is prepared before it begins": (
        """
        class Scale:
            def __new__(cls, n, **options):
                made = object.__new__(cls)
                made.factor = torch.rand(n).to(device)
                return made
            def __init__(self, n, offset=1):
                self.offset = offset
        torch.rand(3, device=device) * Scale(3).factor
        """,
        """
        class Scale:
            def __new__(cls, n, **options):
                made = object.__new__(cls)
                made.factor = torch.rand(n)
                return made
            def __init__(self, n, offset=1):
                self.offset = offset
        torch.rand(3, device=device) * Scale(3).factor
        """,
    ),
}


def _codes(program: str) -> list[str]:
    text = HEAD + textwrap.dedent(program)
    return [finding.code for finding in findings(text, "program.py", Config(off_by_default=OFF_BY_DEFAULT))]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []


def test_what_is_moved_in_a_function_is_reported_where_it_is_not() -> None:
    """Data of the module of which a function moves one part and forgets the other."""
    program = HEAD + textwrap.dedent(
        """
        data = torch.arange(9)
        def get(i):
            x, y = data[i : i + 3], data[i + 1 : i + 4]
            return x.to(device), y
        a, b = get(2)
        a * b
        """
    )
    found = findings(program, "program.py", Config(off_by_default=OFF_BY_DEFAULT))
    assert [one.range.start.row - HEAD.count("\n") for one in found] == [7]


def test_a_part_that_was_built_without_the_device_is_reported_where_it_is_built() -> None:
    """The others were given it: the model as a whole is not where it was forgotten."""
    program = HEAD + textwrap.dedent(
        """
        class Codes(nn.Module):
            def __init__(self, where=None):
                super().__init__()
                self.codes = nn.Parameter(torch.rand(5, 3, device=where))
            def forward(self, x):
                return torch.cdist(x, self.codes)
        class Net(nn.Module):
            def __init__(self, where):
                super().__init__()
                self.first = nn.Linear(3, 3, device=where)
                self.second = Codes()
            def forward(self, x):
                return self.second(self.first(x))
        Net(device)(torch.rand(2, 3, device=device))
        """
    )
    found = findings(program, "program.py", Config(off_by_default=OFF_BY_DEFAULT))
    assert [one.range.start.row - HEAD.count("\n") for one in found] == [12]
