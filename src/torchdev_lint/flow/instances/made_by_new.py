"""Instances that a class makes by a `__new__` of its own: one for all (a singleton), or one that is prepared there.

https://docs.python.org/3/reference/datamodel.html#object.__new__
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite, Unwritten
from torchdev_lint.flow.calling.functions import call, can_follow
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE
from torchdev_lint.flow.domain.values import Class, Object, State

if TYPE_CHECKING:
    from torchdev_lint.flow.instances.classes import ClassModel


def instance(frame: Frame, model: ClassModel, site: CallSite) -> Object | None:
    """What the `__new__` of a class gives; None where it has none, or gives something else than an instance."""
    method = model.find("__new__")
    if method is None or model.is_module or model.has_unseen_base():
        return None
    function = model.function(method, "__new__", None)
    owner = Argument(Class(model), Unwritten(cst.Name("_")))
    given = replace(site, arguments=(owner, *site.arguments))
    made = call(frame, function, given) if can_follow(frame, function, given) else None
    if not isinstance(made, Object) or frame.state(made).model is not model:
        return None
    return made


def bare(frame: Frame, model: ClassModel, node: cst.BaseExpression) -> Object:
    """`object.__new__(cls)`: an instance that has no attributes yet."""
    return frame.fresh(node, State("instance", UNKNOWN_DEVICE, model=model), model.name)
