"""What a fourth round of programs and projects taught, whose authors had not seen the linter, each idiom right and wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]
Checked = Callable[[Path, dict[str, str], str], list[str]]

START = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 2).to(device)
"""

CASES: dict[str, tuple[str, Ways]] = {
    "a mover that goes through tuples only, or through lists as well": (
        """
        def to_device(thing):
            if isinstance(thing, torch.Tensor):
                return thing.to(device)
            if isinstance(thing, {1}):
                return [to_device(one) for one in thing]
            return thing


        def some(count):
            rows = {0}
            return rows


        for row in to_device(some(4)):
            print(net(row))
        """,
        [
            (("[torch.rand(2, 3) for _ in range(count)]", "tuple"), ["TDV001"]),
            (("[torch.rand(2, 3) for _ in range(count)]", "list"), []),
            (("[torch.rand(2, 3) for _ in range(count)]", "(list, tuple)"), []),
            (("[torch.rand(2, 3), torch.rand(1, 3)]", "tuple"), ["TDV001"]),
            (("[torch.rand(2, 3), torch.rand(1, 3)]", "list"), []),
            (("(torch.rand(2, 3), torch.rand(1, 3))", "list"), ["TDV001"]),
            (("(torch.rand(2, 3), torch.rand(1, 3))", "tuple"), []),
            (("list((torch.rand(2, 3), torch.rand(1, 3)))", "tuple"), ["TDV001"]),
            (("tuple([torch.rand(2, 3), torch.rand(1, 3)])", "list"), ["TDV001"]),
            (("tuple(torch.rand(2, 3) for _ in range(count))", "tuple"), []),
            (("tuple(torch.rand(2, 3) for _ in range(count))", "list"), ["TDV001"]),
            (("sorted([torch.rand(2, 3)] * count, key=len)", "list"), []),
            (("sorted([torch.rand(2, 3)] * count, key=len)", "tuple"), ["TDV001"]),
            (
                (
                    "[]\n            for _ in range(count):\n                rows.append(torch.rand(2, 3))",
                    "tuple",
                ),
                ["TDV001"],
            ),
            (
                (
                    "[]\n            for _ in range(count):\n                rows.append(torch.rand(2, 3))",
                    "list",
                ),
                [],
            ),
        ],
    ),
    "a star that is not the last argument": (
        """
        class Learner(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(3, 2)
                self.seen = torch.zeros(9)

            def forward(self, one, other, ids{1}):
                return self.net(one) + self.net(other), self.seen[ids]


        def views(x):
            return tuple(x.to(device) for _ in range(2))


        learner = Learner().to(device)
        for ids in torch.randperm(9).split(3):
            learner({0})
        """,
        [
            (("*views(torch.rand(3, 3)), ids", ""), []),
            (("*views(torch.rand(3, 3)), ids=ids", ""), []),
            (("*views(torch.rand(3, 3)), ids", ", scale=1.0"), []),
            (("*views(torch.rand(3, 3)), ids.to(device)", ""), ["TDV006"]),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    told_each_way(START, *CASES[name])


# -- a dict of which a module may want the lengths on the CPU

SOLVER = """\
import torch


class Solver:
    def __init__(self, model, gpu):
        self.device = torch.device("cuda") if gpu and torch.cuda.is_available() else torch.device("cpu")
        self.model = model.to(self.device)

    def placed(self, data):
        return {{k: v if k.endswith("{kept}") else v.to(self.device) for k, v in data.items()}}

    def validate(self, count):
        for i in range(count):
            data = {{"rows": torch.rand(4, 3), "row_{kept}": torch.tensor([3, 2, 2, 1])}}
            self.model(self.placed(data))
"""


@pytest.mark.parametrize(("kept", "found"), [("lens", []), ("lengths", []), ("weight", ["TDV001"])])
def test_a_dict_with_lengths(kept: str, found: list[str], checked: Checked, tmp_path: Path) -> None:
    assert checked(tmp_path, {"solver.py": SOLVER.format(kept=kept)}, "solver.py") == found


# -- a file that computes with what a module has, and does not import torch

AVERAGE = """\
class Average:
    def __init__(self, model):
        self.model = model
        self.shadow = {name: param.data.clone() for name, param in model.named_parameters()}

    def update(self):
        for name, param in self.model.named_parameters():
            self.shadow[name] = 0.9 * self.shadow[name] + 0.1 * param.data
"""
TRAIN = """\
import torch
from torch import nn
from average import Average

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 2)
{lines}
model(torch.rand(4, 3, device=device)).sum().backward()
average.update()
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("average = Average(model)\nmodel.to(device)", ["TDV004"]),
        ("model.to(device)\naverage = Average(model)", []),
    ],
)
def test_a_file_that_does_not_import_torch(
    lines: str, found: list[str], checked: Checked, tmp_path: Path
) -> None:
    files = {"average.py": AVERAGE, "train.py": TRAIN.format(lines=lines)}
    assert checked(tmp_path, files, "average.py") == found
