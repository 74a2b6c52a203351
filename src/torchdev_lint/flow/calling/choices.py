"""One of a few functions, it is not known which: `KERNELS[kind]`, `KERNELS.get(kind)`.

Classes are among them if they are modules that are called alike, or derive from one base: other tables of classes are registries, out of
which each place takes those of one sort.
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Atom
from torchdev_lint.flow.domain.values import Class, Import, Items, Literal, Object, Value, is_function, join
from torchdev_lint.flow.execution.truths import equality

MAX_CHOICES = 4
"""Of so many functions, that which is taken by an unknown key may be each: what is done with it is done with each."""


def one_of(frame: Frame, node: cst.CSTNode, held: dict[Any, Value], key: Value) -> Value | None:
    """`KERNELS[kind]`, of a few functions: what `if kind == "gaussian": ... elif kind == "cauchy": ...` chooses.

    None where there are others, or more of them, or where the key is known.
    """
    if isinstance(key, Literal) or not 1 < len(held) <= MAX_CHOICES:
        return None
    held = {
        name: frame.analysis.imports.force(value) if isinstance(value, Import) else value
        for name, value in held.items()
    }
    if not all(is_function(value) for value in held.values()) and not _are_alike(list(held.values())):
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


def _are_alike(values: list[Value]) -> bool:
    """Whether these are classes that stand for each other, `{"ce": Loss, "focal": FocalLoss}`, or each has one with something beside it.

    Modules that are made and called with the same number of things; those that are not called (`model.score(batch)`), and others,
    if they derive from one base of the project.
    """
    if all(isinstance(value, Items) and value.items for value in values):
        return _are_alike([value.items[0] for value in values if isinstance(value, Items)])
    classes = [value for value in values if isinstance(value, Class)]
    if len(classes) < len(values):
        return False
    shared = set.intersection(*({id(base) for base in one.model.lineage()[1:]} for one in classes))
    if all(one.model.is_module for one in classes):
        taken = {(_needed(one, "__init__"), _needed(one, "forward")) for one in classes}
        made, called = next(iter(taken))
        return len(taken) == 1 and made is not None and (called is not None or bool(shared))
    return bool(shared) and len({_needed(one, "__init__") for one in classes}) == 1


def _needed(owner: Class, method: str) -> int | None:
    """How many things a method has to be given; None where it is not written in the project."""
    found = owner.model.find(method)
    if found is None:
        return None
    parameters = found.params
    return sum(one.default is None for one in (*parameters.posonly_params, *parameters.params))
