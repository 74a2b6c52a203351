"""Strings inside JSON text: where they stand, and how to change one without touching what stays the same."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from torchdev_lint.source.prefixes import common_length

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_PIECE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)
"""One code point of a string as JSON writes it."""


class JsonError(ValueError):
    """Text that is not JSON; the message is one line."""


@dataclass(frozen=True, slots=True)
class Token:
    """A string value: what it says, and its offsets in the JSON text, quotes included."""

    value: str
    start: int
    end: int


def skip_space(text: str, position: int) -> int:
    """The offset of the next character that is not blank."""
    match = _SPACE.match(text, position)
    return match.end() if match else position


def string_at(text: str, position: int) -> Token:
    """The string that begins at `position`. Raises `JsonError`."""
    if text[position : position + 1] != '"':
        raise _expected("a string", text, position)
    value, end = value_at(text, position)
    return Token(value, position, end)


def value_at(text: str, position: int) -> tuple[Any, int]:
    """The value that begins at `position`, and the offset behind it. Raises `JsonError`."""
    try:
        return _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        raise JsonError(str(error)) from None
    except RecursionError:
        raise JsonError("nested too deeply") from None


def read_object(text: str, position: int, read_member: Callable[[str, int], int]) -> int:
    """The offset behind the object at `position`; `read_member` gets each key with its value's offset, and returns the
    offset behind the value. Raises `JsonError`.
    """

    def read_pair(start: int) -> int:
        key = string_at(text, start)
        colon = skip_space(text, key.end)
        if text[colon : colon + 1] != ":":
            raise _expected("':'", text, colon)
        return read_member(key.value, skip_space(text, colon + 1))

    return _read_items(text, position, "{", "}", read_pair)


def read_array(text: str, position: int, read_element: Callable[[int], int]) -> int:
    """The offset behind the array at `position`; `read_element` gets each element's offset, and returns the offset
    behind it. Raises `JsonError`.
    """
    return _read_items(text, position, "[", "]", read_element)


def _read_items(text: str, position: int, opening: str, closing: str, read_item: Callable[[int], int]) -> int:
    if text[position : position + 1] != opening:
        raise _expected(f"'{opening}'", text, position)
    position = skip_space(text, position + 1)
    if text[position : position + 1] == closing:
        return position + 1
    while True:
        position = skip_space(text, read_item(position))
        found = text[position : position + 1]
        if found == closing:
            return position + 1
        if found != ",":
            raise _expected(f"',' or '{closing}'", text, position)
        position = skip_space(text, position + 1)


def _expected(what: str, text: str, position: int) -> JsonError:
    row = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return JsonError(f"expected {what}: line {row} column {column}")


def escapes_non_ascii(text: str) -> bool:
    """Whether the JSON text writes what is not ASCII as `\\u....`."""
    if not text.isascii():
        return False
    return re.search(r"\\u(?!00[0-7])[0-9a-fA-F]{4}", text) is not None


def raw_offset(raw: str, start: int, count: int) -> int:
    """The offset in `raw` of the code point number `count` of the string whose quote is at `start`; it has so many."""
    position = start + 1
    for piece in islice(_PIECE.finditer(raw, position), count):
        position = piece.end()
    return position


def replaced_string(raw: str, token: Token, new: str, *, ascii_only: bool) -> str:
    """The JSON of `token` when it says `new`: what is the same at both ends stays written as it is."""
    old = token.value
    head = common_length(old, new)
    tail = min(common_length(old[::-1], new[::-1]), len(old) - head, len(new) - head)
    kept = raw[token.start : raw_offset(raw, token.start, head)]
    changed = json.dumps(new[head : len(new) - tail], ensure_ascii=ascii_only)[1:-1]
    return kept + changed + raw[raw_offset(raw, token.start, len(old) - tail) : token.end]


def replaced_lines(
    raw: str, start: int, end: int, tokens: Sequence[Token], lines: Sequence[str], *, ascii_only: bool
) -> str:
    """The JSON of an array of strings when it holds `lines` instead: elements that stay keep their text."""
    if not lines:
        return "[]"
    if not tokens:
        return json.dumps(lines, ensure_ascii=ascii_only)
    opening = raw[start : tokens[0].start]
    closing = raw[tokens[-1].end : end]
    between = raw[tokens[0].end : tokens[1].start] if len(tokens) > 1 else f",{opening[1:]}"
    pieces: list[str] = []
    matcher = difflib.SequenceMatcher(None, [token.value for token in tokens], lines, autojunk=False)
    for _, i1, i2, j1, j2 in matcher.get_opcodes():
        for number in range(j1, j2):
            counterpart = tokens[i1 + number - j1] if i2 - i1 == j2 - j1 else None
            if counterpart is None:
                pieces.append(json.dumps(lines[number], ensure_ascii=ascii_only))
            else:
                pieces.append(replaced_string(raw, counterpart, lines[number], ascii_only=ascii_only))
    return opening + between.join(pieces) + closing
