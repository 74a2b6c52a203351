"""`functools.singledispatch`: which function is called is said by the type of what it is given first.

Of the registered types the most specific is taken (https://docs.python.org/3/library/functools.html#functools.singledispatch); where
it is not certain which that is, the call is not followed.
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.conditions import FALSE, TRUE
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.values import UNKNOWN, Function, Value
from torchdev_lint.flow.execution import truths
from torchdev_lint.torch_api.libraries import DISPATCHED

DISPATCHER = "singledispatch"


def register(frame: Frame, decorator: cst.BaseExpression, function: Function) -> bool:
    """Whether a decorator is `@f.register` or `@f.register(type)` of a dispatched function, which then knows of `function`."""
    written: cst.BaseExpression | None = None
    node = decorator
    if isinstance(decorator, cst.Call) and len(decorator.args) == 1:
        node, written = decorator.func, decorator.args[0].value
    if not (isinstance(node, cst.Attribute) and node.attr.value == "register"):
        return False
    base = frame.evaluate(node.value)
    if not isinstance(base, Function) or DISPATCHER not in base.decorators:
        return False
    if written is None:
        parameters = function.node.params.params
        annotation = parameters[0].annotation if parameters else None
        written = None if annotation is None else annotation.annotation
    kind = UNKNOWN if written is None else frame.evaluate(written)
    plain = replace(function, decorators=(DISPATCHED,))
    registered = _registered(frame, base)
    kept = tuple(one for one in registered if one[1].node is not plain.node or one[0] != kind)
    frame.analysis.notes["dispatched", id(base.node)] = (*kept, (kind, plain))
    return True


def _registered(frame: Frame, base: Function) -> tuple[tuple[Value, Function], ...]:
    found: tuple[tuple[Value, Function], ...] = frame.analysis.notes.get(("dispatched", id(base.node)), ())
    return found


def chosen(frame: Frame, function: Function, site: CallSite) -> Function:
    """The function that a call of a dispatched one runs: that one itself where it is none, or where its choice is not certain."""
    if DISPATCHER not in function.decorators or not site.positional():
        return function
    first = site.positional()[0].value
    asked = [
        (truths.is_instance(frame, cst.Name("_"), first, kind), registered)
        for kind, registered in _registered(frame, function)
    ]
    takers = [registered for holds, registered in asked if holds == TRUE]
    if any(holds not in (TRUE, FALSE) for holds, _ in asked) or len(takers) > 1:
        return function
    others = (DISPATCHED, *(name for name in function.decorators if name != DISPATCHER))
    return takers[0] if takers else replace(function, decorators=others)
