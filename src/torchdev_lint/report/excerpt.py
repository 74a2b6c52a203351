"""Source lines with a gutter of row numbers and carets below what is meant, as Ruff draws them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from torchdev_lint.diagnostics import Range
from torchdev_lint.report.style import Piece
from torchdev_lint.source.lines import LineIndex

TAB = " " * 4
"""What Ruff shows for a tab."""


def excerpt(lines: LineIndex, place: Range, width: int, context: int = 2) -> Iterator[Piece]:
    """The rows of `place` and up to `context` rows around them; `width` is that of the row numbers."""
    start, end = place.start, place.end
    last_row = end.row - 1 if end.column == 1 and end.row > start.row else end.row
    first, last = max(1, start.row - context), min(lines.count, last_row + context)
    while first < start.row and not lines.line(first).strip():
        first += 1
    while last > last_row and not lines.line(last).strip():
        last -= 1
    multiline = last_row > start.row
    end_column = end.column if end.row == last_row else len(lines.line(last_row)) + 1
    yield from _bar(width)
    for row in range(first, last + 1):
        text, _ = display(lines.line(row))
        inside = multiline and start.row < row <= last_row
        yield "gutter", f"{row:>{width}} |"
        if multiline:
            opens_here = row == start.row and not lines.line(row)[: start.column - 1].strip()
            yield "caret", " /" if opens_here else " |" if inside else "  "
        yield "", f" {text}".rstrip() + "\n"
        if not multiline and row == start.row:
            before = display(lines.line(row)[: start.column - 1])[1]
            length = display(lines.line(row)[: end_column - 1])[1] - before
            yield "gutter", " " * width + " |"
            yield "caret", " " + " " * before + "^" * max(1, length) + "\n"
        elif multiline and row == start.row and lines.line(row)[: start.column - 1].strip():
            yield "gutter", " " * width + " |"
            yield "caret", "  " + "_" * (display(lines.line(row)[: start.column - 1])[1] + 1) + "^\n"
        elif multiline and row == last_row:
            yield "gutter", " " * width + " |"
            yield "caret", " |" + "_" * max(1, display(lines.line(row)[: end_column - 1])[1]) + "^\n"
    if last > last_row:
        yield from _bar(width)


def _bar(width: int) -> Iterator[Piece]:
    yield "gutter", " " * width + " |\n"


def display(text: str) -> tuple[str, int]:
    """`text` as a terminal may show it, and how many cells it fills; tabs expanded, controls made visible."""
    shown: list[str] = []
    cells = 0
    for character in text:
        if character == "\t":
            shown.append(TAB)
            cells += len(TAB)
            continue
        if unicodedata.category(character) in ("Cc", "Cs"):
            # An escape sequence in a source file must not reach the terminal.
            character = chr(0x2400 + ord(character)) if ord(character) < 0x20 else "\N{REPLACEMENT CHARACTER}"
        shown.append(character)
        cells += _cells(character)
    return "".join(shown), cells


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def place(path: str, cell: int | None, where: Range) -> str:
    """How text reports name a place: `path:row:column`, `path:cell n:row:column` in a notebook."""
    in_cell = f"cell {cell}:" if cell is not None else ""
    return f"{visible(path)}:{in_cell}{where.start.row}:{where.start.column}"


def visible(text: str) -> str:
    """`text` on one line, with control characters made visible: for messages and paths."""
    return display(text.replace("\n", " ").replace("\t", " "))[0]
