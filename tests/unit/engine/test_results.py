"""What a file came to, in little."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from torchdev_lint.config import Config
from torchdev_lint.diagnostics import Diagnostic, Position, Range
from torchdev_lint.engine.results import Choices, FileResult, chosen, describe_bug, unreadable

START = Range(Position(1, 1), Position(1, 1))
FOUND = Diagnostic("a.py", "TDV001", "name", "message", START)
CLEAN = FileResult("a.py", data=b"x = 1\n", text="x = 1\n", before="x = 1\n")


def test_of_a_clean_file_nothing_is_held() -> None:
    assert CLEAN.without_data() == FileResult("a.py")
    book = object()
    assert replace(CLEAN, notebooks=(book, book)).without_data() == FileResult("a.py")  # type: ignore[arg-type]


@pytest.mark.parametrize("result", [replace(CLEAN, diagnostics=(FOUND,)), replace(CLEAN, text="x = 2\n")])
def test_of_others_what_reports_show_is_held(result: FileResult) -> None:
    assert result.without_data() == replace(result, data=b"")


def test_a_choice_leaves_out() -> None:
    asked = []

    def none(path: str, text: str, found: list[Diagnostic]) -> list[Diagnostic]:
        asked.append((path, text, found))
        return []

    assert chosen(replace(CLEAN, diagnostics=(FOUND,)), none) == FileResult("a.py")
    assert chosen(CLEAN, none) is CLEAN
    assert asked == [("a.py", "x = 1\n", [FOUND])]


def test_choices_are_made_one_after_another() -> None:
    asked = []

    def but_last(path: str, text: str, found: list[Diagnostic]) -> list[Diagnostic]:
        asked.append((path, text, len(found)))
        return found[:-1]

    assert Choices((but_last, but_last))("a.py", "x = 1\n", [FOUND] * 3) == [FOUND]
    assert asked == [("a.py", "x = 1\n", 3), ("a.py", "x = 1\n", 2)]


def test_what_cannot_be_read_is_a_finding_or_where_those_are_not_wanted_a_warning() -> None:
    found = Diagnostic("a.py", "TDV999", "syntax-error", "cannot", START)
    assert unreadable("a.py", Config(), "cannot") == FileResult("a.py", (found,))
    assert unreadable("a.py", Config(ignore=("TDV999",)), "cannot") == FileResult(
        "a.py", warnings=("cannot",)
    )
    elsewhere = Config(per_file_ignores=(("b.py", ("TDV999",)),))
    assert unreadable("b.py", elsewhere, "cannot") == FileResult("b.py", warnings=("cannot",))
    assert unreadable("a.py", elsewhere, "cannot") == FileResult("a.py", (found,))


def test_a_bug_is_told_with_the_place_that_raised() -> None:
    names: dict[str, Any] = {}
    exec(compile("def go():\n\n    raise ValueError('one\\n  two')\n", "other.py", "exec"), names)

    def inner() -> None:
        names["go"]()

    def outer() -> None:
        inner()

    with pytest.raises(ValueError, match="one") as raised:
        outer()
    assert describe_bug(raised.value) == "internal error: ValueError: one two (at other.py:3)"


@pytest.mark.parametrize(
    ("error", "message"),
    [(KeyError("x"), "internal error: KeyError: 'x'"), (ValueError(), "internal error: ValueError")],
)
def test_a_bug_that_says_little(error: Exception, message: str) -> None:
    assert describe_bug(error) == message
