"""Reading `.ipynb` files, and writing edited cells back without touching the rest."""

import json
import random
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from notebook_files import code_cell, notebook, prose_cell

from torchdev_lint.diagnostics import Diagnostic, Position, Range
from torchdev_lint.source.document import SourceError
from torchdev_lint.source.notebook import Notebook, NotPythonError
from torchdev_lint.source.reading import read_source


def read(text: str | bytes) -> Notebook:
    return Notebook.from_bytes(text.encode() if isinstance(text, str) else text, "n.ipynb")


def contents(book: Notebook) -> list[tuple[int, str]]:
    return [(cell.index, cell.text) for cell in book.cells.cells]


PLAIN = notebook([prose_cell("# a"), code_cell("x = 1\ny = 2"), code_cell(""), code_cell("z")])


def test_only_code_cells_count_but_all_are_numbered() -> None:
    raw = {"cell_type": "raw", "metadata": {}, "source": ["q"]}
    other = code_cell("x <- 1", vscode={"languageId": "r"})
    book = read(notebook([prose_cell("# a"), code_cell("x = 1\ny = 2"), raw, other, code_cell("z")]))
    assert contents(book) == [(2, "x = 1\ny = 2"), (5, "z")]
    assert (book.cell_text(5), book.cell_text(1)) == ("z", None)


STYLES: dict[str, dict[str, Any]] = {
    "as nbformat writes it": {"indent": 1, "ensure_ascii": False},
    "ASCII only": {"indent": 1},
    "indented by two": {"indent": 2, "ensure_ascii": False},
    "with tabs": {"indent": "\t"},
    "sorted keys": {"indent": 1, "sort_keys": True},
    "on one line": {},
    "without blanks": {"separators": (",", ":")},
}
CODE = 'print("é 😀 \\u00e9", 1)\nmodel(x)\t# é\n\nlast = "/"'


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
@pytest.mark.parametrize("listed", [True, False], ids=["lines", "text"])
@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_only_the_edited_line_changes(style: dict[str, Any], listed: bool, ending: str) -> None:
    def dump(code: str) -> bytes:
        cells: list[dict[str, Any]] = [prose_cell("é"), code_cell(code), code_cell(CODE)]
        if not listed:
            for cell in cells:
                cell["source"] = "".join(cell["source"])
        text = json.dumps(json.loads(notebook(cells, metadata={"b": 1.50, "a": "é"})), **style) + ending
        return text.replace("\n", "\r\n").encode() if ending == "\r\n" else text.encode()

    before = dump(CODE)
    book = read(before)
    assert book.encode(book.text) == before
    after = CODE.replace("model(x)", "model(x.to(é))")
    changed = book.encode(book.text.replace("model(x)", "model(x.to(é))", 1))
    assert changed == dump(after)
    nbformat.validate(nbformat.reads(changed.decode(), as_version=4))
    grown = CODE.replace("model(x)", "if é:\n    model(x)")
    assert book.encode(book.text.replace("model(x)", "if é:\n    model(x)", 1)) == dump(grown)
    shrunk = CODE.replace("model(x)\t# é\n", "")
    assert book.encode(book.text.replace("model(x)\t# é\n", "", 1)) == dump(shrunk)


def test_the_way_characters_are_written_stays() -> None:
    text = PLAIN.replace('"x = 1\\n"', '"x = \\"\\u003c\\ud83d\\ude00\\/\\"; f(1)\\n"')
    book = read(text)
    assert book.cells.cells[0].text.startswith('x = "<😀/"; f(1)\n')
    assert book.encode(book.text.replace("f(1)", "f(12)")).decode() == text.replace("f(1)", "f(12)")


def test_lists_that_are_not_cut_at_line_ends_keep_what_they_can() -> None:
    text = PLAIN.replace('"x = 1\\n",', '"x =", " 1", "\\n",')
    book = read(text)
    assert book.cells.cells[0].text == "x = 1\ny = 2"
    assert book.encode(book.text.replace("y = 2", "y = 3")).decode().count('"y = 3"') == 1
    assert contents(read(book.encode(book.text.replace("x = 1", "x = 5"))))[0] == (2, "x = 5\ny = 2")


