"""Arguments that are not read where they are, or copied from anywhere; and their twins that PyTorch refuses."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings

HEAD = "import numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

PAIRS: dict[str, tuple[str, str]] = {
    "the joint projection of an attention with separate ones": (
        """
        def attend(q: torch.Tensor, w: torch.Tensor, b: torch.Tensor):
            return F.multi_head_attention_forward(
                q, q, q, 4, 1, torch.empty([0]), b, None, None, False, 0.0, w, b,
                use_separate_proj_weight=True, q_proj_weight=w, k_proj_weight=w, v_proj_weight=w,
            )
        """,
        """
        def attend(q: torch.Tensor, w: torch.Tensor, b: torch.Tensor):
            return F.multi_head_attention_forward(
                q, q, q, 4, 1, torch.ones(12, 4), b, None, None, False, 0.0, w, b, use_separate_proj_weight=False
            )
        """,
    ),
    "one element fills what a mask selects": (
        """
        def fill(x: torch.Tensor):
            x[x > 0] = torch.tensor([0.5])
            x[x < 0] = torch.zeros(1)
        """,
        """
        def fill(x: torch.Tensor):
            x[x > 0] = torch.tensor([0.5, 1.0])
        """,
    ),
    "what is taken from an array of anything": (
        """
        class Buffer:
            def __init__(self, n):
                self.rows = np.zeros(n, dtype=object)

            def rows_for(self, model, i):
                model = nn.Linear(3, 3).cuda()  # noqa: TDV101
                return model(torch.as_tensor(self.rows[i]))
        """,
        """
        class Buffer:
            def __init__(self, n):
                self.rows = np.zeros((n, 3), dtype=np.float32)

            def rows_for(self, model, i):
                model = nn.Linear(3, 3).cuda()  # noqa: TDV101
                return model(torch.as_tensor(self.rows[i]))
        """,
    ),
}


def _codes(program: str) -> list[str]:
    found = findings(HEAD + textwrap.dedent(program), "program.py", Config())
    return [finding.code for finding in found if finding.code != "TDV101"]


@pytest.mark.parametrize(("right", "_wrong"), PAIRS.values(), ids=PAIRS)
def test_right(right: str, _wrong: str) -> None:
    assert _codes(right) == []


@pytest.mark.parametrize(("_right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_wrong(_right: str, wrong: str) -> None:
    assert _codes(wrong) != []
