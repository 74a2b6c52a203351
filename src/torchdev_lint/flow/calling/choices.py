"""One of a few functions, it is not known which: `KERNELS[kind]`, `KERNELS.get(kind)`.

Classes are not among them: a table of classes is a registry, out of which each place takes those of one sort.
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Atom
from torchdev_lint.flow.domain.values import Api, Function, Literal, Object, Value, join
from torchdev_lint.flow.execution.truths import equality

MAX_CHOICES = 4
"""Of so many functions, that which is taken by an unknown key may be each: what is done with it is done with each."""


def one_of(frame: Frame, node: cst.CSTNode, held: dict[Any, Value], key: Value) -> Value | None:
    """`KERNELS[kind]`, of a few functions: what `if kind == "gaussian": ... elif kind == "cauchy": ...` chooses.

    None where there are others, or more of them, or where the key is known.
    """
    if isinstance(key, Literal) or not 1 < len(held) <= MAX_CHOICES:
        return None
    if not all(_is_called(value) for value in held.values()):
        return None
    *others, (_, chosen) = held.items()
    for name, value in reversed(others):
        if isinstance(key, Object):
            guard = equality(frame, node, key, Literal(name))
        else:
            where = ("item", id(node), frame.uid, frame.salt, repr(name))
            guard = Atom("opaque", where, frame.analysis.text(node))
        chosen = join(guard, value, chosen)
    return chosen


def _is_called(value: Value) -> bool:
    """Whether a value is there to be called: a function of the project, an operation of PyTorch."""
    return isinstance(value, Function) or (
        isinstance(value, Api) and value.path.startswith("torch.nn.functional.")
    )
