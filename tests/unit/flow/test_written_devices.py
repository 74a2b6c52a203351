"""What an expression says of the CPU by its text alone (`flow/syntax/trees.py`)."""

from __future__ import annotations

import libcst as cst
import pytest

from torchdev_lint.flow.syntax.trees import goes_to_cpu, names_cpu


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"cpu"', True),
        ("'cpu:0'", True),
        ('torch.device("cpu")', True),
        ('device("cpu")', True),
        ('"cuda"', False),
        ('torch.device("cuda:0")', False),
        ('torch.device("cpu", 0)', False),
        ('str("cpu")', False),
        ("device", False),
        ("None", False),
    ],
)
def test_a_device_that_is_written_out(text: str, expected: bool) -> None:
    assert names_cpu(cst.parse_expression(text)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x.cpu()", True),
        ('x.to("cpu")', True),
        ('x.to("cpu", torch.float32)', True),
        ('x.to(device=torch.device("cpu"))', True),
        ("x.to(device)", False),
        ("x.cuda()", False),
        ('print("cpu")', False),
        ("x.cpu", False),
    ],
)
def test_a_call_that_brings_something_to_the_cpu(text: str, expected: bool) -> None:
    assert goes_to_cpu(cst.parse_expression(text)) is expected
