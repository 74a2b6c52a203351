"""Applying edits, and choosing fixes that go together."""

import random

import pytest

from torchdev_lint.diagnostics import Applicability, Diagnostic, Edit, Fix, Position, Range
from torchdev_lint.fixes.edits import EditError, apply_edits, choose_fixes, edits_of

SAFE = frozenset({Applicability.SAFE})


def edit(start: tuple[int, int], end: tuple[int, int], content: str) -> Edit:
    return Edit(Range(Position(*start), Position(*end)), content)


def diagnostic(
    *edits: Edit, applicability: Applicability = Applicability.SAFE, code: str = "TDV001"
) -> Diagnostic:
    return Diagnostic("a.py", code, "name", "message", edits[0].range, fix=Fix(edits, applicability, "Fix"))


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ("", [edit((1, 1), (1, 1), "x")], "x"),
        ("f(x)", [edit((1, 4), (1, 4), ".to(d)")], "f(x.to(d))"),
        ("f(x)", [edit((1, 3), (1, 4), "")], "f()"),
        ("é😀x", [edit((1, 3), (1, 4), "y")], "é😀y"),
        ("a\r\nb\r\n", [edit((2, 1), (2, 2), "c")], "a\r\nc\r\n"),
        ("a\nb\nc", [edit((1, 1), (2, 1), ""), edit((3, 1), (3, 2), "d")], "b\nd"),
        ("ab", [edit((1, 2), (1, 2), "1"), edit((1, 2), (1, 2), "2")], "a12b"),
        ("ab", [edit((1, 2), (1, 2), "2"), edit((1, 2), (1, 2), "1")], "a21b"),
        ("ab", [edit((1, 3), (1, 3), "z"), edit((1, 1), (1, 1), "y")], "yabz"),
    ],
)
def test_applies(text: str, edits: list[Edit], expected: str) -> None:
    assert apply_edits(text, edits) == expected


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_inserted_lines_end_as_the_file_s_do(newline: str) -> None:
    text = f"a{newline}b"
    for content in ("x\ny\n", f"x{newline}y{newline}") if newline != "\r" else ("x\ny\n",):
        changed = apply_edits(text, [edit((2, 1), (2, 1), content)], newline)
        assert changed == f"a{newline}x{newline}y{newline}b"


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([edit((1, 1), (1, 3), "x"), edit((1, 2), (1, 4), "y")], r"overlapping edits at .*\b1\D+2\b.*"),
        ([edit((1, 3), (1, 2), "x")], "an edit ends before it starts"),
        ([edit((2, 1), (2, 1), "x")], r".*\b2\b.*"),
        ([edit((1, 9), (1, 9), "x")], r".*\b9\b.*"),
    ],
)
def test_refuses_edits_that_make_no_sense(edits: list[Edit], message: str) -> None:
    with pytest.raises(EditError, match=rf"^{message}$"):
        apply_edits("abcdef", edits)


def test_what_touches_one_that_is_chosen_waits_and_no_more() -> None:
    first, second = diagnostic(edit((1, 1), (1, 5), "x")), diagnostic(edit((1, 6), (1, 9), "x"))
    touching = [diagnostic(edit((1, 3), (1, 4), "y")), diagnostic(edit((1, 5), (1, 7), "y"))]
    last = diagnostic(edit((2, 1), (2, 2), "z"))
    # One that touches the first of those chosen, when another was chosen after it, and comes later for its own place.
    late = diagnostic(edit((2, 4), (2, 5), "z"), edit((1, 2), (1, 2), "z"))
    assert choose_fixes([late, last, *touching, second, first], SAFE) == [first, second, last]


def test_equals_replacing_from_the_right() -> None:
    generator = random.Random(1)
    for _ in range(300):
        text = "".join(generator.choices("ab\n", k=20))
        cuts = sorted(generator.sample(range(21), 6))
        spans = list(zip(cuts[::2], cuts[1::2], strict=True))
        expected = text
        for start, end in reversed(spans):
            expected = expected[:start] + "XY" + expected[end:]

        def place(offset: int, text: str = text) -> Position:
            return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))

        edits = [Edit(Range(place(start), place(end)), "XY") for start, end in spans]
        generator.shuffle(edits)
        assert apply_edits(text, edits) == expected


def test_chooses_only_what_is_allowed() -> None:
    unsafe = diagnostic(edit((1, 1), (1, 2), "x"), applicability=Applicability.UNSAFE)
    shown = diagnostic(edit((2, 1), (2, 2), "x"), applicability=Applicability.DISPLAY_ONLY)
    safe = diagnostic(edit((3, 1), (3, 2), "x"))
    assert choose_fixes([unsafe, shown, safe], SAFE) == [safe]
    assert choose_fixes([unsafe, shown, safe], SAFE | {Applicability.UNSAFE}) == [unsafe, safe]


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        (edit((1, 1), (1, 3), "x"), edit((1, 2), (1, 4), "y"), False),
        (edit((1, 1), (1, 3), "x"), edit((1, 3), (1, 3), "y"), False),
        (edit((1, 2), (1, 2), "x"), edit((1, 2), (1, 2), "y"), False),
        (edit((1, 1), (1, 3), "x"), edit((1, 4), (1, 5), "y"), True),
        (edit((1, 1), (1, 9), "x"), edit((1, 2), (1, 3), "y"), False),
    ],
)
def test_leaves_fixes_that_touch_for_the_next_round(first: Edit, second: Edit, together: bool) -> None:
    chosen = choose_fixes([diagnostic(second), diagnostic(first)], SAFE)
    assert len(chosen) == (2 if together else 1)


def test_a_fix_is_chosen_whole_or_not_at_all() -> None:
    first = diagnostic(edit((1, 1), (1, 2), "x"), edit((3, 1), (3, 2), "x"))
    second = diagnostic(edit((2, 1), (2, 2), "y"), edit((3, 1), (3, 2), "z"))
    assert choose_fixes([first, second], SAFE) == [first]


def test_one_edit_that_cures_two_diagnostics_is_made_once() -> None:
    both = [diagnostic(edit((1, 2), (1, 2), "x")), diagnostic(edit((1, 2), (1, 2), "x"), code="TDV004")]
    chosen = choose_fixes(both, SAFE)
    assert len(chosen) == 2
    assert apply_edits("ab", edits_of(chosen)) == "axb"


def test_the_cure_of_a_cause_has_a_round_of_its_own() -> None:
    start = edit((2, 1), (2, 1), "x = ")
    fix = Fix((start,), Applicability.UNSAFE, "Fix", cures_cause=True)
    cause = Diagnostic("a.py", "TDV003", "name", "message", start.range, fix=fix)
    consequence = diagnostic(edit((3, 5), (3, 5), ".to(d)"))
    both = frozenset({Applicability.SAFE, Applicability.UNSAFE})
    assert choose_fixes([consequence, cause], both) == [cause]
    assert choose_fixes([consequence, cause], SAFE) == [consequence], "a cure that may not be applied"
