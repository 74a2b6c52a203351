"""Which expressions evidently give tensors, as their text shows, and where those are: for classes and functions that are not executed.

What a factory makes without `device=`, what is computed from that, what a function of the file makes of nothing else, and arguments that
are annotated as tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import libcst as cst

from torchdev_lint.flow.classes import ClassModel
from torchdev_lint.flow.evidence import ONLY_TENSORS, TENSOR_ANNOTATION, resolved_path
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.operands import dotted
from torchdev_lint.flow.trees import all_parameters, remembered, walk
from torchdev_lint.flow.values import Class, Function
from torchdev_lint.torch_api import factories, operators
from torchdev_lint.torch_api.devices import DEVICE_NAME
from torchdev_lint.torch_api.modules import IN_PLACE_MOVES
from torchdev_lint.torch_api.tensor_methods import HOST_METHODS, METADATA_ATTRIBUTES

Source: TypeAlias = Literal["made", "number", "given", "some"]
"""Made on the CPU; made there as a 0-dimensional tensor, which may meet tensors anywhere; an argument; a tensor that is somewhere."""

_MAKES = factories.FACTORIES | factories.HOST_FACTORIES | factories.LEGACY_HOST_TYPES
_DATA = (factories.TAKES_DATA - factories.HOST_FACTORIES) | {factories.LEGACY_DEFAULT_TYPE}
_WRAPPERS = frozenset({"torch.autograd.Variable", "torch.autograd.variable.Variable"})
_NO_TENSORS = (
    METADATA_ATTRIBUTES | HOST_METHODS | {"device", "size", "dim", "item", "tolist", "numel", "stride"}
)
_TO_PYTHON = frozenset(
    {"torch.numel", "torch.equal", "torch.allclose", "torch.is_floating_point", "torch.get_device"}
)
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an expression stands: the frame that resolves its names, the method or function, its class."""

    frame: Frame
    node: cst.FunctionDef | None
    owner: ClassModel | None = None
    depth: int = 0
    asked: frozenset[str] = field(default_factory=frozenset)


def source_of(scope: Scope, node: cst.BaseExpression | None) -> Source | None:
    """What tensor an expression gives; None where nothing shows that it is one, or where it is moved."""
    match node:
        case cst.Call():
            return _of_call(scope, node)
        case cst.Attribute(value=value, attr=cst.Name(value=name)):
            return source_of(scope, value) if name in ("T", "mT", "data", "real", "imag") else None
        case cst.Subscript(value=value):
            found = source_of(scope, value)
            return "made" if found == "number" else found
        case cst.BinaryOperation(left=left, right=right, operator=operator):
            found = _joined(source_of(scope, left), source_of(scope, right))
            return found or ("some" if isinstance(operator, cst.MatrixMultiply) else None)
        case cst.UnaryOperation(expression=inner, operator=cst.Minus() | cst.BitInvert()):
            return source_of(scope, inner)
        case cst.Comparison(
            left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]
        ):
            if isinstance(operator, (cst.Is, cst.IsNot, cst.In, cst.NotIn)):
                return None
            return _joined(source_of(scope, left), source_of(scope, right))
        case cst.IfExp(body=then, orelse=otherwise):
            return source_of(scope, then) or source_of(scope, otherwise)
        case cst.Name(value=name):
            return _of_name(scope, name)
        case _:
            return None


def _joined(*found: Source | None) -> Source | None:
    """What comes of an operation on these: where one of them is, that is no mere number."""
    for one in ("some", "given", "made", "number"):
        if one in found:
            return one
    return None


def _of_call(scope: Scope, node: cst.Call) -> Source | None:
    path = resolved_path(scope.frame, node.func)
    if path is not None and path.startswith("torch."):
        return _of_torch(scope, node, path)
    if any(_says_where(argument) for argument in node.args):
        return None
    match node.func:
        case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)) if (
            scope.owner is not None
        ):
            method = scope.owner.find(name)
            return None if method is None else _of_function(scope, method, scope.owner)
        case cst.Attribute(value=receiver, attr=cst.Name(value=name)):
            return _of_method(scope, node, receiver, name)
        case cst.Name(value=name):
            called = scope.frame.lookup(name)
            if isinstance(called, Function) and isinstance(called.node, cst.FunctionDef):
                return _of_function(scope, called.node, None)
            return None
        case _:
            return None


def _of_method(scope: Scope, node: cst.Call, receiver: cst.BaseExpression, name: str) -> Source | None:
    if name in _NO_TENSORS:
        return None
    if name in IN_PLACE_MOVES or name in ("type_as", "type", "pin_memory"):
        return source_of(scope, receiver) if not moves(node) else None
    found = source_of(scope, receiver)
    if found == "number" and name in ("repeat", "expand", "view", "reshape", "unsqueeze"):
        return "made"
    if found is None and name in ONLY_TENSORS and not isinstance(receiver, cst.Name):
        return "some"
    return found


