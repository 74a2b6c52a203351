"""Conditions read from programs: what an `if` that tests them lets through.

`x` is on the CPU and the model on `device`; the test decides whether `x` is moved. The inference must see that there is no
conflict after a test that says the right thing, and that there is one after a test that says something else.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchdev_lint.flow.activation.events import ModelCall

CHOSEN = "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"

RIGHT = [
    "torch.cuda.is_available()",
    "torch.cuda.is_available() is True",
    "torch.cuda.is_available() == True",
    "not (not torch.cuda.is_available())",
    "torch.cuda.device_count() > 0",
    "torch.cuda.device_count() >= 1",
    "torch.cuda.device_count() != 0",
    "torch.cuda.device_count()",
    "device.type == 'cuda'",
    "device.type != 'cpu'",
    "'cuda' == device.type",
    "device.type in ('cuda', 'mps')",
    "'cuda' in device.type",
    "'cuda' in str(device)",
    "device.type.startswith('cuda')",
    "str(device).startswith('cuda')",
    "device != torch.device('cpu')",
    "device == torch.device('cuda')",
    "x.device != device",
    "not x.is_cuda",
    "x.is_cpu",
    "x.device.type == 'cpu'",
    "x.device.type != device.type",
    "x.get_device() < 0",
    "x.get_device() <= -1",
    "x.get_device() == -1",
    "not x.get_device() >= 0",
    "not x.get_device() > -1",
    "x.device != next(model.parameters()).device",
    "next(model.parameters()).is_cuda",
    "isinstance(x, torch.Tensor)",
    "torch.is_tensor(x)",
    "x is not None",
    "hasattr(x, 'to')",
    "hasattr(x, 'cuda')",
    "device",
    "model",
    "True",
    "1",
    "'x'",
    "[0]",
    "__debug__ or device",
]
"""True wherever there is an accelerator (or the model on one)."""

FALSE = [
    "False",
    "None",
    "0",
    "''",
    "x is None",
    "not torch.cuda.is_available()",
    "torch.cuda.is_available() is False",
    "device.type == 'cpu'",
    "'cpu' in device.type",
    "device == torch.device('cpu')",
    "x.is_cuda",
    "x.device.type == 'cuda'",
    "x.device == device",
    "isinstance(x, (list, tuple))",
    "isinstance(x, dict)",
    "torch.cuda.device_count() < 1",
    "torch.cuda.device_count() == 0",
    "not model",
]
"""False there: the tensor stays behind."""
SILENT: dict[str, str] = {}
"""Of those, the ones after which the inference stays silent, and why."""


def program(test: str) -> str:
    return f"{CHOSEN}model = nn.Linear(2, 2).to(device)\nx = torch.zeros(1, 2)\nif {test}:\n    x = x.to(device)\nmodel(x)\n"


def test_the_table_is_true_of_torch(simulator: Any, tmp_path: Path) -> None:
    lines = [
        "import torch\nfrom torch import nn\n" + CHOSEN,
        "model, x = nn.Linear(2, 2).to(device), torch.zeros(1, 2)\n",
        *(f"assert ({test}), {test!r}\n" for test in RIGHT),
        *(f"assert not ({test}), {test!r}\n" for test in FALSE),
    ]
    path = tmp_path / "tests.py"
    path.write_text("".join(lines), encoding="utf-8")
    verdict = simulator.run(path)
    assert str(verdict.kind) == "passed", verdict.describe()


@pytest.mark.parametrize("test", RIGHT)
def test_moved_when_it_matters(test: str, events: Callable[..., list[Any]]) -> None:
    assert events(program(test), ModelCall) == []


@pytest.mark.parametrize(
    "test",
    [
        pytest.param(
            test,
            marks=[pytest.mark.xfail(strict=True, reason=SILENT[test])] if test in SILENT else [],
        )
        for test in FALSE
    ],
)
def test_not_moved_when_it_matters(test: str, events: Callable[..., list[Any]]) -> None:
    assert len(events(program(test), ModelCall)) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("flag", "flag"),
        ("args.cuda", "args.cuda"),
        ("flag", "bool(flag)"),
        ("flag", "flag is True"),
        ("flag is not None", "flag is not None"),
        ("flag is not None", "not flag is None"),
        ("flag == 'gpu'", "flag == 'gpu'"),
        ("flag == 'gpu'", "not flag != 'gpu'"),
        ("args.gpu >= 0", "args.gpu >= 0"),
        ("len(sizes) > 3", "len(sizes) > 3"),
        ("flag and torch.cuda.is_available()", "flag and torch.cuda.is_available()"),
        ("torch.cuda.is_available() and not args.no_cuda", "not args.no_cuda and torch.cuda.is_available()"),
        ("isinstance(flag, str)", "isinstance(flag, str)"),
    ],
)
def test_one_condition_in_two_places(first: str, second: str, events: Callable[..., list[Any]]) -> None:
    code = f"""
    def run(flag, args, sizes, x=torch.zeros(1, 2)):
        model = nn.Linear(2, 2)
        if {first}:
            model.cuda()
        if {second}:
            x = x.cuda()
        model(x)
    """
    assert events(code, ModelCall) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("flag", "not flag"),
        ("flag is None", "flag is not None"),
        ("flag == 'gpu'", "flag != 'gpu'"),
        ("torch.cuda.is_available()", "not torch.cuda.is_available()"),
        ("args.cuda", "args.cuda and False"),
    ],
)
def test_opposite_conditions(first: str, second: str, events: Callable[..., list[Any]]) -> None:
    code = f"""
    def run(flag, args):
        model, x = nn.Linear(2, 2), torch.zeros(1, 2)
        if {first}:
            model.cuda()
        if {second}:
            x = x.cuda()
        model(x)
    """
    assert len(events(code, ModelCall)) >= 1


@pytest.mark.parametrize(
    ("guard", "reached"),
    [
        ("if not torch.cuda.is_available(): return", True),
        ("if torch.cuda.is_available(): return", False),
        ("if torch.cuda.is_available(): raise SystemExit", False),
        ("assert not torch.cuda.is_available()", False),
        ("assert torch.cuda.is_available()", True),
        ("if device.type == 'cuda': return", False),
        ("if device.type == 'cpu': return", True),
        ("if torch.cuda.is_available():\n        import sys; sys.exit(1)", False),
    ],
)
def test_what_an_early_exit_leaves(guard: str, reached: bool, events: Callable[..., list[Any]]) -> None:
    code = f"{CHOSEN}def run():\n    {guard}\n    model = nn.Linear(2, 2).to(device)\n    model(torch.zeros(1, 2))\nrun()\n"
    assert bool(events(code, ModelCall)) == reached
