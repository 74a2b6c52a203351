"""Tables that other files fill: `@LOSSES.register("focal")` above a class in `losses.py`, which is imported for that only.

A file is read when a name of it is used. Nobody uses a name of such a file: what is looked up in the table is what asks for it.
"""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.values import Class, Entries, Function, Literal, Value


def filled(frame: Frame, held: Entries, key: Value, node: cst.BaseExpression) -> Entries:
    """The table `held`, which is the value of `node`, once the file was read that enters something under `key`."""
    if not isinstance(key, Literal) or not isinstance(key.value, str):
        return held
    if held.open or held.cell is None or any(name == key.value for name, _ in held.entries):
        return held
    if not all(isinstance(value, (Class, Function)) for value in held.values()):
        return held  # options, or whatever else: nobody looks for these in other files
    if not frame.analysis.imports.read_entering(key.value):
        return held
    with frame.quietly():
        found = frame.evaluate(node)
    return found if isinstance(found, Entries) else held


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
