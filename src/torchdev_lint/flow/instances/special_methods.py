"""Operators and items of instances whose class says what they mean: `a + b`, `a[key]`, `a[key] = b`."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite, Implied
from torchdev_lint.flow.calling.functions import call, can_follow
from torchdev_lint.flow.domain.values import UNKNOWN, Function, Object, Value

_OPERATORS: dict[type[cst.BaseBinaryOp], str] = {
    cst.Add: "add",
    cst.Subtract: "sub",
    cst.Multiply: "mul",
    cst.MatrixMultiply: "matmul",
    cst.Divide: "truediv",
    cst.FloorDivide: "floordiv",
    cst.Modulo: "mod",
    cst.Power: "pow",
    cst.BitAnd: "and",
    cst.BitOr: "or",
    cst.BitXor: "xor",
    cst.LeftShift: "lshift",
    cst.RightShift: "rshift",
}
"""What Python calls the methods of its operators (https://docs.python.org/3/reference/datamodel.html#emulating-numeric-types)."""


def binary_operation(frame: Frame, node: cst.BinaryOperation, left: Value, right: Value) -> Value | None:
    """`left + right`; None where neither is an instance whose class defines it."""
    if not isinstance(left, Object) and not isinstance(right, Object):
        return None
    name = _OPERATORS.get(type(node.operator))
    method = _method(frame, left, f"__{name}__")
    if method is not None:
        return _run(frame, method, node, (Argument(right, Implied(node.right)),))
    method = _method(frame, right, f"__r{name}__")
    return None if method is None else _run(frame, method, node, (Argument(left, Implied(node.left)),))


def item(frame: Frame, node: cst.CSTNode, thing: Object, key: Value) -> Value | None:
    """`thing[key]`; None where the class does not say, or is of another file and leaves it as unknown as if it had not been read."""
    return _of_key(frame, node, _method(frame, thing, "__getitem__"), key)


def missing(frame: Frame, node: cst.CSTNode, thing: Object, key: Value) -> Value | None:
    """What an instance of a class that derives from `dict` gives for a key that it does not hold; None where the class does not say.

    Source: https://docs.python.org/3/reference/datamodel.html#object.__missing__.
    """
    return _of_key(frame, node, _method(frame, thing, "__missing__"), key)


def _of_key(frame: Frame, node: cst.CSTNode, method: Function | None, key: Value) -> Value | None:
    if method is None:
        return None
    written = _key(node)
    if written is None or key == UNKNOWN or not isinstance(node, cst.Subscript):
        found = _run(frame, method, cst.Name(method.name), ())
    else:
        found = _run(frame, method, node, (Argument(key, Implied(written)),))
    return None if found == UNKNOWN and method.frame.source.foreign else found


def set_item(frame: Frame, node: cst.Subscript, thing: Object, key: Value, value: Value) -> bool:
    """`thing[key] = value`; False where the class does not say."""
    method = _method(frame, thing, "__setitem__")
    if method is None:
        return False
    written = frame.assigning.value if isinstance(frame.assigning, (cst.Assign, cst.AnnAssign)) else None
    given = Implied(_key(node) or cst.Name("_")), Implied(written or cst.Name("_"))
    _run(frame, method, node, (Argument(key, given[0]), Argument(value, given[1])))
    return True


def _key(node: cst.CSTNode) -> cst.BaseExpression | None:
    match node:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=key)), *_]):
            return key  # of several the first stands for all
        case _:
            return None


def _method(frame: Frame, thing: Value, name: str) -> Function | None:
    model = frame.state(thing).model if isinstance(thing, Object) else None
    found = None if model is None else model.find(name)
    return None if model is None or found is None else model.function(found, name, thing)


def _run(frame: Frame, method: Function, node: cst.BaseExpression, arguments: tuple[Argument, ...]) -> Value:
    site = CallSite(node, arguments)
    if not can_follow(frame, method, site):
        return UNKNOWN
    alive = frame.alive
    result = call(frame, method, site)
    frame.alive = alive  # `raise IndexError` ends a loop, not the program
    return result
