"""What a tenth round of blind programs and the thirty-eighth batch of repositories taught, each wrong and right."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

START = """\
import numpy as np
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
"""

CASES: dict[str, tuple[str, Ways]] = {
    "a model of which parts were moved is not all on the CPU": (
        """
        from transformers import OPTForCausalLM


        def first_inputs(model, tokens):
            layers = model.model.decoder.layers
            {0}
            return model(tokens.to(device))


        first_inputs(OPTForCausalLM.from_pretrained("opt"), torch.ones(1, 3).long())
        """,
        [
            ("layers[0] = layers[0].to(device)", []),
            ("for layer in layers: layer.to(device)", []),
            ("model.model.norm = model.model.norm.to(device)", []),
            ("layers[0].train()", ["TDV001"]),
            ("print(model.model.norm.weight.to(device))", ["TDV001"]),
        ],
    ),
    "a module may apply things to what a plain object of its own holds": (
        """
        class Hidden:
            def __init__(self, net):
                self.net = net


        class Distiller(nn.Module):
            def __init__(self, student, teacher):
                super().__init__()
                self.student = student
                self.teacher = Hidden(teacher)

            def _apply(self, fn, recurse=True):
                {0}
                return super()._apply(fn, recurse)

            def forward(self, x):
                return self.student(x) - self.teacher.net(x)


        both = Distiller(nn.Linear(2, 2), nn.Linear(2, 2)).to(device)
        both(torch.ones(2, 2).to(device))
        """,
        [("self.teacher.net._apply(fn)", []), ("print(recurse)", ["TDV001"])],
    ),
}


@pytest.mark.parametrize(("code", "ways"), CASES.values(), ids=CASES)
def test_each_is_told_wrong_and_not_right(
    code: str, ways: Ways, told_each_way: Callable[[str, str, Ways], None]
) -> None:
    """Each way of writing it is told of where it is wrong, and only there."""
    told_each_way(START, code, ways)
