"""Long texts parsed in pieces: LibCST's native parser needs some 400 bytes for each character while it parses.

The tree is that of the whole text. A piece begins with a definition behind an empty line, at the margin or in the body of a class. It
is parsed behind a statement that is left out again, so that white space and comments belong to whom they belong in the whole
text. Where any of that is not certain, there is no tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from torchdev_lint.engine.displays import parse_with_displays

if TYPE_CHECKING:
    import libcst as cst

PIECE = 8_000
"""Characters after which a piece ends at the next occasion."""
PAYS = 2 * PIECE
"""Characters that a text has to have, to be parsed in pieces."""

_INDENT = "    "
_BEFORE = "pass\n"
_BEFORE_INSIDE = f"class _:\n{_INDENT}pass\n"
_LINES = re.compile(rf"^(?:\S|{_INDENT}(?=@|(?:async )?def\b))", re.MULTILINE)
"""The lines at the margin, and those that may be the first of a method."""
_DEFINITION = re.compile(r"@|(?:async )?def\b|class\b")
_BLOCK = re.compile(r"^[ \t]+[^\s#]", re.MULTILINE)
"""What every text with an indented block has."""


def parse_in_pieces(text: str) -> cst.Module | None:
    """The tree of a text, whose line ends are all "\\n"; None when it has to be parsed as a whole. Raises what LibCST does."""
    import libcst as cst

    if len(text) < PAYS or not text.endswith("\n"):
        return None
    starts = list(_starts(text))
    if not starts:
        with suppress(cst.ParserSyntaxError, cst.CSTValidationError):
            return parse_with_displays(text)
        return None
    ends = [start for start, _ in starts] + [len(text)]
    whole = _parsed(text[: ends[0]])
    body: list[Any] = list(whole.body)
    footer = whole.footer
    indents = {whole.default_indent} if _BLOCK.search(text, 0, ends[0]) else set()
    for (start, inside), end in zip(starts, ends[1:], strict=True):
        if footer or not body:
            return None
        piece = _parsed((_BEFORE_INSIDE if inside else _BEFORE) + text[start:end])
        first, *rest = piece.body
        if inside and not _continues(body[-1], first):
            return None
        body += rest
        footer = piece.footer
        if inside or _BLOCK.search(text, start, end):
            indents.add(piece.default_indent)
    # the indentation of the first block is that of all that have none of their own
    if len(indents) > 1 or (indents != {_INDENT} and any(inside for _, inside in starts)):
        return None
    indent = indents.pop() if indents else whole.default_indent
    return whole.with_changes(body=tuple(body), footer=footer, default_indent=indent)


def _parsed(text: str) -> cst.Module:
    import libcst as cst

    if len(text) >= PAYS:
        with suppress(cst.ParserSyntaxError, cst.CSTValidationError):
            return parse_with_displays(text) or cst.parse_module(text)
    return cst.parse_module(text)


def _continues(last: Any, piece: Any) -> bool:
    """Give a class the methods of the class that stands for it before a piece; not if that may not be the same."""
    import libcst as cst

    for one in (last, piece):
        if (
            type(one) is not cst.ClassDef
            or type(one.body) is not cst.IndentedBlock
            or one.body.indent is not None
        ):
            return False
    if last.body.footer:
        return False
    object.__setattr__(last.body, "body", (*last.body.body, *piece.body.body[1:]))
    object.__setattr__(last.body, "footer", piece.body.footer)
    return True


def _starts(text: str) -> Iterator[tuple[int, bool]]:
    """Where pieces begin, with the empty lines and comments before them; and whether that is inside a class."""
    start, in_class = 0, False
    for match in _LINES.finditer(text):
        at = match.start()
        inside = match[0] == _INDENT
        if not inside:
            if text.startswith("class ", at):
                in_class = True
            elif match[0] not in "#@)]}":
                in_class = False
        if at - start < PIECE or (inside and not in_class):
            continue
        if inside or _DEFINITION.match(text, at):
            begin = _begin(text, at, _INDENT if inside else "")
            if begin is not None:
                yield begin, inside
                start = begin


def _begin(text: str, at: int, indent: str) -> int | None:
    """Where the lines begin that belong to the statement whose own first line starts at an offset; None where that is not certain."""
    behind_empty = False
    while True:
        line = text.rfind("\n", 0, at - 1) + 1
        before = text[line : at - 1]
        if not before:
            behind_empty = True
        elif not before.startswith(f"{indent}#"):
            break
        at = line
    # comments at another margin may belong to the block before; decorators, headers and a backslash go on
    code = before.strip()
    certain = behind_empty and code and code[0] not in "#@" and code[-1] not in ":\\"
    return at if certain else None
