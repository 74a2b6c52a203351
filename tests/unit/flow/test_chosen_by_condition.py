"""A device that a condition gives, and else the CPU: the program chooses, by whatever it asks."""

from __future__ import annotations

import textwrap

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.findings import findings
from torchdev_lint.rules.codes import OFF_BY_DEFAULT

CHOSEN = {
    "by what is visible": """
        seen = os.environ.get("CUDA_VISIBLE_DEVICES", "").strip()
        name = "cuda:0" if len(seen) > 0 and int(seen) != -1 else "cpu"
        x = torch.ones(2, device=torch.device(name))
        """,
    "by a size": """
        def f(n):
            device = torch.device("cuda:0") if n > 1000 else torch.device("cpu")
            return torch.ones(n, device=device)
        """,
    "by a statement": """
        def f(many):
            if many:
                device = "cpu"
            else:
                device = torch.device("cuda:0")
            return torch.ones(2, device=device)
        """,
}

NOT_CHOSEN = {
    "another accelerator": """
        def f(many):
            return torch.ones(2, device="cuda:0" if many else "mps")
        """,
    "the second one": """
        def f(many):
            return torch.ones(2, device="cuda:1" if many else "cpu")
        """,
    "something else depends on it": """
        def f(many):
            if many:
                device = "cuda:0"
            else:
                place = "cpu"
            return torch.ones(2, device=device)
        """,
    "more is done": """
        def f(many):
            if many:
                print("many")
                device = "cuda:0"
            else:
                device = "cpu"
            return torch.ones(2, device=device)
        """,
    "the wrong way round": 'x = torch.ones(2, device="cpu" if torch.cuda.is_available() else "cuda:0")\n',
    "no condition": 'device = "cuda:0"\nother = "cpu"\nx = torch.ones(2, device=device)\n',
}


def _told(program: str) -> list[str]:
    config = Config(off_by_default=OFF_BY_DEFAULT)
    return [
        one.code for one in findings("import os\nimport torch\n" + textwrap.dedent(program), "a.py", config)
    ]


@pytest.mark.parametrize("program", CHOSEN.values(), ids=CHOSEN)
def test_chosen(program: str) -> None:
    assert _told(program) == []


@pytest.mark.parametrize("program", NOT_CHOSEN.values(), ids=NOT_CHOSEN)
def test_not_chosen(program: str) -> None:
    assert _told(program) == ["TDV002"]
