"""Comments are found as Python's tokenizer finds them, and nothing makes the scanner fail."""

import io
import random
import sysconfig
import tokenize
from pathlib import Path

import pytest

from torchdev_lint.source.comments import find_comments, logical_line_end

STDLIB = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[::4]


def comments_of(text: str) -> list[tuple[int, int, str]]:
    return [(one.start.row, one.start.column, one.text) for one in find_comments(text).comments]


@pytest.mark.parametrize("path", STDLIB, ids=lambda path: path.name)
def test_agrees_with_tokenize_on_the_standard_library(path: Path) -> None:
    with tokenize.open(path) as file:
        text = file.read()
    expected = [
        (token.start[0], token.start[1] + 1, token.string)
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    assert comments_of(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        's = "# no"\n',
        "s = '''\n# no\n\"\"\"\n'''\n",
        's = "\\"# no"\n',
        "s = r'\\'# no'\n",
        "s = f\"{a['#']}# no\"\n",
        's = f"{a:#x}# no"\n',
        's = f"{{# no"\n',
        's = f"{a:{b}#}# no"\n',
        's = "a\\\n# no"\n',
        'rb"""\n# no\n"""\n',
        'f"""{\n"# no"\n}# no"""\n',
        'x = f"{a!r:>{width}}"; y = "# no"\n',
    ],
)
def test_strings_hold_no_comments(text: str) -> None:
    assert comments_of(text) == []
    assert comments_of(text + "#yes")[-1][2] == "#yes"


@pytest.mark.parametrize(
    "text",
    [
        '"{"',
        "b'{'",
        "f'{a[\"# no\"]}'",
        "f\"{a['# no']}\"",
        "f\"{a[Rb'# no'], a[rB'# no']}\"",
        "f\"{f'{a['# no']}'}\"",
        "f\"{F'{a['# no']}'}\"",
        "f\"{t'{a['# no']}'}\"",
        "f\"{T'{a['# no']}'}\"",
        "f\"{'{'}\"",
        't"{a["# no"]}"',
        'f"{(lambda: "# no")()}"',
        'f"{(f(a), lambda: "# no")[1]}"',
        'f"{a[1:"# no"]}"',
        'f"{ {1:"# no"}[1]}"',
        'f"""{(a)}"""',
        'f"""{a[0]}"""',
        'f"""{ {a} }"""',
        'f"{(a}"',
        'd = {}; f"{a[\n"# no"]}"',
    ],
)
@pytest.mark.parametrize("after", ["", "d = {}\n"])
def test_ends_fields_where_they_end(text: str, after: str) -> None:
    assert [one for *_, one in comments_of(f"{text}  # yes\n{after}")] == ["# yes"]


def test_reads_nested_quotes_of_newer_pythons() -> None:
    assert comments_of('f"{a["# no"]}"  # yes\n') == [(1, 17, "# yes")]
    assert comments_of('f"{a:{b["# no"]}}"  # yes\n') == [(1, 21, "# yes")]
    assert comments_of('f"{a:{b:{c["# no"]}}}"  # yes\n') == [(1, 25, "# yes")]
    assert comments_of('f"{a:{{"# no"}.pop()}}"  # yes\n') == [(1, 26, "# yes")]


@pytest.mark.parametrize(
    "text",
    [
        's = "open\nx  # yes\n',
        "s = f'{open\nx  # yes\n",
        "s = f'{a:open\nx  # yes\n",
        "s = f'''{a:open'''\nx  # yes\n",
        ")]} (\nx  # yes\n",
    ],
)
def test_goes_on_behind_a_broken_line(text: str) -> None:
    assert comments_of(text) == [(2, 4, "# yes")]


def test_joins_rows_of_strings_and_backslashes() -> None:
    found = find_comments('a = """\n\n"""  # one\nb = 1 + \\\n  2\nc = (\n  3)\n')
    assert [found.rows_with(row) for row in (1, 2, 3)] == [(1, 3)] * 3
    assert found.rows_with(5) == (4, 5)
    assert found.rows_with(6) == (6, 6)


def test_joins_what_begins_where_something_ends() -> None:
    found = find_comments('x = "a"\ny = """\n""" + """\n""" \\\n + "b"\nz\n')
    assert found.joined == ((2, 5),)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("\n# a\nx\n", (3,)),
        ("X\n\n  Y", (1, 3)),
        ("f((a)\n, b)\ng\n", (2, 3)),
        ("f(\n", (2,)),
        ("'''\n'''\n", (2,)),
        ("a \\\n b\n\n", (2,)),
    ],
)
def test_where_logical_lines_end(text: str, ends: tuple[int, ...]) -> None:
    assert find_comments(text).logical_ends == ends


@pytest.mark.parametrize(
    "line",
    [
        "x\n",
        "f((a)\n, b)\n",
        "'''\n''' + (\n)\n",
        'f"{a["b"]}{(\n"c")}"\n',
        "t'{a['(']}'\n",
        "'{' \\\n 'a'\n",
        "x",
    ],
)
def test_the_end_of_one_logical_line(line: str) -> None:
    text = "a = 1\n" + line + ("y\n" if line.endswith("\n") else "")
    assert logical_line_end(text, 6) == 6 + len(line)


def test_knows_the_next_logical_line() -> None:
    found = find_comments("# one\n\nf(\n  a,  # two\n)\nb\n")
    assert found.logical_line_after(1) == (2, 5)
    assert found.logical_line_after(5) == (6, 6)
    assert found.logical_line_after(6) is None


def test_never_fails() -> None:
    generator = random.Random(20261121)
    pieces = [
        "'",
        '"',
        "'''",
        '"""',
        "f'",
        'f"""',
        "{",
        "}",
        "{{",
        ":",
        "\\",
        "\n",
        "\r",
        "\r\n",
        "#",
        "(",
        ")",
        "a",
        "rb'",
    ]
    for _ in range(3000):
        text = "".join(generator.choices(pieces, k=generator.randrange(14)))
        for comment in find_comments(text).comments:
            assert comment.text.startswith("#")


def test_text_that_is_no_python_exhausts_neither_stack_nor_patience() -> None:
    text = "f'{" * 20_000
    assert find_comments(text).comments == ()
