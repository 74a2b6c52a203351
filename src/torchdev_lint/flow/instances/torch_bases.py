"""Classes that derive from a layer of PyTorch's (`class Block(nn.Sequential)`): what the base's `__init__` makes.

It is held as a part of the instance, under a name that no program can use: it moves with the instance, and where the
instance is follows from it as from every other part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.values import BASE, Object
from torchdev_lint.flow.nn_modules import modules
from torchdev_lint.flow.syntax.trees import dotted, walk
from torchdev_lint.torch_api import modules as api

if TYPE_CHECKING:
    from torchdev_lint.flow.instances.classes import ClassModel

_COLLECTIONS = frozenset({"torch.nn.ModuleList", "torch.nn.ModuleDict"})
_GROWS = frozenset("add_module append extend insert pop register_module update".split())


def base_of(model: ClassModel) -> str | None:
    """The one layer of PyTorch's that a class derives from, by its path; None where there is none, or more besides."""
    outside = {path for path in model.imported_bases() if path not in ("builtins.object", "torch.nn.Module")}
    path = outside.pop() if len(outside) == 1 else ""
    known = path.startswith("torch.nn.") and path.count(".") == 2 and path not in api.LOSSES
    if path in _COLLECTIONS and any(_grows(owner.node) for owner in model.lineage()):
        return None
    return path if known and modules.is_module_path(path) and path not in api.MOVES_INPUTS else None


def _grows(node: cst.ClassDef) -> bool:
    """Whether a class may put more into a collection than its `__init__` was given."""
    for part in walk(node.body):
        match part:
            case cst.Call(func=cst.Name(value="setattr")):
                return True
            case cst.Call(func=cst.Attribute(value=holder, attr=cst.Name(value=name))) if name in _GROWS:
                if _is_itself(holder):
                    return True
            case cst.AssignTarget(target=cst.Subscript(value=holder)) if _is_itself(holder):
                return True
            case _:
                pass
    return False


def _is_itself(holder: cst.BaseExpression) -> bool:
    return dotted(holder) == "self" or (isinstance(holder, cst.Call) and dotted(holder.func) == "super")


def build(frame: Frame, thing: Object, path: str, site: CallSite) -> None:
    """`super().__init__(...)` of such a class, or a call of the class where that has no `__init__` of its own."""
    made = modules.construct(frame, path, site)
    state = frame.state(thing)
    if isinstance(made, Object) and state.kind == "module":
        held = {**state.attributes, BASE: made}
        frame.set_state(thing, replace(state, attributes=held, registered=state.registered | {BASE}))


def made_by_base(frame: Frame, thing: Object) -> Object | None:
    """What the base's `__init__` has made of an instance."""
    made = frame.state(thing).attributes.get(BASE)
    return made if isinstance(made, Object) else None
