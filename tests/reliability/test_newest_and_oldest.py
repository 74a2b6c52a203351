"""Files that are newer, older, longer or wider than usual: the right result or one clear line."""

from __future__ import annotations

import sys
import time

import pytest

from torchdev_lint.config import SYNTAX_ERROR, Config
from torchdev_lint.engine.file_check import check_bytes

pytestmark = pytest.mark.untraced

MODEL = "import torch\nmodel = torch.nn.Linear(2, 2).cuda()\nx = torch.ones(2, 2)\n"
CALL = "model(x)\n"

NEWEST = {
    "type parameters": "def first[T: int](xs: list[T]) -> T: ...\ntype A[T] = list[T]\nclass C[T, *Ts, **P]: ...\n",
    "defaults of type parameters": "def first[T = int](xs: list[T]) -> T: ...\n",
    "quotes inside of a formatted string": "s = f'{f'{x}' + 'a'}'\nr = f\"{x!r:{'>'}10}\"\n",
    "groups of exceptions": "try:\n    pass\nexcept* ValueError:\n    pass\n",
    "patterns": "match x:\n    case [a, *b] if a: pass\n    case {'k': v, **r}: pass\n    case _: pass\n",
    "a walrus in a subscript": "y = x[(n := 0)]\n",
    "annotations of what comes later": "def f(a: Later) -> Later.Part: ...\nclass Later: ...\n",
    "an end that returns": "def f():\n    while True:\n        try:\n            pass\n        finally:\n            return 1\n",
    "parameters by position only": "def f(a, /, b): pass\n",
}


@pytest.mark.parametrize("name", NEWEST)
def test_the_newest_syntax_is_read_by_every_python(name: str) -> None:
    found = check_bytes((MODEL + NEWEST[name] + CALL).encode(), "new.py", Config(select=("TDV001",)))
    assert found.errors == ()
    row = MODEL.count("\n") + NEWEST[name].count("\n") + 1
    assert [(one.code, one.range.start.row) for one in found.diagnostics] == [("TDV001", row)]


NOT_READ = {
    "templates": 't = t"a{x!r:>{10}}"\n',
    "exceptions without parentheses": "try:\n    pass\nexcept ValueError, TypeError:\n    pass\n",
    "what Python may yet become": "lazy import json\n",
    "Python 2": 'print "a"\nexec "b"\n',
    "Python 2's exceptions": "try:\n    pass\nexcept ValueError, error:\n    raise E, error\n",
}


@pytest.mark.parametrize("name", NOT_READ)
def test_what_is_not_read_is_told_in_one_line_or_read(name: str) -> None:
    data = (MODEL + NOT_READ[name] + CALL).encode()
    found = check_bytes(data, "other.py", Config(select=("TDV001",)))
    assert found.errors == ()
    (one,) = found.diagnostics  # the line, or, once the parser knows the syntax, the finding
    assert one.code in (SYNTAX_ERROR, "TDV001")
    assert one.code == "TDV001" or "\n" not in one.message
    if "Python 2" in name:
        assert one.code == SYNTAX_ERROR


LONG = {
    "fifty megabytes of comments": "# " + "x" * 78 + "\n",
    "fifty megabytes of short lines": "y = 1\n",
    "a line of fifty megabytes": "[1, 2, 3], ",
}


@pytest.mark.parametrize("name", LONG)
def test_fifty_megabytes(name: str) -> None:
    unit = LONG[name]
    data = (MODEL + unit * (50_000_000 // len(unit)) + "\n" + CALL).encode()
    start = time.process_time()
    found = check_bytes(data, "long.py", Config())
    assert time.process_time() - start < 60
    assert [(one.code, one.message) for one in found.diagnostics] == [
        (SYNTAX_ERROR, "Not analysed: more than 3,000,000 characters")
    ]
    assert found.errors == ()


WIDE = {
    "a string of two megabytes": "s = '" + "x" * 2_000_000 + "'\n",
    "a list of one line": "s = [" + "1, " * 20_000 + "]\n",
    "statements of one line": "s = 1" + "; s = 1" * 5_000 + "\n",
}


@pytest.mark.parametrize("name", WIDE)
def test_a_wide_line(name: str) -> None:
    start = time.process_time()
    found = check_bytes((MODEL + WIDE[name] + CALL).encode(), "wide.py", Config(select=("TDV001",)))
    assert time.process_time() - start < 60
    assert found.errors == ()
    assert [(one.code, one.range.start.row) for one in found.diagnostics] in (
        [("TDV001", 5)],
        [(SYNTAX_ERROR, 1)],
    )


def test_the_limit_of_recursion_stays_as_it_was() -> None:
    before = sys.getrecursionlimit()
    check_bytes((MODEL + CALL).encode(), "a.py", Config())
    assert sys.getrecursionlimit() == before
