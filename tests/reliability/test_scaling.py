"""Small programs whose values, classes and loops multiply: each is checked in the time that its length deserves."""

from __future__ import annotations

import time

import pytest

from torchdev_lint.config import Config, Selection
from torchdev_lint.engine.file_check import check_bytes

pytestmark = pytest.mark.untraced

HEAD = "import torch\nfrom torch import nn\nx = torch.ones(2)\nm = nn.Linear(2, 2).cuda()\n"
STEPS = 24


def sum_of_calls(of: str, name: str = "f") -> str:
    """What calls each of as many functions."""
    return " + ".join(f"{name}{n}({of})" for n in range(STEPS))


PROGRAMS = {
    "a tuple of itself": "t = x\n" + "t = (t, t)\n" * STEPS + "m(t)\n",
    "a module of itself": "s = nn.Linear(2, 2)\n" + "s = nn.Sequential(s, s)\n" * STEPS + "s(x)\n",
    "classes that share their bases": "class A0: pass\nclass B0: pass\n"
    + "".join(
        f"class A{n}(A{n - 1}, B{n - 1}): pass\nclass B{n}(A{n - 1}, B{n - 1}): pass\n"
        for n in range(1, STEPS)
    )
    + f"A{STEPS - 1}().method(x)\n",
    "loops in each other": "".join("    " * n + f"while test{n}:\n" for n in range(STEPS))
    + "    " * STEPS
    + "x = x + x\n",
    "functions that call each other": "".join(
        f"def f{n}(y):\n    return {sum_of_calls('y')}\n" for n in range(STEPS)
    )
    + "f0(x)\n",
    "lambdas that call each other": "".join(f"f{n} = lambda y: {sum_of_calls('y')}\n" for n in range(STEPS))
    + "f0(x)\n",
    "properties that read each other": "class A:\n"
    + "".join(
        f"    @property\n    def f{n}(self):\n        return {' + '.join(f'self.f{m}' for m in range(STEPS))}\n"
        for n in range(STEPS)
    )
    + "A().f0\n",
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_multiplies_is_counted_once(name: str) -> None:
    text = f"{HEAD}{PROGRAMS[name]}m(x)\n"
    start = time.process_time()
    result = check_bytes(text.encode(), "program.py", Config(command_line=Selection(("TDV",))))
    assert time.process_time() - start < 30
    assert result.errors == ()
    assert (text.count("\n"), "TDV001") in {(one.range.start.row, one.code) for one in result.diagnostics}
