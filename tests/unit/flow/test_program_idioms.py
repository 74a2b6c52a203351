"""Idioms of whole programs, each right and wrong: found when written for it, and silent where it looks the same."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Applicability
from torchdev_lint.engine.file_check import check_bytes
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

HEAD = """\
import functools, io, operator
import numpy
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
there, here = torch.rand(4, 3, device=device), torch.rand(4, 3).cpu()
"""

REGISTRY = """\
class Registry:
    def __init__(self):
        self.made = {}
    def register(self, name=None):
        def enter(cls):
            self.made[name or cls.__name__] = cls
            return cls
        return enter
    def build(self, config):
        given = dict(config)
        return self.made[given.pop("type")](**given)
MODELS, MAKERS = Registry(), {}
def maker(name):
    def enter(function):
        MAKERS[name] = function
        return function
    return enter
@MODELS.register()
class Small(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer = nn.Linear(n, n)
    def forward(self, x):
        return self.layer(x)
@maker("large")
class Large(Small):
    pass
small = MODELS.build(dict(type="Small", n=3)).to(device)
large = MAKERS["large"](3)%s
small(there), large(there)
"""

FUNCTIONAL = """\
from torch.func import functional_call
net = nn.Linear(3, 2).to(device)
fast = dict(net.named_parameters())
grads = torch.autograd.grad(functional_call(net, fast, (there,)).sum(), list(fast.values()))
fast = {name: p - 0.1 * g for (name, p), g in zip(fast.items(), grads)}
left = nn.Linear(3, 2)
moved = {name: p.detach().to(device) for name, p in left.named_parameters()}
functional_call(left, moved, (%s,)), functional_call(net, fast, there), left(here)
"""

HANDED_ON = """\
import copy
class Average(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.module = copy.deepcopy(model)
average = Average(nn.Linear(3, 2).to(device))
schedule = Schedule(lambda step: min(1.0, (step + 1) / 500))
average.module(%s)
"""

NUMBERS = """\
import numpy as np
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __init__(self):
        self.rows, self.names = np.random.rand(9, 3).astype("float32"), open("names").read().split()
    def __getitem__(self, index):
        return self.rows[index], {"label": int(self.rows[index].sum()), "name": self.names[index]}, index
net = nn.Linear(3, 2).to(device)
for x, more, index in DataLoader(Rows(), 4):
    loss = nn.functional.cross_entropy(net(x.to(device)), more["label"]%s)
    net(more["name"]), there[index]
"""

PARTS = """\
def build(source):
    made = nn.Sequential()
    for index, layer in enumerate(source.children()):
        if isinstance(layer, nn.Linear):
            name = "linear"
        elif isinstance(layer, nn.ReLU):
            name, layer = "relu", nn.ReLU(inplace=False)
        else:
            raise RuntimeError(layer)
        made.add_module(f"{name}{index}", layer)
    return made
build(nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)).to(device))(%s)
"""

FILLED = """\
def fill(m):
    name = m.__class__.__name__
    if isinstance(m, nn.Linear) or name.find("Conv") != -1:
        nn.init.xavier_uniform_(m.weight)
        m.bias.data.fill_(0.0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.apply(fill)
    def forward(self, x):
        return self.layer(x)
Net()%s(there)
"""

PAIRS: dict[str, tuple[str, str]] = {
    "a registry that decorators fill": (REGISTRY % ".to(device)", REGISTRY % ""),
    "parameters handed to a functional call": (FUNCTIONAL % "there", FUNCTIONAL % "here"),
    "a function that only computes, handed on": (HANDED_ON % "there", HANDED_ON % "here"),
    "a dataset of arrays and numbers": (NUMBERS % ".to(device)", NUMBERS % ""),
    "a tensor type that is chosen once": (
        "T = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor\nx = here.type(T) + there",
        "T = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor\nx = there.type(T) + here",
    ),
    "after a loop that counts": (
        "step, run = 0, [0]\nwhile step < 3:\n    step += 1\nwhile run[0] <= 2:\n    run[0] += 1\nthere + there",
        "step, run = 0, [0]\nwhile step < 3:\n    step += 1\nwhile run[0] <= 2:\n    run[0] += 1\nthere + here",
    ),
    "after a loop without an end": (
        "while True:\n    there + there\nthere + here",
        "while True:\n    there + here\n    break",
    ),
    "parts of a model put into another": (PARTS % "there", PARTS % "here"),
    "weights that a function of the file fills": (FILLED % ".to(device)", FILLED % ""),
    "rows chosen by a list": (
        "rows = numpy.random.choice(4, 2)\nx = there.mean() - here.to(device)[rows]",
        "rows = numpy.random.choice(4, 2)\nx = there.mean(0) - here.reshape(12)[rows]",
    ),
    "a row that may be a number": (
        "rows = numpy.random.choice(4)\nx = there.mean(0) - here.reshape(12)[rows]",
        "rows = [0, 2]\nx = there.mean(0) - here.reshape(12)[rows]",
    ),
    "sum of tensors": (
        "x = sum([there, there]) + there; y = sum([here.norm(), there.norm()]); z = sum([1.0, here]) + here",
        "x = sum([there, here])",
    ),
    "sum of a long list": (
        "xs = [torch.rand(3, device=device) for _ in range(9)]\nx = sum(xs) / len(xs) + there",
        "xs = [torch.rand(3) for _ in range(9)]\nx = sum(xs) / len(xs) + there",
    ),
    "sum from a tensor": ("x = sum([there], start=there)", "x = sum([there], start=here)"),
    "sum of lists": ("x = sum([[there], [here]], [])", "x = torch.cat(sum([[there], [here]], []))"),
    "reduce by a function of PyTorch": (
        "x = functools.reduce(torch.add, [there, there]) + there",
        "x = functools.reduce(torch.add, [there, here])",
    ),
    "reduce by a lambda": (
        "x = functools.reduce(lambda a, b: a * b, (there, there), there)",
        "x = functools.reduce(lambda a, b: a * b, (there, there), here)",
    ),
    "reduce by an operator": (
        "x = functools.reduce(operator.mul, [there, there]) + operator.add(there, there)",
        "x = functools.reduce(operator.mul, [there, there]) + operator.add(here, here)",
    ),
    "map over written items": (
        "xs = list(map(lambda t: t + there, [there, there]))",
        "xs = list(map(lambda t: t + there, [there, here]))",
    ),
    "a partial of a tensor": (
        "f = functools.partial(torch.add, there)\nx = f(there)",
        "def add(a, b):\n    return a + b\nf = functools.partial(add, here)\nx = f(there)",
    ),
    "a keyword of a partial, given again": (
        "def add(a, *, b, c):\n    return a + b + c\nx = functools.partial(add, b=here, c=there)(there, b=there)",
        "def add(a, *, b, c):\n    return a + b + c\nx = functools.partial(add, b=there, c=here)(there, b=there)",
    ),
    "saved and loaded": (
        'f = io.BytesIO()\ntorch.save({"x": there, "n": 3}, f)\nx = torch.load(f)["x"] + there',
        'f = io.BytesIO()\ntorch.save({"x": there, "n": 3}, f)\nx = torch.load(f, map_location="cpu")["x"] + there',
    ),
    "saved and loaded by its name": (
        'torch.save([here, 1], "x.pt")\nx = torch.load("x.pt", map_location=device)[0] + there',
        'torch.save([here, 1], "x.pt")\nx = torch.load("x.pt")[0] + there',
    ),
    "saved and loaded as the storage is": (
        'torch.save(there, "x.pt")\nx = torch.load("x.pt", lambda storage, location: storage) + here',
        'torch.save(there, "x.pt")\nx = torch.load("x.pt", lambda storage, location: storage) + there',
    ),
    "an element of what has two dimensions": (
        "t = torch.randn(5)\nfor i in range(5):\n    x = there + t[i]",
        "t = torch.randn(5, 3)\nfor i in range(5):\n    x = there + t[i]",
    ),
    "an element of what has two dimensions, by a key that may be a tuple": (
        "t = torch.randn(5, 3)\nfor i in [(0, 1), (1, 1)]:\n    x = there + t[i]",
        "t = torch.randn(5, 3)\nfor i in (0, 1):\n    x = there + t[i]",
    ),
    "rows of what has two dimensions": (
        "for row in torch.randn(3):\n    x = there + row",
        "for row in torch.randn((3, 3)):\n    x = there + row",
    ),
    "an element of a nested list": (
        "t = torch.tensor([[1.0, 2.0, 3.0]])\nx = there + t[0][1] + t[0, 1] + t.sum(0)[1]",
        "t = torch.tensor([[1.0, 2.0, 3.0]])\nx = there + t[0]",
    ),
    "an element of a sum": (
        "t = torch.eye(3).diag() + 1\nx = there + t[0] + (torch.eye(3) @ torch.rand(3))[0]",
        "t = torch.eye(3) + 1\nx = there + t[-1]",
    ),
    "what a reduction leaves of two dimensions": (
        "t = torch.randn(20)\nx = there - t.mean(0) + torch.rand(2, 3).sum((0, 1)) + torch.rand(2, 3).sum()",
        "t = torch.randn(20, 3)\nx = there - t.mean(0)",
    ),
    "a number that is no dimension": (
        "t = torch.rand(3, 4)\nx = there * t.norm(2) + t.quantile(0.5) + t.std(False) + t.norm(p=1) + t.sum(1).sum(0)",
        "t = torch.rand(4, 3)\nx = there * t.norm(2, 0)",
    ),
    "an array that has just been made": (
        "import numpy as np\nx = there * torch.tensor(np.random.rand()) + torch.tensor(np.ones(()))",
        "import numpy as np\nb = np.random.rand(3)\nx = there * torch.tensor(b, dtype=torch.float32)",
    ),
    "sizes that a number is repeated to": (
        "x = there * torch.tensor(0.0).repeat(()) + torch.tensor(0.0).reshape(())",
        "x = there * torch.tensor(0.0).repeat(*there.size())",
    ),
    "a divergence of two distributions": (
        """
        from torch.distributions import Normal, kl_divergence
        x = kl_divergence(Normal(there, 1.0), Normal(torch.zeros_like(there), 1.0)) + kl_divergence(
            Normal(there, 1.0), Normal(torch.tensor(0.0), 1.0)
        )
        """,
        """
        from torch.distributions import Normal, kl_divergence
        x = kl_divergence(Normal(there, 1.0), Normal(torch.zeros(3), 1.0))
        """,
    ),
    "what the maxima leave of two dimensions": (
        "x = there * torch.rand(4, 3).max(0)[0][1]",
        "x = there * torch.rand(4, 3).max(0)[0]",
    ),
    "dimensions kept by what is computed of each number": (
        "t = torch.randn(5).abs().float()\nx = there * t[0]",
        "t = torch.randn(5, 3).abs().float()\nx = there * t[0]",
    ),
    "added to a Sequential": (
        """
        m = nn.Sequential(nn.Linear(3, 3)).to(device)
        m.add_module("head", nn.Linear(3, 2))
        m.to(device)(there)
        """,
        """
        m = nn.Sequential(nn.Linear(3, 3)).to(device)
        m.add_module("head", nn.Linear(3, 2))
        m(there)
        """,
    ),
    "put into a Sequential": (
        """
        m = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)).to(device)
        m[-1] = nn.Linear(3, 2).to(device)
        m(there)
        """,
        """
        m = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)).to(device)
        m[-1] = nn.Linear(3, 2)
        m(there)
        """,
    ),
    "appended to the list of a module": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([nn.Linear(3, 3)])
            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return x
        net = Net()
        net.blocks.append(nn.Linear(3, 3))
        net.to(device)(there)
        """,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([nn.Linear(3, 3)])
            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return x
        net = Net().to(device)
        net.blocks.append(nn.Linear(3, 3))
        net(there)
        """,
    ),
    "a part's tensor that its owner takes along": (
        """
        class Masked(nn.Linear):
            def set(self, mask):
                self.mask = mask
            def forward(self, x):
                return x @ (self.mask * self.weight)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = Masked(3, 3)
                self.line.set(torch.eye(3))
            def _apply(self, fn):
                super()._apply(fn)
                self.line.mask = fn(self.line.mask)
                return self
            def forward(self, x):
                return self.line(x)
        Net().to(device)(there)
        """,
        """
        class Masked(nn.Linear):
            def set(self, mask):
                self.mask = mask
            def forward(self, x):
                return x @ (self.mask * self.weight)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = Masked(3, 3)
                self.line.set(torch.eye(3))
            def forward(self, x):
                return self.line(x)
        Net().to(device)(there)
        """,
    ),
}

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)


def program(code: str) -> str:
    return HEAD + textwrap.dedent(code)


def _codes(text: str) -> list[str]:
    return [found.code for found in findings(text, "program.py", DEFAULT) if found.code != "TDV009"]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS.keys())
def test_right(right: str, _wrong: str) -> None:
    assert _codes(program(right)) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS.keys())
def test_wrong(_right: str, wrong: str) -> None:
    assert len(_codes(program(wrong))) == 1


TUPLE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(3, 4)
        self.hidden = self.start()
    def start(self):
        return torch.zeros(1, 4), torch.zeros(1, 4)
    def forward(self, x):
        x, self.hidden = self.cell(x, self.hidden)
        return x
Net().to(device)(there)
"""
TOTAL = """
class Totals:
    def __init__(self):
        self.total = torch.zeros(3)
        self.rows = [torch.zeros(3)]
    def update(self, x):
        self.total += x.sum(0)%s
        self.rows[0].add_(x[0, :]%s)
Totals().update(there)
"""
HELPER = """
def to_device(data, device):
    if isinstance(data, (list, tuple)):
        return [to_device(x, device) for x in data]
    return data.to(device)
model = to_device(nn.Linear(3, 2), device)
model(here%s)
"""
PRIOR = """
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(3, 4)
    def loss(self, x):
        mean, scale = self.line(x).chunk(2, -1)
        posterior = torch.distributions.Normal(mean, scale.exp())
        prior = torch.distributions.Normal(torch.zeros(2%s), torch.ones(2%s))
        return torch.distributions.kl_divergence(posterior, prior)
"""
FIXED: dict[str, tuple[str, str]] = {
    "an item of a list": ("x = sum([there, here])", "x = sum([there, here.to(device)])"),
    "what a partial is given": (
        "def add(a, b):\n    return a + b\nf = functools.partial(add, here)\nx = f(there)",
        "def add(a, b):\n    return a + b\nf = functools.partial(add, here.to(device))\nx = f(there)",
    ),
    "what is appended too late": (
        "m = nn.Sequential(nn.Linear(3, 3)).to(device)\nm.append(nn.Linear(3, 2))\nm(there)",
        "m = nn.Sequential(nn.Linear(3, 3)).to(device)\nm.append(nn.Linear(3, 2).to(device))\nm(there)",
    ),
    "a total on the host": (
        TOTAL % ("", ""),
        TOTAL % (".to(self.total.device)", ".to(self.rows[0].device)"),
    ),
    "a module that a helper for containers moved": (
        HELPER % "",
        HELPER % ".to(device)",
    ),
    "what a list is reduced with": (
        "ts = [torch.rand(3, device=device) for _ in range(9)]\ndel device\nx = functools.reduce(torch.mul, ts, here)",
        "ts = [torch.rand(3, device=device) for _ in range(9)]\ndel device\nx = functools.reduce(torch.mul, ts, here.to(ts[0].device))",
    ),
    "a module without a device of its own": (
        PRIOR % ("", ""),
        PRIOR % (", device=mean.device", ", device=mean.device"),
    ),
    "a tuple that is no buffer": (
        TUPLE,
        TUPLE,
    ),
    "a list that has no method `to`": (
        "xs = [torch.rand(3).cpu() for _ in range(9)]\nys = list(map(lambda t: t + there, xs))",
        "xs = [torch.rand(3).cpu() for _ in range(9)]\nys = list(map(lambda t: t + there, xs))",
    ),
}


@pytest.mark.parametrize(("wrong", "fixed"), FIXED.values(), ids=FIXED.keys())
def test_fixed(wrong: str, fixed: str) -> None:
    result = check_bytes(program(wrong).encode(), "program.py", DEFAULT, frozenset(Applicability))
    assert result.data.decode() == program(fixed)
