"""Pairs of look-alikes of errors that users met: what a class keeps, generators kept by a method, shapes that are unpacked."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.engine.sources import DiskSources

HEAD = """\
import torch
from torch import nn

def place(model, device):
    return model.to(device)
"""


def _codes(folder: Path, text: str) -> list[str]:
    (folder / "pyproject.toml").touch()
    path = folder / "main.py"
    path.write_text(HEAD + textwrap.dedent(text))
    told = findings(path.read_text(), str(path), Config(root=str(folder)), sources=DiskSources())
    return [finding.code for finding in told if not finding.code.startswith("TDV1")]


UNDER_A_CONDITION: dict[str, tuple[str, list[str]]] = {
    "a parameter, or a plain tensor": (
        """
        class Basis(nn.Module):
            def __init__(self, size, train=True):
                super().__init__()
                self.weights = torch.linspace(1.0, size, size)
                if train:
                    self.weights = nn.Parameter(self.weights)

            def forward(self, x: torch.Tensor):
                return self.weights * x
        """,
        ["TDV006"],
    ),
    "a parameter, or a buffer": (
        """
        class Basis(nn.Module):
            def __init__(self, size, train=True):
                super().__init__()
                weights = torch.linspace(1.0, size, size)
                if train:
                    self.weights = nn.Parameter(weights)
                else:
                    self.register_buffer("weights", weights)

            def forward(self, x: torch.Tensor):
                return self.weights * x
        """,
        [],
    ),
    "a buffer, or a plain tensor": (
        """
        class Basis(nn.Module):
            def __init__(self, size, fixed):
                super().__init__()
                weights = torch.linspace(1.0, size, size)
                if fixed:
                    self.register_buffer("weights", weights)
                else:
                    self.weights = weights

            def forward(self, x: torch.Tensor):
                return self.weights * x
        """,
        ["TDV006"],
    ),
    "a parameter in any case": (
        """
        class Basis(nn.Module):
            def __init__(self, size, line):
                super().__init__()
                self.weights = torch.ones(size)
                if line:
                    self.weights = nn.Parameter(torch.linspace(1.0, size, size))
                else:
                    self.weights = nn.Parameter(self.weights)

            def forward(self, x: torch.Tensor):
                return self.weights * x
        """,
        [],
    ),
    "a plain tensor that is moved where it is used": (
        """
        class Basis(nn.Module):
            def __init__(self, size, train=True):
                super().__init__()
                self.weights = torch.linspace(1.0, size, size)
                if train:
                    self.weights = nn.Parameter(self.weights)

            def forward(self, x: torch.Tensor):
                return self.weights.to(x.device) * x
        """,
        [],
    ),
    "a buffer of the very tensor that is kept under another name": (
        """
        class Basis(nn.Module):
            def __init__(self, size, train=True):
                super().__init__()
                self.start = torch.linspace(1.0, size, size)
                if train:
                    self.start = nn.Parameter(self.start)
                self.register_buffer("weights", self.start)

            def forward(self, x: torch.Tensor):
                return self.weights * x
        """,
        [],
    ),
    "a plain tensor on the way that the accelerator is not taken": (
        """
        class Basis(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.weights = torch.linspace(1.0, size, size)
                if torch.cuda.is_available():
                    self.weights = nn.Parameter(self.weights)

            def forward(self, x: torch.Tensor):
                return self.weights * x
        """,
        [],
    ),
}


@pytest.mark.parametrize("name", UNDER_A_CONDITION)
def test_what_is_registered_under_a_condition_stays_behind_without_it(name: str, tmp_path: Path) -> None:
    text, codes = UNDER_A_CONDITION[name]
    assert _codes(tmp_path, text) == codes


OF_A_BASE: dict[str, tuple[str, list[str]]] = {
    "a plain tensor": (
        """
        class Base(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.steps = torch.linspace(0.0, 1.0, size)

        class Net(Base):
            def __init__(self, size, **kwargs):
                super().__init__(size, **kwargs)
                self.layer = nn.Linear(size, size)

            def forward(self, x):
                return self.layer(x) * self.steps
        """,
        ["TDV006"],
    ),
    "a buffer": (
        """
        class Base(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.register_buffer("steps", torch.linspace(0.0, 1.0, size))

        class Net(Base):
            def __init__(self, size, **kwargs):
                super().__init__(size, **kwargs)
                self.layer = nn.Linear(size, size)

            def forward(self, x):
                return self.layer(x) * self.steps
        """,
        [],
    ),
    "a plain tensor that another method of the base brings along": (
        """
        class Base(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.steps = torch.linspace(0.0, 1.0, size)

            def bring(self, device):
                self.steps = self.steps.to(device)

        class Net(Base):
            def __init__(self, size, **kwargs):
                super().__init__(size, **kwargs)
                self.layer = nn.Linear(size, size)

            def forward(self, x):
                return self.layer(x) * self.steps
        """,
        [],
    ),
    "a plain tensor that the class's own `__init__` registers": (
        """
        class Base(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.steps = torch.linspace(0.0, 1.0, size)

        class Net(Base):
            def __init__(self, size):
                super().__init__(size)
                self.layer = nn.Linear(size, size)
                self.steps = nn.Parameter(self.steps, requires_grad=False)

            def forward(self, x):
                return self.layer(x) * self.steps
        """,
        [],
    ),
    "a base that is never built": (
        """
        class Base(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.steps = torch.linspace(0.0, 1.0, size)

        class Net(Base):
            def __init__(self, size, steps):
                nn.Module.__init__(self)
                self.layer = nn.Linear(size, size)
                self.steps = steps

            def forward(self, x):
                return self.layer(x) * self.steps
        """,
        [],
    ),
}


@pytest.mark.parametrize("name", OF_A_BASE)
def test_what_the_init_of_a_base_sets_is_held(name: str, tmp_path: Path) -> None:
    text, codes = OF_A_BASE[name]
    assert _codes(tmp_path, text) == codes


PARTS_OF_A_TABLE: dict[str, tuple[str, list[str]]] = {
    "moved when it has been looked up": ("self.levels[t].to(x.device)", ["TDV006"]),
    "moved when it has been looked up, without a word": ("self.levels[t].cuda()", ["TDV006"]),
    "looked up where the table is": ("self.levels[t.cpu()].to(x.device)", []),
    "moved before": ("self.levels.to(x.device)[t]", []),
}


@pytest.mark.parametrize("name", PARTS_OF_A_TABLE)
def test_a_part_of_a_table_that_is_moved_moves_no_table(name: str, tmp_path: Path) -> None:
    looked_up, codes = PARTS_OF_A_TABLE[name]
    text = f"""
        class Noise(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.levels = torch.linspace(0.0, 1.0, size)
                self.layer = nn.Linear(size, size)

            def forward(self, x: torch.Tensor):
                t = torch.randint(0, 10, (x.shape[0],), device=x.device)
                level = {looked_up}
                return self.layer(x) * level
        """
    assert _codes(tmp_path, text) == codes


OPTIONAL: dict[str, tuple[str, list[str]]] = {
    "moved on one way only": ("loss * self.weight[None]", ["TDV006"]),
    "moved on both": ("loss * self.weight.to(x.device)", []),
}


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_tensor_or_nothing_is_not_moved_by_what_is_made_of_it(name: str, tmp_path: Path) -> None:
    weighed, codes = OPTIONAL[name]
    text = f"""
        class Loss(nn.Module):
            def __init__(self, weight=None):
                super().__init__()
                self.weight = None
                if weight is not None:
                    self.weight = torch.tensor([weight, 1.0])

            def forward(self, x: torch.Tensor, y: torch.Tensor, soft):
                if soft:
                    loss = (x - y) ** 2
                    if self.weight is not None:
                        loss = {weighed}
                    return loss
                if self.weight is not None:
                    x = x * self.weight.to(x.device)
                return x
        """
    assert _codes(tmp_path, text) == codes


KEPT_GENERATORS: dict[str, tuple[str, list[str]]] = {
    "of the CPU": (
        """
            def seed(self, seed):
                rng = torch.manual_seed(seed)
                self.rng = rng
        """,
        ["TDV011"],
    ),
    "made and seeded at once": (
        """
            def seed(self, seed):
                self.rng = torch.Generator().manual_seed(seed)
        """,
        ["TDV011"],
    ),
    "of the device": (
        """
            def seed(self, seed):
                rng = torch.Generator(device=self.device)
                rng.manual_seed(seed)
                self.rng = rng
        """,
        [],
    ),
    "of the CPU, or another one": (
        """
            def seed(self, seed):
                self.rng = torch.Generator()

            def use(self, rng):
                self.rng = rng
        """,
        [],
    ),
    "of the CPU, or one of the device": (
        """
            def seed(self, seed):
                rng = torch.Generator()
                if self.fast:
                    rng = torch.Generator(device=self.device)
                self.rng = rng
        """,
        [],
    ),
    "unpacked from something": (
        """
            def seed(self, seed):
                self.rng = torch.Generator()
                self.rng, self.state = self.renewed(seed)
        """,
        [],
    ),
}


@pytest.mark.parametrize("name", KEPT_GENERATORS)
def test_a_generator_that_a_method_keeps_is_what_is_drawn_with(name: str, tmp_path: Path) -> None:
    setter, codes = KEPT_GENERATORS[name]
    text = """
        class World:
            rng = None

            def __init__(self, device):
                self.device = torch.device(device)

            def draw(self, size):
                return torch.rand(size, generator=self.rng, device=self.device)
        """
    assert _codes(tmp_path, textwrap.dedent(text) + textwrap.indent(textwrap.dedent(setter), "    ")) == codes


UNPACKED_SHAPES: dict[str, tuple[str, str, list[str]]] = {
    "on the device that comes with it": ("torch.zeros(b, n)", "torch.ones(b, n, device=device)", ["TDV005"]),
    "both on that device": ("torch.zeros(b, n, device=device)", "torch.ones(b, n, device=device)", []),
}


@pytest.mark.parametrize("name", UNPACKED_SHAPES)
@pytest.mark.parametrize("given", ["*x.shape, x.device", "*x.shape[:3], x.device", "*x.size(), x.device"])
def test_a_shape_is_unpacked_with_what_stands_behind_it(name: str, given: str, tmp_path: Path) -> None:
    kept, mask, codes = UNPACKED_SHAPES[name]
    text = f"""
        class Masked(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.layer = nn.Linear(size, size)

            def forward(self, x: torch.Tensor):
                b, n, _, device = {given}
                kept = {kept}
                return self.layer(x), kept * {mask}
        """
    assert _codes(tmp_path, text) == codes
