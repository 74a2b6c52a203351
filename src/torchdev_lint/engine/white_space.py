"""One node for all equal white space of the trees that are parsed: two of five of LibCST's nodes are white space.

Its native parser takes each class of nodes from the package when it makes one. While it parses, what stands there for white space
gives the node that there is already, if there is one: nodes never change, and nothing asks for the place of white space. That takes a
third off the size of a tree, and a tenth off the time to parse it. It is for processes of our own that have no other thread, since it is
the package's own name that stands for something else meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache

from torchdev_lint.engine.workers import OWN

_MOST = 4096
"""Different white spaces that are shared; most files have a few dozen."""
_NAME = "SimpleWhitespace"


@cache
def _maker(kind: type[object]) -> Callable[..., object]:
    return lru_cache(_MOST)(kind)


@contextmanager
def shared() -> Iterator[None]:
    """In here LibCST's parser shares white space, in a process of our own."""
    if not OWN or threading.active_count() > 1:
        yield
        return
    import libcst

    names = vars(libcst)
    own = names[_NAME]
    names[_NAME] = _maker(own)
    try:
        yield
    finally:
        names[_NAME] = own
