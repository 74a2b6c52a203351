"""How a value and a condition are told of (`reveal_device`, `infer`, an editor's hints)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from torchdev_lint.flow.domain.descriptions import describe_value

CASES = [
    ("x = torch.device('cuda').type", "the type of `cuda`"),
    ("x = torch.float16", "a dtype"),
    ("x = torch.add", "`torch.add`"),
    ("def f():\n    pass\nx = f", "the function `f`"),
    ("class A:\n    pass\nx = A", "the class `A`"),
    ("class A:\n    pass\nx = A()", "an instance `A`"),
    ("x = [torch.zeros(1)].append", "`.append` of (a tensor on the CPU)"),
    ("import functools\nx = functools.partial(torch.add, 1)", "`torch.add` with arguments"),
    ("class A:\n    def f(self):\n        return super()\nx = A().f()", "super()"),
    (
        "import random\na, b = nn.Linear(1, 1), nn.Bilinear(1, 1, 1)\nx = [a, b][random.randrange(2)]",
        "one of (a module `Linear` on the CPU, a module `Bilinear` on the CPU)",
    ),
    ("x = [[[[[[1]]]]]]", "(((((...)))))"),
    ("x = eval('model').cuda()", "something (`x`) on `cuda`"),
    ("x = torch.zeros(1).is_cuda", "whether False"),
    ("d = eval('d')\nx = d.type == 'cuda'", "whether d is of type cuda"),
    ("m = eval('m')\nx = m.is_cpu", "whether m is of type cpu"),
    ("x = not torch.cuda.is_available()", "whether not torch.cuda.is_available()"),
    (
        "wanted = eval('wanted')\nx = not (torch.cuda.is_available() and wanted)",
        "whether not (torch.cuda.is_available() and wanted)",
    ),
    (
        "wanted = eval('wanted')\nx = torch.cuda.is_available() or torch.cuda.device_count() > 1 and not wanted",
        "whether torch.cuda.is_available() or (torch.cuda.device_count() > 1 and not wanted)",
    ),
]


@pytest.mark.parametrize(("code", "said"), CASES)
def test_described(read: Callable[[str], Any], code: str, said: str) -> None:
    reading = read(code)
    assert describe_value(reading.frame.env, reading.value("x")) == said
