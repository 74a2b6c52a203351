"""Decorators that the file defines: the function that is called is the one they return; a class is entered in a registry.

And `__init_subclass__`, which a base class runs for each class that derives from it.
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling import dispatch
from torchdev_lint.flow.calling.calls import call_value
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.calling.functions import call, can_follow
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.values import Class, Function, Object, Partial, Value
from torchdev_lint.flow.instances.classes import ClassModel
from torchdev_lint.torch_api.libraries import SIGNATURE_KEEPING_DECORATORS


def decorated(frame: Frame, node: cst.FunctionDef, function: Function) -> Value:
    """The function as it is known after its decorators ran.

    Those that keep the signature stay names on the function (see `functions.can_follow`); those of the file are called. Where one
    of them cannot be followed, the function stays as it is, with all its decorators.
    """
    own: list[tuple[cst.Decorator, Value]] = []
    for decorator, name in zip(node.decorators, function.decorators, strict=True):
        if name in SIGNATURE_KEEPING_DECORATORS:
            continue
        if dispatch.register(frame, decorator.decorator, function):
            continue
        with frame.quietly():
            value = frame.evaluate(decorator.decorator)
        if not isinstance(value, (Function, Class, Partial)):
            return function
        own.append((decorator, value))
    if not own:
        return function
    kept = tuple(name for name in function.decorators if name in SIGNATURE_KEEPING_DECORATORS)
    result: Value = replace(function, decorators=kept)
    for decorator, value in reversed(own):
        site = CallSite(decorator.decorator, (Argument(result, cst.Arg(cst.Name("_"))),))
        result = call_value(frame, value, site)
        callable_object = isinstance(result, Object) and frame.state(result).model is not None
        if not (isinstance(result, (Function, Class, Partial)) or callable_object):
            return function
    return result


def announce(frame: Frame, node: cst.ClassDef, model: ClassModel) -> None:
    """Run `__init_subclass__` for a class that was just made (https://docs.python.org/3/reference/datamodel.html#object.__init_subclass__)."""
    name = "__init_subclass__"
    for base in model.lineage()[1:]:
        if name in base.methods:
            function = Function(base.methods[name], name, base.frame, Class(model), base)
            given = [one for one in node.keywords if one.keyword and one.keyword.value != "metaclass"]
            arguments = tuple(Argument(frame.evaluate(one.value), one) for one in given)
            if can_follow(frame, function):
                call(frame, function, CallSite(node.bases[0].value, arguments))
            return


def run_on_class(frame: Frame, node: cst.ClassDef, made: Class) -> None:
    """The effects of a class's decorators, such as entering it in a registry; the class stays the class whatever they return."""
    for decorator in reversed(node.decorators):
        with frame.quietly():
            value = frame.evaluate(decorator.decorator)
        if isinstance(value, (Function, Partial)):
            site = CallSite(decorator.decorator, (Argument(made, cst.Arg(cst.Name("_"))),))
            call_value(frame, value, site)
