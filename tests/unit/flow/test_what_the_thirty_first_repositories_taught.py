"""What the repositories of the thirty-first batch taught, each kind of false alarm wrong and right."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

START = """\
import torch
from torch import nn
"""

CASES: dict[str, tuple[str, Ways]] = {
    "a device that is the CPU by its name": (
        """
        class TestNet:
            def test_runs(self, {0}):
                net = nn.Linear(3, 3).to({0})
                net(torch.rand(2, 3))
        """,
        [("cpu_device", []), ("device_cpu", []), ("any_device", ["TDV001"])],
    ),
    "libraries that are asked for their devices": (
        """
        def build():
            there = False
            try:
                import intel_extension_for_pytorch as ipex

                there = hasattr(ipex, "xpu") and {0}
            except ImportError:
                pass
            if torch.cuda.is_available():
                return {{"device": "cuda:0"}}
            if there:
                return {{"device": "xpu:0"}}
            return {{"device": "cpu"}}
        """,
        [
            ("ipex.xpu.is_available()", []),
            ("ipex.is_loaded()", ["TDV002"]),
            ("ipex.npu.is_available()", ["TDV002"]),
        ],
    ),
    "what collects samples works on the host": (
        """
        def {0}(features):
            found = []
            for labels in [one["labels"] for one in features]:
                found.append(torch.cat([labels, torch.full((3,), -100)]))
            return torch.stack(found)
        """,
        [("data_collator", []), ("collate", []), ("padded", ["TDV005"])],
    ),
    "a device that is the CPU, and that nobody gives": (
        """
        def load(path, device="cpu"):
            model = nn.Linear(3, 3)
            model.load_state_dict(torch.load(path, map_location=device))
            return model


        net = load({0})
        """,
        [
            ('"a.pt"', []),
            ('"a.pt", "cuda"', ["TDV017"]),
            ('"a.pt", device="cuda"', ["TDV017"]),
            ("*names", ["TDV017"]),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    source, ways = CASES[name]
    told_each_way(START, source, ways)
