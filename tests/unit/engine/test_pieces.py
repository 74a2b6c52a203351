"""Long texts are parsed in pieces, and the tree is that of the whole text."""

from __future__ import annotations

import libcst as cst
import pytest

from torchdev_lint.engine import parsing, pieces
from torchdev_lint.engine.parsing import ParseError, parse_module

TOP = '''# of the file

"""What it does."""
import torch

# of the first function
def first(x):
    if x:
        return 1
    return 2
    # still of it


# of the second

@decorator(
    1,
)
# between
@other
def second():
    """A text

def that_is_none(): pass
"""

    def inner():
        pass

    return inner


async def third(): pass

class Net(
    Base,
):
    """Of the class."""

    size = 3

    # of the method
    def __init__(self):
        super().__init__()

        def helper():
            pass

        # of nothing

    @property

    def odd(self): return 1


    async def forward(self, x):
        return x

        # in the method
    # in the class

# behind it
class Empty: pass

value = [
    1,

    2,
]
if value:
    def under(): pass

    def a_condition(): pass
else:

    pass

class Last(Net):

    def only(self):
        return 1

    def two(self):
        return 2


    # of the class

# of the file
'''


def parsed(text: str, monkeypatch: pytest.MonkeyPatch, size: int) -> cst.Module | None:
    monkeypatch.setattr(pieces, "PIECE", size)
    monkeypatch.setattr(pieces, "PAYS", 0)
    return pieces.parse_in_pieces(text)


@pytest.mark.parametrize("size", [*range(0, 400, 40), 700])
def test_tree_of_the_whole(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = 0
    parse = cst.parse_module

    def counting(text: str) -> cst.Module:
        nonlocal counted
        counted += 1
        return parse(text)

    # in a string it would have to be parsed as a whole
    text = TOP.replace("\n\ndef that_is_none", "\ndef that_is_none")
    monkeypatch.setattr(cst, "parse_module", counting)
    tree = parsed(text, monkeypatch, size)
    assert tree is not None
    assert counted > 1
    assert tree.deep_equals(parse(text))
    assert tree.code == text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def a():\n    return 1\n\ndef b():\n  return 2\n", id="two indentations"),
        pytest.param("class A:\n  def a(self):\n    x = 1\n\n    def b(self): pass\n", id="indented by two"),
        pytest.param("class A:\n    x = 1\n\n    def b(self): pass\n\n  # odd\n", id="an odd comment"),
        pytest.param("def a():\n    pass\n    # of a\n\ndef b(): pass\n", id="a comment behind a block"),
        pytest.param("x = 1 \\\n\ndef b(): pass\n", id="a line that goes on"),
        pytest.param("def a():\n    x = 1\n\n    def b(): pass\n", id="a function in a function"),
        pytest.param(
            "class A: pass\n\n\nx = 1\nif x:\n    y = 1\n\n    def b(): pass\n", id="behind a class"
        ),
        pytest.param("# only comments\n\ndef b(): pass\n", id="a header"),
        pytest.param("x = 1\n\ndef b(): pass", id="no line end"),
        pytest.param("def a(): pass\n\ndef b(): pass\n\n    # of nobody\n", id="a footer"),
        pytest.param("\x0cdef a(): pass\n\n\x0cdef b(): pass\n", id="form feeds"),
    ],
)
def test_the_tree_of_the_whole_or_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = parsed(text, monkeypatch, 0)
    whole = cst.parse_module(text)
    assert tree is None or (tree.deep_equals(whole) and tree.code == whole.code)


def test_what_cannot_be_cut_is_parsed_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 0)
    monkeypatch.setattr(pieces, "PAYS", 0)
    monkeypatch.setattr(parsing, "PAYS", 0)
    assert parse_module(TOP).deep_equals(cst.parse_module(TOP))


def test_the_place_of_a_mistake_is_that_in_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 0)
    monkeypatch.setattr(pieces, "PAYS", 0)
    monkeypatch.setattr(parsing, "PAYS", 0)
    with pytest.raises(ParseError, match="Syntax error") as caught:
        parse_module("def a(): pass\n\ndef b(): pass\n\ndef c(: pass\n")
    assert caught.value.row == 5
