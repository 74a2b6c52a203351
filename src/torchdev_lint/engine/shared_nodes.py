"""While LibCST parses: one node for all white space and punctuation that is equal, which is half of the nodes of a tree.

LibCST's native parser makes its nodes by calling what has their names in its package, so that a call which remembers what it made
takes their place there. Nothing here tells such nodes apart, nor changes one. In processes of our own only: elsewhere others
may use LibCST at the same time, in another thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

from torchdev_lint.engine.workers import is_own_process

_SHARED = (
    "SimpleWhitespace TrailingWhitespace Newline EmptyLine Comma Dot AssignEqual LeftParen RightParen LeftSquareBracket RightSquareBracket"
).split()
"""Nodes that are made of text and of each other. `ParenthesizedWhitespace` is made of a sequence of lines, and most often with a
comment."""
_MOST = 1_024
"""Of each kind; comments make some lines that are no other's."""


@cache
def _names() -> tuple[dict[str, type], dict[str, Callable[..., Any]]]:
    import libcst as cst

    kinds = {name: getattr(cst, name) for name in _SHARED}
    return kinds, {name: lru_cache(_MOST)(kind) for name, kind in kinds.items()}


@contextmanager
def shared_nodes() -> Iterator[None]:
    """In here the parser shares nodes, in a process of our own."""
    if not is_own_process():
        yield
        return
    import libcst as cst

    kinds, sharing = _names()
    try:
        vars(cst).update(sharing)
        yield
    finally:
        vars(cst).update(kinds)
