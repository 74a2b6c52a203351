"""Truth tests of device indices: 0 is the first device, and counts as false.

Only what is certainly an integer (by its annotation, its default, the option that it comes from, or because PyTorch returned
it) and is used as an index in the same function is looked at: a number of devices or a flag 0/1 is none of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.events import DeviceMisuse
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import DeviceValue, Object
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, remembered, standing_alone, walk

_INTEGER_ANNOTATION = re.compile(r"\bint\b")
_NOT_ONLY_INTEGER = re.compile(r"\bbool\b|\b[Ll]ist\b|\b[Ss]equence\b|\b[Tt]uple\b|\b[Dd]ict\b|\bIterable\b")
_TAKING = frozenset({cst.Arg, cst.BinaryOperation, cst.Call, cst.FormattedString})
"""Nodes that are looked at for indices: to ask LibCST's abstract classes of all would cost more."""
_INDEXED_FORMAT = re.compile(r"^[a-z]+:%d$|^[a-z]+:\{\}$")


def check_test(frame: Frame, node: cst.BaseExpression) -> None:
    """`node` is used as a condition: every name in it that is tested for its truth is looked at."""
    for tested, whole, negated in _tested(node):
        _check(frame, tested, whole, negated=negated)


def check_default(frame: Frame, node: cst.BooleanOperation) -> None:
    """`index or default`, as a value."""
    if type(node.operator) is not cst.Or or type(node.left) not in (cst.Name, cst.Attribute):
        return
    if _is_zero(node.right):
        return
    present = _presence(frame, node.left)
    if present is None:
        return
    text, default = frame.analysis.text(node.left), frame.analysis.text(node.right)
    replacement = f"{text} if {text} {present} else {default}"
    if node.lpar or all(one is not node for one in standing_alone(frame.analysis.module)):
        replacement = f"({replacement})"
    frame.analysis.publish(
        ("index-truth", id(node.left)),
        DeviceMisuse(node.left, "truth", text, replaced=node, replacement=replacement),
    )


def _tested(node: cst.BaseExpression) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression, bool]]:
    """(what is tested, the expression that its test may be written for, whether that negates it)."""
    kind = type(node)  # asked of every condition: patterns ask LibCST's abstract classes
    if kind is cst.Name or kind is cst.Attribute:
        yield node, node, False
    elif kind is cst.UnaryOperation:
        assert isinstance(node, cst.UnaryOperation)
        if type(node.operator) is cst.Not:
            inner = type(node.expression)
            if inner is cst.Name or inner is cst.Attribute:
                yield node.expression, node, True
            else:
                yield from _tested(node.expression)
    elif kind is cst.BooleanOperation:
        assert isinstance(node, cst.BooleanOperation)
        yield from _tested(node.left)
        yield from _tested(node.right)


def _check(frame: Frame, tested: cst.BaseExpression, whole: cst.BaseExpression, *, negated: bool) -> None:
    present = _presence(frame, tested)
    if present is None:
        return
    if _chooses_zero(frame, whole, negated=negated):
        return
    text = frame.analysis.text(tested)
    opposite = {"is not None": "is None", ">= 0": "< 0"}[present]
    frame.analysis.publish(
        ("index-truth", id(tested)),
        DeviceMisuse(
            tested,
            "truth",
            text,
            replaced=whole,
            replacement=f"{text} {opposite if negated else present}",
        ),
    )


def _is_zero(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Integer) and node.value == "0"


def _chooses_zero(frame: Frame, test: cst.BaseExpression, *, negated: bool) -> bool:
    """`index if index else 0`: what counts as false is replaced by 0, which it was."""
    for part in walk(frame.analysis.module if frame.function is None else frame.function.node):
        if isinstance(part, cst.IfExp) and part.test is test:
            return _is_zero(part.body if negated else part.orelse)
    return False


def _presence(frame: Frame, node: cst.BaseExpression) -> str | None:
    """How to ask whether there is an index, if `node` holds one for certain (or none); else None."""
    text = dotted(node)
    if text is None:
        return None
    with frame.quietly():
        value = frame.evaluate(node)
    if isinstance(value, DeviceValue) and value.is_index:
        return ">= 0"
    if not isinstance(value, Object):
        return None
    option = frame.analysis.integers.get(value.key)
    present = option if option is not None else _by_parameter(frame, value)
    return present if present is not None and _used_as_index(frame, text) else None


def _by_parameter(frame: Frame, value: Object) -> str | None:
    if value.key[0] != "parameter":
        return None
    owner: Frame | None = frame
    while owner is not None and (owner.function is None or id(owner.function.node) != value.key[1]):
        owner = owner.parent
    if owner is None or owner.function is None or not isinstance(owner.function.node, cst.FunctionDef):
        return None
    parameters = owner.function.node.params
    for parameter in all_parameters(parameters):
        if parameter.name.value == value.key[2]:
            return _declared(frame, parameter)
    return None


def _declared(frame: Frame, parameter: cst.Param) -> str | None:
    annotation = parameter.annotation
    declared = "" if annotation is None else frame.analysis.text(annotation.annotation)
    match parameter.default:
        case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer()):
            return ">= 0"
        case None | cst.Name(value="None"):
            integer = _INTEGER_ANNOTATION.search(declared) and not _NOT_ONLY_INTEGER.search(declared)
            return "is not None" if integer else None
        case _:
            return None  # a default of 0 says that 0 is "no device"


def _used_as_index(frame: Frame, text: str) -> bool:
    """Whether the function gives what `text` names to something that takes a device's index."""
    node = None if frame.function is None else frame.function.node
    if node is None:
        return text in _indices_of_module(frame.analysis.module)
    return text in (_indices_of_function(node) if isinstance(node, cst.FunctionDef) else _indices(node))


@remembered(cst.FunctionDef)
def _indices_of_function(node: cst.FunctionDef) -> frozenset[str]:
    return _indices(node)


@remembered(cst.Module)
def _indices_of_module(module: cst.Module) -> frozenset[str]:
    return _indices(module)


def _indices(root: cst.CSTNode) -> frozenset[str]:
    """What is given to something that takes a device's index, as it is written."""
    found: set[str | None] = set()
    for node in walk(root):
        if type(node) not in _TAKING:
            continue
        match node:
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="cuda" | "to" | "set_device"))):
                found.update(dotted(argument.value) for argument in node.args[:1])
            case cst.Call(func=function, args=[_, second]) if (dotted(function) or "").endswith("device"):
                found.add(dotted(second.value))
            case cst.Arg(keyword=cst.Name(value="device"), value=value):
                found.add(dotted(value))
            case cst.FormattedString(parts=[cst.FormattedStringText(value=start), part]):
                inner = part.expression if isinstance(part, cst.FormattedStringExpression) else None
                if start.endswith(":") and inner is not None:
                    found.add(dotted(inner))
            case cst.BinaryOperation(left=cst.SimpleString() as pattern, operator=cst.Modulo(), right=right):
                if _INDEXED_FORMAT.match(str(pattern.raw_value)):
                    found.add(dotted(right))
            case _:
                pass
    return frozenset(one for one in found if one is not None)
