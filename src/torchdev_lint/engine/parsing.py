"""Parsing, with everything that can go wrong in it; and the judge of what a fix leaves behind."""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from torchdev_lint.engine.pieces import PAYS, parse_in_pieces
from torchdev_lint.engine.shared_nodes import shared_nodes
from torchdev_lint.engine.workers import give_back
from torchdev_lint.source.nesting import unreasonable

if TYPE_CHECKING:
    import libcst as cst


class ParseError(Exception):
    """A text that does not parse, or must not be given to a parser: `message`, and the place (1-based)."""

    def __init__(self, message: str, row: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.row = row
        self.column = column


@dataclass(slots=True)
class Cutting:
    """How long texts are parsed."""

    allowed: bool = True
    """Whether in pieces, where that can be done; else every text as a whole."""
    long: dict[str, bool] = field(default_factory=dict)
    """By path: whether a text that is long enough was parsed in pieces. The others could not be cut with certainty."""


_cutting: ContextVar[Cutting | None] = ContextVar("cutting", default=None)


@contextmanager
def cutting(*, allowed: bool) -> Iterator[Cutting]:
    """In here texts are cut, or not, and what becomes of the long ones is noted."""
    noted = Cutting(allowed)
    token = _cutting.set(noted)
    try:
        yield noted
    finally:
        _cutting.reset(token)


def parse_module(text: str, path: str = "") -> cst.Module:
    """The tree of `text`, whose line ends are all "\\n"; raises `ParseError`.

    LibCST's native parser does not survive deep nesting, so that is looked for first. Of a text that has a `path` it is noted
    whether it was parsed in pieces, where somebody asks (`cutting`).
    """
    import libcst as cst

    beyond = unreasonable(text)
    if beyond is not None:
        raise ParseError(f"Not analysed: {beyond[0]}", beyond[1])
    try:
        how = _cutting.get()
        with shared_nodes():
            tree = None if how is not None and not how.allowed else _in_pieces(text)
            cut = tree is not None
            tree = tree or cst.parse_module(text)
        if len(text) >= PAYS:
            give_back()
            if how is not None and path:
                how.long[os.path.abspath(path)] = cut
        return tree
    except cst.ParserSyntaxError as error:
        # Python's own words are clearer, where it objects too: its syntax may be newer or older than LibCST's.
        message, row, column = complaint(text) or (error.message, error.editor_line, error.editor_column)
        raise ParseError(f"Syntax error: {_first_line(message)}", row, column) from error
    except (cst.CSTValidationError, UnicodeError) as error:
        raise ParseError(f"Syntax error: {_first_line(str(error))}") from error
    except RecursionError as error:
        raise ParseError("Not analysed: nested too deeply") from error


def _in_pieces(text: str) -> cst.Module | None:
    """The tree, if the text is long and all pieces of it parse; what is wrong with one that does not is said of the whole."""
    if len(text) < PAYS:
        return None
    import libcst as cst

    with suppress(cst.ParserSyntaxError, cst.CSTValidationError):
        return parse_in_pieces(text)
    return None


def _first_line(message: str) -> str:
    return message.strip().splitlines()[0] if message.strip() else "the file does not parse"


def parses(text: str) -> bool:
    """Whether LibCST can parse `text`."""
    try:
        parse_module(text)
    except ParseError:
        return False
    return True


def compiles(text: str) -> bool:
    """Whether this Python's own compiler accepts `text`, which may be written for a newer one. Nothing is executed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<fixed>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def complaint(text: str) -> tuple[str, int, int] | None:
    """What this Python's parser objects to in `text`, and the row and column (1-based); None when it does not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return error.msg, error.lineno or 1, error.offset or 1
    except (ValueError, RecursionError, MemoryError):
        return None
    return None


def judge_of(original: str) -> Callable[[str], bool]:
    """The judge of fixed versions of `original`.

    LibCST lets through what the compiler refuses (a repeated keyword argument); the compiler refuses what is newer than
    itself. So its word counts where it accepts the original.
    """

    @cache
    def accepts_original() -> bool:
        return compiles(original)

    return lambda text: parses(text) and (not accepts_original() or compiles(text))
