"""The operator table as it is read: rows, parameters, and what calls of operators give and report."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.torch_api.operator_table import ROWS
from torchdev_lint.torch_api.operators import method, operator

HEADER = """import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
device = torch.device("cuda")
x = torch.rand(3, 4).to(device)
a = x.cpu()
idx = x.argmax(1).cpu()
zero = torch.tensor(0.5)
"""
RULES = ("TDV001", "TDV004", "TDV005")


def lines(code: str) -> list[int]:
    """The lines of the code (the first is 1) with a finding."""
    found = check_source(HEADER + code, "program.py", Config(select=RULES))
    return [one.range.start.row - HEADER.count("\n") for one in found]


def test_every_row_can_be_read() -> None:
    for namespace, rows in ROWS.items():
        for line in rows.splitlines():
            read = operator(f"{namespace}.{line.split()[0]}")
            assert read is not None
            assert read.result in "fmc-", line
            assert read.dims in "0kpwrmu", line
            assert {parameter.role for parameter in read.parameters} <= {"", *"tszifahuogd"}, line


def test_roles_and_names() -> None:
    where = operator("torch.where")
    assert where is not None
    assert [(one.names, one.role) for one in where.parameters[:3]] == [
        (("condition",), "s"),
        (("input", "self"), "s"),
        (("other",), "s"),
    ]
    add = method("add_")
    assert add is not None
    assert add.in_place
    assert add.parameters[0].role == "t"
    assert add.named("other") is add.parameter(1)
    assert method("no_such_method") is None
    assert operator("numpy.add") is None


@pytest.mark.parametrize(
    "code",
    [
        "x.masked_scatter_(a > 0, x)",
        "x.index_put_((idx,), a)",
        "torch.bincount(x.argmax(1), a[0])",
        "torch.bucketize(x, a)",
        "x.scatter_(0, idx[None], 1.0)",
        "x.lerp_(a, 0.5)",
        "x.addcmul_(x, a)",
        "x[idx] = a",
        "x[x > 0] = a",
        "x[[0, 1]] = a",
        "zero.add_(x.sum())",
        "x.clamp(min=zero)",
        "torch.equal(x, a)",
        "torch.sparse_coo_tensor(idx[None], x[0]) + a",
    ],
)
def test_reported(code: str) -> None:
    assert len(lines(code)) == 1


@pytest.mark.parametrize(
    "code",
    [
        "F.interpolate(x, size=a)",
        "F.interpolate(x, size=a.shape)",
        "pad_sequence([x, a])",
        "x.copy_(a)",
        "x[0] = a",
        "x[:, 1:] = a",
        "x[idx] = zero",
        "a[idx] = x.sum()",
        "x[idx] = 0.0",
        "a[x.argmax(1)] = 0.0",
        "x.index_put_((idx,), zero)",
        "x.lerp_(x, zero)",
        "torch.where(x > 0, x, zero)",
        "x.mul_(zero)",
        "x.expand_as(a)",
        "torch.sparse_coo_tensor(idx[None], x[0]) + x",
        "torch.tensor(x) + x",
    ],
)
def test_not_reported(code: str) -> None:
    assert lines(code) == []
