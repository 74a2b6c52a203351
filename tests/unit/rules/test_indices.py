"""TDV012 and TDV016 on small programs: a device's index taken for a truth, or lost on the way."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Diagnostic
from torchdev_lint.engine.check import check_source

HEADER = "import torch\nfrom torch import nn\n"


def found(rule: str, code: str) -> list[Diagnostic]:
    return list(check_source(HEADER + code, "program.py", Config(select=(rule,))))


def fixes(rule: str, code: str) -> list[list[str]]:
    """What the fix of each finding writes."""
    return [[] if one.fix is None else [edit.content for edit in one.fix.edits] for one in found(rule, code)]


# (the parameter, the body, what each fix writes)
TRUTHS: list[tuple[str, str, list[list[str]]]] = [
    ("gpu: int = None", "if gpu:\n        x = x.cuda(gpu)", [["gpu is not None"]]),
    ("gpu: int = None", "if not gpu:\n        return x\n    x = x.cuda(gpu)", [["gpu is None"]]),
    ("gpu: int = -1", "if gpu:\n        torch.cuda.set_device(gpu)", [["gpu >= 0"]]),
    ("gpu: int = -1", "if not gpu:\n        return x\n    torch.cuda.set_device(gpu)", [["gpu < 0"]]),
    ("gpu: int = None", "if gpu and x.numel():\n        x = x.to(gpu)", [["gpu is not None"]]),
    ("gpu: int = None", "if gpu:\n        x = torch.ones(2, device=gpu)", [["gpu is not None"]]),
    ("gpu: int = None", "if gpu:\n        x = x.to(f'cuda:{gpu}')", [["gpu is not None"]]),
    ("gpu: int = None", "if gpu:\n        x = x.to('cuda:%d' % gpu)", [["gpu is not None"]]),
    ("gpu: int = None", "if gpu:\n        x = x.to(torch.device('cuda', gpu))", [["gpu is not None"]]),
    ("*, gpu: int = None", "if gpu:\n        x = x.cuda(gpu)", [["gpu is not None"]]),
    ("gpu: int = None", "i = gpu or 1\n    x = x.cuda(gpu)", [["gpu if gpu is not None else 1"]]),
    ("gpu: int = None", "x = 1 + (gpu or 1)\n    y.cuda(gpu)", [["(gpu if gpu is not None else 1)"]]),
    (
        "gpu: int = None",
        "x = x.cuda(gpu if gpu else 0)",
        [],
    ),  # what counts as false is replaced by what it was
    ("gpu: int = None", "x = x.cuda(0 if not gpu else gpu)", []),
    ("gpu: int = 0", "if gpu:\n        x = x.cuda(gpu)", []),  # 0 says "none" here
    ("gpu: bool = None", "if gpu:\n        x = x.cuda(gpu)", []),
    ("gpu: int = None", "if gpu:\n        print(gpu)", []),  # nobody takes it for an index
    ("gpu", "if gpu:\n        x = x.cuda(gpu)", []),
    ("gpu: int = None", "i = x.get_device()\n    if i:\n        pass", [["i >= 0"]]),
]


@pytest.mark.parametrize(("parameter", "body", "expected"), TRUTHS)
def test_an_index_taken_for_a_truth(parameter: str, body: str, expected: list[list[str]]) -> None:
    code = f"def f(x: torch.Tensor, y: torch.Tensor, {parameter}):\n    {body}\n    return x\n"
    assert fixes("TDV012", code) == expected


LOST: list[tuple[str, list[list[str]]]] = [
    ("if x.is_cuda:\n        y = y.cuda()\n    return x + y", [["y.to(x.device)"]]),
    ("z = torch.zeros(2)\n    if x.is_cuda:\n        z = z.cuda()\n    return x + z", [["z.to(x.device)"]]),
    ("d = 'cuda' if x.is_cuda else 'cpu'\n    return torch.ones(2, device=d) + x", [["x.device"]]),
    ("d = 'cuda' if x.is_cuda else 'cpu'\n    return torch.ones(2).to(d) + x", [["x.device"]]),
    ("return torch.ones(2).to('cuda' if x.is_cuda else 'cpu') + x", [["x.device"]]),
    ("d = 'cuda' if x.is_cuda else 'cpu'\n    print(d)\n    return x", []),  # nothing is put there
    ("FT = torch.cuda.FloatTensor if x.is_cuda else torch.FloatTensor\n    return FT(2) + x", [[]]),
    ("z = torch.zeros(2).type(x.type())\n    return x + z", [["type_as", "x"]]),
    ("return y.type(y.type())", []),
    ("return x.cuda(True)", [["non_blocking=True"]]),
    ("flag = True\n    return x.cuda(flag)", [["non_blocking=flag"]]),
    ("z = (x.cpu() * 2).cuda()\n    return x + z", [["(x.cpu() * 2).to(x.device)"]]),
    ("z = torch.cat([x.cpu(), y.cpu()]).cuda()\n    return x + z", []),  # from which of them?
]


@pytest.mark.parametrize(("body", "expected"), LOST)
def test_an_index_that_is_lost(body: str, expected: list[list[str]]) -> None:
    assert fixes("TDV016", f"def f(x: torch.Tensor, y: torch.Tensor):\n    {body}\n") == expected


@pytest.mark.parametrize(
    ("parameter", "returned", "expected"),
    [
        ("device: torch.device", "return device", [["str(device)"]]),
        ("device: torch.device", "return torch.ones(2, device='cpu' if device == 'cpu' else 'cuda')", []),
        ("device", "return 1", []),
    ],
)
def test_a_device_that_becomes_its_type(parameter: str, returned: str, expected: list[list[str]]) -> None:
    assert (
        fixes("TDV016", f"def normalized({parameter}):\n    device = device.type\n    {returned}\n")
        == expected
    )


ASKED = "print(torch.cuda.is_available())\n"
POSITIONS = "def f(x: torch.Tensor):\n    there = x.get_device()\n    return torch.ones(2, device=there)\n"


@pytest.mark.parametrize(
    ("before", "expected"),
    [("", 0), (ASKED, 1), ("where = torch.device('cpu')\n", 1), ("x = torch.ones(2).to('cpu')\n", 0)],
)
def test_the_index_of_a_tensor_that_may_be_anywhere(before: str, expected: int) -> None:
    """It is -1 on the CPU only: a file that never speaks of machines without an accelerator may be for the others."""
    source = f"import torch\n{before}{POSITIONS}"
    told = check_source(source, "program.py", Config(select=("TDV012",)))
    assert len(told) == expected
