"""The code cells of a notebook as one program."""

import ast

import pytest

from torchdev_lint.diagnostics import Applicability, Diagnostic, Edit, Fix, Position, Range, Related
from torchdev_lint.source.cells import Cell, CellError, Cells


def cells(*texts: str) -> Cells:
    return Cells([Cell(2 * number, text) for number, text in enumerate(texts, 1)])


TEXTS = [
    (),
    ("",),
    ("a",),
    ("a\n", ""),
    ("", "a\nb", "\n\n", "c\r\nd\n"),
    ("# %% cell", "# %% cell+"),
    ("a\r", "b"),
]


@pytest.mark.parametrize("texts", TEXTS, ids=str)
def test_what_was_joined_is_taken_apart(texts: tuple[str, ...]) -> None:
    joined = cells(*texts)
    assert joined.split(joined.text) == texts
    assert joined.masked(joined.text).count("\n") == joined.text.count("\n")


def test_the_line_between_cells_is_a_comment() -> None:
    joined = cells("x = '# %% cell'", "y = '# %% cell++'")
    assert [ast.unparse(node) for node in ast.parse(joined.text).body] == [
        "x = '# %% cell'",
        "y = '# %% cell++'",
    ]


def test_an_edited_text_is_taken_apart() -> None:
    joined = cells("a", "b\nc", "d")
    assert joined.split(joined.text.replace("b\n", "x\ny\n")) == ("a", "x\ny\nc", "d")
    assert joined.split(joined.text.replace("b\nc\n", "")) == ("a", "", "d")
    assert joined.split(joined.text.removesuffix("\n")) == ("a", "b\nc", "d")


def test_other_cells_are_refused() -> None:
    joined = cells("a", "b")
    with pytest.raises(CellError, match="1 cells instead of 2"):
        joined.split(joined.text.partition("\nb")[0].rpartition("\n")[0])


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("for x in y:\n    f(x)", "    g(x)"), ["For", "If"]),
        (("if a:\n    b", "c"), ["If", "Pass", "Expr"]),
        (("  a\n  b", "\n# c\n\td"), ["If", "If"]),
        (("\na", "# c\nb", "\n\nX"), ["Expr", "Pass", "Expr", "Pass", "Expr"]),
    ],
)
def test_no_block_goes_on_in_the_next_cell(texts: tuple[str, ...], expected: list[str]) -> None:
    joined = cells(*texts)
    tree = ast.parse(joined.masked(joined.text))
    assert [type(node).__name__ for node in tree.body] == expected


def test_an_else_in_the_next_cell_is_an_error() -> None:
    joined = cells("if a:\n    b", "else:\n    c")
    with pytest.raises(SyntaxError):
        ast.parse(joined.masked(joined.text))


def place(row: int, column: int, end_row: int, end_column: int) -> Range:
    return Range(Position(row, column), Position(end_row, end_column))


def test_everything_of_a_diagnostic_is_placed_in_its_cell() -> None:
    joined = cells("a\nb", "c\nd", "e")
    rows = joined.text.split("\n")
    b, d, e = (rows.index(text) + 1 for text in "bde")
    found = Diagnostic(
        "n.ipynb",
        "TDV001",
        "name",
        "message",
        place(d, 1, d, 2),
        (Related(place(b, 1, b, 2), "here"), Related(place(9, 1, 9, 2), "there", "other.py")),
        Fix((Edit(place(d, 1, d + 1, 1), ""), Edit(place(e, 1, e, 2), "f")), Applicability.SAFE, "Fix"),
        d,
    )
    assert joined.placed(found) == Diagnostic(
        "n.ipynb",
        "TDV001",
        "name",
        "message",
        place(2, 1, 2, 2),
        (Related(place(2, 1, 2, 2), "here", None, 2), Related(place(9, 1, 9, 2), "there", "other.py")),
        Fix((Edit(place(2, 1, 3, 1), "", 4), Edit(place(1, 1, 1, 2), "f", 6)), Applicability.SAFE, "Fix"),
        2,
        4,
    )
    assert joined.row(e) == (6, 1)


def test_a_diagnostic_needs_no_row_for_noqa_and_a_notebook_no_cells() -> None:
    joined = cells("a", "b\nc")
    row = joined.text.split("\n").index("c") + 1
    found = Diagnostic("n.ipynb", "TDV001", "name", "message", place(row, 1, row, 2))
    assert joined.placed(found) == Diagnostic(
        "n.ipynb", "TDV001", "name", "message", place(2, 1, 2, 2), cell=4
    )
    assert cells().placed(found) == found


def test_where_a_cell_starts() -> None:
    joined = cells("a", "b\nc")
    assert [joined.text.split("\n")[joined.first_row(index) - 1] for index in (2, 4)] == ["a", "b"]


def test_a_cell_that_starts_with_an_empty_row_counts_it() -> None:
    joined = cells("a", "\nb", "", "c")
    rows = joined.text.split("\n")
    assert [joined.row(rows.index(text) + 1) for text in "abc"] == [(2, 1), (4, 2), (8, 1)]
    assert [rows[joined.first_row(index) - 1] for index in (2, 4, 6, 8)] == ["a", "", "", "c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a\nb", "\na\nb\n"), ("  a\n  b", "if True:\n  a\n  b\n"), ("%ls\n", "\npass\n\n")],
)
def test_a_cell_by_itself(text: str, expected: str) -> None:
    joined = cells("if x:", text)
    assert joined.alone(joined.cells[1]) == expected


def test_cells_that_are_left_out_make_their_names_unknown() -> None:
    joined = cells("import torch\nx = 1", "y = (\ntorch", "z")
    code = joined.masked(joined.text, {4})
    assert "y = get_ipython()" in code
    ast.parse(code)


def test_what_a_cell_imports_is_not_forgotten_by_magics_of_others() -> None:
    joined = cells("import torch", "%%notify\ntorch.f(model)", "%profile torch.g(model)")
    rows = joined.masked(joined.text).split("\n")
    assert [row for row in rows if "get_ipython" in row] == ["model = get_ipython()"] * 2
