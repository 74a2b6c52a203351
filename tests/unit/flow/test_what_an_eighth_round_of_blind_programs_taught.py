"""What an eighth round of programs and projects taught, whose authors had not seen the linter, each idiom right and wrong."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

START = """\
import copy
import functools
import weakref
from contextlib import contextmanager

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.ones(2, 3, device=device)
"""

CASES: dict[str, tuple[str, Ways]] = {
    "what a class that derives from dict gives for what it does not hold": (
        """
        class Store(dict):
            def __init__(self, factory):
                super().__init__()
                self.factory = factory

            def __missing__(self, key):
                made = self.factory()
                self[key] = made
                return made


        def blank():
            return torch.zeros(3{0})


        store = Store(blank)
        for name in ("ada", "bob"):
            x = x + store[name]
        """,
        [("", ["TDV004"]), (", device=device", [])],
    ),
    "what it holds is given as it is": (
        """
        class Store(dict):
            def __missing__(self, key):
                return torch.zeros(3)


        store = Store()
        store["a"] = torch.ones(3, device=device)
        x + store["{0}"]
        """,
        [("a", []), ("b", ["TDV004"])],
    ),
    "an array that is divided by its own largest item is no number": (
        """
        def weighted(loss, p, index, beta):
            w = p[index] ** -beta
            return torch.as_tensor({0}, dtype=torch.float32) * loss


        def run(p, index, beta):
            weighted(x[0], p, index, beta)
        """,
        [("w / w.max()", ["TDV005"]), ("w / 2", []), ("(w - w.mean()) / (w.std() + 1e-6)", ["TDV005"])],
    ),
    "a sampler of one's own is run by the loader that has it": (
        """
        class Hard(BatchSampler):
            def __init__(self, targets, hardness):
                self.targets = targets
                self.sizes = torch.bincount(targets)
                self.hardness = hardness

            def __len__(self):
                return 3

            def __iter__(self):
                for _ in range(3):
                    weights = self.hardness{0}[self.targets] / self.sizes[self.targets]
                    yield torch.multinomial(weights, 4).tolist()


        labels = torch.randint(0, 3, (30,))
        sampler = Hard(labels, torch.ones(3, device=device))
        loader = DataLoader(TensorDataset(torch.rand(30, 3), labels), batch_sampler=sampler)
        """,
        [("", ["TDV004"]), (".cpu()", [])],
    ),
    "what a context manager of one's own leaves behind": (
        """
        class Meter:
            def __init__(self):
                self.blank = torch.zeros(3)
                self.total = self.blank.to(device)

            @contextmanager
            def epoch(self):
                try:
                    yield self
                finally:
                    self.total = {0}


        meter = Meter()
        for _ in range(3):
            with meter.epoch() as running:
                running.total += x[0]
        """,
        [
            ("self.blank.clone()", ["TDV004"]),
            ("self.blank.to(device)", []),
            ("torch.zeros_like(self.total)", []),
        ],
    ),
    "a list of modules that is taken apart with a star": (
        """
        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)

            def forward(self, x):
                return self.lin(x)

            def widen(self):
                self.lin = nn.Linear(3, 3){0}


        class Net(nn.Module):
            def __init__(self, count):
                super().__init__()
                self.layers = nn.ModuleList(Layer() for _ in range(count))

            def forward(self, x):
                *hidden, last = self.layers
                for layer in hidden:
                    x = torch.relu(layer(x))
                return last(x)


        net = Net(3).to(device)
        net.layers[1].widen()
        net(x)
        """,
        [("", ["TDV008"]), (".to(device)", [])],
    ),
    "a proxy lives where what it stands for lives": (
        """
        class Norm:
            def __init__(self, module):
                self.module = weakref.proxy(module)
                self.u = torch.ones(3, device=self.module.weight.device)

            def __call__(self):
                return self.u @ self.module.weight


        net = nn.Linear(3, 3)
        {0}
        norm = Norm(net)
        net.to(device)
        norm()
        """,
        [("", ["TDV004"]), ("net.to(device)", [])],
    ),
    "a result that the caller moves is not left behind": (
        """
        def dataset(n):
            xs = torch.empty(n, 3, device=device)
            ys = torch.empty(n, 3)
            for i in range(n):
                xs[i] = i
                ys[i] = i
            return xs, ys


        xs, ys = dataset(4)
        loss = xs - {0}
        """,
        [("ys.to(device)", []), ("ys", ["TDV004", "TDV005"])],
    ),
    "what is kept by device, or by something else": (
        """
        class Table:
            def __init__(self):
                self.kept = {{}}

            def __call__(self, like):
                key = {0}
                hit = self.kept.get(key)
                if hit is None:
                    hit = torch.arange(3).to(like.device)
                    self.kept[key] = hit
                return self.kept[key]


        table = Table()
        table(torch.ones(3))
        x * table(x)
        """,
        [("(like.device, like.dtype)", []), ("(like.shape, like.dtype)", ["TDV004"])],
    ),
    "what is made without a device is on the CPU, whatever it is kept by": (
        """
        class Table:
            def __init__(self):
                self.kept = {{}}

            def __call__(self, like):
                key = like.device, like.shape
                if key not in self.kept:
                    self.kept[key] = torch.arange(3{0})
                return self.kept[key]


        table = Table()
        x * table(x)
        """,
        [("", ["TDV004"]), (", device=like.device", [])],
    ),
    "an optimizer that a function makes of the parameters it is given": (
        """
        OPTIMIZERS = {{
            "adagrad": lambda parameters, lr: torch.optim.Adagrad(parameters, lr=lr),
            "sgd": lambda parameters, lr: torch.optim.SGD(parameters, lr=lr),
        }}


        def build(net, name):
            return OPTIMIZERS[name](net.parameters(), 0.1)


        net = nn.Linear(3, 1)
        opt = build(net, "{0}")
        net.to(device)
        net(x).sum().backward()
        opt.step()
        """,
        [("adagrad", ["TDV014"]), ("sgd", [])],
    ),
    "what was loaded takes the place of a tensor": (
        """
        class Whitener:
            def __init__(self):
                self.mean = {0}

            def load_state_dict(self, state):
                self.mean = state["mean"]


        class Manager:
            def __init__(self, **parts):
                self.parts = parts

            def restore(self, path):
                saved = torch.load(path, map_location="cpu")
                for name, part in self.parts.items():
                    part.load_state_dict(saved[name])


        whitener = Whitener()
        Manager(whitener=whitener).restore("last.pt")
        x - 0.5 * whitener.mean
        """,
        [("torch.zeros(3, device=device)", ["TDV004"]), ("0.0", []), ("torch.zeros((), device=device)", [])],
    ),
    "a descriptor that keeps what it made under a name of its own": (
        """
        class Temperature:
            def __set_name__(self, owner, name):
                self.slot = "_" + name

            def __get__(self, thing, owner=None):
                if self.slot not in thing.__dict__:
                    thing.__dict__[self.slot] = torch.full((1,), 0.2{0})
                return thing.__dict__[self.slot]


        class Agent:
            temperature = Temperature()

            def __init__(self):
                self.device = device


        x * Agent().temperature.exp()
        """,
        [("", ["TDV004"]), (", device=thing.device", [])],
    ),
    "a dict of one's own that is asked with several keys": (
        """
        class Grids(dict):
            def __init__(self, like):
                super().__init__()
                self.like = like

            def __missing__(self, key):
                height, width = key
                self[key] = torch.ones(height, width){0}
                return self[key]


        grids = Grids(x)
        for _ in range(2):
            x + grids[2, 3]
        """,
        [("", ["TDV004"]), (".to(self.like.device)", [])],
    ),
    "an object that is a hook, and tells those that listen": (
        """
        class Listener:
            def __init__(self):
                self.last = torch.zeros(2)

            def report(self, values):
                self.last = self.last + values


        class Reporter:
            def __init__(self):
                self.listeners = weakref.WeakSet()

            def __call__(self, module, args, out):
                for one in self.listeners:
                    one.report(out.detach(){0})


        net, listener, reporter = nn.Linear(3, 1).to(device), Listener(), Reporter()
        reporter.listeners.add(listener)
        net.register_forward_hook(reporter)
        net(x)
        """,
        [("", ["TDV004"]), (".cpu()", [])],
    ),
    "what a dict makes for a key that it has not": (
        """
        from collections import defaultdict

        sums = defaultdict(lambda: torch.zeros(3{0}))
        for name in ("a", "b"):
            sums[name] = sums[name] + x[0]
        """,
        [("", ["TDV004"]), (", device=device", [])],
    ),
    "layers of one's own among those that a model goes through": (
        """
        class Scaled:
            def attach(self):
                self.register_buffer("scale", None)
                return self

            def freeze(self):
                self.scale = torch.ones(3){0}


        class Linear(Scaled, nn.Linear):
            def forward(self, x):
                return super().forward(x) * self.scale


        net = nn.Sequential(Linear(3, 3).attach(), nn.ReLU()).to(device)
        for layer in net.modules():
            if isinstance(layer, Scaled):
                layer.freeze()
        net(x)
        """,
        [("", ["TDV004"]), (".to(self.weight.device)", [])],
    ),
    "a record that is gone through by its fields": (
        """
        from dataclasses import dataclass, fields


        @dataclass
        class Batch:
            x: torch.Tensor
            y: torch.Tensor


        def moved(thing):
            if isinstance(thing, torch.Tensor):
                return thing.to(device)
            if hasattr(thing, "{0}"):
                return type(thing)(**{{one.name: moved(getattr(thing, one.name)) for one in fields(thing)}})
            return thing


        batch = moved(Batch(torch.ones(3), torch.ones(3)))
        x + batch.y
        """,
        [("__dataclass_fields__", []), ("_no_fields", ["TDV005"])],
    ),
    "a part of the program that works on the host": (
        """
        class Kernel(nn.Module):
            def __init__(self):
                super().__init__()
                self.noise = nn.Parameter(torch.zeros(()))

            def gram(self, a):
                return a @ a.T + self.noise.exp() * torch.eye(len(a))


        class Process:
            def __init__(self):
                self.features = nn.Linear(3, 3).to(device)
                self.kernel = Kernel()

            def loss(self, x):
                return self.kernel.gram(self.features(x){0}).sum()


        def main():
            Process().loss(x)


        main()
        """,
        [(".cpu()", []), ("", ["TDV005"])],
    ),
    "a class that an option chooses, and that is not called": (
        """
        import sys


        class Scorer(nn.Module):
            def __init__(self):
                super().__init__()
                self.entities = nn.Embedding(5, 3)

            def score(self, pairs):
                return self.combine(self.entities(pairs))


        class Sum(Scorer):
            def combine(self, pairs):
                return pairs.sum(-1)


        class Product(Scorer):
            def combine(self, pairs):
                return pairs.prod(-1)


        scorer = {{"sum": Sum, "product": Product}}[sys.argv[1]]().to(device)
        scorer.score(torch.tensor([1, 2]){0})
        """,
        [("", ["TDV001"]), (".to(device)", [])],
    ),
    "a part of either class that is put in too late": (
        """
        import sys


        class Low(nn.Module):
            def __init__(self, base):
                super().__init__()
                self.base, self.down = base, nn.Parameter(torch.ones(3, 3))

            def forward(self, x):
                return self.base(x) + x @ self.down


        class Scale(Low):
            pass


        KINDS = {{"low": Low, "scale": Scale}}
        net = nn.Sequential(nn.Linear(3, 3), nn.ReLU()).to(device)
        for name in [name for name, layer in net.named_children() if isinstance(layer, nn.Linear)]:
            setattr(net, name, KINDS[sys.argv[1]](getattr(net, name)){0})
        net(x)
        """,
        [("", ["TDV008"]), (".to(device)", [])],
    ),
    "the entries of a dict that are restored one by one": (
        """
        class Average:
            def __init__(self, net):
                self.shadow = {{key: value.detach().clone() for key, value in net.named_parameters()}}

            def load_state_dict(self, state):
                for key, value in state["shadow"].items():
                    self.shadow[key] = value{0}

            def update(self, net):
                for key, value in net.named_parameters():
                    self.shadow[key].mul_(0.9).add_(value, alpha=0.1)


        net = nn.Linear(3, 1).to(device)
        average = Average(net)
        average.load_state_dict(torch.load("last.pt", map_location="cpu")["average"])
        average.update(net)
        """,
        [(".clone()", ["TDV004"]), (".to(self.shadow[key].device)", [])],
    ),
    "a distribution of one that is sampled with an empty shape": (
        """
        def draw(alpha, size=()):
            return torch.distributions.Beta(alpha, alpha).sample(torch.Size(size))


        x * draw(0.5{0})
        """,
        [("", []), (", (3,)", ["TDV004"])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    source, ways = CASES[name]
    told_each_way(START, source, ways)


ENGINE = """\
import torch
from torch import nn