@pytest.mark.parametrize("line", ['"x = 1\\n"', '"y = 2"'])
def test_what_stands_behind_the_edit_stays_as_it_is_written(line: str) -> None:
    text = PLAIN.replace(line, line[:-1].replace("\\n", "") + '; f(1); w = \\"\\u003c\\/\\"' + line[6:])
    book = read(text)
    assert '; f(1); w = "</"' in book.cells.cells[0].text
    assert book.encode(book.text.replace("f(1)", "f(12)")).decode() == text.replace("f(1)", "f(12)")


def test_a_line_more_leaves_two_hundred_that_are_alike_as_they_are_written() -> None:
    text = notebook([code_cell("f('<')\n" * 250)]).replace("<", "\\u003c")
    book = read(text)
    changed = book.encode(book.text.replace("f", "g()\nf", 1)).decode()
    assert contents(read(changed)) == [(1, "g()\n" + "f('<')\n" * 250)]
    assert changed.count("\\u003c") == text.count("\\u003c") == 250


@pytest.mark.parametrize("style", [{"indent": 1, "ensure_ascii": False}, {"indent": 1}], ids=str)
def test_cells_of_few_lines_grow_as_they_would_have_been_written(style: dict[str, Any]) -> None:
    def dump(*cells: str) -> str:
        return json.dumps(json.loads(notebook([prose_cell("é"), *map(code_cell, cells)])), **style)

    book = read(dump("", "z", "a\nb"))
    assert book.with_cells({3: "z\ny", 4: "a\né\nb"}).raw == dump("", "z\ny", "a\né\nb")
    # nothing shows how the lines of an empty list would be set apart
    written = ("é", "\\u00e9")[style.get("ensure_ascii", True)]
    assert f'["{written}"]' in book.with_cells({2: "é"}).raw


def test_two_lines_show_how_lines_are_set_apart() -> None:
    book = read(json.dumps(json.loads(notebook([code_cell("a\nb")]))))
    assert '["a\\n", "b\\n", "c"]' in book.with_cells({1: "a\nb\nc"}).raw


@pytest.mark.parametrize("digits", ["00e9", "00E9", "2028"])
def test_what_is_not_ascii_is_written_as_it_was(digits: str) -> None:
    book = read(PLAIN.replace("# a", f"\\u{digits}"))
    assert '"z = \\"\\u00e9\\""' in book.with_cells({4: 'z = "é"'}).raw
    assert '"z = \\"é\\""' in read(PLAIN).with_cells({4: 'z = "é"'}).raw


def test_a_byte_order_mark_stays() -> None:
    data = b"\xef\xbb\xbf" + PLAIN.encode()
    book = read(data)
    assert book.encode(book.text) == data
    assert book.encode(book.text.replace("z", "w")) == data.replace(b'"z"', b'"w"')
    changed = book.with_text(book.text.replace("z", "w"))
    assert changed.encode(changed.text) == data.replace(b'"z"', b'"w"')


def test_another_text_is_in_the_same_file() -> None:
    book = read(b"\xef\xbb\xbf" + PLAIN.encode())
    for changed in (book.with_text(book.text.replace("z", "w")), book.with_cells({4: "w"})):
        assert contents(changed) == [(2, "x = 1\ny = 2"), (3, ""), (4, "w")]
        assert (changed.path, changed.bom) == ("n.ipynb", True)
    assert book.with_text(book.text) is book


def test_a_text_whose_cells_cannot_be_told_apart_is_refused() -> None:
    book = read(PLAIN)
    with pytest.raises(SourceError, match=r"^0 cells instead of 3$"):
        book.with_text("x = 1\n")


def test_cells_that_would_read_back_otherwise_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    book = read(PLAIN)
    monkeypatch.setattr(Notebook, "_rewritten", lambda self, contents: self.raw.replace('"z"', '"v"'))
    with pytest.raises(SourceError, match=r"^the cells would not read back as they were written$"):
        book.with_text(book.text.replace("z", "w"))


