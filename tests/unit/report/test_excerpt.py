"""What Ruff's output cannot be asked for: spans over several rows, origins, hostile text."""

import pytest

from torchdev_lint.diagnostics import Applicability, Diagnostic, Edit, Fix, Position, Range, Related
from torchdev_lint.report import concise, full, summary
from torchdev_lint.report.excerpt import display, excerpt
from torchdev_lint.report.sources import Sources
from torchdev_lint.report.style import plain
from torchdev_lint.source.lines import LineIndex


def place(start: tuple[int, int], end: tuple[int, int]) -> Range:
    return Range(Position(*start), Position(*end))


def drawn(text: str, where: Range, context: int = 2) -> list[str]:
    return plain(excerpt(LineIndex(text), where, 1, context)).splitlines()


def test_a_span_over_rows_from_the_start_of_a_line() -> None:
    assert drawn("a\nf(\n    x,\n)\nb\n", place((2, 1), (4, 2))) == [
        "  |",
        "1 |   a",
        "2 | / f(",
        "3 | |     x,",
        "4 | | )",
        "  | |_^",
        "5 |   b",
        "  |",
    ]


def test_a_span_over_rows_from_inside_a_line() -> None:
    assert drawn("y = f(\n    x,\n)\n", place((1, 5), (3, 2))) == [
        "  |",
        "1 |   y = f(",
        "  |  _____^",
        "2 | |     x,",
        "3 | | )",
        "  | |_^",
    ]


@pytest.mark.parametrize(
    ("line", "start", "end", "carets"),
    [
        ("\tx", 2, 3, "    ^"),
        ("a\tx", 3, 4, "     ^"),
        ("漢x", 2, 3, "  ^"),
        ("漢x", 1, 2, "^^"),
        ("e\u0301x", 3, 4, " ^"),
        ("ab", 3, 3, "  ^"),
        ("a\x1bx", 3, 4, "  ^"),
    ],
)
def test_carets_stand_below_what_they_mean(line: str, start: int, end: int, carets: str) -> None:
    assert drawn(line, place((1, start), (1, end)))[2] == f"  | {carets}"


def test_no_escape_sequence_reaches_the_terminal() -> None:
    where = place((1, 1), (1, 2))
    hostile = "x \x1b[2J\x9b\x07"
    fix = Fix((Edit(where, "\x1b[2J"),), Applicability.SAFE, "Say \x1b[2J")
    found = [Diagnostic("a\x1b.py", "TDV001", "n", hostile, where, (Related(where, hostile),), fix)]
    output = plain(full.render(found, (), Sources({found[0].path: hostile}))) + plain(
        concise.render(found, ())
    )
    assert not {
        character for character in output if ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0
    } - {"\n"}
    assert display("\x1b")[0] == "\u241b"


def test_origins_follow_with_their_own_place_and_source() -> None:
    found = Diagnostic(
        "a.py",
        "TDV001",
        "n",
        "message",
        place((3, 1), (3, 2)),
        (
            Related(place((1, 1), (1, 2)), "model moved here"),
            Related(place((12, 1), (12, 2)), "made there", path="b.py"),
            Related(place((1, 1), (1, 2)), "in a file that is not at hand", path="c.py"),
        ),
    )
    sources = {"a.py": "a\n\nc\n", "b.py": "\n" * 11 + "z\n"}
    assert plain(full.render([found], (), Sources(sources))).splitlines() == [
        "TDV001 message",
        "  --> a.py:3:1",
        "   |",
        " 1 | a",
        " 2 |",
        " 3 | c",
        "   | ^",
        "note: model moved here",
        "  --> a.py:1:1",
        "   |",
        " 1 | a",
        "   | ^",
        "note: made there",
        "  --> b.py:12:1",
        "   |",
        "12 | z",
        "   | ^",
        "note: in a file that is not at hand",
        "  --> c.py:1:1",
        "",
    ]


def test_without_source_the_places_are_still_named() -> None:
    found = Diagnostic("a.py", "TDV999", "syntax-error", "cannot be read", place((1, 1), (1, 1)))
    assert plain(full.render([found], (), Sources({}))) == "TDV999 cannot be read\n --> a.py:1:1\n\n"


@pytest.mark.parametrize(
    ("safe", "risky", "fixed", "unsafe", "expected"),
    [
        (0, 0, 2, False, "Found 2 errors (2 fixed, 0 remaining).\n"),
        (1, 0, 0, False, "Found 1 error.\n[*] 1 fixable with `--fix`.\n"),
        (0, 2, 1, False, "Found 3 errors (1 fixed, 2 remaining).\n"
         "2 unsafe fixes available with `--fix --unsafe-fixes`.\n"),
        (1, 1, 0, True, "Found 2 errors.\n[*] 2 fixable with `--fix`.\n"),
    ],
)  # fmt: skip
def test_closing_lines(safe: int, risky: int, fixed: int, unsafe: bool, expected: str) -> None:
    where = place((1, 1), (1, 2))
    levels = [Applicability.SAFE] * safe + [Applicability.UNSAFE] * risky
    found = [Diagnostic("a.py", "TDV001", "n", "m", where, fix=Fix((), level, "f")) for level in levels]
    assert summary.closing_lines(found, fixed, unsafe=unsafe) == expected