class Engine:
    def __init__(self, device):
        self.device = device
        self.net = nn.GRU(3, 3, batch_first=True).to(device)

    def blank(self):
        return torch.zeros(1, 1, 3{0})

    def advance(self, frame, state):
        return self.net(torch.tensor([[frame]], device=self.device), state)
"""
SERVICE = """\
class Service:
    def __init__(self, engine):
        self.engine = engine
        self.states = {}

    def start(self, name):
        self.states[name] = self.engine.blank()

    def reply(self, name, frame):
        out, self.states[name] = self.engine.advance(frame, self.states[name])
        return out.tolist()
"""
SERVE = """\
import torch
from engine import Engine
from service import Service

service = Service(Engine(torch.device("cuda" if torch.cuda.is_available() else "cpu")))
service.start("ada")
service.reply("ada", [0.1, 0.2, 0.3])
"""


@pytest.mark.parametrize(("place", "found"), [("", ["TDV001"]), (", device=self.device", [])])
def test_a_file_that_only_hands_tensors_on(
    place: str, found: list[str], tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    """It never names torch, and is not checked: what goes wrong is told where it fails."""
    files = {
        "engine.py": ENGINE.format(place),
        "service.py": SERVICE,
        "serve.py": SERVE,
        "pyproject.toml": "",
    }
    assert checked(tmp_path, files, "engine.py") == found


CONSTANTS = "import torch\n\nKC_matrix = torch.zeros((20, 21))\n"
STEP = """\
import torch
from constants import KC_matrix


