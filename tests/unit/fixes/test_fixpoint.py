"""Fixing in rounds."""

import ast
import re
from collections import Counter
from dataclasses import replace

import pytest

from torchdev_lint.diagnostics import Applicability, Diagnostic, Edit, Fix, Position, Range
from torchdev_lint.fixes import fixpoint
from torchdev_lint.fixes.fixpoint import Fixed, fix_text

SAFE = frozenset({Applicability.SAFE})
REPLACEMENTS = {
    "bad": "good",
    "worse": "bad",
    "broken": "((",
    "endless": "endless + 1",
    "outer(bad)": "outer(2)",
}


def check(text: str) -> list[Diagnostic]:
    found = []
    for row, line in enumerate(text.split("\n"), 1):
        for word, content in REPLACEMENTS.items():
            for match in re.finditer(re.escape(word), line):
                place = Range(Position(row, match.start() + 1), Position(row, match.end() + 1))
                fix = Fix((Edit(place, content),), Applicability.SAFE, "Fix")
                found.append(Diagnostic("a.py", "TDV001", word, "message", place, fix=fix))
    return found


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def fix(text: str) -> Fixed:
    return fix_text(text, check, parses, SAFE)


def test_nothing_to_fix() -> None:
    assert fix("good") == Fixed("good", ())


def test_goes_on_until_nothing_is_left() -> None:
    fixed = fix("worse\nbad\n")
    assert fixed.text == "good\ngood\n"
    assert fixed.diagnostics == ()
    assert fixed.counts == {("TDV001", "worse"): 1, ("TDV001", "bad"): 2}
    assert fix(fixed.text).text == fixed.text


def test_overlapping_fixes_take_turns() -> None:
    fixed = fix("outer(bad)")
    assert fixed.text == "outer(2)"
    assert sum(fixed.counts.values()) == 1


def test_keeps_what_may_not_be_applied() -> None:
    fixed = fix_text("bad", check, parses, frozenset({Applicability.UNSAFE}))
    assert fixed.text == "bad"
    assert len(fixed.diagnostics) == 1


def test_a_fix_that_breaks_the_parse_leaves_the_text_and_is_named() -> None:
    fixed = fix("bad\nbroken\n")
    assert fixed.text == "bad\nbroken\n"
    assert len(fixed.diagnostics) == 2
    assert fixed.counts == {}
    assert fixed.errors == ("the fix gives source that does not parse: TDV001 at 2:1; file left untouched",)


def test_fixes_without_an_end_leave_the_text() -> None:
    fixed = fix("endless\n")
    assert fixed.text == "endless\n"
    assert "do not come to an end in 50 rounds: TDV001 at 1:1" in fixed.errors[0]


def test_as_many_rounds_as_there_may_be_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixpoint, "MAX_ROUNDS", 2)
    fixed = fix("worse\nbad\n")
    assert fixed == Fixed("good\ngood\n", (), Counter({("TDV001", "bad"): 2, ("TDV001", "worse"): 1}))


def test_all_that_have_no_end_are_named() -> None:
    fixed = fix("endless\n0, endless\n")
    assert fixed.errors == (
        "fixes do not come to an end in 50 rounds: TDV001 at 1:1, TDV001 at 2:4; file left untouched",
    )
    assert [one.range.start for one in fixed.diagnostics] == [Position(1, 1), Position(2, 4)]


def test_line_ends_are_those_of_the_file() -> None:
    def two_lines(text: str) -> list[Diagnostic]:
        return [
            replace(one, fix=replace(one.fix, edits=(replace(one.fix.edits[0], content="((\n"),)))
            for one in check(text)
            if one.fix
        ]

    written: list[str] = []

    def no(text: str) -> bool:
        written.append(text)
        return False

    fix_text("bad\r\nbad", two_lines, no, SAFE, "\r\n")
    assert written == ["((\r\n\r\n((\r\n", "((\r\n\r\nbad", "bad\r\n((\r\n"]


@pytest.mark.parametrize(
    "place", [Range(Position(9, 1), Position(9, 1)), Range(Position(1, 3), Position(1, 2))]
)
def test_edits_outside_the_text_leave_it(place: Range) -> None:
    def stray(text: str) -> list[Diagnostic]:
        start = Range(Position(1, 1), Position(1, 1))
        wrong = Fix((Edit(place, "x"),), Applicability.SAFE, "Fix")
        return [Diagnostic("a.py", "TDV001", "name", "message", start, fix=wrong)]

    fixed = fix_text("text", stray, parses, SAFE)
    assert fixed.text == "text"
    assert "cannot be applied" in fixed.errors[0]
    assert fixed.diagnostics == tuple(stray("text"))
