"""Whether a text is Python: the judge of what a fix leaves behind."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from functools import cache


def parses(text: str) -> bool:
    """Whether LibCST can parse `text`."""
    import libcst  # Only once a file is really fixed.

    try:
        libcst.parse_module(text)
    except (libcst.ParserSyntaxError, libcst.CSTValidationError, RecursionError):
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