def test_half_a_character_is_not_written() -> None:
    book = read(PLAIN.replace("# a", "é"))
    with pytest.raises(SourceError, match=r"^a lone surrogate cannot be written$"):
        book.encode(book.text.replace("z", "'\ud83d'"))


def test_a_row_is_named_by_its_cell() -> None:
    book = read(PLAIN)
    rows = book.text.split("\n")
    assert book.describe_row(rows.index("y = 2") + 1) == "cell 2:2"
    found = Diagnostic(
        "n.ipynb", "TDV001", "name", "message", Range(Position(rows.index("z") + 1, 1), Position(9, 1))
    )
    assert book.placed(found).cell == 4


def test_of_a_cell_that_is_left_out_nothing_is_known() -> None:
    book = read(PLAIN)
    assert "z" in book.analysed(book.text).split("\n")
    assert "y = 2" not in book.analysed(book.text, {2})


def test_what_is_put_in_ends_as_the_lines_of_the_cells_do() -> None:
    assert read(PLAIN).newline == "\n"
    assert read(notebook([code_cell("x = 1\r\ny = 2")])).newline == "\r\n"


def test_the_name_says_what_a_file_is() -> None:
    book, plain = (read_source(PLAIN.encode(), path) for path in ("a/n.ipynb", "a/n.py"))
    assert isinstance(book, Notebook)
    assert (book.path, plain.path, plain.text) == ("a/n.ipynb", "a/n.py", PLAIN)


@given(st.lists(st.text(alphabet="ab\n\r\té😀\\\"'#\x0c\u2028", max_size=12), max_size=4), st.randoms())
def test_any_text_survives(texts: list[str], chance: random.Random) -> None:
    book = read(notebook([code_cell(text) for text in texts]))
    assert [cell.text for cell in book.cells.cells] == texts
    new = {
        number: chance.choice([text, text + "x", text[1:], "y\n" + text, ""])
        for number, text in enumerate(texts, 1)
    }
    changed = book.with_cells(new)
    assert {cell.index: cell.text for cell in changed.cells.cells} == new
    nbformat.validate(nbformat.reads(changed.raw, as_version=4))


BROKEN = {
    "": "the file is empty",
    " \n": "the file is empty",
    "print(1)": "not valid JSON: expected '{': line 1 column 1",
    '{"cells": [': "not valid JSON: Expecting value|not valid JSON: expected",
    PLAIN + "{}": "more text behind the end",
    "[]": "a list instead of an object",
    "{}": "it has no `nbformat`",
    '{"nbformat": 4}': "it has no list of `cells`",
    '{"nbformat": 4, "cells": {}}': "it has no list of `cells`",
    '{"nbformat": 3, "worksheets": []}': "notebook format 3 is not read, only 4",
    '{"nbformat": null, "cells": []}': "notebook format None is not read",
    '{"nbformat": 4, "cells": [1]}': "cell 1 is not an object",
    '{"nbformat": 4, "cells": [{}]}': "cell 1 has no `cell_type`",
    '{"nbformat": 4, "cells": [{"cell_type": "code"}]}': "cell 1 has no `source`",
    '{"nbformat": 4, "cells": [{"cell_type": "code", "source": 1}]}': "cell 1 is neither text nor a list",
    '{"nbformat": 4, "cells": [{"cell_type": "code", "source": [1]}]}': "cell 1 is no list of strings",
    '{"nbformat": 4, "cells": [{"cell_type": "code", "source": "\\u0000"}]}': "cell 1 contains null bytes",
    '{"nbformat": 4, "cells": [{"cell_type": "code", "source": "a\nb"}]}': "Invalid control character",
    '{"a": ' + "[" * 100_000: "nested too deeply",
    PLAIN.replace('"cells"', "cells", 1): "expected a string",
    PLAIN.replace('"cells":', '"cells"', 1): "expected ':'",
    PLAIN.replace('"nbformat": 4,', '"nbformat": 4', 1): "expected ',' or '}'",
}


