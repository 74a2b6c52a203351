"""Finds the comments of a Python text, and which rows belong together.

A scanner of its own instead of `tokenize`: it reads the syntax of newer Pythons than the one that runs
it, and never fails on a text that is not Python.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from torchdev_lint.diagnostics import Position
from torchdev_lint.source.lines import LineIndex

_NEXT = re.compile(
    r"""
      (?P<comment> \#[^\r\n]*)
    | (?<![^\W\d]) (?P<prefix> [rRbBuUfFtT]{1,3})? (?P<quote> \"{3} | '{3} | \" | ' )
    | (?P<continuation> \\ (?: \r\n | \n | \r ))
    | (?P<newline> \r\n | \n | \r)
    | (?P<open> [(\[{])
    | (?P<close> [)\]}])
    """,
    re.VERBOSE,
)
_MAX_NESTING = 100
"""Python allows 150 f-strings inside each other; text that is not Python must not exhaust the stack."""
_IN_FIELD = re.compile(r"""\#[^\r\n]*|[rRbBuUfFtT]{0,3}(?:"{3}|'{3}|"|')|[(\[{]|[)\]}]|!=|:""")


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment: `text` from its `#` to the end of the line; `own_line` when nothing stands before it."""

    start: Position
    text: str
    own_line: bool


@dataclass(frozen=True, slots=True)
class Comments:
    """The comments of a text, and the first and last rows of what several rows hold together."""

    comments: tuple[Comment, ...]
    joined: tuple[tuple[int, int], ...]
    """Rows that a multi-line string or a backslash ties together."""
    logical_ends: tuple[int, ...]
    """The last row of each logical line, rows without code left out."""

    def rows_with(self, row: int) -> tuple[int, int]:
        """The first and last row of what multi-line strings and backslashes tie to `row`."""
        for first, last in self.joined:
            if first <= row <= last:
                return first, last
        return row, row

    def logical_line_after(self, row: int) -> tuple[int, int] | None:
        """The first row below `row`, and the last row of the first logical line that ends below it."""
        index = bisect_left(self.logical_ends, row + 1)
        return (row + 1, self.logical_ends[index]) if index < len(self.logical_ends) else None


def find_comments(text: str) -> Comments:
    """Scan `text`; what does not tokenize is skipped over line by line."""
    lines = LineIndex(text)
    comments: list[Comment] = []
    spans: list[tuple[int, int]] = []
    logical_ends: list[int] = []
    depth = 0
    code_seen = False
    position = 0
    while match := _NEXT.search(text, position):
        code_seen = code_seen or bool(text[position : match.start()].strip(" \t\f"))
        position = match.end()
        kind = match.lastgroup
        if kind == "comment":
            start = lines.position(match.start())
            comments.append(
                Comment(start, match.group(), not lines.line(start.row)[: start.column - 1].strip())
            )
        elif kind == "newline":
            if depth == 0:
                if code_seen:
                    logical_ends.append(lines.position(match.start()).row)
                code_seen = False
        else:
            code_seen = True
            if kind == "open":
                depth += 1
            elif kind == "close":
                depth = max(0, depth - 1)
            elif kind == "continuation":
                spans.append((match.start(), match.end()))
            else:
                prefix, quote = (match.group("prefix") or "").lower(), match.group("quote")
                position = _string_end(text, match.end(), quote, formatted="f" in prefix or "t" in prefix)
                spans.append((match.start(), position))
    if code_seen or text[position:].strip():
        logical_ends.append(lines.count)
    return Comments(tuple(comments), _joined_rows(lines, spans), tuple(logical_ends))


def logical_line_end(text: str, start: int) -> int:
    """The offset behind the line end of the logical line that begins at `start`; the text's end if there is none."""
    depth = 0
    position = start
    while match := _NEXT.search(text, position):
        position = match.end()
        kind = match.lastgroup
        if kind == "newline" and depth == 0:
            return position
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth = max(0, depth - 1)
        elif kind == "quote":
            prefix = (match.group("prefix") or "").lower()
            formatted = "f" in prefix or "t" in prefix
            position = _string_end(text, position, match.group("quote"), formatted=formatted)
    return len(text)


def _string_end(text: str, start: int, quote: str, *, formatted: bool, nesting: int = 0) -> int:
    """The offset behind the string whose body begins at `start`; the line's or text's end if it is open."""
    stops = re.compile(
        (r"\\(?:\r\n|.)|\{\{?|" if formatted else r"\\(?:\r\n|.)|") + re.escape(quote) + r"|[\r\n]", re.DOTALL
    )
    position = start
    while match := stops.search(text, position):
        found, position = match.group(), match.end()
        if found == quote:
            return position
        if found == "{" and nesting < _MAX_NESTING:
            position = _field_end(text, position, quote, nesting + 1)
        elif found in "\r\n" and len(quote) == 1:
            return match.start()
    return len(text)


def _field_end(text: str, start: int, quote: str, nesting: int) -> int:
    """The offset behind the `}` of a replacement field; that of the line's end if there is none before it."""
    depth = 0
    position = start
    limit = len(text)
    if len(quote) == 1:
        # A field may span rows since Python 3.12, but an unclosed one must not swallow the rest of the file.
        closing = text.find("}", start)
        limit = closing + 1 if closing >= 0 else _line_end(text, start)
    while match := _IN_FIELD.search(text, position):
        found, position = match.group(), match.end()
        if found == "}" and depth == 0:
            return position
        if found in ("(", "[", "{"):
            depth += 1
        elif found in (")", "]", "}"):
            depth = max(0, depth - 1)
        elif found == ":" and depth == 0:
            return _spec_end(text, position, quote, nesting)
        elif found.endswith(('"', "'")):
            nested = found.lstrip("rRbBuUfFtT")
            if nested == quote and match.start() >= limit:
                return match.start()
            formatted = any(letter in "fFtT" for letter in found)
            position = _string_end(text, position, nested, formatted=formatted, nesting=nesting)
    return limit


def _spec_end(text: str, start: int, quote: str, nesting: int) -> int:
    """The offset behind the `}` of a format specification that begins at `start`."""
    position = start
    stops = re.compile(r"[{}]|" + re.escape(quote) + (r"|[\r\n]" if len(quote) == 1 else ""))
    while match := stops.search(text, position):
        found, position = match.group(), match.end()
        if found == "}":
            return position
        if found != "{" or nesting >= _MAX_NESTING:
            return match.start()
        position = _field_end(text, position, quote, nesting + 1)
    return len(text)


def _line_end(text: str, start: int) -> int:
    match = re.compile(r"[\r\n]").search(text, start)
    return match.start() if match else len(text)


def _joined_rows(lines: LineIndex, spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        first, last = lines.position(start).row, lines.position(end).row
        if first == last:
            continue
        if joined and joined[-1][1] >= first:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)
