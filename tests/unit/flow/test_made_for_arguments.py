"""Modules that a function builds for what it is given, and lists that it begins by itself and goes on with parts of it."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

HEAD = "import torch\nfrom torch import nn\n\n"

PAIRS: dict[str, tuple[str, str]] = {
    "a filter is built for an image": (
        """
        def smooth(image: torch.Tensor):
            blur = nn.Conv2d(3, 3, 5).to(image.device)
            return blur(image)
        """,
        """
        def smooth(image: torch.Tensor):
            blur = nn.Conv2d(3, 3, 5)
            return blur(image)
        """,
    ),
    "a filter whose weight is the caller's": (
        """
        def smooth(image: torch.Tensor, kernel: torch.Tensor):
            blur = nn.Conv2d(3, 3, 5, bias=False)
            blur.weight = nn.Parameter(kernel)
            return blur(image)
        """,
        """
        def smooth(image: torch.Tensor):
            blur = nn.Conv2d(3, 3, 5, bias=False)
            nn.init.ones_(blur.weight)
            return blur(image)
        """,
    ),
    "a normalisation that holds nothing": (
        """
        def normal(x: torch.Tensor):
            x = nn.InstanceNorm2d(3)(x)
            x = nn.GroupNorm(1, 3, affine=False)(x)
            x = nn.BatchNorm2d(3, affine=False, track_running_stats=False)(x)
            x = nn.CircularPad2d(1)(nn.ReplicationPad3d(1)(nn.ZeroPad3d(1)(x)))
            return nn.LayerNorm(3, 1e-5, False)(x)
        """,
        """
        def normal(x: torch.Tensor):
            return nn.InstanceNorm2d(3, affine=True)(x)
        """,
    ),
    "a normalisation that keeps statistics": (
        """
        def normal(x: torch.Tensor):
            return nn.BatchNorm2d(3, affine=False).to(x)(x)
        """,
        """
        def normal(x: torch.Tensor):
            return nn.BatchNorm2d(3, affine=False)(x)
        """,
    ),
    "a layer of a loss": (
        """
        class Loss(nn.Module):
            def __init__(self):
                super().__init__()
                self.project = nn.Linear(3, 3)

            def forward(self, x):
                return self.project(x).sum()
        """,
        """
        class Loss(nn.Module):
            def forward(self, x):
                project = nn.Linear(3, 3)
                return project(x).sum()
        """,
    ),
    "a loss with weights, of what the module computes": (
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(3, 2)

            def loss(self, rows, target):
                weigh = nn.BCEWithLogitsLoss(pos_weight=torch.ones(2).to(self.head.weight.device))
                return weigh(self.head(rows), target), nn.MSELoss()(self.head(rows), target)
        """,
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(3, 2)

            def loss(self, rows, target):
                weigh = nn.BCEWithLogitsLoss(pos_weight=torch.ones(2))
                return weigh(self.head(rows), target)
        """,
    ),
    "a list that a loop goes on with": (
        """
        def parts(rows: torch.Tensor):
            found = [torch.zeros(3, device=rows.device)]
            for row in rows:
                found.append(row)
            return torch.stack(found)
        """,
        """
        def parts(rows: torch.Tensor):
            found = [torch.zeros(3)]
            for row in rows:
                found.append(row)
            return torch.stack(found)
        """,
    ),
    "a list whose beginning is left out": (
        """
        def parts(rows: torch.Tensor):
            found = [torch.zeros(3)]
            for row in rows:
                found.append(row)
            return torch.stack(found[1:])
        """,
        """
        def parts(rows: torch.Tensor):
            found = []
            found.append(torch.zeros(3))
            for index in range(rows.size(0)):
                found.append(rows[index])
            return torch.stack(found)
        """,
    ),
    "a list that loses its beginning": (
        """
        def parts(rows: torch.Tensor):
            found = [torch.zeros(3)]
            for row in rows:
                found.append(row)
            del found[0]
            return torch.stack(found)

        def others(rows: torch.Tensor):
            found = [torch.zeros(3)]
            for row in rows:
                found.append(row)
            found.pop(0)
            return torch.stack(found)

        def exchanged(rows: torch.Tensor):
            found = [torch.zeros(3)]
            for row in rows:
                found.append(row)
            found[0] = rows[0]
            return torch.stack(found)
        """,
        """
        def parts(rows: torch.Tensor):
            found = [torch.zeros(3)]
            for row in rows:
                found.append(row)
            found.reverse()
            return torch.cat(found)
        """,
    ),
    "a list that is moved, or collected on the CPU": (
        """
        def parts(rows: torch.Tensor):
            found = [torch.zeros(3)]
            for row in rows:
                found.append(row)
            found = [part.to(rows.device) for part in found]
            return torch.stack(found)

        def collected(rows: torch.Tensor):
            found = [torch.zeros(3)]
            for row in rows:
                found.append(row.cpu())
            return torch.stack(found)
        """,
        """
        def parts(rows: torch.Tensor, device):
            found = [torch.zeros(3)]
            for row in rows.to(device):
                found.append(row)
            return torch.stack(found)
        """,
    ),
}


def _codes(program: str) -> list[str]:
    config = Config(off_by_default=OFF_BY_DEFAULT)
    return [found.code for found in findings(HEAD + textwrap.dedent(program), "lib.py", config)]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) in (["TDV001"], ["TDV005"])


def test_the_module_is_told_where_it_is_built_and_follows_the_argument() -> None:
    _, wrong = PAIRS["a filter is built for an image"]
    (found,) = findings(HEAD + textwrap.dedent(wrong), "lib.py", Config(off_by_default=OFF_BY_DEFAULT))
    assert (found.code, found.range.start.row) == ("TDV001", 6)
    assert found.fix is not None
    assert found.fix.edits[0].content == ".to(image.device)"