@pytest.mark.parametrize(("text", "message"), BROKEN.items(), ids=[text[:60] for text in BROKEN])
def test_a_broken_notebook_is_one_clear_line(text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message.replace("[", r"\[")) as raised:
        read(text)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a notebook: the file is empty"),
        ("[]", "not a notebook: a list instead of an object"),
        ("{}", "not a notebook: it has no `nbformat`"),
        ('{"nbformat": 4}', "not a notebook: it has no list of `cells`"),
        (
            '{"nbformat": 3}',
            "notebook format 3 is not read, only 4: convert it with `jupyter nbconvert --to notebook --inplace`",
        ),
        (
            '{"nbformat": 4, "cells": []} x',
            "not a notebook: not valid JSON: more text behind the end, at character 30",
        ),
        ('{"a": ' + "[" * 100_000, "not a notebook: not valid JSON: nested too deeply"),
        ("print(1)\n", "not a notebook: not valid JSON: expected '{': line 1 column 1"),
        ("\nprint(1)\n", "not a notebook: not valid JSON: expected '{': line 2 column 1"),
        ('{\n\n "cells" 1}\n', "not a notebook: not valid JSON: expected ':': line 3 column 10"),
    ],
)
def test_the_whole_line_about_a_broken_notebook(text: str, message: str) -> None:
    with pytest.raises(SourceError) as raised:
        read(text)
    assert str(raised.value) == message


def test_every_cut_of_a_notebook_is_an_error() -> None:
    text = PLAIN.rstrip()
    for length in range(len(text)):
        with pytest.raises(SourceError):
            read(text[:length])


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(SourceError, match="not valid utf-8 at byte 2"):
        read(b"{ \xff}")
    with pytest.raises(SourceError, match=r"^not valid utf-8 at byte 5$"):
        read(b"\xef\xbb\xbf{ \xff}")  # counted in the file, as editors do


@pytest.mark.parametrize(
    "metadata", [{"language_info": {"name": "julia"}}, {"kernelspec": {"language": "R", "name": "ir"}}]
)
def test_another_language_is_not_an_error(metadata: dict[str, Any]) -> None:
    with pytest.raises(NotPythonError, match=r"not checked: a notebook in (julia|R)"):
        read(notebook([code_cell("x <- 1")], metadata=metadata))


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"language_info": {"name": "Python"}},
        {"language_info": {"name": "ipython"}},
        {"kernelspec": {"language": "python3"}},
        {"kernelspec": {"language": "IPython3"}},
        {"kernelspec": {"name": "x"}},
        {"language_info": {"name": 3}},
        {"language_info": {"name": ""}, "kernelspec": {"language": "python"}},
        [],
        None,
    ],
)
def test_no_language_is_python(metadata: Any) -> None:
    assert contents(read(notebook([code_cell("x")], metadata=metadata))) == [(1, "x")]


@pytest.mark.parametrize("listed", [True, False], ids=["lines", "text"])
def test_where_a_cell_stands_in_the_file(listed: bool) -> None:
    cell = code_cell('a = "é"\nbcd = 1')
    if not listed:
        cell["source"] = "".join(cell["source"])
    text = notebook([prose_cell("x"), cell])
    book = read(text)
    rows = text.split("\n")
    for row, column, wanted in [(1, 5, '\\"'), (1, 6, "é"), (2, 1, "bcd"), (2, 3, "d"), (2, 8, '"')]:
        found = book.in_file(2, Position(row, column))
        assert rows[found.row - 1][found.column - 1 :].startswith(wanted)
    assert book.in_file(1, Position(3, 3)) == Position(3, 3)
    # What lies behind the cell is shown at its end.
    end = book.in_file(2, Position(2, 8))
    assert book.in_file(2, Position(3, 1)) == end
    assert book.in_file(2, Position(2, 99)) == end


def test_a_cell_without_lines_stands_where_its_list_is() -> None:
    book = read(PLAIN)
    found = book.in_file(3, Position(1, 1))
    assert PLAIN.split("\n")[found.row - 1][found.column - 1 :].startswith("[]")
