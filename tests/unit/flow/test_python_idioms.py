"""Python's idioms around tensors and modules: containers, iterators, records, callables, patterns.

Each expectation is also compared with PyTorch on the simulated accelerator.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

IMPORTS = """
import collections, copy, dataclasses, functools, itertools, random, types, typing
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
a, b = torch.zeros(2), torch.ones(2)
there = "cuda:1"
"""

CASES: list[tuple[str, str, dict[str, str]]] = [
    # -- a container is one thing, whatever names it has
    ("alias of a list", "x = [a]\ny = x\ny.append(b.cuda())\nz = x[1]", {"z": "cuda"}),
    ("alias of a dict", "x = {'k': a}\ny = x\ny['k'] = y['k'].cuda()\nz = x['k']", {"z": "cuda"}),
    (
        "a helper that moves in place",
        """
        def move(d):
            for k in d:
                d[k] = d[k].cuda()
        x = {'k': a}
        move(x)
        """,
        {"x": "{k: cuda}"},
    ),
    (
        "a helper that moves the items of a dict in place",
        """
        def move(d):
            for k, v in d.items():
                d[k] = v.cuda()
        x = {'k': a, 'l': b}
        move(x)
        """,
        {"x": "{k: cuda, l: cuda}"},
    ),
    (
        "a helper that moves a list in place",
        """
        def move(xs):
            for i in range(len(xs)):
                xs[i] = xs[i].cuda()
        x = [a, b]
        move(x)
        """,
        {"x": "many ?"},
    ),
    (
        "a helper that moves in place under a condition",
        """
        def move(d):
            if torch.cuda.is_available():
                d['k'] = d['k'].cuda()
        x = {'k': a}
        move(x)
        y = x['k']
        """,
        {"y": "cuda or cpu"},
    ),
    ("list of lists", "x = [[a], [b]]\nx[0].append(b.cuda())\ny = x[0][1]", {"y": "cuda"}),
    ("inner list", "x = {'k': []}\ny = x['k']\ny.append(a.cuda())\nz = x['k'][0]", {"z": "cuda"}),
    ("a copy is another", "x = [a]\ny = x.copy()\ny[0] = a.cuda()", {"x": "(cpu)", "y": "(cuda)"}),
    (
        "a list made of a list is another",
        """
        x = [a]
        y = list(x)
        y[0] = a.cuda()
        """,
        {"x": "(cpu)", "y": "(cuda)"},
    ),
    ("a slice is another", "x = [a]\ny = x[:]\ny[0] = a.cuda()", {"x": "(cpu)", "y": "(cuda)"}),
    (
        "two empty lists are two",
        """
        x, y = [], []
        x.append(a)
        y.append(a.cuda())
        """,
        {"x": "(cpu)", "y": "(cuda)"},
    ),
    (
        "a list of each call",
        """
        def f():
            return []
        x, y = f(), f()
        x.append(a)
        y.append(a.cuda())
        """,
        {"x": "(cpu)", "y": "(cuda)"},
    ),
    (
        "a list of each iteration",
        """
        x = []
        for v in (a, a.cuda()):
            row = []
            row.append(v)
            x.append(row)
        """,
        {"x": "((cpu), (cuda))"},
    ),
    (
        "filled by a closure",
        """
        x = []
        def add(v):
            x.append(v)
        add(a)
        add(a.cuda())
        y = x[1]
        """,
        {"y": "cuda"},
    ),
    (
        "filled by a method",
        """
        class Store:
            def __init__(self):
                self.rows = []
            def push(self, v):
                rows = self.rows
                rows.append(v)
        s = Store()
        s.push(a.cuda())
        x = s.rows[0]
        """,
        {"x": "cuda"},
    ),
    # -- lists
    ("sum of lists", "x = [a] + [b.cuda()]", {"x": "(cpu, cuda)"}),
    ("multiplied list", "x = [a.cuda()] * 3", {"x": "(cuda, cuda, cuda)"}),
    (
        "list appended to many times",
        """
        x = []
        for i in range(40):
            x.append(a)
        y = torch.stack(x)
        """,
        {"y": "cpu"},
    ),
    ("sum of lists of lists", "x = sum([[a], [b]], [])\ny = torch.stack(x)", {"y": "cpu"}),
    ("insert", "x = [a]\nx.insert(0, a)\ny = x[0]", {"y": "cpu"}),
    ("pop", "x = [a, b.cuda()]\ny = x.pop()", {"x": "(cpu)", "y": "cuda"}),
    ("clear", "x = [a]\nx.clear()\nx.append(a.cuda())", {"x": "(cuda)"}),
    ("slice with bounds", "x = [a, b.cuda(), a]\ny = x[1:2]\nz = x[::2]", {"y": "(cuda)", "z": "(cpu, cpu)"}),
    (
        "transposed rows",
        """
        x, y = zip(*[(a, b.cuda()), (b, a.cuda())])
        """,
        {"x": "(cpu, cpu)", "y": "(cuda, cuda)"},
    ),
    (
        "transposed rows of a list of unknown length",
        """
        rows = [(a, b.cuda()) for _ in range(int('9'))]
        x, y = zip(*rows)
        x, y = torch.stack(x), torch.stack(y)
        """,
        {"x": "cpu", "y": "cuda"},
    ),
    ("map to a tuple", "x, y = map(lambda t: t.cuda(), (a, b))", {"x": "cuda", "y": "cuda"}),
    ("enumerate", "for i, x in enumerate([a.cuda()]):\n    pass", {"x": "cuda"}),
    ("reversed", "x, y = reversed([a, b.cuda()])", {"x": "cuda", "y": "cpu"}),
    ("numbers of a range index", "x = [a, b.cuda()]\nfor i in range(2):\n    y = x[i]", {"y": "cuda"}),
    # -- dicts
    ("dict of pairs", "x = dict([('k', a.cuda())])", {"x": "{k: cuda}"}),
    ("dict of zip", "x = dict(zip(['k', 'l'], [a, b.cuda()]))", {"x": "{k: cpu, l: cuda}"}),
    ("dict or dict", "x = {'k': a} | {'k': a.cuda()}", {"x": "{k: cuda}"}),
    ("numbers as keys", "x = {n: a.cuda() for n in (8, 16)}\ny = x[8]", {"y": "cuda"}),
    ("an unknown key", "x = {'k': a, 'l': b}\ny = x[random.choice(list(x))]", {"y": "cpu"}),
    (
        "a key that may be missing",
        """
        x = {}
        if random.random() >= 0:
            x['device'] = there
        y = x['device']
        """,
        {"y": "'cuda:1'"},
    ),
    (
        "keywords that may be missing",
        """
        x = {}
        if random.random() <= 1:
            x['device'] = there
        y = torch.zeros(2, **x)
        """,
        {"y": "cuda:1 or ?"},
    ),
    ("setdefault", "x = {}\nx.setdefault('k', []).append(a.cuda())\ny = x['k'][0]", {"y": "cuda"}),
    (
        "get with a default",
        """
        x = {'d': there}
        y = a.to(x.get('d', 'cpu'))
        z = a.to(x.get('e', 'cpu'))
        """,
        {"y": "cuda:1", "z": "cpu"},
    ),
    ("pop of a dict", "x = {'k': a.cuda(), 'l': b}\ny = x.pop('k')", {"x": "{l: cpu}", "y": "cuda"}),
    (
        "nested configuration",
        """
        x = dict(train=dict(device=there))
        y = torch.zeros(2, device=x['train']['device'])
        """,
        {"y": "cuda:1"},
    ),
    ("unpacked values", "x, y = {'k': a, 'l': b.cuda()}.values()", {"x": "cpu", "y": "cuda"}),
    (
        "keywords to a method",
        """
        kw = {'device': there}
        x = a.to(**kw)
        y = nn.Linear(2, 2, **kw)
        """,
        {"x": "cuda:1", "y": "module cuda:1"},
    ),
    (
        "default dict",
        """
        x = collections.defaultdict(list)
        x['k'].append(a.cuda())
        y = torch.stack(x['k'])
        """,
        {"y": "cuda"},
    ),
    # -- the standard library
    (
        "deque",
        """
        x = collections.deque(maxlen=4)
        x.append((a, b.cuda()))
        for y, z in x:
            pass
        """,
        {"y": "cpu", "z": "cuda"},
    ),
    (
        "sample",
        """
        x = [(a, b.cuda())] * 8
        y, z = zip(*random.sample(x, 4))
        y, z = torch.stack(y), torch.stack(z)
        """,
        {"y": "cpu", "z": "cuda"},
    ),
    ("chain", "for x in itertools.chain([a.cuda()], [b.cuda()]):\n    pass", {"x": "cuda"}),
    ("islice", "x = next(iter(itertools.islice([a.cuda()], 1)))", {"x": "cuda"}),
    ("partial", "f = functools.partial(torch.zeros, device=there)\nx = f(3)", {"x": "cuda:1"}),
    # -- records
    (
        "named tuple",
        """
        T = collections.namedtuple('T', ['s', 't'])
        v = T(a, t=b.cuda())
        x, y = v
        z = v[1]
        w = v.t
        """,
        {"x": "cpu", "y": "cuda", "z": "cuda", "w": "cuda"},
    ),
    (
        "named tuple of columns",
        """
        T = collections.namedtuple('T', 's t')
        v = T(*zip(*[T(a, b.cuda())] * 3))
        x, y = torch.stack(v.s), torch.stack(v.t)
        """,
        {"x": "cpu", "y": "cuda"},
    ),
    (
        "named tuple that moves",
        """
        class T(typing.NamedTuple):
            s: torch.Tensor
            t: torch.Tensor
            def to(self, d):
                return T(*(v.to(d) for v in self))
        v = T(a, b).to(there)
        x, y = v.s, v.t
        """,
        {"x": "cuda:1", "y": "cuda:1"},
    ),
    (
        "replaced field",
        """
        T = collections.namedtuple('T', 's t')
        v = T(a, b)._replace(t=b.cuda())
        x, y = v.s, v.t
        """,
        {"x": "cpu", "y": "cuda"},
    ),
    (
        "namespace",
        """
        v = types.SimpleNamespace(s=a, **{'t': b.cuda()})
        x, y = v.s, v.t
        """,
        {"x": "cpu", "y": "cuda"},
    ),
    (
        "dataclass that moves all its fields",
        """
        @dataclasses.dataclass
        class T:
            s: torch.Tensor
            t: torch.Tensor
            def to(self, d):
                return dataclasses.replace(self, **{f.name: getattr(self, f.name).to(d) for f in dataclasses.fields(self)})
        v = T(a, b).to(there)
        x, y = v.s, v.t
        """,
        {"x": "cuda:1", "y": "cuda:1"},
    ),
    (
        "dataclass finished by itself",
        """
        @dataclasses.dataclass
        class T:
            s: torch.Tensor
            def __post_init__(self):
                self.t = self.s.cuda()
        x = T(a).t
        """,
        {"x": "cuda"},
    ),
    (
        "fields of a base class",
        """
        @dataclasses.dataclass
        class S:
            s: torch.Tensor
        @dataclasses.dataclass
        class T(S):
            t: torch.Tensor
        v = T(a, b.cuda())
        x, y = v.s, v.t
        """,
        {"x": "cpu", "y": "cuda"},
    ),
    (
        "attributes moved one by one",
        """
        class T:
            def __init__(self):
                self.s, self.t = a, b
            def to(self, d):
                for k, v in self.__dict__.items():
                    setattr(self, k, v.to(d))
                return self
        v = T().to(there)
        x, y = v.s, v.t
        """,
        {"x": "cuda:1", "y": "cuda:1"},
    ),
    # -- iterators
    (
        "own iterator",
        """
        class Moved:
            def __init__(self, xs):
                self.xs = xs
            def __iter__(self):
                for s, t in self.xs:
                    yield s.cuda(), t
        for x, y in Moved([(a, b)]):
            pass
        """,
        {"x": "cuda", "y": "cpu"},
    ),
    (
        "own iterator with next",
        """
        class Moved:
            def __init__(self, xs):
                self.it = iter(xs)
            def __iter__(self):
                return self
            def __next__(self):
                s, t = next(self.it)
                return s.cuda(), t
        for x, y in Moved([(a, b)]):
            pass
        """,
        {"x": "cuda", "y": "cpu"},
    ),
    (
        "one ahead",
        """
        def ahead(xs):
            it = iter(xs)
            def load():
                try:
                    s, t = next(it)
                except StopIteration:
                    return None
                return s.cuda(), t
            after = load()
            while after is not None:
                now, after = after, load()
                yield now
        for x, y in ahead([(a, b)]):
            pass
        """,
        {"x": "cuda", "y": "cpu"},
    ),
    (
        "items by index",
        """
        class Rows:
            def __getitem__(self, i):
                if i:
                    raise IndexError
                return a.cuda()
        for x in Rows():
            pass
        """,
        {"x": "cuda"},
    ),
    (
        "generator of a generator",
        """
        def f(xs):
            yield from (t.cuda() for t in xs)
        x = list(f([a]))[0]
        """,
        {"x": "cuda"},
    ),
    # -- modules in containers
    (
        "slice of a module list",
        """
        m = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)]).cuda()
        for x in m[1:]:
            pass
        """,
        {"x": "module cuda"},
    ),
    (
        "last of a module list",
        """
        m = nn.ModuleList([nn.Linear(2, 2)]).cuda()
        x = m[-1]
        y = m[int('0')]
        """,
        {"x": "module cuda", "y": "module cuda"},
    ),
    (
        "enumerated module list",
        """
        m = nn.ModuleList(nn.Linear(2, 2) for _ in range(3)).cuda()
        for i, x in enumerate(m):
            pass
        """,
        {"x": "module cuda"},
    ),
    (
        "module list and a list",
        """
        m = nn.ModuleList([nn.Linear(2, 2)]).cuda()
        for x, y in zip(m, [a]):
            pass
        """,
        {"x": "module cuda", "y": "cpu"},
    ),
    (
        "items of a module dict",
        """
        m = nn.ModuleDict({'k': nn.Linear(2, 2)}).cuda()
        for k, x in m.items():
            y = m[k]
        z = m['k']
        """,
        {"x": "module cuda", "y": "module cuda", "z": "module cuda"},
    ),
    (
        "children",
        """
        m = nn.Sequential(nn.Linear(2, 2)).cuda()
        for x in m.children():
            pass
        """,
        {"x": "module cuda"},
    ),
    (
        "a child replaced by its name",
        """
        m = nn.Sequential(nn.Linear(2, 2)).cuda()
        for k, v in m.named_children():
            setattr(m, k, nn.Linear(2, 3))
        x = m[0]
        """,
        {"x": "module cpu"},
    ),
    (
        "added after the move",
        """
        m = nn.Sequential(nn.Linear(2, 2)).cuda()
        m.add_module('head', nn.Linear(2, 2))
        x, y = m.head, m[0]
        """,
        {"x": "module cpu", "y": "module cuda"},
    ),
    (
        "named by a number",
        """
        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                for i in range(n):
                    setattr(self, f'l{i}', nn.Linear(2, 2))
                    self.register_buffer(f'b{i}', torch.zeros(2))
        m = Net(int('2')).cuda()
        x, y = getattr(m, f'l{int(1)}'), m.b0
        """,
        {"x": "module cuda", "y": "cuda"},
    ),
    ("forward taken", "m = nn.Linear(2, 2).cuda()\nf = m.forward\nx = f(a.cuda())", {"x": "cuda"}),
    (
        "callables in a dict",
        """
        f = {'lin': lambda: nn.Linear(2, 2, device=there)}
        x = f['lin']()
        """,
        {"x": "module cuda:1"},
    ),
    ("callables in a list", "for f in [torch.zeros, torch.ones]:\n    x = f(2)", {"x": "cpu"}),
    (
        "put into a module dict",
        """
        m = nn.ModuleDict()
        m['k'] = nn.Linear(2, 2)
        m.update({'l': nn.Linear(2, 2)})
        m.cuda()
        x, y = m['k'], m['l']
        """,
        {"x": "module cuda", "y": "module cuda"},
    ),
    (
        "modules of two kinds by turns",
        """
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.k = nn.Parameter(torch.ones(2))
            def forward(self, t):
                return t * self.k
        m = nn.ModuleList()
        for _ in range(int('9')):
            m += [Twice(), nn.Linear(2, 2)]
        m = nn.ModuleList([part for _ in range(int('9')) for part in (Twice(), nn.Linear(2, 2))]).cuda()
        x = a.cuda()
        for part in m:
            x = part(x)
        """,
        {"x": "cuda"},
    ),
    (
        "a sequential of the file's modules",
        """
        class Pair(nn.Module):
            def forward(self, t):
                return t, t.cpu()
        x, y = nn.Sequential(nn.Linear(2, 2), Pair()).cuda()(a.cuda())
        """,
        {"x": "cuda", "y": "cpu"},
    ),
    (
        "split into parts",
        "x, y = torch.zeros(4).cuda().split(2)\nz = x.chunk(2)[0]",
        {"x": "cuda", "y": "cuda", "z": "cuda"},
    ),
    # -- functions
    (
        "a decorator with arguments",
        """
        def on(d):
            def decorate(f):
                def g(*args):
                    return f(*(t.to(d) for t in args))
                return g
            return decorate
        @on(there)
        def same(t):
            return t
        x = same(a)
        """,
        {"x": "cuda:1"},
    ),
    (
        "a decorated method",
        """
        def timed(f):
            @functools.wraps(f)
            def g(*args, **kw):
                return f(*args, **kw)
            return g
        class T:
            @timed
            def put(self, t):
                return t.cuda()
        x = T().put(a)
        """,
        {"x": "cuda"},
    ),
    (
        "recursion through containers",
        """
        def to(v, d):
            if isinstance(v, dict):
                return {k: to(w, d) for k, w in v.items()}
            if isinstance(v, (list, tuple)):
                return type(v)(to(w, d) for w in v)
            if torch.is_tensor(v):
                return v.to(d)
            return v
        v = to({'k': [a, (b, 1)]}, there)
        x, y = v['k'][0], v['k'][1][0]
        """,
        {"x": "cuda:1", "y": "cuda:1"},
    ),
    (
        "forwarded keywords",
        """
        def f(*args, **kw):
            return torch.zeros(*args, **kw)
        x, y = f(2, device=there), f(2)
        """,
        {"x": "cuda:1", "y": "cpu"},
    ),
    # -- patterns
    (
        "match by class",
        """
        def f(v):
            match v:
                case torch.Tensor():
                    return v.cuda()
                case {'k': t, **rest}:
                    return t.to('cuda:1')
                case (s, *_):
                    return s
        x, y, z = f(a), f({'k': a}), f((a, b))
        """,
        {"x": "cuda", "y": "cuda:1", "z": "cpu"},
    ),
    (
        "match by value",
        """
        match 'gpu':
            case 'cpu' | 'host':
                x = a
            case 'gpu':
                x = a.cuda()
        """,
        {"x": "cuda"},
    ),
    (
        "match with a guard",
        """
        match (a, 1):
            case (t, n) if n > 1:
                x = t.cuda()
            case (t, n):
                x = t
        """,
        {"x": "cpu"},
    ),
    # -- context managers
    (
        "what enter returns",
        """
        class C:
            def __enter__(self):
                return a.cuda()
            def __exit__(self, *_):
                pass
        with C() as x:
            pass
        """,
        {"x": "cuda"},
    ),
    (
        "exit moves back",
        """
        m = nn.Linear(2, 2)
        class C:
            def __enter__(self):
                m.cuda()
            def __exit__(self, *_):
                m.cpu()
        with C():
            x = m(a.cuda())
        y = m(a)
        """,
        {"x": "cuda", "y": "cpu", "m": "module cpu"},
    ),
    (
        "a generator lends and takes back",
        """
        import contextlib
        m = nn.Linear(2, 2)
        @contextlib.contextmanager
        def lent(n):
            n.cuda()
            try:
                yield 'cuda'
            finally:
                n.cpu()
        with lent(m) as d:
            x = m(a.to(d))
        y = m(a)
        """,
        {"x": "cuda", "y": "cpu", "m": "module cpu"},
    ),
    # -- loaders
    (
        "a collate object",
        """
        class Collate:
            def __init__(self, d):
                self.d = d
            def __call__(self, rows):
                s, t = zip(*rows)
                return torch.stack(s).to(self.d), torch.tensor(t)
        for x, y in DataLoader([(a, 1), (b, 2)], collate_fn=Collate(there)):
            pass
        """,
        {"x": "cuda:1", "y": "cpu"},
    ),
    (
        "dict batches moved in place are new ones each time",
        """
        class Rows(Dataset):
            def __len__(self):
                return 3
            def __getitem__(self, i):
                return {'s': a, 't': 3}
        for batch in DataLoader(Rows()):
            x = batch['s']
            batch['s'] = batch['s'].cuda()
            y, z = batch['s'], batch['t']
        """,
        {"x": "cpu", "y": "cuda", "z": "cpu"},
    ),
    (
        "an iterable dataset",
        """
        class Rows(IterableDataset):
            def __iter__(self):
                for _ in range(3):
                    yield a, b
        x, y = next(iter(DataLoader(Rows(), batch_size=2)))
        """,
        {"x": "cpu", "y": "cpu"},
    ),
]
CASES = [(name, IMPORTS + textwrap.dedent(code), expected) for name, code, expected in CASES]


def test_inferred(case: Any, bound: Callable[..., dict[str, str]]) -> None:
    assert bound(case.code, *case.expected) == case.expected


def test_true_of_torch(case: Any, disagreements: Callable[[Any], list[str]]) -> None:
    assert disagreements(case) == []
