"""The forms in which programs write one and the same thing: each mistake is told, each right program passes in silence.

`tests/data/forms` holds a short piece of code for each, between lines of `---`; `benchmarks/forms.py` runs them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

FORMS = Path(__file__).parents[2] / "data" / "forms"
HEAD = (FORMS / "head.txt").read_text(encoding="utf-8")
CONFIG = Config(off_by_default=frozenset({"TDV101", "TDV105", "TDV106", "TDV107", "TDV108", "TDV109"}))
MET = "t = torch.randn(8, 4)\nx = torch.randn(8, 4, device=device)\n"
BEFORE = {
    "sources": "x = torch.randn(1, 4, device=device).view(-1)\n",
    "uses": MET + "model = nn.Linear(4, 3).to(device)\ny = torch.randint(0, 3, (8,))\n",
    "ways": MET,
    "right": MET,
}
AFTER = {"sources": "print(x * t)\n"}


def programs(kind: str) -> list[str]:
    """The programs of one kind, each in one form."""
    pieces = (FORMS / f"{kind}.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n---\n")
    return [f"{HEAD}{BEFORE[kind]}{piece}\n{AFTER.get(kind, '')}" for piece in pieces]


@pytest.mark.parametrize("program", [one for kind in ("sources", "uses", "ways") for one in programs(kind)])
def test_a_mistake_is_told(program: str) -> None:
    assert {one.code for one in check_source(program, "program.py", CONFIG)} - {"TDV002", "TDV009", "TDV018"}


@pytest.mark.parametrize("program", programs("right"))
def test_a_right_program_is_silent(program: str) -> None:
    assert check_source(program, "program.py", CONFIG) == []


def carried(piece: str, value: str, number: int) -> tuple[str, str]:
    """The statements that hand on a value, and the expression that it is then."""
    filled = piece.replace("VALUE", value).replace("_I", str(number))
    statements, _, expression = filled.rpartition("\n=> ")
    return statements, expression


CARRIERS = (FORMS / "carriers.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n---\n")
IMPORTS = "import dataclasses\nimport functools\nimport types\n\nflag = len('abc') > 2\nx = torch.randn(4, device=device)\n"


@pytest.mark.parametrize("first", range(len(CARRIERS)))
@pytest.mark.parametrize(("source", "count"), [("torch.rand(4)", 1), ("torch.rand(4).to(device)", 0)])
def test_what_is_handed_on_twice(first: int, source: str, count: int) -> None:
    """Each way within another one: what was left on the CPU is told, what was moved before is not."""
    second = CARRIERS[(7 * first + 3) % len(CARRIERS)]
    body, value = carried(CARRIERS[first], source, 0)
    more, after = carried(second, value, 1)
    program = f"{HEAD}{IMPORTS}{body}\n{more}\nprint(x * {after})\n"
    assert bool(check_source(program, "program.py", CONFIG)) == bool(count), program
