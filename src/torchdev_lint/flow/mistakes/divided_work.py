"""Programs that divide their work over several accelerators, each by its number: they need them all, and say so.

`self.first.to("cuda:0")` and `self.second.to("cuda:1")` in one class are the parts of a pipeline. A machine that lacks one of the
devices is none for such a program, so that no number is there by mistake. Whether what is on different ones meets is asked elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchdev_lint.flow.activation.events import DeviceLiteral
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.syntax.trees import walk

_MOST_AT_ONCE = 2
"""Types of accelerators that one machine may have."""


def with_several(module: cst.Module, literals: Sequence[DeviceLiteral]) -> list[DeviceLiteral]:
    """The literals; as guarded count those of a class, function, or top level that names several of a type, or lists types."""
    bare = [one for one in literals if one.index is not None and not one.guarded]
    if len({(one.type, one.index) for one in bare}) < 2:
        return list(literals)
    together: set[int] = set()
    for parts in _divided(module):
        here = [one for one in bare if id(one.node) in parts]
        kinds = {one.type for one in here}
        several = {kind for kind in kinds if len({use.index for use in here if use.type == kind}) > 1}
        if len(kinds) > _MOST_AT_ONCE:
            several = kinds  # no machine has all of them: they are names to choose from
        together |= {id(one.node) for one in here if one.type in several}
    return [replace(one, guarded=True) if id(one.node) in together else one for one in literals]


def _divided(module: cst.Module) -> list[set[int]]:
    """What belongs together, by id: each class and function by itself, and the rest of the top level."""
    top: set[int] = set()
    divided = [top]
    for statement in module.body:
        inside = {id(node) for node in walk(statement)}
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            divided.append(inside)
        else:
            top |= inside
    return divided
