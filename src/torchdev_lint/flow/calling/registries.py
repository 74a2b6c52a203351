"""Registries: tables that other files fill, which are imported for nothing else: `@register("focal")` above a class of `losses.py`.

An imported file is not read before a name of it is used (`projects`), and nobody uses one of such a file: what is looked up in the
table, and is not there, is what asks for it. It is read then, if it has been imported and has that name; else, if it is the only one of
the project that enters something under that name.
"""

from __future__ import annotations

import re

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.environment import refreshed
from torchdev_lint.flow.domain.values import Class, Entries, Function, Literal, Value


def filled(frame: Frame, held: Entries, key: Value) -> Entries:
    """The dict as it is once the files were read that may have entered something under a key."""
    if not isinstance(key, Literal) or not isinstance(key.value, str) or held.cell is None:
        return held
    # options, or whatever else: nobody has these entered by other files
    if _has(held, key.value) or not all(isinstance(value, (Class, Function)) for value in held.values()):
        return held
    if key.value.isidentifier() and frame.analysis.imports.read_for(key.value):
        held = _now(frame, held)
    if not _has(held, key.value) and frame.analysis.imports.read_entering(key.value):
        held = _now(frame, held)
    return held


def _has(held: Entries, name: str) -> bool:
    """Whether something stands under a name, or whatever may stand there."""
    return held.open or any(entered == name for entered, _ in held.entries)


def _now(frame: Frame, held: Entries) -> Entries:
    now = refreshed(frame.env, held)
    return now if isinstance(now, Entries) else held


def enters(text: str, name: str) -> bool:
    """Whether a file enters a class or function in a table: under a name that it gives its decorator, or under its own."""
    named = re.escape(name)
    return (
        re.search(
            rf"(?m)^@[\w.]+\([^\n]*[\"']{named}[\"'][^\n]*\)[ \t]*\n(?:@[^\n]*\n)*(?:class|def) "
            rf"|^@[\w.]*regist[^\n]*\n(?:@[^\n]*\n)*(?:class|def) {named}\b",
            text,
        )
        is not None
    )
