"""Random generators that a method other than `__init__` keeps: `def seed(self, seed): self.rng = torch.manual_seed(seed)`.

Which method runs when is not known; but where all that sets the attribute is a generator of the CPU, whoever draws with it has that one, or
none yet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.functions import bind_symbolically
from torchdev_lint.flow.domain.lattice import Cpu
from torchdev_lint.flow.domain.values import NONE, Generator, Object, Value
from torchdev_lint.flow.syntax.trees import dotted, remembered, walk

if TYPE_CHECKING:
    from torchdev_lint.flow.instances.classes import ClassModel

_MAKERS = frozenset({"torch.Generator", "torch.manual_seed"})


_DRAWS_WITH = re.compile(r"\bgenerator\s*=")


def held(frame: Frame, model: ClassModel, thing: Object, attributes: Mapping[str, Value]) -> dict[str, Value]:
    """The generators of the CPU that methods other than `__init__` keep, and nothing else is kept instead."""
    if model.frame.source.foreign or not frame.analysis.says(_DRAWS_WITH):
        return {}
    found: dict[str, Value] = {}
    for name, (method, made) in frame.analysis.learn(_kept, model).items():
        if attributes.get(name, NONE) != NONE or method.name.value == "__init__":
            continue
        function = model.function(method, method.name.value, thing)
        child = Frame(frame.analysis, frame.env, parent=function.frame, function=function)
        child.env.names = bind_symbolically(function)
        with child.quietly():
            value = child.evaluate(made)
        if isinstance(value, Generator) and isinstance(value.device, Cpu):
            found[name] = value
    return found


def _kept(model: ClassModel) -> dict[str, tuple[cst.FunctionDef, cst.Call]]:
    """The attributes that nothing else sets (None counts for nothing), with a method and the call in it that makes the generator."""
    methods = [method for owner in (model, *model.bases_in_file()) for method in owner.methods.values()]
    found: dict[str, tuple[cst.FunctionDef, cst.Call]] = {}
    others: set[str] = set()
    for method in methods:
        for name, call in _set_to(method):
            if call is None:
                others.add(name)
            else:
                found.setdefault(name, (method, call))
    return {name: where for name, where in found.items() if name not in others}


@remembered(cst.FunctionDef)
def _set_to(method: cst.FunctionDef) -> tuple[tuple[str, cst.Call | None], ...]:
    """The attributes of `self` that a method sets, with the call that makes a generator; None where it is something else.

    Of a method that makes no generator only what it sets is of interest.
    """
    made: dict[str, cst.Call | None] = {}
    found: list[tuple[str, cst.Call | None]] = []
    for node in walk(method.body):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                made[name] = None if name in made else _generator(value)
            case cst.Assign(
                targets=[
                    cst.AssignTarget(
                        target=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=attribute))
                    )
                ],
                value=value,
            ):
                if isinstance(value, cst.Name) and value.value == "None":
                    continue
                call = made.get(value.value) if isinstance(value, cst.Name) else _generator(value)
                found.append((attribute, call))
            case (
                cst.AssignTarget(target=cst.Tuple() as target)
                | cst.AnnAssign(target=target)
                | cst.For(target=target)
                | cst.WithItem(asname=cst.AsName(name=target))
            ):
                found += [
                    (part.attr.value, None)
                    for part in walk(target)
                    if isinstance(part, cst.Attribute)
                    and isinstance(part.value, cst.Name)
                    and part.value.value == "self"
                ]
            case _:
                pass
    return tuple(found)


def _generator(value: cst.BaseExpression) -> cst.Call | None:
    """The call, if the expression makes a generator: `torch.Generator()`, `torch.Generator().manual_seed(0)`."""
    match value:
        case cst.Call(func=cst.Attribute(value=cst.Call() as inner, attr=cst.Name(value="manual_seed"))):
            return _generator(inner)
        case cst.Call(func=func, args=args) if dotted(func) in _MAKERS:
            return value if dotted(func) == "torch.manual_seed" or not args else None
        case _:
            return None
