"""What a sixth round of programs and projects taught, whose authors had not seen the linter, each idiom right and wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.sources import DiskSources
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

DEFAULT = Config(off_by_default=OFF_BY_DEFAULT)
Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

START = """\
from contextlib import contextmanager
from functools import cached_property

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.ones(2, 3, device=device)
"""

CASES: dict[str, tuple[str, Ways]] = {
    "layers of a moved model are replaced, one after the other": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.ModuleDict({{"a": nn.Linear(3, 3)}}) for _ in range(2))
                self.head = nn.Linear(3, 3)

            def forward(self, x):
                for layer in self.layers:
                    x = layer["a"](x)
                return self.head(x)


        def replace(root, match, factory):
            hits = []
            for name, part in list(root.named_modules()):
                if match(name, part):
                    parent, _, leaf = name.rpartition(".")
                    setattr(root.get_submodule(parent), leaf, factory(part))
                    hits.append(name)
            return hits


        def adapted(model):
            replace(model, lambda name, part: isinstance(part, nn.Linear), lambda part: nn.Linear(3, 3))
            return model


        net = Net().to(device)
        net = adapted(net){0}
        net.eval()(x)
        """,
        [("", ["TDV008"]), (".to(device)", [])],
    ),
    "an `_apply` that takes along what a dict holds": (
        """
        class Table:
            def __init__(self):
                self.cos = torch.arange(3.0)

            def apply(self, fn):
                self.cos = fn(self.cos)


        class Rotates(nn.Module):
            def __init__(self):
                super().__init__()
                self.tables = {{}}
                self.tables["rope"] = Table()

            def _apply(self, fn, recurse=True):
                out = super()._apply(fn, recurse)
                for table in self.{0}.values():
                    table.apply(fn)
                return out

            def forward(self, x):
                return self.tables["rope"].cos * x


        Rotates().to(device)(x)
        """,
        [("tables", []), ("others", ["TDV004"])],
    ),
    "what is taken out of a list is one of those that were used before": (
        """
        class Residency:
            def __init__(self, budget=2):
                self.budget = budget
                self.resident = []

            @contextmanager
            def visit(self, module):
                if module not in self.resident:
                    module.to(device)
                    self.resident.append(module)
                try:
                    yield module
                finally:
                    while len(self.resident) > self.budget:
                        {0}


        residency = Residency()
        experts = [nn.Linear(3, 3) for _ in range(4)]
        for k in range(4):
            with residency.visit(experts[k]) as expert:
                expert(x)
        """,
        [('self.resident.pop(0).to("cpu")', []), ('module.to("cpu")', ["TDV001"])],
    ),
    "a table that is made anew for more than it was made for": (
        """
        class Rotary(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("frequencies", torch.arange(3.0))
                {0}

            def _grow(self, n):
                steps = torch.arange(n, device=self.frequencies.device)
                self._cos = torch.outer(steps, self.frequencies).cos()
                self._length = n

            def forward(self, x):
                if x.shape[0] > self._length:
                    self._grow(x.shape[0])
                return x * self._cos[: x.shape[0]]


        Rotary().to(device)(x)
        """,
        [("self._grow(64)", ["TDV006"]), ("self._length, self._cos = 0, None", [])],
    ),
    "a table of nothing is made anew at once": (
        """
        class Rotary(nn.Module):
            def __init__(self):
                super().__init__()
                self._length, self._cos = {0}, torch.ones(1, 3)

            def forward(self, x, n):
                if n > self._length:
                    self._cos = torch.ones(n, 3, device=x.device)
                    self._length = n
                return x * self._cos[:n]


        Rotary().to(device)(x, {1})
        """,
        [
            (("64", "int(input())"), ["TDV006"]),
            (("0", "int(input())"), []),
            (("64", "x.shape[0]"), ["TDV006"]),
            (("0", "x.shape[0]"), []),
        ],
    ),
    "what is computed once stays where it was computed": (
        """
        class Camera:
            def __init__(self, pose):
                self.pose = pose

            @{0}
            def directions(self):
                return torch.ones(3, device=self.pose.device)

            def rays(self):
                return self.directions @ self.pose

            def to(self, device):
                self.pose = self.pose.to(device)
                {1}
                return self


        camera = Camera(torch.ones(3, 3))
        camera.rays()
        camera.to(device)
        camera.rays()
        """,
        [
            (("cached_property", ""), ["TDV004"]),
            (("property", ""), []),
            (("cached_property", "del self.directions"), []),
            (("cached_property", 'self.__dict__.pop("directions", None)'), []),
        ],
    ),
    "computed for the first time after the move": (
        """
        class Camera:
            def __init__(self, pose):
                self.pose = pose

            @cached_property
            def directions(self):
                return torch.ones(3, device=self.pose.device)

            def to(self, device):
                self.pose = self.pose.to(device)
                return self


        camera = Camera(torch.ones(3, 3))
        {0}
        camera.to(device)
        camera.directions @ camera.pose
        """,
        [("print(camera.pose)", []), ("print(camera.directions)", ["TDV004"])],
    ),
    "an object that gives another one is moved in vain": (
        """
        class Batch:
            def __init__(self, x, y):
                self.x, self.y = x, y

            def to(self, device):
                {0}


        def evaluate(loader):
            for x, y in loader:
                batch = Batch(x, y)
                {1}
                print(batch.x)
        """,
        [
            (("return Batch(self.x.to(device), self.y.to(device))", "batch.to(device)"), ["TDV003"]),
            (("return type(self)(self.x.to(device), self.y)", "batch.to(device)"), ["TDV003"]),
            (("return Batch(self.x.to(device), self.y.to(device))", "batch = batch.to(device)"), []),
            (("return Batch(self.x.to(device), self.y.to(device))", 'batch.to("cpu")'), []),
            (("self.x = self.x.to(device); return self", "batch.to(device)"), []),
            (("self.x = self.x.to(device); return Batch(self.x, self.y)", "batch.to(device)"), []),
            (("move(self, device); return Batch(self.x, self.y)", "batch.to(device)"), []),
            (("return self.moved(device)", "batch.to(device)"), []),
        ],
    ),
    "a mistake behind ten calls": (
        """
        class Keeper:
            def __init__(self):
                self.parts = {{}}

            def get(self, name, make):
                if name not in self.parts:
                    self.parts[name] = make()
                return self.parts[name]

            @property
            def net(self):
                return self.get("net", lambda: Outer())

            @property
            def copied(self):
                return self.get("copied", lambda: [p.detach().clone() for p in self.net.parameters()])

            def describe(self):
                return len(self.copied)


        class Inner(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(3, 3)


        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()


        keeper = Keeper()
        {0}
        keeper.net.to(device)
        for own, held in zip(keeper.net.parameters(), keeper.copied):
            held.mul_(0.9).add_(own.detach())
        """,
        [("keeper.describe()", ["TDV004"]), ("print(keeper)", [])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    source, ways = CASES[name]
    told_each_way(START, source, ways)


EXPERIMENT = """\
import torch
from torch import nn


class Experiment:
    def __init__(self):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._parts = {}

    def _get(self, name, make):
        if name not in self._parts:
            self._parts[name] = make()
        return self._parts[name]

    @property
    def model(self):
        return self._get("model", lambda: nn.Linear(3, 3))

    def fit(self, batches):
        for x in batches:
            self.model(x.to(self.device)).sum().backward()
"""


@pytest.mark.parametrize(
    ("moved", "found"), [("experiment.model.to(experiment.device)", []), ("", ["TDV001"])]
)
def test_parts_made_at_first_use(moved: str, found: list[str], tmp_path: Path) -> None:
    """What a script has had made, and moved, is there when the file's own methods ask for it."""
    (tmp_path / "experiment.py").write_text(EXPERIMENT)
    script = f"import torch\nfrom experiment import Experiment\n\nexperiment = Experiment()\n{moved}\nexperiment.fit([torch.ones(2, 3)])\n"
    (tmp_path / "main.py").write_text(script)
    (tmp_path / "pyproject.toml").touch()
    told = check_source(EXPERIMENT, str(tmp_path / "experiment.py"), DEFAULT, DiskSources())
    assert [one.code for one in told] == found


REGISTRY = """\
LOSSES = {}


def register(cls):
    LOSSES[cls.__name__] = cls
    return cls
"""
LOSS = """\
import torch
from parts.registry import register


@register
class Weighted:
    def __init__(self, device="cpu"):
        self.weight = torch.ones(3, device=device)

    def __call__(self, given):
        return (given * self.weight).sum()
"""
SCRIPT = """\
import torch
from {start} import LOSSES

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def run():
    loss = LOSSES["Weighted"]({told})
    return loss(torch.ones(3, device=device))


if __name__ == "__main__":
    run()
"""


@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize(("told", "found"), [("", ["TDV004"]), ("device", [])])
def test_scripts_of_a_package_that_fills_a_registry(
    told: str, found: list[str], outer: bool, tmp_path: Path
) -> None:
    """To import a file of a package is to run its `__init__.py`, and what that imports."""
    package = tmp_path / "parts"
    package.mkdir()
    (package / "__init__.py").write_text("from parts import losses\n")
    (package / "registry.py").write_text(REGISTRY)
    (package / "losses.py").write_text(LOSS)
    (tmp_path / "train.py").write_text(SCRIPT.format(start="parts.registry", told=told))
    if outer:
        (tmp_path / "main.py").write_text("from train import run\n\nrun()\n")
    (tmp_path / "pyproject.toml").touch()
    told_of = check_source(LOSS, str(package / "losses.py"), DEFAULT, DiskSources())
    assert [one.code for one in told_of] == found


SCORES = """\
import numpy as np


def matching(given, predicted):
    return float(np.mean([one.numpy() for one in predicted]))
"""
EPOCH = """\
import torch
from torch import nn
from scores import matching

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 3).to(device)
seen = []
for x in torch.ones(4, 2, 3):
    seen.append(net(x.to(device)).argmax(-1){0})
matching([], seen)
"""


@pytest.mark.parametrize(("brought", "found"), [("", ["TDV010"]), (".cpu()", [])])
def test_reads_in_a_file_that_never_names_torch(brought: str, found: list[str], tmp_path: Path) -> None:
    """Scores are computed with NumPy, in a file of their own; the script shows where what they are given is."""
    (tmp_path / "scores.py").write_text(SCORES)
    (tmp_path / "main.py").write_text(EPOCH.replace("{0}", brought))
    (tmp_path / "pyproject.toml").touch()
    told = check_source(SCORES, str(tmp_path / "scores.py"), DEFAULT, DiskSources())
    assert [one.code for one in told] == found


PARTS = """\
from torch import nn


class Distiller:
    def __init__(self, student, device):
        self.device = device
        self.student = student.to(device)

    def match(self, *stages):
        for stage in stages:
            self.student.add_module(f"match{stage}", nn.Linear(3, 3){0})
        return self

    def __call__(self, x):
        return self.student(x)
"""
DISTILL = """\
import torch
from torch import nn
from distiller import Distiller

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
distil = Distiller(nn.Sequential(nn.Linear(3, 3)), device).match(1, 2)
distil(torch.ones(3, device=device))
"""


@pytest.mark.parametrize(("moved", "found"), [("", ["TDV008"]), (".to(self.device)", [])])
def test_parts_that_a_method_of_another_file_adds(moved: str, found: list[str], tmp_path: Path) -> None:
    """That they come too late is seen where a script calls one method after the other."""
    text = PARTS.replace("{0}", moved)
    (tmp_path / "distiller.py").write_text(text)
    (tmp_path / "train.py").write_text(DISTILL)
    (tmp_path / "pyproject.toml").touch()
    told = check_source(text, str(tmp_path / "distiller.py"), DEFAULT, DiskSources())
    assert [one.code for one in told] == found
