"""Paths of files: of the same parts the same path is made, wherever that is."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.values import Literal, Object, Value

_PATH = "path"
"""What the key of a path begins with; its parts follow."""


def joined(parts: list[Value], text: str = "") -> Object | None:
    """`os.path.join(folder, name)`, `Path(folder)`; None where a part is nothing that can be told from others."""
    key: Key = (_PATH,)
    for part in parts:
        match part:
            case Object(key=(first, *rest)) if first == _PATH and len(key) == 1:
                key = (_PATH, *rest)
            case Object(key=held):
                key = (*key, held)
            case Literal(value=str()):
                key = (*key, part)
            case _:
                return None
    return Object(key, text)


def divided(frame: Frame, node: cst.BinaryOperation, left: Value, right: Value) -> Object | None:
    """`folder / "last.pt"`: what is divided by a string, and what a path is divided by, is part of a path."""
    if type(node.operator) is not cst.Divide or not isinstance(left, Object):
        return None
    told = isinstance(right, Literal) and isinstance(right.value, str)
    return joined([left, right], frame.analysis.text(node)) if told or left.key[:1] == (_PATH,) else None