def step(pose: torch.Tensor, device):
    global KC_matrix
    KC_matrix = {0}
    return KC_matrix @ pose.to(device)
"""


@pytest.mark.parametrize(
    ("line", "found"), [("KC_matrix.cuda(device)", []), ("KC_matrix.double()", ["TDV004"])]
)
def test_a_constant_that_is_called_like_a_class(
    line: str, found: list[str], tmp_path: Path, checked: Callable[[Path, dict[str, str], str], list[str]]
) -> None:
    files = {"constants.py": CONSTANTS, "step.py": STEP.format(line), "pyproject.toml": ""}
    assert checked(tmp_path, files, "step.py") == found


def _edits(program: str) -> list[str]:
    told = check_source(START + textwrap.dedent(program), "program.py", DEFAULT)
    assert told
    return [edit.content for one in told if one.fix is not None for edit in one.fix.edits]


def test_a_fix_does_not_ask_what_may_be_none_yet() -> None:
    """`self.state.device` is known where both meet, not where the first was made."""
    edits = _edits(
        """
        class Recurrent(nn.Module):
            def __init__(self):
                super().__init__()
                self.item = nn.Linear(3, 3)
                self.state = None

            def reset(self, ended):
                keep = torch.from_numpy(~ended).float().unsqueeze(1)
                if self.state is None:
                    self.state = torch.zeros(len(ended), 3, device=self.item.weight.device)
                self.state = self.state * keep


        net = Recurrent().to(device)
        net.reset(np.zeros(3, dtype=bool))
        """.replace("net = Rec", "import numpy as np\n\n        net = Rec")
    )
    assert edits == [".to(self.state.device)"]


def test_what_a_method_sets_anew_is_taken_to_a_parameter() -> None:
    """What another method computes with is there when this one is called, too."""
    edits = _edits(
        """
        class Quantized:
            def attach(self):
                self.register_buffer("scale", None)
                return self

            def freeze(self):
                self.scale = torch.tensor([1.0, 2.0, 3.0])

            def quantized(self):
                return self.weight / self.scale


        class Linear(Quantized, nn.Linear):
            def forward(self, x):
                return nn.functional.linear(x, self.quantized(), self.bias)


        def main():
            net = nn.Sequential(Linear(3, 3).attach(), nn.ReLU()).to(device)
            for layer in net.modules():
                if isinstance(layer, Quantized):
                    layer.freeze()
            net(x)


        main()
        """
    )
    assert edits == [".to(self.weight.device)"]
