"""What cannot be parsed or read costs its file, with a reason; never the process."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source
from torchdev_lint.engine.parsing import ParseError, parse_module, parses


@pytest.mark.parametrize(
    ("text", "message", "row"),
    [
        (
            "import torch\nx = " + "(" * 3000 + ")" * 3000,
            "Not analysed: more than 150 brackets open at once",
            2,
        ),
        (
            "import torch\nx = a" + ".b()" * 1000,
            "Not analysed: more than 500 operations in one expression",
            2,
        ),
        ("import torch\n\nx = = 1\n", "Syntax error: invalid syntax", 3),
    ],
)
def test_not_analysed(text: str, message: str, row: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse_module(text)
    assert (caught.value.message, caught.value.row) == (message, row)
    assert not parses(text)
    found = check_source(text, "deep.py", Config())
    assert [(one.code, one.message, one.range.start.row) for one in found] == [("TDV999", message, row)]


def test_too_deep_for_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_deep(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr("torchdev_lint.flow.execution.interpreter.read_module", too_deep)
    found = check_source("import torch\nx = 1\n", "deep.py", Config())
    assert [(one.code, one.message) for one in found] == [("TDV999", "Not analysed: nested too deeply")]


def test_as_deep_as_is_let_through() -> None:
    for text in (
        "x = " + "f(" * 149 + "1" + ")" * 149,
        "x = 1" + " + torch.ones(1)" * 150,
        "x = a" + ".b()" * 120,
    ):
        assert check_source(f"import torch\n{text}\n", "deep.py", Config()) == []
