"""Which comments silence which diagnostics."""

import pytest

from torchdev_lint.diagnostics import Diagnostic, Position, Range
from torchdev_lint.source.suppression import Suppressions, noqa_codes


def diagnostic(row: int, code: str = "TDV001", noqa_row: int | None = None) -> Diagnostic:
    place = Range(Position(row, 1), Position(row, 2))
    return Diagnostic("a.py", code, "model-input-on-other-device", "message", place, noqa_row=noqa_row)


def silent(text: str, row: int = 1, code: str = "TDV001", noqa_row: int | None = None) -> bool:
    return Suppressions.of(text).suppressing(diagnostic(row, code, noqa_row)) is not None


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NoQA",
        "# noqa: TDV001",
        "# noqa:TDV001",
        "# noqa: tdv001",
        "# noqa: E501, TDV001",
        "# noqa: E501 TDV001",
        "# noqa: TDV0",
        "# noqa: TDV",
        "# noqa: E501,TDV",
        "# noqa: because the model moves its inputs",
        "# about this  # noqa: TDV001",
        "# noqa - a reason",
        "# torchdev: ignore[TDV001]",
        "# torchdev:ignore[E501, TDV0]",
        "# torchdev: ignore[model-input-on-other-device] a reason",
    ],
)
def test_silences_its_line(comment: str) -> None:
    text = f"f(x)  {comment}\nf(y)\n"
    assert silent(text)
    assert not silent(text, row=2)


@pytest.mark.parametrize(
    "text",
    [
        "f(x)",
        "f(x)  # noqa: E501",
        "f(x)  # noqa: TDV002",
        "f(x)  # noqa: TDV1",
        "f(x)  # noqas",
        "f('# noqa')",
        "f('''\n# noqa''')",
        "f(x)  # torchdev: ignore[TDV002]",
        "f(x)  # torchdev: ignore",
        "f(x)  # flake8: noqa",
        "f(x,\n  y)  # noqa",
        "# noqa\nf(x)",
    ],
)
def test_does_not_silence(text: str) -> None:
    assert not silent(text, row=2 if text.startswith("# noqa") else 1)


def test_a_multi_line_string_is_one_line() -> None:
    text = 'f(x, """\n\n""")  # noqa: TDV001\n'
    assert silent(text, row=1)
    assert silent(text, row=2)


def test_a_backslash_ties_lines_together() -> None:
    assert silent("f(x) + \\\n  y  # noqa", row=1)


def test_the_row_named_by_the_diagnostic_counts() -> None:
    text = "f(\n  x,\n)  # noqa\n"
    assert not silent(text, row=1)
    assert silent(text, row=1, noqa_row=3)


@pytest.mark.parametrize(
    "comment",
    ["# flake8: noqa", "# flake8: noqa: TDV001", "# flake8:noqa:TDV", "# torchdev: file-ignore[TDV001]"],
)
def test_silences_the_file(comment: str) -> None:
    assert silent(f"f(x)\n{comment}\n")
    assert silent(f"{comment}\n\nf(x)\n", row=3)


@pytest.mark.parametrize("comment", ["# flake8: noqa: TDV001", "# torchdev: file-ignore[TDV001]"])
def test_silences_only_its_codes_in_the_file(comment: str) -> None:
    assert not silent(f"{comment}\nf(x)\n", row=2, code="TDV002")


def test_our_own_comment_on_a_line_of_its_own_is_for_the_next_logical_line() -> None:
    text = "# torchdev: ignore[TDV001]\n# torchdev: ignore[TDV002]\nf(\n  x,\n)\nf(y)\n"
    assert silent(text, row=4)
    assert silent(text, row=4, code="TDV002")
    assert not silent(text, row=6)


def test_a_file_that_was_not_understood_stays_reported() -> None:
    assert not silent("# flake8: noqa\nf(  # noqa\n", row=2, code="TDV999")


