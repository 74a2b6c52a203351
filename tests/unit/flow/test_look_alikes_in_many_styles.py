"""Pairs of look-alikes from a hundred right programs in as many styles: what was reported in one, beside what is wrong."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

HEAD = """\
import functools, os, types
import torch
from torch import nn
"""
DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'

PAIRS: dict[str, tuple[str, str]] = {
    "a pre-hook brings the inputs to a module of the file": (
        """
        class Scorer(nn.Module):
            def __init__(self):
                super().__init__()
                self.left = nn.Bilinear(3, 4, 2)
            def forward(self, a, b):
                return self.left(a, b)
        def bring(module, args):
            home = next(module.parameters()).device
            return tuple(a.to(home) for a in args)
        scorer = Scorer().to(device)
        scorer.register_forward_pre_hook(bring)
        scorer(torch.rand(6, 3), torch.rand(6, 4))
        """,
        """
        class Scorer(nn.Module):
            def __init__(self):
                super().__init__()
                self.left = nn.Bilinear(3, 4, 2)
            def forward(self, a, b):
                return self.left(a, b)
        def count(module, args):
            module.calls = len(args)
        scorer = Scorer().to(device)
        scorer.register_forward_pre_hook(count)
        scorer(torch.rand(6, 3), torch.rand(6, 4))
        """,
    ),
    "a pre-hook that cannot be read": (
        """
        from mine import bring
        class Scorer(nn.Module):
            def __init__(self):
                super().__init__()
                self.left = nn.Linear(3, 2)
            def forward(self, a):
                return self.left(a)
        scorer = Scorer().to(device)
        scorer.register_forward_pre_hook(bring)
        scorer(torch.rand(6, 3))
        """,
        """
        from mine import log
        class Scorer(nn.Module):
            def __init__(self):
                super().__init__()
                self.left = nn.Linear(3, 2)
            def forward(self, a):
                return self.left(a)
        scorer = Scorer().to(device)
        scorer.register_forward_hook(log)
        scorer(torch.rand(6, 3))
        """,
    ),
    "the pre-hook of a part": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.ReLU()).to(device)
        net[0].register_forward_pre_hook(lambda module, args: (args[0].to(module.weight.device),))
        net(torch.rand(2, 3))
        """,
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.ReLU()).to(device)
        net[0].register_forward_hook(lambda module, args, output: output.cpu())
        net(torch.rand(2, 3))
        """,
    ),
    "the default device is set back at the end": (
        """
        torch.set_default_device("cuda")
        class Toy(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.pos = torch.arange(n)
                self.emb = nn.Embedding(n, 6)
            def forward(self, x):
                return x + self.emb(self.pos)
        Toy(4)(torch.rand(2, 4, 6))
        torch.set_default_device("cpu")
        """,
        """
        class Toy(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.pos = torch.arange(n)
                self.emb = nn.Embedding(n, 6)
            def forward(self, x):
                return x + self.emb(self.pos)
        Toy(4).to(device)(torch.rand(2, 4, 6, device=device))
        """,
    ),
    "what is put into a dict of parameters": (
        """
        class Mixture(nn.Module):
            def __init__(self):
                super().__init__()
                self.params = nn.ParameterDict()
                self.params["temperature"] = torch.ones(3)
            def forward(self, x):
                return x / self.params["temperature"]
        Mixture().to(device)(torch.rand(2, 3, device=device))
        """,
        """
        class Mixture(nn.Module):
            def __init__(self):
                super().__init__()
                self.params = {}
                self.params["temperature"] = torch.ones(3)
            def forward(self, x):
                return x / self.params["temperature"]
        Mixture().to(device)(torch.rand(2, 3, device=device))
        """,
    ),
    "a metaclass moves what its classes make": (
        """
        class Auto(type):
            def __call__(cls, *args):
                return super().__call__(*args).to(device)
        class Net(nn.Module, metaclass=Auto):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
            def forward(self, x):
                return self.fc(x)
        Net()(torch.rand(2, 3, device=device))
        """,
        """
        class Named(type):
            def __new__(cls, name, bases, members):
                return super().__new__(cls, name, bases, members)
        class Net(nn.Module, metaclass=Named):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
            def forward(self, x):
                return self.fc(x)
        Net()(torch.rand(2, 3, device=device))
        """,
    ),
    "a forward of its own, bound by hand": (
        """
        class Core(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(3))
            def forward(self, x):
                return x * self.w
        core = Core()
        plain = core.forward
        def forward(self, x):
            return plain(x.to(self.w.device)).to(x.device)
        core.forward = types.MethodType(forward, core)
        core.to(device)
        x = torch.arange(3.0)
        core(x) + x
        """,
        """
        class Core(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(3))
            def forward(self, x):
                return x * self.w
        core = Core()
        plain = core.forward
        def forward(self, x):
            return plain(x.to(self.w.device))
        core.forward = types.MethodType(forward, core)
        core.to(device)
        x = torch.arange(3.0)
        core(x) + x
        """,
    ),
    "a forward that was made by what cannot be read": (
        """
        from mine import Friendly
        class Core(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(3))
            def forward(self, x):
                return x * self.w
        core = Core()
        core.forward = Friendly(core.forward)
        core.to(device)
        core(torch.arange(3.0))
        """,
        """
        from mine import Friendly
        class Core(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(3))
            def forward(self, x):
                return x * self.w
        core = Core()
        core.backward = Friendly(core.forward)
        core.to(device)
        core(torch.arange(3.0))
        """,
    ),
    "a method of PyTorch's own class was replaced": (
        """
        def forward(self, x):
            return nn.functional.linear(x.to(self.weight.device), self.weight, self.bias)
        nn.Linear.forward = forward
        net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)).to(device)
        net(torch.rand(2, 3))
        """,
        """
        def extra(self):
            return str(self.weight.device)
        nn.Linear.extra_repr = extra
        net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)).to(device)
        net(torch.rand(2, 3))
        """,
    ),
    "moving was made to do nothing": (
        """
        torch.Tensor.cuda = lambda self, *args, **options: self
        torch.ones(3).cuda() + torch.ones(3)
        """,
        """
        torch.Tensor.rows = lambda self, *args, **options: self
        torch.ones(3).cuda() + torch.ones(3)
        """,
    ),
    "a descriptor moves what is assigned": (
        """
        class Moved:
            def __set_name__(self, owner, name):
                self.key = "_" + name
            def __get__(self, thing, owner=None):
                return getattr(thing, self.key)
            def __set__(self, thing, value):
                setattr(thing, self.key, value.to(thing.device))
        class Field:
            pos = Moved()
            def __init__(self, device, pos):
                self.device = device
                self.pos = pos
        field = Field(device, torch.rand(3, 2))
        field.pos - torch.rand(3, 2, device=device)
        """,
        """
        class Field:
            pos = None
            def __init__(self, device, pos):
                self.device = device
                self.pos = pos
        field = Field(device, torch.rand(3, 2))
        field.pos - torch.rand(3, 2, device=device)
        """,
    ),
    "done again with what was moved": (
        """
        net = nn.Linear(3, 2).to(device)
        def run(x):
            try:
                return net(x)
            except RuntimeError:
                return net(x.to(device))
        run(torch.rand(4, 3))
        """,
        """
        net = nn.Linear(3, 2).to(device)
        def run(x):
            try:
                return net(x)
            except RuntimeError as error:
                raise SystemExit(1) from error
        run(torch.rand(4, 3))
        """,
    ),
    "done again on the host, or with less in memory": (
        """
        net = nn.Linear(3, 2).to(device)
        def run(x):
            try:
                return net(x)
            except RuntimeError:
                torch.cuda.empty_cache()
                return net.cpu()(x)
        run(torch.rand(4, 3))
        """,
        """
        net = nn.Linear(3, 2).to(device)
        def run(x):
            try:
                return net(x)
            except RuntimeError:
                torch.cuda.empty_cache()
                return net(x[:2])
        run(torch.rand(4, 3))
        """,
    ),
    "a dataset's transform moves its items": (
        """
        class ToDevice:
            def __init__(self, device):
                self.device = device
            def __call__(self, t):
                return t.to(self.device)
        class Compose:
            def __init__(self, *steps):
                self.steps = steps
            def __call__(self, t):
                for step in self.steps:
                    t = step(t)
                return t
        class Lookup(torch.utils.data.Dataset):
            def __init__(self, transform=None):
                self.x = torch.rand(6, 3)
                self.transform = transform or (lambda t: t)
            def __getitem__(self, i):
                return self.transform(self.x[i])
        net = nn.Linear(3, 2).to(device)
        for x in torch.utils.data.DataLoader(Lookup(Compose(torch.relu, ToDevice(device)))):
            net(x)
        """,
        """
        class Compose:
            def __init__(self, *steps):
                self.steps = steps
            def __call__(self, t):
                for step in self.steps:
                    t = step(t)
                return t
        class Lookup(torch.utils.data.Dataset):
            def __init__(self, transform=None):
                self.x = torch.rand(6, 3)
                self.transform = transform or (lambda t: t)
            def __getitem__(self, i):
                return self.transform(self.x[i])
        net = nn.Linear(3, 2).to(device)
        for x in torch.utils.data.DataLoader(Lookup(Compose(torch.relu))):
            net(x)
        """,
    ),
    "the method that moves is chosen first": (
        """
        gpu = torch.cuda.is_available()
        net = nn.Linear(3, 2)
        (net.cuda if gpu else net.cpu)()
        x = torch.rand(4, 3)
        net(x.cuda() if gpu else x)
        """,
        """
        gpu = torch.cuda.is_available()
        net = nn.Linear(3, 2)
        (net.cuda if gpu else net.cpu)()
        x = torch.rand(4, 3)
        net(x)
        """,
    ),
    "moved in one case of a conditional expression": (
        """
        gpu = torch.cuda.is_available()
        net = nn.Linear(3, 2)
        net.cuda() if gpu else net.cpu()
        x = torch.rand(4, 3)
        net(x.cuda() if gpu else x)
        """,
        """
        gpu = torch.cuda.is_available()
        net = nn.Linear(3, 2)
        net.cuda() if gpu else net.cpu()
        x = torch.rand(4, 3)
        net(x)
        """,
    ),
    "the optimizer's state is moved by hand": (
        """
        def optimizer_to(optimizer, device):
            for state in optimizer.state.values():
                for key, value in state.items():
                    state[key] = value.to(device)
        net = nn.Linear(4, 1)
        optimizer = torch.optim.Adam(net.parameters())
        net(torch.rand(2, 4)).sum().backward()
        optimizer.step()
        net.to(device)
        optimizer_to(optimizer, device)
        net(torch.rand(2, 4, device=device)).sum().backward()
        optimizer.step()
        """,
        """
        def tell(optimizer):
            for group in optimizer.param_groups:
                print(group["lr"])
        net = nn.Linear(4, 1)
        optimizer = torch.optim.Adam(net.parameters())
        net(torch.rand(2, 4)).sum().backward()
        optimizer.step()
        net.to(device)
        tell(optimizer)
        net(torch.rand(2, 4, device=device)).sum().backward()
        optimizer.step()
        """,
    ),
    "a device that is chosen in three ways": (
        """
        def choose():
            if torch.cuda.is_available():
                return torch.device("cuda")
            if torch.backends.mps.is_available():
                return torch.device("mps")
            return torch.device("cpu")
        device = choose()
        net = nn.Linear(3, 3).to(device)
        net(torch.rand(2, 3).to(device))
        """,
        """
        def choose():
            if torch.cuda.is_available():
                return torch.device("cuda")
            if torch.backends.mps.is_available():
                return torch.device("mps")
            return torch.device("cpu")
        device = choose()
        net = nn.Linear(3, 3).to(device)
        net(torch.rand(2, 3))
        """,
    ),
    "two devices for as many as there are": (
        """
        def pick():
            count = torch.cuda.device_count()
            if count >= 2:
                return torch.device("cuda:0"), torch.device("cuda:1")
            if count == 1:
                return torch.device("cuda:0"), torch.device("cuda:0")
            return torch.device("cpu"), torch.device("cpu")
        one, two = pick()
        front, back = nn.Linear(3, 3).to(one), nn.Linear(3, 3).to(two)
        back(front(torch.rand(2, 3, device=one)).to(two))
        """,
        """
        def pick():
            count = torch.cuda.device_count()
            if count >= 2:
                return torch.device("cuda:0"), torch.device("cuda:1")
            if count == 1:
                return torch.device("cuda:0"), torch.device("cuda:0")
            return torch.device("cpu"), torch.device("cpu")
        one, two = pick()
        front, back = nn.Linear(3, 3).to(one), nn.Linear(3, 3).to(two)
        back(front(torch.rand(2, 3, device=one)))
        """,
    ),
    "a class with operators of its own": (
        """
        class Wrapped:
            def __init__(self, t, device):
                self.t = t.to(device)
            def __add__(self, other):
                return self.t + other.to(self.t.device)
            def __rmul__(self, other):
                return self.t * other.to(self.t.device)
        wrapped = Wrapped(torch.rand(3, 3), device)
        wrapped + torch.ones(3)
        [1, 2] * 3
        """,
        """
        class Wrapped:
            def __init__(self, t, device):
                self.t = t.to(device)
            def __add__(self, other):
                return self.t + other
        wrapped = Wrapped(torch.rand(3, 3), device)
        wrapped + torch.ones(3)
        """,
    ),
    "a class with items of its own": (
        """
        class Table:
            def __init__(self):
                self.rows = torch.rand(20, 4)
            def __getitem__(self, ids):
                return self.rows.index_select(0, ids.reshape(-1).cpu()).to(ids.device)
            def __setitem__(self, ids, values):
                self.rows[ids] = values.cpu()  # indices may be anywhere
        table, ids = Table(), torch.randint(0, 20, (2, 3), device=device)
        rows = table[ids] + torch.rand(6, 4, device=device)
        table[ids] = rows
        """,
        """
        class Table:
            def __init__(self):
                self.rows = torch.rand(20, 4)
            def __getitem__(self, ids):
                return self.rows.index_select(0, ids.reshape(-1))
        table, ids = Table(), torch.randint(0, 20, (2, 3), device=device)
        table[ids]
        """,
    ),
    "a class that keeps items": (
        """
        class Table:
            def __init__(self):
                self.rows = torch.rand(20, 4)
            def __setitem__(self, ids, values):
                self.rows[ids.cpu()] = values.cpu()
        table, ids = Table(), torch.randint(0, 20, (2,), device=device)
        table[ids] = torch.rand(2, 4, device=device)
        """,
        """
        class Table:
            def __init__(self):
                self.rows = torch.rand(20, 4)
            def __setitem__(self, ids, values):
                self.rows[ids.cpu()] = values
        table, ids = Table(), torch.randint(0, 20, (2,), device=device)
        table[ids] = torch.rand(2, 4, device=device)
        """,
    ),
    "each leaf of a tree is moved": (
        """
        from torch.utils._pytree import tree_map
        tree = {"w": torch.rand(3, 3), "b": [torch.zeros(3), 2.0]}
        tree = tree_map(lambda leaf: leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf, tree)
        torch.rand(2, 3, device=device) @ tree["w"] + tree["b"][0]
        """,
        """
        from torch.utils._pytree import tree_map
        tree = {"w": torch.rand(3, 3), "b": [torch.zeros(3), 2.0]}
        tree = tree_map(lambda leaf: leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf, tree)
        torch.rand(2, 3) @ tree["w"] + tree["b"][0]
        """,
    ),
    "the lengths of what was padded again are on the CPU": (
        """
        from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
        lengths = torch.tensor([5, 3])
        packed = pack_padded_sequence(torch.rand(2, 5, 3).to(device), lengths, batch_first=True)
        out, again = pad_packed_sequence(packed, batch_first=True)
        keep = torch.arange(5)[None] < again[:, None]
        out * keep[..., None].to(device)
        """,
        """
        from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
        lengths = torch.tensor([5, 3])
        packed = pack_padded_sequence(torch.rand(2, 5, 3).to(device), lengths, batch_first=True)
        out, again = pad_packed_sequence(packed, batch_first=True)
        keep = torch.arange(5)[None] < again[:, None]
        out * keep[..., None]
        """,
    ),
    "a row taken by what counts backwards": (
        """
        masks, there = torch.ones(5, 2).to(device), torch.rand(2).to(device)
        for t in reversed(range(4)):
            there = there * masks[t + 1]
        """,
        """
        masks, there = torch.ones(5, 2), torch.rand(2).to(device)
        for t in reversed(range(4)):
            there = there * masks[t + 1]
        """,
    ),
    "what an `_apply` takes along": (
        """
        class Grid(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Linear(4, 4)
                self.anchors = torch.rand(4)
            def _apply(self, fn, recurse=True):
                super()._apply(fn, recurse)
                self.anchors = fn(self.anchors)
                return self
            def forward(self, x):
                return self.conv(x) + self.anchors
        Grid().to(device)(torch.rand(2, 4, device=device))
        """,
        """
        class Grid(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Linear(4, 4)
                self.anchors = torch.rand(4)
            def _apply(self, fn, recurse=True):
                super()._apply(fn, recurse)
                self.moved = True
                return self
            def forward(self, x):
                return self.conv(x) + self.anchors
        Grid().to(device)(torch.rand(2, 4, device=device))
        """,
    ),
    "the device of the context": (
        """
        import contextvars
        CURRENT = contextvars.ContextVar("device", default=torch.device("cpu"))
        def zeros(*shape):
            return torch.zeros(*shape, device=CURRENT.get())
        zeros(3) + torch.ones(3)
        """,
        """
        CURRENT = {"device": device}
        def zeros(*shape):
            return torch.zeros(*shape, device=CURRENT.get("device"))
        zeros(3) + torch.ones(3)
        """,
    ),
    "compared with what a loop counts with": (
        """
        net = nn.Linear(3, 3).to(device)
        chosen = net(torch.rand(4, 3, device=device)).argmax(-1)
        for k in range(99):
            torch.ones(4) * (chosen == k).float()[None].cpu()
        """,
        """
        net = nn.Linear(3, 3).to(device)
        chosen = net(torch.rand(4, 3, device=device)).argmax(-1)
        for k in range(99):
            torch.ones(4) * (chosen == k).float()[None]
        """,
    ),
}

ON_THE_CPU = """
class Filter(nn.Module):
    def __init__(self):
        super().__init__()
        self.state = torch.zeros(4)
        self.gain = nn.Linear(4, 4)
    def forward(self, z):
        self.state = self.state + self.gain(z - self.state)
        return self.state.detach().numpy()
filter = Filter().to(device)
for z in torch.rand(3, 4):
    filter(z)
"""

OPT_IN: dict[str, tuple[str, str]] = {
    "a global names the device that there is": (
        """
        DEVICE = "cpu"
        def setup():
            global DEVICE
            if torch.cuda.is_available():
                DEVICE = "cuda"
        def step(n):
            return torch.zeros(n, device=DEVICE)
        setup()
        step(3)
        """,
        """
        DEVICE = "cpu"
        def setup():
            global DEVICE
            DEVICE = "cuda"
        def step(n):
            return torch.zeros(n, device=DEVICE)
        setup()
        step(3)
        """,
    ),
    "a flag that stands for what is there and wanted": (
        """
        USE_CUDA = os.environ.get("DISABLE_CUDA") != "1" and torch.cuda.is_available()
        def to_numpy(t):
            return t.cpu().detach().numpy() if USE_CUDA else t.detach().numpy()
        """,
        """
        VERBOSE = os.environ.get("VERBOSE") != "1"
        def to_numpy(t):
            return t.cpu().detach().numpy() if VERBOSE else t.detach().numpy()
        """,
    ),
}


def _codes(program: str, *, all_rules: bool = False) -> list[str]:
    config = Config() if all_rules else Config(off_by_default=OFF_BY_DEFAULT)
    return [finding.code for finding in findings(HEAD + program, "program.py", config)]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(DEVICE + textwrap.dedent(right)) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(DEVICE + textwrap.dedent(wrong)) != []


@pytest.mark.parametrize(("right", "wrong"), OPT_IN.values(), ids=OPT_IN)
def test_rules_that_are_selected(right: str, wrong: str) -> None:
    assert _codes(textwrap.dedent(right), all_rules=True) == []
    assert _codes(textwrap.dedent(wrong), all_rules=True) != []


def test_a_program_whose_only_device_is_the_cpu() -> None:
    assert _codes('device = torch.device("cpu")\n' + ON_THE_CPU) == []
    assert _codes(DEVICE + ON_THE_CPU) != []
    assert _codes('device = torch.device("cpu")  # or cuda\n' + ON_THE_CPU) != []
