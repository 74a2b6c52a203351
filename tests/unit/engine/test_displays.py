"""Long tables of constants are parsed in pieces, and the tree is that of the whole text."""

from __future__ import annotations

import libcst as cst
import pytest

from torchdev_lint.engine import displays, pieces
from torchdev_lint.engine.displays import parse_with_displays

TEXT = """import torch
names = [
    "a",  # of a
    "b" ,

    # of c
    "c"
    "d", *more,
    f(
        1,
        2,
    ),
]
table: dict[str, int] = {
    ("a", 1): {
        (1, 2): (3, 4),
        (5, 6): (7, 8),
    },
    **others,
    "b": [
        lambda x, y: x,
        0
    ],
    "c": 3,  # the last
}
kinds = {
    1,
    2,
}
both = (
    1,
    (2,
     3),
)[0] + x[
    1,
    2,
]

class Net:
    sizes = (
        [
            1,
            2,
        ],
        3,
    )

    def forward(self, x):
        return self.one(x, [
            1,
            2,
        ])
"""


@pytest.mark.parametrize("size", [0, 10, 40, 1000])
def test_tree_of_the_whole(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(displays, "PIECE", size)
    tree = parse_with_displays(TEXT)
    assert (tree is None) == (size == 1000)
    assert tree is None or (tree.deep_equals(cst.parse_module(TEXT)) and tree.code == TEXT)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('x = """\ny = [\n    1,\n    2,\n]\n"""\n', id="in a string"),
        pytest.param('x = [\n    """a,\n    b,\n]""",\n    2,\n]\n', id="a string in it"),
        pytest.param("x = [\n    a for a in b,\n    2,\n]\n", id="not Python"),
        pytest.param("x = [\n    1,\n    2,\n", id="without an end"),
        pytest.param("_torchdev_lint_display_0 = [\n    1,\n    2,\n]\n", id="our own name"),
        pytest.param("x = {\n    1: lambda a,\n    b: 2,\n    3: 4,\n}\n", id="a lambda on two lines"),
    ],
)
def test_the_tree_of_the_whole_or_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(displays, "PIECE", 0)
    try:
        whole = cst.parse_module(text)
    except cst.ParserSyntaxError:
        whole = None
    try:
        tree = parse_with_displays(text)
    except cst.ParserSyntaxError:
        return
    assert tree is None or (whole is not None and tree.deep_equals(whole))


@pytest.mark.parametrize("rest", ["", "\n\ndef f():\n    return table\n"])
def test_the_parser_never_has_all_of_a_long_table(rest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    longest = 0

    def told(parse):  # type: ignore[no-untyped-def]
        def telling(text):  # type: ignore[no-untyped-def]
            nonlocal longest
            longest = max(longest, len(text))
            return parse(text)

        return telling

    rows = "".join(f"        ({number}, {number}): ({number},),\n" for number in range(1000))
    text = f'table = {{\n    "a": {{\n{rows}    }},\n    "b": {{\n{rows}    }},\n}}\n{rest}'
    whole = cst.parse_module(text)
    monkeypatch.setattr(cst, "parse_module", told(cst.parse_module))
    monkeypatch.setattr(cst, "parse_expression", told(cst.parse_expression))
    tree = pieces.parse_in_pieces(text)
    assert tree is not None
    assert tree.deep_equals(whole)
    assert longest < 3 * displays.PIECE
