"""Methods of containers, records and the standard library's helpers, with tensors of two devices in them.

Each expectation is also compared with PyTorch on the simulated accelerator.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

IMPORTS = """
import collections, copy, dataclasses, functools, itertools, os, random, types, typing
from collections import OrderedDict, defaultdict, deque, namedtuple
c, g = torch.zeros(2), torch.ones(2, device="cuda")
"""

CASES: list[tuple[str, str, dict[str, str]]] = [
    # -- lists and deques
    ("a shuffled list", "x = [c, c]\nrandom.shuffle(x)\ny = x[0]", {"y": "cpu"}),
    ("a shuffled list of both", "x = [c, g]\nrandom.shuffle(x)\ny = x[0]", {"y": "?"}),
    ("extended by nothing", "x = [c] * torch.zeros(3).numel()\nx.extend([])\ny = x[0]", {"y": "cpu"}),
    ("put in front", "x = deque([c])\nx.appendleft(g)\ny, z = x[0], x[1]", {"y": "cuda", "z": "cpu"}),
    ("put in front of many", "x = deque([g for i in range(3)])\nx.appendleft(g)\ny = x[0]", {"y": "cuda"}),
    ("taken from the front", "x = deque([c, g])\ny = x.popleft()\nz = x[0]", {"y": "cpu", "z": "cuda"}),
    ("taken from the end", "x = [c, g]\ny = x.pop()\nz = x[0]", {"y": "cuda", "z": "cpu"}),
    ("reversed in place", "x = [c, g]\nx.reverse()\ny, z = x", {"y": "cuda", "z": "cpu"}),
    ("sorted in place", "x = [g, g]\nx.sort(key=len)\ny = x[0]", {"y": "cuda"}),
    (
        "a state, or who knows what, that is replaced",
        "x = nn.Linear(2, 2).cuda().state_dict()\n"
        "if os.environ.get('FULL'):\n    x = eval('dict(bias=c)')\n"
        "for key in x:\n    x[key] = c\ny = x['bias']",
        {"y": "?"},
    ),
    (
        "a state, or who knows what, an item of which is replaced",
        "x = nn.Linear(2, 2).cuda().state_dict()\n"
        "if os.environ.get('FULL'):\n    x = eval('dict(bias=c)')\n"
        "x['bias'] = c\ny = x['bias']",
        {"y": "? or cpu"},
    ),
    ("sorted by a number", "x = sorted([c, g], key=lambda one: one.dim() - 1)\ny = x[0]", {"y": "?"}),
    (
        "sorted by a number that each has",
        "x = [(2, c), (1, g)]\n(_, y), (_, z) = sorted(x, key=lambda one: one[0])",
        {"y": "cuda", "z": "cpu"},
    ),
    (
        "sorted by a table",
        "ranks = dict(low=9, high=1)\nx = [('low', c), ('high', g), ('low', g)]\n"
        "(_, y), (_, z), (_, w) = sorted(x, key=lambda one: ranks[one[0]], reverse=True)",
        {"y": "cpu", "z": "cuda", "w": "cuda"},
    ),
    (
        "sorted by a number in an order that is not known",
        "x = sorted([(2, c), (1, g)], key=lambda one: one[0], reverse=bool(os.environ.get('DOWN')))\ny = x[0][1]",
        {"y": "?"},
    ),
    (
        "sorted by a number that one of them does not show",
        "x = sorted([(2, c), (random.random(), g)], key=lambda one: one[0])\ny = x[0][1]",
        {"y": "?"},
    ),
    ("sorted names", "x = {'a': c, 'b': g}\ny = x[sorted(['b', 'a'])[0]]", {"y": "cpu"}),
    ("rotated", "x = deque([c, g])\nx.rotate(1)\ny = x[0]", {"y": "?"}),
    ("cleared and filled again", "x = [c]\nx.clear()\nx.append(g)\ny = x[0]", {"y": "cuda"}),
    (
        "a copy that is filled",
        "x = [c]\ny = x.copy()\ny.append(g)\nw, z = x[-1], y[-1]",
        {"w": "cpu", "z": "cuda"},
    ),
    ("union of sets", "x = {c}.union({c})\ny = next(iter(x))", {"y": "cpu"}),
    ("difference of sets", "x = {g}.difference({c})\ny = next(iter(x))", {"y": "?"}),
    ("a number times a list", "x = 2 * [c, g]\ny = x[3]", {"y": "cuda"}),
    ("a number that is not known times a list", "x = c.numel() * [g]\ny = x[0]", {"y": "cuda"}),
    ("a list times a number that is not known", "x = [g] * c.numel()\ny = x[0]", {"y": "cuda"}),
    ("every second", "x = [c, g, c, g][1::2]\ny = x[1]", {"y": "cuda"}),
    # -- dictionaries
    ("keys", "x = {'a': c, 'b': g}\ny = x[list(x.keys())[1]]", {"y": "cuda"}),
    (
        "a default that is set",
        "x = {'a': c}\ny = x.setdefault('b', g)\nz = x['b']",
        {"y": "cuda", "z": "cuda"},
    ),
    ("a default that is not needed", "x = {'a': c}\ny = x.setdefault('a', g)", {"y": "cpu"}),
    (
        "a default under a name that is not known",
        "x = {}\ny = x.setdefault(str(c), g)\nz = x[str(c)]",
        {"y": "cuda", "z": "cuda"},
    ),
    ("any item", "x = {'a': g}\nk, y = x.popitem()", {"y": "cuda"}),
    ("cleared and set", "x = {'a': c}\nx.clear()\nx['b'] = g\ny = [*x.values()]", {"y": "(cuda)"}),
    (
        "a copy that is changed",
        "x = {'a': c}\ny = x.copy()\ny['a'] = g\nz, w = x['a'], y['a']",
        {"z": "cpu", "w": "cuda"},
    ),
    ("a method that is not known", "x = {'a': c}\ny = x.__len__()", {"y": "?"}),
    (
        "updated with what is not all known",
        "x = {'a': c}\nm = {}\nm[str(g)] = g\nx.update(m)\ny = x['a']",
        {"y": "?"},
    ),
    (
        "updated with pairs",
        "x = {'a': c}\nx.update([('a', g), ('b', c)])\ny, z = x['a'], x['b']",
        {"y": "cuda", "z": "cpu"},
    ),
    (
        "updated with pairs of names that are not known",
        "x = {'a': c}\nx.update([(str(c), c)])\ny = x['a']",
        {"y": "cpu"},
    ),
    ("updated with many pairs", "x = dict((str(i), g) for i in range(2))\ny = x['0']", {"y": "cuda"}),
    ("merged", "x = {'a': c} | {'a': g}\ny = x['a']", {"y": "cuda"}),
    ("of lists by default", "x = defaultdict(list)\nx['a'].append(g)\ny = x['a'][0]", {"y": "cuda"}),
    ("of dictionaries by default", "x = defaultdict(dict)\nx['a']['b'] = g\ny = x['a']['b']", {"y": "cuda"}),
    ("made by a function by default", "x = defaultdict(lambda: c)\ny = x['a']", {"y": "cpu"}),
    # -- texts that are names of devices
    ("a name in small letters", "x = torch.zeros(1, device='CUDA:1'.lower())", {"x": "cuda:1"}),
    (
        "a name in capitals",
        "n = 'cpu'.upper()\nx = torch.zeros(1, device='cuda' if n == 'CPU' else 'cpu')",
        {"n": "'CPU'", "x": "cuda"},
    ),
    ("a name with blanks", "x = torch.zeros(1, device=' cuda '.strip())", {"x": "cuda"}),
    ("a format", "x = torch.zeros(1, device='cuda:{}'.format(1))", {"x": "cuda:1"}),
    (
        "a format that does not fit",
        "try:\n    n = 'cuda:{x}'.format(1)\nexcept KeyError:\n    n = c",
        {"n": "? or cpu"},
    ),
    # -- itertools
    ("repeated", "x = next(itertools.repeat(g))", {"x": "cuda"}),
    ("every pair of two", "for x, y in itertools.product([c], [g]): pass", {"x": "cpu", "y": "cuda"}),
    ("of unequal length", "for x, y in itertools.zip_longest([c], [g]): pass", {"x": "cpu", "y": "cuda"}),
    (
        "combinations of two",
        "for x, y in itertools.combinations([g, g, g], 2): pass",
        {"x": "cuda", "y": "cuda"},
    ),
    ("permutations", "for p in itertools.permutations([g, g]): x = p[1]", {"x": "cuda"}),
    ("two of one", "x, y = itertools.tee([g])\nz = next(y)", {"z": "cuda"}),
    ("counted", "for i, x in zip(itertools.count(), [g]): pass", {"x": "cuda"}),
    ("chained", "x = [*itertools.chain([g], [g])][1]", {"x": "cuda"}),
    ("grouped", "for k, group in itertools.groupby([g], len): x = c", {"x": "cpu"}),
    ("drawn", "x = random.choice([g, g])\ny = random.sample([c, c], 1)[0]", {"x": "cuda", "y": "cpu"}),
    ("a number that is drawn", "x = random.random()\ny = g * x", {"y": "cuda"}),
    # -- records
    (
        "a record as a dictionary",
        """
        @dataclasses.dataclass
        class Batch:
            x: torch.Tensor
            y: torch.Tensor
        batch = Batch(c, g)
        d = dataclasses.asdict(batch)
        t = dataclasses.astuple(batch)
        """,
        {"d": "{x: cpu, y: cuda}", "t": "(cpu, cuda)"},
    ),
    (
        "a named tuple as a dictionary",
        """
        Batch = namedtuple("Batch", ["x", "y"])
        d = Batch(c, g)._asdict()
        r = Batch(c, g)._replace(x=g)
        x = r.x
        """,
        {"d": "{x: cpu, y: cuda}", "x": "cuda"},
    ),
    (
        "a named tuple of fields that are not known",
        """
        names = "x y".split() if c.numel() else ["x"]
        Batch = namedtuple("Batch", names)
        x = Batch(c, g).y
        """,
        {"x": "?"},
    ),
    (
        "a record whose fields are gone through",
        """
        @dataclasses.dataclass
        class Batch:
            x: torch.Tensor
            y: torch.Tensor
        batch = Batch(c, c)
        for field in dataclasses.fields(batch):
            setattr(batch, field.name, getattr(batch, field.name).cuda())
        x = batch.y
        """,
        {"x": "cuda"},
    ),
    (
        "a record with another value in it",
        """
        @dataclasses.dataclass
        class Batch:
            x: torch.Tensor
            y: torch.Tensor
        batch = dataclasses.replace(Batch(c, c), **{"y": g})
        x, y = batch.x, batch.y
        """,
        {"x": "cpu", "y": "cuda"},
    ),
    (
        "the attributes of an object",
        """
        class Holder: pass
        holder = Holder()
        holder.x, holder.y = c, g
        d = vars(holder)
        y = d["y"]
        """,
        {"y": "cuda"},
    ),
    ("a namespace", "s = types.SimpleNamespace(**{'x': g}, y=c)\nx, y = s.x, s.y", {"x": "cuda", "y": "cpu"}),
    (
        "attributes that a dictionary brings",
        """
        class Holder:
            def __init__(self, **given):
                self.__dict__.update(given)
        x = Holder(x=g).x
        """,
        {"x": "cuda"},
    ),
]
CASES = [(name, IMPORTS + textwrap.dedent(code), expected) for name, code, expected in CASES]


def test_inferred(case: Any, bound: Callable[..., dict[str, str]]) -> None:
    assert bound(case.code, *case.expected) == case.expected


def test_true_of_torch(case: Any, disagreements: Callable[[Any], list[str]]) -> None:
    assert disagreements(case) == []
