"""What a call gives is brought to the host (`model(x).cpu()`), although `x` was made there.

Who writes that knows that what is called computes on an accelerator: what it is given must be there, too. Or `.cpu()` says nothing, which
it does where the function that is called may move its input itself: so only models and distributions count, as far as they are called
like ones.
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.lattice import Conflict, Cpu, Level, Origin, Symbol
from torchdev_lint.flow.domain.values import Object, Tensor, Value
from torchdev_lint.flow.read_alone.host_functions import may_take_from_host
from torchdev_lint.flow.syntax.trees import dotted, walk
from torchdev_lint.flow.telling.attribution import Report, root_of, worth_telling
from torchdev_lint.flow.telling.cures import Callee
from torchdev_lint.flow.telling.publication import publish_mixed
from torchdev_lint.flow.torch_calls.operands import Operand, place_of

_COMPUTED_BY = frozenset({"forward", "log_prob", "icdf", "cdf", "encode", "decode", "step"})
"""Methods of models and distributions that compute with the tensors that they are given."""
_SAME_THING = frozenset(
    "detach squeeze unsqueeze view reshape float double flatten data permute transpose contiguous".split()
)


def check(frame: Frame, site: CallSite) -> None:
    """`.cpu()` is called on a thing of which nothing else is known."""
    if frame.analysis.muted or site.receiver is None or frame.function is None:
        return
    call = _origin_of(frame, site.receiver)
    if call is None:
        return
    function = _what_computes(call.func)
    thing = None if function is None else _given(frame, function)
    where = None if thing is None else frame.state(thing).device
    if function is None or thing is None or not isinstance(where, Symbol) or not where.assumed:
        return
    if may_take_from_host(frame, thing):
        return
    for argument in call.args:
        with frame.quietly():
            given = frame.evaluate(argument.value)
        made = _made_here(frame, given)
        found = None if made is None else Conflict(Level.POSSIBLE, where, Cpu(made))
        if found is None or argument.star or not isinstance(given, Tensor) or not worth_telling(frame, found):
            continue
        text = frame.analysis.text(function)
        report = Report(place_of(frame, argument, given), frame, given.device)
        module = Operand(thing, where, call)
        publish_mixed(frame, call, text, report, found, module, module=Callee(text, where, thing))
        return


def _origin_of(frame: Frame, node: cst.BaseExpression) -> cst.Call | None:
    """The call that gave what is brought over, or a part of it."""
    while True:
        match node:
            case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=name))) if name in _SAME_THING:
                node = inner
            case cst.Attribute(value=inner, attr=cst.Name(value=name)) if name in _SAME_THING:
                node = inner
            case cst.Subscript(value=inner):
                node = inner
            case cst.Call():
                return node
            case cst.Name(value=name):
                key = _key_of(frame.lookup(name))
                if key[:1] != ("call",) or frame.function is None:
                    return None
                calls = (part for part in walk(frame.function.node.body) if isinstance(part, cst.Call))
                return next((part for part in calls if id(part) == key[1]), None)
            case _:
                return None


def _key_of(value: Value) -> Key:
    match value:
        case Object(key=key):
            return root_of(key)
        case Tensor(device=Symbol(key=key)):
            return root_of(key)
        case _:
            return ()


def _what_computes(called: cst.BaseExpression) -> cst.BaseExpression | None:
    """What is called: a name, an attribute of `self`, or one of these by a method that computes."""
    if isinstance(called, cst.Attribute) and called.attr.value in _COMPUTED_BY:
        called = called.value
    path = dotted(called)
    return None if path is None or path.count(".") > path.startswith("self.") else called


def _given(frame: Frame, function: cst.BaseExpression) -> Object | None:
    """The thing that computes, if the function is given it or the class holds it.

    Not what is written as a method for a class elsewhere has of its `self`: that may as well be another method.
    """
    with frame.quietly():
        thing = frame.evaluate(function)
    if not isinstance(thing, Object) or root_of(thing.key)[:1] not in (("parameter",), ("self",)):
        return None
    is_method = frame.function is not None and frame.function.owner is not None
    return thing if is_method or isinstance(function, cst.Name) else None


def _made_here(frame: Frame, value: Value) -> Origin | None:
    device = value.device if isinstance(value, Tensor) and value.scalar is not True else None
    origin = device.origin if isinstance(device, Cpu) else None
    return origin if origin is not None and origin.what == "factory" and origin.frame == frame.uid else None
