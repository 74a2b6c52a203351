"""Which comments silence which diagnostics."""

import pytest

from torchdev_lint.diagnostics import Diagnostic, Position, Range
from torchdev_lint.source.suppression import Suppressions


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
        ("# torchdev: ignore", "needs codes"),
        ("# torchdev: ignore[]", "needs codes"),
        ("# torchdev: skip", "expected"),
    ],
)
def test_reports_comments_that_say_nothing(comment: str, message: str) -> None:
    ((row, problem),) = Suppressions.of(f"\nf(x)  {comment}\n").problems
    assert row == 2
    assert message in problem
