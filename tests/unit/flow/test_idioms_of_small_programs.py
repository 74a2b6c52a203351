"""What three hundred small programs taught, each idiom wrong and right: how values travel, and how they are moved or are not.

They were written by authors who knew nothing of the linter; docs/programs.md says what was found at first.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)

START = """\
import collections, dataclasses, enum, functools, random
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 3).to(device)
inputs = torch.rand(3, 3, device=device)
"""


def told(text: str) -> list[str]:
    return sorted({one.code for one in findings(START + textwrap.dedent(text), "train.py", DEFAULT)})


# what stands for {0}, and what is found then
CASES: dict[str, tuple[str, list[tuple[str, list[str]]]]] = {
    "a table of factories and a key that is not known": (
        """
        INITS = {"zeros": torch.zeros, "uniform": lambda *size, **given: torch.rand(*size, **given) * 2 - 1}
        def made(how):
            return INITS[how](3, 3{0})
        def run(how):
            return inputs + made(how)
        """,
        [("", ["TDV004"]), (", device=device", [])],
    ),
    "functions of a list": (
        """
        def encoded(x):
            return torch.cat([x] + [f(2.0**k * x) for k in range(3) for f in (torch.sin, torch.cos)], -1)
        nn.Linear(21, 3).to(device)(encoded(torch.rand(5, 3{0})))
        """,
        [("", ["TDV001"]), (", device=device", [])],
    ),
    "lambdas that a loop makes": (
        """
        steps = []
        for k in range(20):
            for f in (torch.sin, torch.cos):
                steps.append(lambda x, f=f, k=k: f(x * k))
        net(torch.cat([step(torch.rand(3{0})) for step in steps], -1))
        """,
        [("", ["TDV001"]), (", device=device", [])],
    ),
    "the tensors of a dataset": (
        """
        data = TensorDataset(torch.rand(9, 3), torch.randint(0, 3, (9,)))
        counts = torch.bincount(data.tensors[1], minlength=3).float()
        criterion = nn.CrossEntropyLoss(weight=counts.sum() / counts){0}
        criterion(net(inputs), torch.zeros(3, dtype=torch.long, device=device))
        """,
        [("", ["TDV001"]), (".to(device)", [])],
    ),
    "the best so far is saved": (
        """
        best = float("inf")
        for epoch in range(9):
            loss = net(inputs).mean().item()
            if loss < best:
                best = loss
                torch.save({0}, "net.pt")
        """,
        [("net.cpu().state_dict()", ["TDV001"]), ("net.state_dict()", [])],
    ),
    "the best so far is saved, and brought back or the last": (
        """
        best = float("inf")
        for epoch in range(9):
            loss = net(inputs).mean().item()
            if loss < best:
                torch.save(net.cpu().state_dict(), "net.pt")
                {0}
        """,
        [("pass", ["TDV001"]), ("net.to(device)", []), ("break", [])],
    ),
    "a method saves what is best": (
        """
        class Trainer:
            def __init__(self):
                self.net, self.best = nn.Linear(3, 3).to(device), 9.0
            def save(self):
                torch.save({0}.state_dict(), "net.pt")
            def fit(self):
                for epoch in range(9):
                    loss = self.net(inputs).mean().item()
                    is_best = loss < self.best
                    if is_best:
                        self.save()
        Trainer().fit()
        """,
        [("self.net.cpu()", ["TDV001"]), ("self.net", [])],
    ),
    "children that are replaced": (
        """
        class Adapted(nn.Module):
            def __init__(self, base):
                super().__init__()
                self.base, self.down = base, nn.Parameter(torch.randn(3, base.in_features))
            def forward(self, x):
                return self.base(x) + x @ self.down.T
        def adapt(whole):
            for name, child in whole.named_children():
                if isinstance(child, nn.Linear):
                    setattr(whole, name, Adapted(child))
                else:
                    adapt(child)
        whole = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.GELU(), nn.Linear(3, 3))){0}
        adapt(whole)
        whole.to({1})
        whole(inputs)
        """,
        [(".to(device)|torch.float", ["TDV008"]), ("|device", [])],
    ),
    "children that are replaced in the table": (
        """
        whole = nn.Sequential(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)), nn.ReLU()).to(device)
        for parent in list(whole.modules()):
            for name, child in parent.named_children():
                if isinstance(child, nn.BatchNorm1d):
                    parent._modules[name] = nn.LayerNorm(3){0}
        whole(inputs)
        """,
        [("", ["TDV008"]), (".to(device)", [])],
    ),
    "a part that is kept out of the module": (
        """
        class Distilled(nn.Module):
            def __init__(self, teacher):
                super().__init__()
                self.student = nn.Linear(3, 3)
                object.__setattr__(self, "teacher", teacher.eval())
            def forward(self, x):
                return self.student(x) - self.teacher(x)
        Distilled(nn.Linear(3, 3){0}).to(device)(inputs)
        """,
        [("", ["TDV001"]), (".to(device)", [])],
    ),
    "a part that is put into the dictionary": (
        """
        class Distilled(nn.Module):
            def __init__(self, teacher):
                super().__init__()
                self.student = nn.Linear(3, 3)
                self.__dict__["teacher"] = teacher
            def forward(self, x):
                return self.student(x) - self.__dict__["teacher"](x)
        Distilled(nn.Linear(3, 3){0}).to(device)(inputs)
        """,
        [("", ["TDV001"]), (".to(device)", [])],
    ),
    "an embedding's data": (
        """
        class Text(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(9, 3)
            def forward(self, x):
                return self.embedding(x)
        text = Text().to(device)
        table = torch.from_numpy(np.zeros((9, 3), dtype="float32"))
        {0}
        text(torch.zeros(3, dtype=torch.long, device=device))
        """,
        [("text.embedding.weight.data = table", ["TDV001"]), ("text.embedding.weight.data.copy_(table)", [])],
    ),
    "items of an array": (
        """
        scores = np.zeros((9, 3))
        scores[{0}] = net(inputs){1}
        """,
        [("3:6|", ["TDV010"]), ("np.arange(3)|", ["TDV010"]), ("3:6|.detach().cpu()", []), ("3|.sum()", [])],
    ),
    "another yield": (
        """
        def batches(data):
            for start in range(0, 6, 3):
                yield data[start : start + 3].to(device)
            yield data[6:]{0}
        for batch in batches(torch.rand(8, 3)):
            net(batch)
        """,
        [("", ["TDV001"]), (".to(device)", [])],
    ),
    "the tail of another generator": (
        """
        def tail(data):
            if len(data) > 6:
                yield data[6:]
        def batches(data):
            yield data[:6].to(device)
            yield from tail(data{0})
        class Loader:
            def __iter__(self):
                yield from batches(torch.rand(8, 3))
        for batch in Loader():
            net(batch)
        """,
        [("", ["TDV001"]), (".to(device)", [])],
    ),
    "one yield or the other": (
        """
        def batches(data, flag):
            for row in data:
                if flag:
                    yield row.to(device)
                else:
                    yield row
        def run(flag{0}):
            for batch in batches(torch.rand(8, 3), flag):
                net(batch)
        """,
        [("", []), (", *others", [])],
    ),
    "now and then": (
        """
        def mixed(x):
            if random.random() > 0.5:
                return x{0}
            return x.flip(0).to(device)
        net(mixed(torch.rand(3, 3)))
        """,
        [("", ["TDV001"]), (".to(device)", [])],
    ),
    "an iterator that is made anew": (
        """
        loader = DataLoader(TensorDataset(torch.rand(9, 3)))
        batches = iter(loader)
        for step in range(99):
            try:
                (batch,) = next(batches)
                batch = batch.to(device)
            except StopIteration:
                batches = iter(loader)
                {0}
            net(batch)
        """,
        [("(batch,) = next(batches)", ["TDV001"]), ("batch = next(batches)[0].to(device)", []), ("break", [])],
    ),
    "a function's own function": (
        """
        def averaged(size):
            average = torch.zeros(size)
            def update(x):
                nonlocal average
                average.mul_(0.9).add_(x.mean(0), alpha=0.1)
                return average
            def to(where):
                nonlocal average
                average = average.to(where)
            update.to = to
            return update
        center = averaged(3)
        {0}
        center(inputs)
        """,
        [("pass", ["TDV005"]), ("center.to(device)", [])],
    ),
    "records of records that move all they hold": (
        """
        class Movable:
            def to(self, where):
                moved = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
                return dataclasses.replace(self, **{k: v.to(where) if hasattr(v, "to") else v for k, v in moved.items()})
        @dataclasses.dataclass
        class Nodes{0}:
            features: torch.Tensor
        @dataclasses.dataclass
        class Graph(Movable):
            nodes: Nodes
            edges: torch.Tensor
        graph = Graph(Nodes(torch.rand(3, 3)), torch.zeros(2, 9)).to(device)
        net(graph.nodes.features)
        """,
        [("", ["TDV001"]), ("(Movable)", [])],
    ),
    "a part that says what moving means": (
        """
        class Fourier(nn.Module):
            def __init__(self):
                super().__init__()
                self.table, self.out = torch.randn(3, 3), nn.Linear(3, 3)
            def to(self, *where):
                self.table = self.table.to(*where)
                return super().to(*where)
            def forward(self, x):
                return self.out(x @ self.table)
        class Field(nn.Module):
            def __init__(self):
                super().__init__()
                self.features = Fourier()
            def forward(self, xy):
                return self.features(xy)
        field = Field().to(device)
        {0}
        field(inputs)
        """,
        [("pass", ["TDV006"]), ("field.features.to(device)", [])],
    ),
    "names that are put together": (
        """
        class Mixture(nn.Module):
            def __init__(self):
                super().__init__()
                self.mixer = nn.Linear(3, 4)
                for i in range(4):
                    {0}
            def forward(self, x):
                return sum(c * getattr(self, f"basis_{i}") for i, c in enumerate(self.mixer(x)))
        Mixture().to(device)(inputs)
        """,
        [
            ('setattr(self, f"basis_{i}", torch.randn(3))', ["TDV006"]),
            ('self.register_buffer(f"basis_{i}", torch.randn(3))', []),
        ],
    ),
    "where the parameters were at first": (
        """
        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.out = nn.Linear(3, 3)
                self.place = next(self.parameters()).device
            def forward(self, x):
                return self.out(x) + torch.ones(3, device={0})
        Decoder().to(device)(inputs)
        """,
        [("self.place", ["TDV004"]), ("self.out.weight.device", [])],
    ),
    "a state that takes the place of the parameters": (
        """
        torch.save(nn.Linear(3, 3).state_dict(), "net.pt")
        net.load_state_dict(torch.load("net.pt", map_location={1}), assign={0})
        net(inputs)
        """,
        [('True|"cpu"', ["TDV001"]), ('False|"cpu"', []), ("True|device", [])],
    ),
    "a parametrization of a layer that was made there": (
        """
        class Masked(nn.Module):
            def __init__(self, mask):
                super().__init__()
                self.register_buffer("mask", mask)
            def forward(self, weight):
                return weight * self.mask
        layer = nn.Linear(3, 3, device=device)
        nn.utils.parametrize.register_parametrization(layer, "weight", Masked(torch.ones(3, 3{0})))
        layer(inputs)
        """,
        [("", ["TDV001"]), (", device=device", [])],
    ),
    "members of an enumeration": (
        """
        class Colour(enum.Enum):
            ROAD = (128, 64, 128)
            SKY = (70, 130, 180)
            @property
            def rgb(self):
                return torch.tensor(self.value, dtype=torch.float32)
        for i, colour in enumerate(Colour):
            print(inputs * colour.rgb{0})
        """,
        [("", ["TDV004"]), (".to(device)", [])],
    ),
    "members of an enumeration, each by itself": (
        """
        class Colour(enum.Enum):
            ROAD = (128, 64, 128)
            SKY = (70, 130, 180)
        tables = {}
        for colour in Colour:
            table = torch.tensor(colour.value)
            if colour == Colour.ROAD:
                table = table.to(device)
            if colour == Colour.{0}:
                print(inputs * table)
        """,
        [("SKY", ["TDV005"]), ("ROAD", [])],
    ),
    "lambdas that differ in what a loop gives them": (
        """
        steps = []
        for k in range(20):
            for where in ("cpu", {0}):
                steps.append(lambda x, where=where: x.to(where))
        for step in steps:
            net(step(inputs))
        """,
        [('"cpu"', ["TDV001"]), ("device", [])],
    ),
    "a branch that nobody gets to": (
        """
        def run(kind):
            if kind == "host":
                if kind == "{0}":
                    return torch.zeros(3) + inputs
        """,
        [("host", ["TDV005"]), ("device", [])],
    ),
    "one kind of thing or another": (
        """
        def run(kind):
            part = {"x": torch.zeros(3)} if kind == "dict" else torch.ones(3){0}
            if kind == "tensor":
                return part + inputs
        """,
        [("", ["TDV005"]), (".to(device)", [])],
    ),
    "a chain of dictionaries": (
        """
        defaults = {"mean": torch.zeros(3), "deviation": torch.ones(3)}
        given = collections.ChainMap({"mean": torch.ones(3).to(device){0}}, defaults)
        print(given["mean"] + inputs, given.get("n", 3))
        """,
        [(".cpu()", ["TDV004"]), ("", [])],
    ),
    "pinned memory": (
        """
        data = TensorDataset(torch.rand(9, 3){0})
        for (batch,) in DataLoader(data, pin_memory={1}):
            net(batch.to(device))
        """,
        [
            (".to(device)|True", ["TDV013"]),
            (".to(device)|torch.cuda.is_available()", ["TDV013"]),
            (".to(device)|not torch.cuda.is_available()", []),
            (".to(device)|False", []),
            ("|True", []),
        ],
    ),
    "a tensor that is pinned": (
        "torch.rand(3){0}.pin_memory()",
        [(".to(device)", ["TDV013"]), ("", [])],
    ),
    "one kind or another": (
        """
        def noisy(kind):
            jitter = torch.full((3,), 0.1, device=device if kind == "device" else "cpu")
            if kind == "{0}":
                return jitter * torch.randn(3)
        """,
        [("device", ["TDV005"]), ("host", [])],
    ),
    "one member or another": (
        """
        class Kind(enum.Enum):
            HOST = 1
            DEVICE = 2
        def noisy(kind):
            jitter = torch.full((3,), 0.1, device=device if kind == Kind.DEVICE else "cpu")
            if kind == Kind.{0}:
                return jitter * torch.randn(3)
        """,
        [("DEVICE", ["TDV005"]), ("HOST", [])],
    ),
    "what becomes of one number or another": (
        """
        def noisy(mode):
            if mode == 1:
                return None
            where = device if mode == 2 else "cpu"
            jitter = torch.zeros(3, device=where)
            if mode == {0}:
                return jitter * torch.randn(3)
        """,
        [("2", ["TDV005"]), ("3", [])],
    ),
    "a table of losses and a key that is not known": (
        """
        class Weighted(nn.Module):
            def __init__(self, weight):
                super().__init__()
                self.register_buffer("weight", weight)
            def forward(self, scores, labels):
                return nn.functional.cross_entropy(scores, labels, weight=self.weight)
        class Focal(Weighted):
            def forward(self, scores, labels):
                return super().forward(scores, labels) ** 2
        LOSSES = {"weighted": Weighted, "focal": Focal}
        def run(name, labels):
            loss = LOSSES[name](torch.ones(3)){0}
            return loss(net(inputs), labels.to(device))
        """,
        [("", ["TDV001"]), (".to(device)", [])],
    ),
    "an argument that may be a list": (
        """
        def masked(lengths, size):
            lengths = torch.as_tensor(lengths)
            return torch.arange(size) < lengths.unsqueeze(1)
        class Attention(nn.Module):
            def forward(self, keys, lengths):
                return keys.masked_fill({0}, 0.0)
        Attention().to(device)(inputs, [2, 3, 1])
        """,
        [("masked(lengths, 3)", ["TDV004"]), ("masked(lengths, 3).to(keys.device)", [])],
    ),
    "functions for each sort": (
        """
        @dataclasses.dataclass
        class Graph:
            x: torch.Tensor
            weights: torch.Tensor
        @functools.singledispatch
        def moved(thing, where):
            return thing
        @moved.register
        def _(thing: torch.Tensor, where):
            return thing.to(where)
        @moved.register
        def _(thing: list, where):
            return [moved(one, where) for one in thing]
        @moved.register
        def _(thing: Graph, where):
            return Graph(moved(thing.x, where), {0})
        for graph in moved([Graph(torch.rand(3, 3), torch.rand(3)) for _ in range(2)], device):
            print(net(graph.x) * graph.weights)
        """,
        [("thing.weights", ["TDV005"]), ("moved(thing.weights, where)", [])],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said", "found"),
    [(text, said, found) for text, variants in CASES.values() for said, found in variants],
    ids=[f"{name}: {said or 'nothing'}" for name, (_, variants) in CASES.items() for said, _ in variants],
)
def test_wrong_and_right(text: str, said: str, found: list[str]) -> None:
    for index, part in enumerate(said.split("|")):
        text = text.replace(f"{{{index}}}", part)
    assert told(text) == found


NOISE = """\
import torch
def seeded(seed):
    torch.manual_seed(seed)
    return torch.Generator().manual_seed(seed)
class Noise:
    def __init__(self, where, generator=None):
        self.where, self.generator = where, generator
    def latent(self, n):
        return torch.randn(n, 3, device=self.where, generator=self.generator)
"""
MAIN = """\
import torch
from noise import Noise, seeded
where = "cuda" if torch.cuda.is_available() else "cpu"
noise = Noise(where{0})
noise.latent(3)
noise.latent(4)
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (", seeded(3)", ["TDV011"]),
        (", torch.Generator()", ["TDV011"]),
        (", torch.Generator(where)", []),
        ("", []),
    ],
)
def test_another_file_draws(
    given: str, found: list[str], tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    """With a generator that it is given, once for each generator."""
    files = {"noise.py": NOISE, "main.py": MAIN.replace("{0}", given)}
    assert checked(tmp_path, files, "main.py") == found


SEEDED = """\
import torch
class Seeded:
    def __init__(self, where):
        self.where, self.generator = where, torch.Generator()
    def draw(self):
        return torch.randn(3, device=self.where, generator=self.generator)
class Source:
    def __init__(self):
        self.seeded = Seeded("cuda" if torch.cuda.is_available() else "cpu")
    def latent(self):
        return self.seeded.draw()
"""


@pytest.mark.parametrize(("name", "found"), [("noise.py", ["TDV011"]), ("main.py", [])])
def test_another_file_draws_with_its_own(
    name: str, found: list[str], tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    """It is told where the class is, and not again of who uses it."""
    files = {"noise.py": SEEDED, "main.py": "from noise import Source\nSource().latent()\n"}
    assert checked(tmp_path, files, name) == found


LOSSES = """\
from torch import nn
class Plain(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.register_buffer("weight", weight)
    def forward(self, scores, labels):
        return nn.functional.cross_entropy(scores, labels, weight=self.weight)
class Focal(Plain):
    pass
"""
TABLE = """\
from .kinds import Focal, Plain
TABLE = {'plain': Plain, 'focal': Focal}
def made(name, **given):
    return TABLE[name](**given)
"""
USES = """\
import torch
from torch import nn
from losses import made
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
def run(name, labels):
    net = nn.Linear(3, 3).to(device)
    loss = made(name, weight=torch.ones(3)){0}
    return loss(net(torch.rand(3, 3, device=device)), labels.to(device))
"""


@pytest.mark.parametrize(("moved", "found"), [("", ["TDV001"]), (".to(device)", [])])
def test_a_table_of_imported_losses(
    moved: str, found: list[str], tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    files = {"losses/__init__.py": TABLE, "losses/kinds.py": LOSSES, "main.py": USES.replace("{0}", moved)}
    assert checked(tmp_path, files, "main.py") == found
