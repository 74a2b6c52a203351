"""Tensors that modules keep as plain attributes (TDV109): what is told of them, and what is not."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = "import torch\nfrom torch import nn\nfrom base import Model\nfrom boxes import Prior, place\n\n\n"


def _told(program: str) -> list[str]:
    config = Config(select=("TDV109",))
    return [one.message for one in findings(HEAD + textwrap.dedent(program), "program.py", config)]


MODULE = """
    class Net(nn.Module):
        def __init__(self, given: torch.Tensor, sizes: list[int], number: float):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.kept = {kept}

        def forward(self, x: torch.Tensor, where):
            {use}

        def other(self):
            {other}
"""


def _of_module(kept: str, use: str = "return x @ self.kept", other: str = "pass") -> list[str]:
    return _told(MODULE.format(kept=kept, use=use, other=other))


@pytest.mark.parametrize("kept", ["given", "given.unsqueeze(0)", "torch.matmul(given, place())", "2 * given"])
def test_a_tensor_that_the_module_keeps_meets_its_input(kept: str) -> None:
    assert _of_module(kept) == [
        "`self.kept` is not registered: it stays behind when the module is moved, and meets `x`"
    ]


@pytest.mark.parametrize(
    "use",
    [
        "return torch.cat([x, self.kept])",
        "kept = self.kept[:, :4]\n            return self.layer(x) + kept",
        "return self.kept[x.long()]",
        "x += self.kept\n            return x",
        "return self.layer(self.kept)",
    ],
)
def test_every_way_to_meet(use: str) -> None:
    assert len(_of_module("given", use)) == 1


@pytest.mark.parametrize(
    "use",
    [
        "return x @ self.kept.to(x.device)",
        "return x @ self.kept.to(x)",
        "return x @ place(self.kept, x.device)",
        "return x * self.kept.shape[0]",
        "return x * self.kept.max().item()",
        "return x[self.kept]",
        "return x * len(self.kept)",
        "kept = self.kept\n            kept = kept.to(x.device)\n            return x @ kept",
    ],
)
def test_what_is_moved_read_or_an_index(use: str) -> None:
    assert _of_module("given", use) == []


@pytest.mark.parametrize(
    "kept",
    ["number", "sizes", "nn.Parameter(given)", "nn.Buffer(given)", "torch.tensor(number)", "given.tolist()"],
)
def test_what_is_no_tensor_that_stays_behind(kept: str) -> None:
    assert _of_module(kept) == []


@pytest.mark.parametrize(
    "other",
    ["self.kept = self.kept.cuda()", "self.register_buffer('kept', None)", "self.kept = place()"],
)
def test_another_method_sets_it(other: str) -> None:
    assert _of_module("given", other=other) == []


def test_a_variable_that_a_helper_fills() -> None:
    assert (
        len(_of_module("torch.autograd.Variable(Prior().boxes())", "return self.detect(x, self.kept)")) == 1
    )


def test_a_function_that_has_tensors_in_it() -> None:
    program = """
        class Net(nn.Module):
            def __init__(self, mean, device):
                super().__init__()
                means = torch.tensor([1.0, 2.0]){moved}.view(-1, 1)
                self.normal = lambda x: x - {captured}
                self.to(device)

            def forward(self, x):
                return self.normal(x)
    """
    assert len(_told(program.format(moved=".to(device)", captured="means"))) == 1
    assert _told(program.format(moved="", captured="means.to(x.device)")) == []
    assert _told(program.format(moved="", captured="mean")) == []


CACHE = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.known = {{}}

        def power(self, n, device):
            {key}
            if key not in self.known:
                self.known[key] = {value}
            return self.known[key]

        def forward(self, x: torch.Tensor, n):
            factor = self.known.get(n)
            return x @ factor
"""


def test_a_dict_of_tensors_that_methods_fill() -> None:
    value = "torch.linalg.matrix_power(self.layer.weight, n)"
    assert len(_told(CACHE.format(key="key = n", value=value))) == 1
    assert _told(CACHE.format(key="key = (n, device)", value=value)) == []
    assert _told(CACHE.format(key="key = n", value="n * 2")) == []


@pytest.mark.parametrize(
    ("bases", "parts", "told"),
    [
        ("Model", "self.layer = nn.Linear(3, 3)", True),
        ("Model", "self.layer = nn.Linear(3, 3).cuda()", False),
        ("Model", "self.size = 3", False),
        ("object", "self.layer = nn.Linear(3, 3)", False),
    ],
)
def test_a_class_that_evidently_is_a_module(bases: str, parts: str, *, told: bool) -> None:
    program = f"""
        class Net({bases}):
            def __init__(self, factor):
                super().__init__()
                {parts}
                self.factor = torch.tensor([factor])

            def loss(self, x: torch.Tensor):
                found = super().loss(x)
                found += self.factor
                return found
    """
    assert bool(_told(program)) is told


def test_what_other_rules_tell_is_not_told_twice() -> None:
    program = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 3)
                self.steps = torch.arange(3)

            def forward(self, x: torch.Tensor):
                return self.layer(x) * self.steps
    """
    told = [one.code for one in findings(HEAD + textwrap.dedent(program), "m.py", Config(select=("TDV",)))]
    assert told == ["TDV006"]


def test_an_override_of_to_that_forgets_one() -> None:
    program = """
        class Net(nn.Module):
            def __init__(self, scale: torch.Tensor, shift: torch.Tensor):
                super().__init__()
                self.scale = scale
                self.shift = shift

            def forward(self, x: torch.Tensor):
                return x * self.scale + self.shift

            def to(self, device):
                self.scale = self.scale.to(device)
                {moved}
                return super().to(device)
    """
    assert _told(program.format(moved="pass")) == [
        "`to` does not move `self.shift`, which meets `x * self.scale`"
    ]
    assert _told(program.format(moved="self.shift = self.shift.to(device)")) == []
