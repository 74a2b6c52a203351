"""Literals of programs that are spread over several devices on purpose (`divided_work`)."""

from __future__ import annotations

import pytest

from tests.unit.flow.test_look_alikes_of_programs_for_gpus import _codes

PIPELINE = """
class Pipeline(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8).to("cuda:0")
        self.second = nn.Linear(8, 2).to("{second}")

    def forward(self, x):
        return self.second(self.first(x.to("cuda:0")).to("{second}"))
"""

APART = """
def first():
    return nn.Linear(4, 8).to("cuda:0")


def second():
    return nn.Linear(8, 2).to("cuda:1")
"""

ONE_IS_ASKED_FOR = """
first = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
second = nn.Linear(8, 2).to("cuda:1")
"""

AT_THE_TOP = """
first = nn.Linear(4, 8).to("cuda:0")
second = nn.Linear(8, 2).to("cuda:1")
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        pytest.param(PIPELINE.format(second="cuda:1"), 0, id="the parts of a pipeline"),
        pytest.param(PIPELINE.format(second="cuda:0"), 4, id="all on one"),
        pytest.param(PIPELINE.format(second="xpu:0"), 4, id="of two types"),
        pytest.param(AT_THE_TOP, 0, id="a script"),
        pytest.param(APART, 2, id="functions apart"),
        pytest.param(ONE_IS_ASKED_FOR, 1, id="the other one is asked for"),
    ],
)
def test_devices_that_a_program_needs_by_number(body: str, found: int) -> None:
    assert _codes(body).count("TDV002") == found