def test_leaves_noqa_to_flake8_when_asked() -> None:
    text = "f(x)  # noqa\nf(x)  # torchdev: ignore[TDV001]\n"
    suppressions = Suppressions.of(text, noqa=False)
    assert suppressions.keep([diagnostic(1), diagnostic(2)]) == [diagnostic(1)]


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# torchdev: ignore", "`# torchdev: ignore` needs codes, as in `ignore[TDV001]`"),
        ("# torchdev: ignore[]", "`# torchdev: ignore` needs codes, as in `ignore[TDV001]`"),
        ("# torchdev: file-ignore", "`# torchdev: file-ignore` needs codes, as in `file-ignore[TDV001]`"),
        ("# torchdev: skip", "expected `ignore[CODE]` or `file-ignore[CODE]` after `# torchdev:`"),
    ],
)
def test_reports_comments_that_say_nothing(comment: str, message: str) -> None:
    ((row, problem),) = Suppressions.of(f"\nf(x)  {comment}\n").problems
    assert row == 2
    assert problem == message


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        "# about something\nf(x)  # noqa",
        "f(x)  # see '# torchdev: skip'",
        "f(x)\n# torchdev: ignore[TDV001]",
        "f(x)\n# torchdev: ignore[TDV001]\n\n# the end\n",
    ],
)
def test_what_is_not_meant_for_us_is_no_problem(text: str) -> None:
    assert Suppressions.of(text).problems == ()


def test_a_comment_behind_the_last_line_is_for_nothing() -> None:
    assert Suppressions.of("f(x)\n# torchdev: ignore[TDV001]\n").directives == ()


COMMENTS = {
    "# noqa": ((2, 2), None, "# noqa", ""),
    "# noqa: E501, TDV001": ((2, 2), ("E501", "TDV001"), "# noqa: E501, TDV001", "E501, TDV001"),
    "# why # NoQA:tdv # how": ((2, 2), ("tdv",), "# NoQA:tdv ", "tdv "),
    "# torchdev: ignore[XLA1, TDV0 ] why": (
        (2, 2),
        ("XLA1", "TDV0"),
        "# torchdev: ignore[XLA1, TDV0 ]",
        "XLA1, TDV0 ",
    ),
    "# why # torchdev:Ignore [TDV001]": ((2, 2), ("TDV001",), "# torchdev:Ignore [TDV001]", "TDV001"),
    "# torchdev: FILE-IGNORE[TDV001]": ((0, 0), ("TDV001",), "# torchdev: FILE-IGNORE[TDV001]", "TDV001"),
}
OF_A_FILE = {
    "# flake8: noqa": (None, "# flake8: noqa", ""),
    "# flake8: noqa: E501,TDV # why": (("E501", "TDV"), "# flake8: noqa: E501,TDV ", "E501,TDV "),
    "# torchdev: file-ignore[TDV001] why": (("TDV001",), "# torchdev: file-ignore[TDV001]", "TDV001"),
}
WRITTEN = [(f"f(x)\nf(y)  {text}\nf(z)\n", *wanted) for text, wanted in COMMENTS.items()] + [
    (f"f(x)\n{text}\nf(z)\n", (0, 0), *wanted) for text, wanted in OF_A_FILE.items()
]


@pytest.mark.parametrize(
    ("text", "rows", "codes", "span", "listed"), WRITTEN, ids=[text.split("\n")[1] for text, *_ in WRITTEN]
)
def test_where_a_comment_says_what(
    text: str, rows: tuple[int, int], codes: tuple[str, ...] | None, span: str, listed: str
) -> None:
    # Unused codes are taken out at these places.
    (directive,) = Suppressions.of(text).directives
    comment = directive.comment
    assert text.split("\n")[1][comment.start.column - 1 :] == comment.text
    assert comment.start.row == 2
    assert (directive.first, directive.last, directive.codes) == (*rows, codes)
    assert comment.text[slice(*directive.span)] == span
    assert comment.text[slice(*directive.listed)] == listed


@pytest.mark.parametrize(
    ("comment", "before"),
    [
        ("# noqa", None),
        ("# about it", None),
        ("# noqa: because", None),
        ("# flake8: noqa: TDV001", None),
        ("# noqa: E501", "# noqa: E501"),
        ("# noqa:E501,TDV001 , a reason", "# noqa:E501,TDV001"),
        ("# why # noqa: E501\t# how", "# why # noqa: E501"),
        ("# noqa: EXT, E501", None),
        ("# noqa: E501X", None),
        ("# noqa: E501 # flake8: noqa", None),
    ],
)
def test_where_another_code_is_added(comment: str, before: str | None) -> None:
    end = noqa_codes(comment)
    assert (None if end is None else comment[:end]) == before
