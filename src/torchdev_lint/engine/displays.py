"""Long tables of constants parsed in pieces: lists, tuples, sets and dicts in no block, and those in them, with items on their own lines.

The tree is that of the whole text. Each piece is parsed behind an item that is left out again, and has to be whole by itself: where
the place to cut was a wrong one, as in a string, it is not, and there is no tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import libcst as cst

PIECE = 8_000
"""Characters after which a piece ends at the next occasion."""

_ANYWHERE = re.compile(r"^([ \t]*)(?:[^\n#]*[=:,(\[{][ ]*)?([\[{(])\n(\1[ \t]+)(?=\S)", re.MULTILINE)
"""The last bracket of a line that is no call's or subscript's, with the indentation of its line and of the one behind it."""
_IN_NO_BLOCK = re.compile(_ANYWHERE.pattern.replace(r"^([ \t]*)", r"^()(?![ \t])"), re.MULTILINE)
"""Of white space in a block, the tree has what goes beyond the block's own."""
_CLOSING = {"[": "]", "{": "}", "(": ")"}
_NO_ITEM = " \t\n)]}#"
"""What begins no item: behind it, more of the last one, its end, or a comment."""
_SPACE = ("", " ", "\t", "\n")
_STANDS_FOR = "_torchdev_lint_display_"


@dataclass(frozen=True, slots=True)
class _Display:
    start: int
    """Of the opening bracket."""
    end: int
    """Behind the closing one."""
    cuts: tuple[int, ...]
    """Behind the commas after which a new piece begins; not empty."""


class _NoTreeError(Exception):
    """What looked like a display was none."""


def parse_with_displays(text: str) -> cst.Module | None:
    """The tree of a text, whose line ends are all "\\n"; None if nothing in it is to be cut. Raises what LibCST does."""
    import libcst as cst

    if _STANDS_FOR in text:
        return None
    displays = list(_displays(text, _IN_NO_BLOCK))
    try:
        module: cst.Module | None = _parsed(cst.parse_module, text, displays) if displays else None
    except _NoTreeError:
        return None
    return module


def _parsed(parse: Any, text: str, displays: Iterable[_Display]) -> Any:
    """What `parse` makes of the text, whose displays are parsed by themselves. Raises what LibCST does, and `_NoTreeError`."""
    shorter, values, at = list[str](), dict[str, Any](), 0
    for display in displays:
        name = f"{_STANDS_FOR}{len(values)}"
        values[name] = _node(text, display)
        shorter += [text[at : display.start], name]
        at = display.end
    node = parse("".join([*shorter, text[at:]]))
    return _with_values(node, values) if values else node


def _parsed_expression(text: str) -> Any:
    import libcst as cst

    return _parsed(cst.parse_expression, text, _displays(text, _ANYWHERE))


def _displays(text: str, openings: re.Pattern[str]) -> Iterator[_Display]:
    """The outermost ones."""
    at = 0
    while len(text) - at >= 2 * PIECE and (opening := openings.search(text, at)) is not None:
        at = opening.start(3)
        start = opening.start(2)
        closing = _next_line(text, at, opening[1])
        if closing - start < 2 * PIECE or text[closing + len(opening[1]) + 1] != _CLOSING[opening[2]]:
            continue
        cuts = tuple(_cuts(text, opening.end(), closing, opening[3]))
        if cuts:
            at = closing + len(opening[1]) + 2
            yield _Display(start, at, cuts)


def _next_line(text: str, at: int, indent: str) -> int:
    """Where the line ends before the next one that is indented so far, and no further; -1 for nowhere."""
    end = text.find(f"\n{indent}", at)
    while end >= 0 and text[end + 1 + len(indent) : end + 2 + len(indent)] in _SPACE:
        end = text.find(f"\n{indent}", end + 1)
    return end


def _cuts(text: str, start: int, end: int, indent: str) -> Iterator[int]:
    """Behind commas at the end of a line that is followed by one with the first item's indentation."""
    line = f",\n{indent}"
    while True:
        at = text.find(line, start + PIECE, end)
        while at >= 0 and text[at + len(line)] in _NO_ITEM:
            at = text.find(line, at + 1, end)
        if at < 0:
            return
        start = at + 1
        yield start


def _node(text: str, display: _Display) -> Any:
    import libcst as cst

    opening, closing = text[display.start], text[display.end - 1]
    edges = [display.start + 1, *display.cuts, display.end - 1]
    first = last = _parsed_expression(f"{opening}{text[edges[0] : edges[1]]}{closing}")
    before = "0: 0" if isinstance(first, cst.Dict) else "0"
    parts = [list(first.elements)]
    for start, end in pairwise(edges[1:]):
        last = _parsed_expression(f"{opening}{before},{text[start:end]}{closing}")
        stand_in, *more = last.elements
        behind = parts[-1][-1]
        comma = behind.comma.with_changes(whitespace_after=stand_in.comma.whitespace_after)
        parts[-1][-1] = behind.with_changes(comma=comma)
        parts.append(more)
    end_of = {"List": "rbracket", "Dict": "rbrace", "Set": "rbrace", "Tuple": "rpar"}[type(first).__name__]
    elements = tuple(chain.from_iterable(parts))
    return first.with_changes(elements=elements, **{end_of: getattr(last, end_of)})


def _with_values(node: Any, values: dict[str, Any]) -> Any:
    """The node with the values in the places of their names. Raises `_NoTreeError` if not all have one."""
    import libcst as cst

    left = dict(values)

    class Replacing(cst.CSTTransformer):
        def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> Any:
            return left.pop(original_node.value, updated_node)

    replaced = node.visit(Replacing())
    if left:  # It was a part of a string.
        raise _NoTreeError
    return replaced