def _of_torch(scope: Scope, node: cst.Call, path: str) -> Source | None:
    where = _keyword(node, "device")
    if where is not None and not (isinstance(where, cst.Name) and where.value == "None"):
        text = dotted(where) or cst.Module([]).code_for_node(where)
        return "made" if text in ("'cpu'", '"cpu"', "torch.device('cpu')", 'torch.device("cpu")') else None
    first = node.args[0].value if node.args else None
    if path in _DATA:
        return _of_data(scope, path, first)
    if path in _MAKES:
        return "number" if not node.args and path not in factories.FACTORIES else "made"
    if path in _WRAPPERS:
        return source_of(scope, first) or "made"
    if path.startswith("torch.distributions."):
        return "made" if any(source_of(scope, argument.value) == "made" for argument in node.args) else None
    if path.startswith(("torch.nn.functional.", "torch.fft.", "torch.linalg.", "torch.special.")) or (
        path.count(".") == 1 and path.rpartition(".")[2].islower()
    ):
        held = [part for argument in node.args for part in _parts(argument.value)]
        found = _joined(*(source_of(scope, part) for part in held))
        operator = operators.operator(path)
        return found or ("some" if operator is not None and node.args and path not in _TO_PYTHON else None)
    return None


def _parts(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(node, (cst.List, cst.Tuple)):
        for element in node.elements:
            yield from _parts(element.value)
    else:
        yield node


def _of_data(scope: Scope, path: str, data: cst.BaseExpression | None) -> Source | None:
    """What a factory makes of data: 0-dimensional of a number, and a name may well stand for one."""
    if path == factories.LEGACY_DEFAULT_TYPE:
        return "made"
    match data:
        case cst.List() | cst.Tuple() | cst.ListComp():
            return "made"
        case cst.Call() | cst.Subscript() | cst.BinaryOperation() if path not in factories.CONVERTERS:
            inner = source_of(scope, data)
            return inner if inner in ("made", "number") else "number"
        case cst.Name(value=name) if path in factories.CONVERTERS:
            return "given" if _is_parameter(scope, name) else "number"
        case cst.Name(value=name):
            values = _values_of(scope, name)
            listed = bool(values) and all(isinstance(one, (cst.List, cst.ListComp)) for one in values)
            return "made" if listed else "number"
        case _:
            return "number"


def _of_name(scope: Scope, name: str) -> Source | None:
    if scope.node is None or name in scope.asked or len(scope.asked) > _DEEPEST:
        return None
    values = _values_of(scope, name)
    below = Scope(scope.frame, scope.node, scope.owner, scope.depth, scope.asked | {name})
    if values:
        found = [source_of(below, value) for value in values]
        return _joined(*found) if None not in found else None
    if not _is_parameter(scope, name):
        return None
    return "given" if name in annotated_tensors(scope.node) else None


def _values_of(scope: Scope, name: str) -> tuple[cst.BaseExpression | None, ...]:
    return () if scope.node is None else assigned_values(scope.node).get(name, ())


def _is_parameter(scope: Scope, name: str) -> bool:
    return scope.node is not None and any(
        parameter.name.value == name for parameter in all_parameters(scope.node.params)
    )


@remembered(cst.FunctionDef)
def annotated_tensors(node: cst.FunctionDef) -> frozenset[str]:
    """The parameters that are annotated as a tensor, or as one or nothing."""
    return frozenset(
        parameter.name.value
        for parameter in all_parameters(node.params)
        if parameter.annotation is not None and is_tensor_type(parameter.annotation.annotation)
    )


def is_tensor_type(annotation: cst.BaseExpression) -> bool:
    """Whether an annotation says that something is a tensor, or one or nothing."""
    text = cst.Module([]).code_for_node(annotation)
    return TENSOR_ANNOTATION.search(text) is not None and not any(
        word in text
        for word in ("ist[", "ict[", "uple[", "Sequence", "Iterable", "Callable", "ndarray", "float", "int]")
    )


@remembered(cst.FunctionDef)
def assigned_values(node: cst.FunctionDef) -> dict[str, tuple[cst.BaseExpression | None, ...]]:
    """What each name of a function is given, in order; None for what is bound in another way than by a plain assignment."""
    found: dict[str, list[cst.BaseExpression | None]] = {}
    for part in walk(node.body, below=(cst.FunctionDef, cst.ClassDef, cst.Lambda)):
        match part:
            case cst.Assign(targets=targets, value=value):
                for target in targets:
                    for name, given in _bound(target.target, value):
                        found.setdefault(name, []).append(given)
            case cst.AnnAssign(target=cst.Name(value=name), value=value) if value is not None:
                found.setdefault(name, []).append(value)
            case cst.For(target=target) | cst.CompFor(target=target):
                for one in walk(target):
                    if isinstance(one, cst.Name):
                        found.setdefault(one.value, []).append(None)
            case (
                cst.WithItem(asname=cst.AsName(name=cst.Name(value=name)))
                | cst.NamedExpr(target=cst.Name(value=name))
            ):
                found.setdefault(name, []).append(None)
            case _:
                pass
    return {name: tuple(values) for name, values in found.items()}


@remembered(cst.FunctionDef)
def unpacked_values(node: cst.FunctionDef) -> tuple[tuple[frozenset[str], cst.BaseExpression], ...]:
    """The names that a function unpacks a value to, with that value."""
    return tuple(
        (frozenset(part.value for part in walk(target.target) if isinstance(part, cst.Name)), assign.value)
        for assign in walk(node.body, below=(cst.FunctionDef, cst.ClassDef, cst.Lambda))
        if isinstance(assign, cst.Assign) and not isinstance(assign.value, (cst.Tuple, cst.List))
        for target in assign.targets
        if isinstance(target.target, (cst.Tuple, cst.List))
    )


def _bound(
    target: cst.BaseExpression, value: cst.BaseExpression
) -> Iterator[tuple[str, cst.BaseExpression | None]]:
    match target, value:
        case cst.Name(value=name), _:
            yield name, value
        case ((cst.Tuple() | cst.List()), (cst.Tuple() | cst.List())) if len(target.elements) == len(
            value.elements
        ):
            for one, given in zip(target.elements, value.elements, strict=True):
                yield from _bound(one.value, given.value)
        case ((cst.Tuple() | cst.List()), _):
            for part in walk(target):
                if isinstance(part, cst.Name):
                    yield part.value, None
        case _:
            pass


def _of_function(scope: Scope, node: cst.FunctionDef, owner: ClassModel | None) -> Source | None:
    """What a function of the file returns, if each of its returns shows it; not an argument, and nothing that it moves."""
    if scope.depth >= _DEEPEST or (scope.node is node):
        return None
    if any(DEVICE_NAME.search(parameter.name.value) for parameter in all_parameters(node.params)):
        return None
    returned = returned_by(node)
    below = Scope(scope.frame, node, owner, scope.depth + 1)
    found = [source_of(below, value) for value in returned]
    if not found or None in found:
        return None
    return _joined(*found)


@remembered(cst.FunctionDef)
def returned_by(node: cst.FunctionDef) -> tuple[cst.BaseExpression | None, ...]:
    """What a function returns; nothing for a generator."""
    parts = list(walk(node.body, below=(cst.FunctionDef, cst.ClassDef, cst.Lambda)))
    if any(isinstance(part, cst.Yield) for part in parts):
        return ()
    return tuple(part.value for part in parts if isinstance(part, cst.Return))


def moves(node: cst.Call) -> bool:
    """Whether a call of `.to`, `.cuda`, `.type_as`, `.type` takes a tensor anywhere: not if it is told a dtype only."""
    if not isinstance(node.func, cst.Attribute):
        return False
    name = node.func.attr.value
    if name == "type":
        return any(
            isinstance(argument.value, cst.SimpleString) and "cuda" in argument.value.value
            for argument in node.args
        )
    if name != "to":
        return name in IN_PLACE_MOVES or name == "type_as"
    return not (
        bool(node.args)
        and all(
            argument.keyword is not None and argument.keyword.value in ("dtype", "copy", "non_blocking")
            if argument.keyword is not None
            else _is_dtype(argument.value)
            for argument in node.args
        )
    )


def _is_dtype(node: cst.BaseExpression) -> bool:
    last = node.attr.value if isinstance(node, cst.Attribute) else dotted(node) or ""
    return last in _DTYPES or last.endswith("dtype")


_DTYPES = frozenset(
    (
        "float float16 float32 float64 half double bfloat16 int int8 int16 int32 int64 long short bool uint8 complex64 "
        "complex128 cfloat"
    ).split()
)


def _says_where(argument: cst.Arg) -> bool:
    return argument.keyword is not None and DEVICE_NAME.search(argument.keyword.value) is not None


def _keyword(node: cst.Call, name: str) -> cst.BaseExpression | None:
    return next(
        (one.value for one in node.args if one.keyword is not None and one.keyword.value == name), None
    )


def class_named(scope: Scope, node: cst.BaseExpression) -> ClassModel | None:
    """The class of the file that an expression names."""
    value = scope.frame.lookup(node.value) if isinstance(node, cst.Name) else None
    return value.model if isinstance(value, Class) else None
