"""Less common parts of PyTorch and of the libraries beside it, and scopes, files and classes in less common forms.

Each expectation is also compared with PyTorch on the simulated accelerator.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

IMPORTS = """
import collections, contextlib, functools, itertools, os, random, tempfile
import numpy as np
from torch.utils.data import DataLoader, Dataset, TensorDataset
c, g = torch.zeros(2, 2), torch.ones(2, 2, device="cuda")
here, there = nn.Linear(2, 2), nn.Linear(2, 2).cuda()
n = c.numel()
class Rows(Dataset):
    def __init__(self, change):
        self.rows, self.change = np.ones((2, 2), dtype="float32"), change
    def __len__(self):
        return 2
    def __getitem__(self, index):
        return self.rows[index], index
def later(y, t):
    return t.cuda()
"""

CASES: list[tuple[str, str, dict[str, str]]] = [
    # -- devices
    (
        "a default type that is not known",
        "torch.set_default_tensor_type(eval(\"'torch.FloatTensor'\"))\nx = torch.zeros(1)",
        {"x": "?"},
    ),
    (
        "a device of a kind that is not known",
        """
        x = torch.zeros(1, device=torch.device(eval("'cuda'"), 1))
        y = torch.zeros(1, device=torch.device("meta", eval("0")))
        """,
        {"x": "?", "y": "?"},
    ),
    (
        "a context of a class of which not all is seen",
        "class Context(contextlib.ExitStack):\n    pass\nwith Context():\n    x = g",
        {"x": "cuda"},
    ),
    (
        "points of Sobol's sequence",
        """
        from torch.quasirandom import SobolEngine
        engine = SobolEngine(2, scramble=True, seed=1)
        x, y = engine.draw(4), engine.reset().fast_forward(4).draw_base2(2) * 2 - 1
        z = engine.draw(2, out=torch.empty(2, 2, device="cuda"))
        with torch.device("cuda"):
            w = SobolEngine(2).draw(4, dtype=torch.float64)[:, 0]
        """,
        {"x": "cpu", "y": "cpu", "z": "cuda", "w": "cpu"},
    ),
    # -- trees
    (
        "trees of which the size is not known, and only their tensors",
        """
        from torch.utils import _pytree as trees
        x = trees.tree_map(lambda t: t.cuda(), [c for _ in range(n - 3)])[0]
        y = trees.tree_map_only(torch.Tensor, lambda t: t.cuda(), (c, 3))
        """,
        {"x": "cuda", "y": "(cuda, 3)"},
    ),
    # -- libraries
    (
        "arrays and numbers without end",
        """
        shape = [2]
        x = torch.from_numpy(np.random.rand(*shape))
        for index, y in zip(itertools.count(), [c, c]):
            pass
        """,
        {"x": "cpu", "y": "cpu"},
    ),
    (
        "what is no family of distributions",
        "x = torch.distributions.utils.logits_to_probs(g)\ny = torch.distributions.transforms.ExpTransform()(g)",
        {"x": "?", "y": "cuda"},
    ),
    (
        "losses by their other name",
        "from torch.nn.modules.loss import MSELoss\nx = MSELoss()(g, g)",
        {"x": "0-dim cuda"},
    ),
    (
        "layers by their other names",
        """
        from torch.nn.modules import Identity
        from torch.nn.modules.padding import ReplicationPad1d
        x, y = Identity()(g), ReplicationPad1d(1)(g)
        """,
        {"x": "cuda", "y": "cuda"},
    ),
    (
        "made of what is not known",
        """
        x = torch.normal(eval("g"), 1.0)
        y = torch.as_tensor(eval("there").weight if n > 2 else [1])
        """,
        {"x": "?", "y": "?"},
    ),
    # -- files
    (
        "what a file keeps",
        """
        path = os.path.join(tempfile.mkdtemp(), "kept.pt")
        torch.save([c for _ in range(n)], path)
        x = torch.load(path, map_location="cuda")[0]
        y = torch.load(path)[0]
        """,
        {"x": "cuda", "y": "cpu"},
    ),
    # -- scopes and names
    (
        "a name of the function around the one around",
        """
        def outer():
            kept = c
            def middle():
                def inner():
                    nonlocal kept
                    kept = g
                inner()
            middle()
            return kept
        x = outer()
        """,
        {"x": "cuda"},
    ),
    (
        "buffers under names that are put together",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                for i in range(2):
                    self.register_buffer("mask_" + str(i), torch.zeros(2))
                    self.register_buffer("scale%d" % eval("i"), torch.zeros(2))
        net = Net().cuda()
        x, y = net.mask_0, net.scale1
        """,
        {"x": "cuda", "y": "cuda"},
    ),
    (
        "classes in less common forms",
        """
        class Counted:
            def __init_subclass__(cls, start=0):
                cls.start = start
        class Kept(Counted, start=3):
            @property
            def held(self):
                return self._held
            @held.setter
            def held(self, value):
                self._held = value.cuda()
            @held.deleter
            def held(self):
                self._held = None
        kept = Kept()
        kept.held = c
        x = kept.held
        """,
        {"x": "cuda"},
    ),
    # -- what other code may do
    (
        "brought to a device by what cannot be read",
        """
        bring = eval("lambda batch, device: batch.update(a=[g], b={'k': g}, d=[g])")
        device = torch.device("cuda")
        batch = {"a": [c], "b": {"k": c}, "d": [c for _ in range(n)], "e": 3}
        bring(batch, device)
        x, y, z = batch["a"][0], batch["b"]["k"], batch["d"][0]
        other = {"a": [c], "b": {"k": c}, "d": [c for _ in range(n)], "e": 3}
        bring(other, torch.device("cuda"))
        w = other["a"][0]
        """,
        {"x": "?", "y": "?", "z": "?", "w": "?"},
    ),
    (
        "a function that moves something goes to what cannot be read",
        """
        def move():
            here.cuda()
        run = eval("lambda function: function()")
        run(lambda: move())
        x = here.weight
        """,
        {"x": "?"},
    ),
    # -- containers
    (
        "sets and rows",
        """
        held = set([])
        held.add(g)
        x = held.pop()
        rows = [[g for _ in range(n)], [c]]
        y = list(zip(*rows))[0][0]
        """,
        {"x": "cuda", "y": "?"},
    ),
    (
        "what the transforms of a dataset speak of",
        """
        for x, _ in DataLoader(Rows(lambda t: t)):
            pass
        for y, _ in DataLoader(Rows(lambda t: t.cuda())):
            pass
        for z, _ in DataLoader(Rows(functools.partial(later, 1))):
            pass
        for w, _ in DataLoader(Rows({"a": later})):
            pass
        """,
        {"x": "cpu", "y": "?", "z": "?", "w": "?"},
    ),
    (
        "what is made of batches",
        """
        for x in DataLoader(TensorDataset(c), collate_fn=lambda batch: batch[0][0]):
            pass
        for y in DataLoader(collections.UserList([c]), collate_fn=lambda batch: batch[0]):
            pass
        for z in DataLoader({0: c, 1: c}, collate_fn=lambda batch: batch[0]):
            pass
        class Kept(TensorDataset):
            pass
        for (w,) in DataLoader(Kept(c)):
            pass
        """,
        {"x": "cpu", "y": "?", "z": "?", "w": "cpu"},
    ),
    (
        "modules that have a part in one case, or one of several",
        """
        class Net(nn.Module):
            def __init__(self, part):
                super().__init__()
                self.part = part
        class Whole(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = nn.Linear(2, 2).cuda() if n > 2 else None
                self.other = [nn.Linear(2, 2), nn.Linear(2, 2)][random.randrange(2)]
                self.third = Net(nn.Linear(2, 2).cuda())
                self.note = nn.Parameter(torch.ones(2)) if n > 3 else None
        whole = Whole()
        x = next(whole.parameters())
        y = next(Net(here).parameters())
        z = next(Net([there, there][random.randrange(2)]).parameters())
        """,
        {"x": "?", "y": "cpu", "z": "cuda"},
    ),
    (
        "operators with arguments out of containers",
        """
        x = torch.add(g, **eval("dict(other=1)"))
        y = torch.zeros_like(g, **{"dtype": torch.float32})
        z = torch.meshgrid(*[g[0] for _ in range(n)], indexing="ij")[0]
        w = torch.einsum(eval("'ij->i'"), g)
        v = torch.bincount(torch.tensor([1, 2], device="cuda"))
        """,
        {"x": "cuda", "y": "cuda", "z": "cuda", "w": "cuda", "v": "cuda"},
    ),
    (
        "parts",
        """
        net = nn.Sequential(nn.Linear(2, 2).cuda() if n > 2 else nn.Identity())
        x = net(g)
        f = nn.ReLU()
        y = f(eval("g"))
        text = f"{{cuda}}:{n}"
        z = {**{"a": g}, **eval("{'b': c}")}["a"]
        first, *w = g, c, c
        [v, [u, *_]] = [g, [c, g]]
        """,
        {"x": "?", "y": "a symbol", "z": "?", "w": "(cpu, cpu)", "v": "cuda", "u": "cpu"},
    ),
    (
        "entries of a dict of modules, as attributes",
        """
        parts = nn.ModuleDict(dict(first=there, last=nn.Linear(2, 2).cuda()))
        x, y = parts.first(g), parts.last.weight
        parts = nn.ModuleDict({"first": here})
        z = parts.first(c)
        """,
        {"x": "cuda", "y": "cuda", "z": "cpu"},
    ),
    (
        "sums over a sparse matrix",
        """
        x = torch.sparse.sum(g.to_sparse(), 1).to_dense()
        y = torch.sparse.softmax(c.to_sparse(), 1)
        """,
        {"x": "cuda", "y": "cpu"},
    ),
    (
        "a mixture of distributions",
        """
        from torch.distributions import Categorical, MixtureSameFamily, Normal
        p = MixtureSameFamily(Categorical(g[0]), Normal(g[0], g[0]))
        x, y = p.sample((3,)), p.log_prob(p.sample())
        z, u = Categorical(logits=c).probs, Normal(g, 1.0).scale
        """,
        {"x": "cuda", "y": "cuda", "z": "cpu", "u": "cuda"},
    ),
]
CASES = [(name, IMPORTS + textwrap.dedent(code), expected) for name, code, expected in CASES]
UNSURE: list[tuple[str, str]] = [
    # which of the two it is depends on what is not known
    ("d = torch.device(eval(\"'cuda'\"), 0)\nx = g if d.type == 'cuda' else c", "cuda or cpu"),
    ("d = torch.device(eval(\"'cuda'\"), 0)\nx = c if d == torch.device('cpu') else g", "cpu or cuda"),
    (
        "d = torch.device('cuda') if n > 3 else torch.device(eval(\"'cpu'\"), 0)\nx = g if d.type == 'cuda' else c",
        "cuda or cpu",
    ),
    ("x = g if 'cuda:0'.split(':')[0] == 'cuda' else c", "cuda or cpu"),
    ("x = c if isinstance(eval('g'), np.ndarray) else g", "cpu or cuda"),
]


def test_inferred(case: Any, bound: Callable[..., dict[str, str]]) -> None:
    assert bound(case.code, *case.expected) == case.expected


@pytest.mark.parametrize(("code", "expected"), UNSURE)
def test_either(bound: Callable[..., dict[str, str]], code: str, expected: str) -> None:
    assert bound(IMPORTS + code, "x") == {"x": expected}


def test_true_of_torch(case: Any, disagreements: Callable[[Any], list[str]]) -> None:
    assert disagreements(case) == []
