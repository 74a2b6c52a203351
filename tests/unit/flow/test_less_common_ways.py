"""Programs that go less common ways: loops that count, records, hooks, copies, patterns, and what only `eval` knows.

Each expectation is also compared with PyTorch on the simulated accelerator.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

IMPORTS = """
import collections, contextlib, dataclasses, functools, random, types
from torch.utils.data import DataLoader
c, g = torch.zeros(2, 2), torch.ones(2, 2, device="cuda")
here, there = nn.Linear(2, 2), nn.Linear(2, 2).cuda()
n = c.numel()
class Holder:
    pass
"""

CASES: list[tuple[str, str, dict[str, str]]] = [
    # -- loops that count
    (
        "all turns but the first",
        """
        x = c
        for i in range(n):
            y = x if i != 0 else g
            x = g
        """,
        {"y": "cuda"},
    ),
    (
        "the turns above the first",
        """
        x = c
        for i in range(n):
            if i > 0:
                y = x
            else:
                y = g
            x = g
        """,
        {"y": "cuda"},
    ),
    (
        "the turns below the first",
        """
        x = c
        for i in range(n, 0, -1):
            if i < n:
                y = x
            else:
                y = g
            x = g
        """,
        {"y": "cuda"},
    ),
    (
        "counting down says nothing of what is above",
        """
        for i in range(n, 0, -1):
            x = g if i > n else c
        for i in range(n):
            y = g if i < 0 else c
        """,
        {"x": "?", "y": "?"},
    ),
    # -- copies of modules with other parameters
    (
        "called with parameters from elsewhere",
        """
        moved = {name: value.cuda() for name, value in here.named_parameters()}
        x = torch.func.functional_call(here, moved, g)
        y = torch.func.functional_call(here, moved, kwargs={"input": g})
        z = here(c)
        """,
        {"x": "cuda", "y": "cuda", "z": "cpu"},
    ),
    (
        "called with parameters out of a list",
        """
        moved = [{name: value.cuda() for name, value in here.named_parameters()} for _ in range(n - 3)]
        x = torch.func.functional_call(here, moved, (g,))
        """,
        {"x": "cuda"},
    ),
    (
        "called with inputs of which the number is not known",
        """
        there = nn.Linear(2, 2)
        moved = dict(there.named_parameters())
        x = torch.func.functional_call(there, moved, tuple(c for _ in range(n - 3)))
        """,
        {"x": "?"},
    ),
    (
        "a module of which nothing is known, with parameters",
        "x = torch.func.functional_call(eval('there'), dict(there.named_parameters()), (g,))",
        {"x": "?"},
    ),
    # -- hooks
    (
        "a hook that brings the input",
        "net = nn.Linear(2, 2).cuda()\nnet.register_forward_pre_hook(lambda m, a: a[0].cuda())\nx = net(c)",
        {"x": "cuda"},
    ),
    (
        "a hook that may bring the input",
        """
        def bring(module, given):
            if torch.cuda.is_available():
                return given[0].cuda()
        class Doubling(nn.Module):
            def forward(self, x):
                return x * 2
        net = Doubling()
        net.register_forward_pre_hook(bring)
        x = net(c)
        """,
        {"x": "cuda or cpu"},
    ),
    (
        "a hook of which it is not known what it gives",
        """
        class Doubling(nn.Module):
            def forward(self, x):
                return x * 2
        net = Doubling()
        net.register_forward_pre_hook(lambda m, a: eval("g"))
        x = net(c)
        """,
        {"x": "?"},
    ),
    (
        "a hook and arguments out of a list",
        "there.register_forward_pre_hook(lambda m, a: a[0].cuda())\ngiven = [g]\nx = there(*given)",
        {"x": "cuda"},
    ),
    (
        "a hook of what gives two",
        """
        kept, last = [], []
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = nn.Linear(2, 2)
            def forward(self, x):
                x = self.part(x)
                return x, x.cpu()
        net = Twice().cuda()
        net.register_forward_hook(lambda m, a, y: kept.append(a[0]))
        net.register_forward_hook(lambda m, a, y: last.append(y[1]))
        x, y = net(g)
        """,
        {"x": "cuda", "y": "cpu", "kept": "(cuda)", "last": "(cpu)"},
    ),
    (
        "a hook of what holds nothing and gives two",
        """
        kept = []
        class Twice(nn.Module):
            def forward(self, x):
                return x, x
        net = Twice()
        net.register_forward_hook(lambda m, a, y: kept.append(c))
        x, y = net(g)
        """,
        {"x": "cuda", "y": "cuda", "kept": "(cpu)"},
    ),
    (
        "a hook of a tensor that cannot be read",
        "w = torch.ones(2, device='cuda', requires_grad=True)\nw.register_hook(print)\nx = w * 2",
        {"x": "cuda"},
    ),
    (
        "a hook that is registered in a loop",
        """
        for i in range(n):
            there.register_forward_pre_hook(lambda m, a: a[0].cuda())
        x = there(c)
        """,
        {"x": "cuda"},
    ),
    # -- records
    (
        "what is asked of a record",
        """
        @dataclasses.dataclass
        class Pair:
            a: torch.Tensor
            b: torch.Tensor
        p = Pair(c, g)
        y = [getattr(p, field.name) for field in dataclasses.fields(Pair)]
        z = dataclasses.replace(p, **eval("{'a': g}")).a
        w = dataclasses.replace(eval("p"), a=g).a
        v = [getattr(p, field.name) for field in dataclasses.fields(eval("Pair"))][1]
        u = {"b": c, **dataclasses.asdict(eval("p"))}["b"]
        match p:
            case Pair(first, second):
                s, t = first, second
        """,
        {
            "y": "(cpu, cuda)",
            "z": "?",
            "w": "?",
            "v": "?",
            "u": "?",
            "s": "cpu",
            "t": "cuda",
        },
    ),
    (
        "records without fields, and of a class that cannot be read",
        """
        @dataclasses.dataclass
        class Empty:
            pass
        @dataclasses.dataclass
        class Other(eval("Holder")):
            pass
        other = Other()
        other.x = g
        x = {"a": g, **dataclasses.asdict(Empty())}["a"]
        y = {"x": c, **dataclasses.asdict(other)}["x"]
        """,
        {"x": "cuda", "y": "?"},
    ),
    (
        "a namespace of what is not known",
        "d = eval('dict(a=c)')\nspace = types.SimpleNamespace(**d)\nx = space.a\ny = {'a': g, **vars(space)}['a']",
        {"x": "?", "y": "?"},
    ),
    (
        "a tuple with names that is made twice",
        """
        def pair(a, b):
            Pair = collections.namedtuple("Pair", "a b")
            return Pair(a, b)
        x, y = pair(c, g).b, pair(g, c).b
        """,
        {"x": "cuda", "y": "cpu"},
    ),
    # -- batches of which nothing is known but where they come from
    (
        "a batch",
        """
        for batch in DataLoader(collections.UserList([{"a": c}])):
            for key, value in batch.items():
                x = value
            for value in batch.values():
                y = value
            z = batch.get("a")
            for key in batch.keys():
                w = batch[key]
        """,
        {"x": "cpu", "y": "cpu", "z": "cpu", "w": "cpu"},
    ),
    (
        "a batch that is changed by a method",
        """
        for batch in DataLoader(collections.UserList([{"a": c}])):
            batch.update({"a": g})
            x = batch["a"]
        for batch in DataLoader(collections.UserList([{"a": c}])):
            change = batch.update
            change({"a": c})
            y = batch["a"]
        """,
        {"x": "?", "y": "cpu"},
    ),
    (
        "a batch into which something is put",
        """
        for batch in DataLoader(collections.UserList([{"a": c}])):
            batch["a"] = g
            x = batch["a"]
        """,
        {"x": "cuda"},
    ),
    (
        "a batch that gets an attribute",
        """
        for batch in DataLoader(collections.UserList([c])):
            batch.tag = g
            x = batch.tag
        """,
        {"x": "cuda"},
    ),
    (
        "a batch whose move is not kept",
        """
        for batch in DataLoader(collections.UserList([c])):
            batch.to("cuda")
            x = batch
        """,
        {"x": "?"},
    ),
    (
        "a batch as arguments with names",
        """
        def f(a):
            return a
        for batch in DataLoader(collections.UserList([{"a": c}])):
            x = f(**batch)
        """,
        {"x": "cpu"},
    ),
    # -- attributes
    (
        "an attribute of one of two",
        """
        a, b = Holder(), Holder()
        a.x = b.x = c
        one = a if torch.cuda.is_available() else b
        one.x = g
        x, y = a.x, b.x
        """,
        {"x": "cuda or cpu", "y": "cpu or cuda"},
    ),
    (
        "all attributes at once",
        "a = Holder()\na.x = c\na.__dict__ = eval('dict(x=g)')\nx = a.x",
        {"x": "?"},
    ),
    (
        "an attribute by way of the dictionary",
        """
        class Other(eval("Holder")):
            pass
        a = Other()
        a.x = c
        a.__dict__["x"] = g
        x = a.x
        """,
        {"x": "cuda"},
    ),
    (
        "an attribute of a tensor by a name that is computed",
        "setattr(g, eval(\"'tag'\"), c)\nx = g",
        {"x": "cuda"},
    ),
    (
        "what a class with rules of its own for moving holds",
        """
        class Part:
            def __init__(self):
                self.t = torch.zeros(2)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.part, self.t = Part(), torch.zeros(2)
            def _apply(self, fn):
                super()._apply(fn)
                self.t = fn(self.t)
                return self
        net = Net().cuda()
        x, y = net.part.t, net.t
        """,
        {"x": "cpu", "y": "?"},
    ),
    # -- one of several, it is not known which
    (
        "one of two modules goes to what cannot be read",
        """
        a, b = nn.Linear(2, 2), nn.Linear(2, 2)
        nets = [a, b]
        one = nets[random.randrange(2)]
        eval("lambda net: net.cuda()")(one)
        x, y = a.weight, b.weight
        """,
        {"x": "?", "y": "?"},
    ),
    (
        "one of two is called, or asked",
        """
        class Keeper:
            def __init__(self, held):
                self.held = held
            def get(self):
                return self.held
        keepers = [Keeper(c), Keeper(c)]
        x = keepers[random.randrange(2)].get()
        functions = [eval("torch.clone"), eval("torch.abs")]
        y = functions[random.randrange(2)](g)
        loaders = [DataLoader([c, c]), DataLoader([c, c])]
        for batch in loaders[random.randrange(2)]:
            z = batch
        """,
        {"x": "cpu", "y": "?", "z": "cpu"},
    ),
    (
        "one of two dictionaries of a class of its own",
        """
        class Table(dict):
            pass
        tables = [Table(a=c), Table(a=c)]
        tables[random.randrange(2)]["a"] = g
        x = tables[0]["a"]
        """,
        {"x": "?"},
    ),
    # -- calls
    (
        "an instance of a class of which not all is seen is called",
        "class Making(functools.partial):\n    pass\nx = Making(torch.ones, 2, device='cuda')()",
        {"x": "?"},
    ),
    (
        "a function with a backward of its own",
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * 2
            @staticmethod
            def setup_context(ctx, inputs, output):
                pass
            @staticmethod
            def backward(ctx, grad):
                return grad * 2
        class Same(eval("Double"), torch.autograd.Function):
            pass
        x, y = Double.apply(g), Same.apply(g)
        """,
        {"x": "cuda", "y": "?"},
    ),
    (
        "a default device among other contexts",
        """
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.device("cuda"))
            x = torch.zeros(1)
        y = torch.zeros(1)
        """,
        {"x": "cuda", "y": "cpu"},
    ),
    (
        "a default device until something is closed",
        """
        stack = contextlib.ExitStack()
        stack.enter_context(torch.device("cuda"))
        x = torch.zeros(1)
        stack.close()
        """,
        {"x": "?"},
    ),
    (
        "a part of a module of PyTorch's own",
        "net = nn.Transformer(4, 2, 1, 1, 8)\nnet.encoder.cuda()\nx = net.encoder(torch.ones(1, 1, 4, device='cuda'))",
        {"x": "cuda"},
    ),
    (
        "a method of the class, called on an instance",
        """
        class Making:
            @classmethod
            def made(cls, x):
                return cls, x.cuda()
            def again(self, x):
                return self.made(x)
        kind, x = Making().made(c)
        y = kind().again(c)[1]
        """,
        {"x": "cuda", "y": "cuda"},
    ),
    # -- iterating
    (
        "iterating over what other classes say",
        """
        class Listed(list):
            pass
        class Zipped(zip):
            pass
        class Indexed:
            def __getitem__(self, index):
                if index > 1:
                    raise IndexError
                return g
        for x in Listed([g]):
            pass
        y = next(Zipped([g]))[0]
        z = next(iter(Indexed()))
        """,
        {"x": "cuda", "y": "?", "z": "cuda"},
    ),
    (
        "rows and one more",
        "rows = [[c], [g]]\nx = list(zip(*rows, [g]))[0][1]\ny = list(zip(*rows))[0][1]",
        {"x": "?", "y": "cuda"},
    ),
    (
        "a number out of a truth",
        "x = (c, g)[int(g.is_cuda)]\ny = [c, g][int(c.is_cuda)]",
        {"x": "cuda or cpu", "y": "cuda or cpu"},
    ),
    # -- containers
    (
        "a key that is there in one case",
        """
        d, e = {}, {}
        if n > 5:
            pass
        else:
            d["a"] = g
            e["a"] = None
        if n > 2:
            e["a"] = g
        x = d["a"]
        y = e["a"]
        """,
        {"x": "cuda", "y": "cuda or ? or None"},
    ),
    (
        "dictionaries of which not all keys are known",
        """
        d = {eval("'b'"): g}
        x = d.setdefault("b", c)
        e = dict([eval("('a', g)")])
        y = e["a"]
        z = [c, c]
        random.shuffle(eval("z"))
        w = z[0]
        """,
        {"x": "?", "y": "?", "w": "cpu"},
    ),
    (
        "a step of nothing",
        "try:\n    x = [c, c][::0]\nexcept ValueError:\n    x = [g]\ny = x[0]",
        {"y": "cpu or cuda"},
    ),
    (
        "put before the first, one by one",
        "d = collections.deque([c])\nd.extendleft([c, g])\nx, y = d[0], d[2]",
        {"x": "cuda", "y": "cpu"},
    ),
    (
        "several keys at once",
        """
        class Grid:
            def __getitem__(self, key):
                return g
        x = Grid()[0, 1]
        y = Grid()[eval("0")]
        """,
        {"x": "cuda", "y": "cuda"},
    ),
    # -- conditions
    (
        "equal devices",
        """
        first, second = torch.device("cuda:0"), torch.device("cuda:1")
        x = c if first == second else g
        """,
        {"x": "cuda"},
    ),
    (
        "a name that begins with one of several",
        "d = torch.device('cuda')\nx = g if str(d).startswith(('cuda', 'xpu')) else c",
        {"x": "cuda or cpu"},
    ),
    (
        "which class a module is of",
        """
        class Net(nn.Module):
            pass
        class Other(nn.Module):
            pass
        net = Net()
        x = c if isinstance(net, Net) else g
        y = c if isinstance(net, Other) else g
        z = c if isinstance(there, nn.Module) else g
        """,
        {"x": "cpu", "y": "cuda", "z": "cpu"},
    ),
    ("a loop that never runs", "while False:\n    x = c\nelse:\n    x = g", {"x": "cuda"}),
    (
        "numbers that are made whole",
        "x = [c, g][int(1.5)]\ny = [c, g][int(True)]\nz = [c, g][int(0.2)]",
        {"x": "cuda", "y": "cuda", "z": "cpu"},
    ),
    (
        "errors of which it is not known which",
        "try:\n    x = g\nexcept eval('ValueError'):\n    x = c\nexcept (KeyError, eval('OSError')):\n    x = c",
        {"x": "?"},
    ),
    # -- modules
    (
        "losses that are told more",
        """
        x = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0))(g, g)
        y = nn.MSELoss(reduction=eval("'none'"))(g, g)
        z = nn.MSELoss()(eval("g"), eval("g"))
        """,
        {"x": "0-dim ?", "y": "cuda", "z": "0-dim a symbol"},
    ),
    (
        "containers of what is not known",
        """
        net = nn.Sequential(eval("there"))
        x = net(g)
        either = nn.Linear(2, 2).cuda() if n > 2 else None
        parts = nn.ModuleList()
        parts.append(either)
        y = parts[0](g)
        table = nn.ModuleDict()
        table.update(eval("dict(a=there)"))
        z = table["a"](g)
        other = nn.ModuleDict()
        other["a"] = either
        w = other["a"](g)
        mixed = nn.ModuleList([here])
        mixed.append(there)
        v = mixed[1](g)
        """,
        {"x": "?", "y": "?", "z": "?", "w": "?", "v": "cuda"},
    ),
    (
        "what is registered besides children",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(2))
                self.part = nn.Linear(2, 2)
        for part in Net().cuda().children():
            x = part(g)
        held = nn.ParameterDict({"a": torch.ones(2)}).cuda()
        for key, value in held.items():
            y = value
        """,
        {"x": "cuda", "y": "cuda"},
    ),
    (
        "a parameter that becomes what is not known",
        "net = nn.Linear(2, 2)\nnet.weight.data = eval('there.weight.data')\nx = net.weight\ny = net(c) if False else c",
        {"x": "?", "y": "cpu"},
    ),
    # -- distributions
    (
        "distributions of what is not known",
        """
        D = torch.distributions
        x = D.Independent(eval("D.Normal(g, g)"), 1).sample()
        given = [g, g]
        y = D.Normal(*given).sample()
        z = D.kl_divergence(eval("D.Normal(g, g)"), D.Normal(g, g))
        mixture = D.MixtureSameFamily(D.Categorical(torch.ones(2, device="cuda")), eval("D.Normal(g[0], g[0])"))
        w = mixture.sample()
        """,
        {"x": "?", "y": "?", "z": "?", "w": "?"},
    ),
    # -- names of devices
    (
        "a name in the old format, from two",
        "x = torch.zeros(1, device='%s:%d' % ('cuda', 1))",
        {"x": "cuda:1"},
    ),
    (
        "a generator of what is not known",
        "made = torch.Generator(*['cuda'])\nx = torch.rand(2, generator=made, device='cuda')",
        {"x": "cuda"},
    ),
    (
        "a generator in one case",
        "made = None if n > 5 else torch.Generator()\nx = torch.rand(2, generator=made)",
        {"x": "cpu"},
    ),
]
CASES = [(name, IMPORTS + textwrap.dedent(code), expected) for name, code, expected in CASES]

UNSURE: list[tuple[str, str]] = [
    # which of the two it is depends on what is not known
    ("p = eval('g')\nx = g if dataclasses.is_dataclass(p) else c", "cuda or cpu"),
    ("x = c if torch.cuda.device_count() > 0.5 else g", "cpu or cuda"),
    ("rank = eval('1')\nx = g if rank > -1 else c", "cuda or cpu"),
    ("x = g if eval('g').is_cpu else c", "cuda or cpu"),
]


def test_inferred(case: Any, bound: Callable[..., dict[str, str]]) -> None:
    assert bound(case.code, *case.expected) == case.expected


@pytest.mark.parametrize(("code", "expected"), UNSURE)
def test_either(bound: Callable[..., dict[str, str]], code: str, expected: str) -> None:
    assert bound(IMPORTS + code, "x") == {"x": expected}


def test_true_of_torch(case: Any, disagreements: Callable[[Any], list[str]]) -> None:
    assert disagreements(case) == []
