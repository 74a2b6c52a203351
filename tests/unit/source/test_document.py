"""Bytes to text and back."""

import codecs

import pytest

from torchdev_lint.diagnostics import Position
from torchdev_lint.source.document import Document, SourceError, dominant_newline


@pytest.mark.parametrize(
    ("data", "text", "encoding", "bom"),
    [
        pytest.param(b"", "", "utf-8", False, id="empty"),
        pytest.param("é = 1\n".encode(), "é = 1\n", "utf-8", False, id="utf-8 by default"),
        pytest.param(codecs.BOM_UTF8 + b"x\r\n", "x\r\n", "utf-8", True, id="byte order mark"),
        pytest.param(b"# coding: latin-1\n\xe9", "# coding: latin-1\né", "latin-1", False, id="cookie"),
        pytest.param(
            b"#!/usr/bin/python\r# -*- coding: cp1252 -*-\r\x80",
            "#!/usr/bin/python\r# -*- coding: cp1252 -*-\r€",
            "cp1252",
            False,
            id="cookie in the second line, lone carriage returns",
        ),
        pytest.param(b"# coding: utf8\n", "# coding: utf8\n", "utf-8", False, id="another spelling"),
        pytest.param(
            b"# coding: utf-8-sig\n", "# coding: utf-8-sig\n", "utf-8", False, id="not a mark by itself"
        ),
        pytest.param(b"# coding: utf-8-unix\n", "# coding: utf-8-unix\n", "utf-8", False, id="Emacs"),
        pytest.param(
            b"# coding: latin-1-dos\r\n\xe9",
            "# coding: latin-1-dos\r\né",
            "iso-8859-1",
            False,
            id="Emacs with another encoding",
        ),
        pytest.param(
            b"# coding: UTF_8_mac\n\xc3\xa9",
            "# coding: UTF_8_mac\né",
            "utf-8",
            False,
            id="Emacs, underscores",
        ),
        pytest.param(
            b"# coding: iso_8859_1_unix\n\xe9",
            "# coding: iso_8859_1_unix\né",
            "iso-8859-1",
            False,
            id="Emacs with a longer name",
        ),
        pytest.param(
            b"# coding: ISO-Latin-1-unix\n\xe9",
            "# coding: ISO-Latin-1-unix\né",
            "iso-8859-1",
            False,
            id="Emacs with a name of its own",
        ),
        pytest.param(
            b"x = 1\n# coding: latin-1\n",
            "x = 1\n# coding: latin-1\n",
            "utf-8",
            False,
            id="no cookie below code",
        ),
        pytest.param(
            b"\n\n# coding: latin-1\n",
            "\n\n# coding: latin-1\n",
            "utf-8",
            False,
            id="no cookie in the third line",
        ),
        pytest.param(
            codecs.BOM_UTF8 + b"# coding: UTF_8\nx",
            "# coding: UTF_8\nx",
            "utf-8",
            True,
            id="mark and cookie agree",
        ),
    ],
)
def test_decodes_and_gives_the_same_bytes_back(data: bytes, text: str, encoding: str, bom: bool) -> None:
    document = Document.from_bytes(data, "a.py")
    assert (document.text, document.encoding, document.bom) == (text, encoding, bom)
    assert document.encode(document.text) == data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"x = '\xff'\n", "not valid utf-8 at byte 5"),
        (codecs.BOM_UTF8 + b"\xff", "not valid utf-8 at byte 3"),
        (b"# coding: klingon\n", "unknown encoding 'klingon'"),
        (b"# coding: rot13\n", "unknown encoding 'rot13'"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", "contradicts the UTF-8 byte order mark"),
        (b"x = 1\0\n", "source contains null bytes"),
        ("x".encode("utf-16"), "not valid utf-8 at byte 0"),
    ],
)
def test_says_in_one_line_why_bytes_are_no_source(data: bytes, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        Document.from_bytes(data, "a.py")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_refuses_to_write_what_the_encoding_cannot_spell() -> None:
    document = Document.from_bytes(b"# coding: ascii\n", "a.py")
    with pytest.raises(SourceError, match="'é' cannot be written in ascii"):
        document.encode("é")


@pytest.mark.parametrize(
    ("text", "newline"),
    [("", "\n"), ("a\n", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb\r", "\r"), ("a\r\nb\n", "\n")],
)
def test_dominant_newline(text: str, newline: str) -> None:
    assert dominant_newline(text) == newline


def test_a_file_knows_its_path_and_line_ends() -> None:
    document = Document.from_bytes(codecs.BOM_UTF8 + b"a\r\nb\r\n", "dir/a.py")
    assert (document.path, document.newline) == ("dir/a.py", "\r\n")
    assert document.describe_row(12) == "12"


def test_another_text_is_in_the_same_file() -> None:
    document = Document.from_bytes(codecs.BOM_UTF8 + b"# coding: utf-8\r\n", "a.py")
    assert document.lines.count == 2
    changed = document.with_text("x\n\n\n")
    assert changed == Document("a.py", "x\n\n\n", "utf-8", True, "\r\n")
    assert (changed.lines.count, document.lines.count) == (4, 2)
    assert document.with_text(document.text) is document


def test_rows_end_where_python_ends_them() -> None:
    document = Document("a.py", "a\x0cb\u2028c\nd\r\ne\rf\n")
    assert [document.lines.line(row) for row in range(1, document.lines.count + 1)] == [
        "a\x0cb\u2028c",
        "d",
        "e",
        "f",
        "",
    ]
    assert document.position(document.text.index("e")) == Position(3, 1)
    assert document.position(len(document.text)) == Position(5, 1)
    assert [document.lines.line(row) for row in (0, 6)] == ["", ""]


def test_columns_count_code_points() -> None:
    document = Document("a.py", 'x = "é😀"; import os')
    assert document.position(document.text.index("import")) == Position(1, 11)


def test_positions_and_offsets_are_inverse() -> None:
    document = Document("a.py", "ab\r\n\tc\r\rdé\n\n")
    for offset in range(len(document.text) + 1):
        if document.text[offset - 1 : offset + 1] != "\r\n":
            assert document.offset(document.position(offset)) == offset


@pytest.mark.parametrize("position", [Position(0, 1), Position(3, 1), Position(1, 4), Position(1, 0)])
def test_places_outside_the_text_are_errors(position: Position) -> None:
    with pytest.raises(ValueError, match="outside"):
        Document("a.py", "ab\ncd").offset(position)


@pytest.mark.parametrize("offset", [-1, 6])
def test_offsets_outside_the_text_are_errors(offset: int) -> None:
    with pytest.raises(ValueError, match="outside"):
        Document("a.py", "ab\ncd").position(offset)
