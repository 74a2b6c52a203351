"""What the text of a file shows of a device: a type's name (`"cuda"`), a string that may have an index, a `torch.device`.

Nothing is executed. A name is what is assigned to it anywhere in its scope, what its annotation says, what an option's choices are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, walk
from torchdev_lint.flow.torch_calls.device_values import is_configuration
from torchdev_lint.torch_api import devices as api

TYPE = "type"
"""A type's name without an index."""
INDEXED = "indexed"
TEXT = "text"
"""A string that may have an index."""
OBJECT = "object"
PLAIN_OBJECT = "plain object"
"""A `torch.device` without an index."""
SHOWN = "shown"
"""`str(...)` of a device."""
OF_THING = "of a thing"
"""The `.device` of something else: of a tensor or a model, as a rule."""
ANY = "any"
OTHER = "other"
"""None, a number: no device's name."""

Kinds = frozenset[str]

_HOPS = 5
_DEVICE = re.compile(r"(?i)(?:^|_)(?:device|dev)(?:_?(?:str|string|name|spec|arg))?\d*$")
"""What devices are called; `device_type` is none."""
_TYPE_NAME = re.compile(r"(?i)device_?(?:type|kind|family|backend)$|^get_\w*device_type$|^backend$")
_SAME = frozenset("lower strip replace".split())


@dataclass(eq=False)
class Scope:
    """A function or the module, what encloses it, and what its text binds."""

    analysis: Analysis
    node: cst.FunctionDef | cst.Module
    owner: cst.ClassDef | None = None
    outer: Scope | None = None
    nodes: list[cst.CSTNode] = field(default_factory=list)
    inner: list[Scope] = field(default_factory=list)
    bound: dict[str, list[cst.BaseExpression | None]] = field(default_factory=dict)
    """By text: what is assigned to a name or an attribute; None for what cannot be told."""

    @property
    def root(self) -> Scope:
        scope = self
        while scope.outer is not None:
            scope = scope.outer
        return scope

    @cached_property
    def assigned(self) -> set[str]:
        """What is assigned in the scope and in those within it; of the root, anywhere in the file."""
        return self.bound.keys() | {name for inner in self.inner for name in inner.assigned}

    def parameter(self, name: str) -> cst.Param | None:
        if isinstance(self.node, cst.Module):
            return None
        return next((one for one in all_parameters(self.node.params) if one.name.value == name), None)


def read(analysis: Analysis) -> list[Scope]:
    """The module and its functions."""
    found: list[Scope] = []
    _read(Scope(analysis, analysis.module), analysis.module.body, found)
    return found


def _read(scope: Scope, body: Iterable[cst.CSTNode] | cst.CSTNode, found: list[Scope]) -> None:
    found.append(scope)
    parts = [body] if isinstance(body, cst.CSTNode) else list(body)
    for part in parts:
        _gather(scope, part, scope.owner, found)


def _gather(scope: Scope, part: cst.CSTNode, owner: cst.ClassDef | None, found: list[Scope]) -> None:
    for node in walk(part, below=(cst.FunctionDef, cst.ClassDef)):
        if isinstance(node, cst.FunctionDef):
            inner = Scope(scope.analysis, node, owner, scope)
            scope.inner.append(inner)
            scope.bound.setdefault(node.name.value, []).append(None)
            _read(inner, node.body, found)
        elif isinstance(node, cst.ClassDef):
            for line in node.body.body:
                _gather_class(scope, line, node, found)
        else:
            scope.nodes.append(node)
            _bind(scope, node)


def _gather_class(scope: Scope, line: cst.CSTNode, owner: cst.ClassDef, found: list[Scope]) -> None:
    for node in walk(line, below=(cst.FunctionDef, cst.ClassDef)):
        if isinstance(node, cst.FunctionDef):
            inner = Scope(scope.analysis, node, owner, scope)
            scope.inner.append(inner)
            _read(inner, node.body, found)
        elif isinstance(node, cst.ClassDef):
            for part in node.body.body:
                _gather_class(scope, part, node, found)


def _bind(scope: Scope, node: cst.CSTNode) -> None:
    kind = type(node)
    if kind is cst.Assign:
        assert isinstance(node, cst.Assign)
        for target in node.targets:
            _bind_target(scope, target.target, node.value)
    elif kind is cst.AnnAssign or kind is cst.NamedExpr:
        assert isinstance(node, (cst.AnnAssign, cst.NamedExpr))
        _bind_target(scope, node.target, node.value)
    elif isinstance(node, (cst.For, cst.CompFor)):
        _bind_target(scope, node.target, None)
    elif isinstance(node, cst.AsName):
        _bind_target(scope, node.name, None)
    elif kind is cst.ImportAlias:
        assert isinstance(node, cst.ImportAlias)
        if node.asname is None:
            scope.bound.setdefault((dotted(node.name) or "").partition(".")[0], []).append(None)


def _bind_target(scope: Scope, target: cst.CSTNode, value: cst.BaseExpression | None) -> None:
    if isinstance(target, (cst.Tuple, cst.List)):
        parts: list[cst.BaseExpression | None] = [None] * len(target.elements)
        if isinstance(value, (cst.Tuple, cst.List)) and len(value.elements) == len(parts):
            parts = [one.value for one in value.elements]
        for element, part in zip(target.elements, parts, strict=True):
            _bind_target(scope, element.value, part)
        return
    text = spelled(target)
    if text is not None:
        scope.bound.setdefault(text, []).append(value)


def spelled(node: cst.CSTNode) -> str | None:
    """The text of a name, of an attribute, or of an item under a string: `cfg["device"]`."""
    match node:
        case cst.Subscript(
            value=base, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]
        ):
            text = dotted(base)
            return None if text is None else f"{text}[{key.evaluated_value!r}]"
        case _:
            return dotted(node)


def is_called_device(node: cst.CSTNode) -> bool:
    """Whether an expression is called a device."""
    match node:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return _DEVICE.search(name) is not None
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]):
            return _DEVICE.search(str(key.evaluated_value)) is not None
        case cst.Call(func=cst.Name(value="str"), args=[cst.Arg(value=inner)]):
            return is_called_device(inner)
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=name))) if name in _SAME:
            return is_called_device(inner)
        case cst.Call(
            func=cst.Attribute(attr=cst.Name(value="get")),
            args=[cst.Arg(value=cst.SimpleString() as key), *_],
        ):
            return _DEVICE.search(str(key.evaluated_value)) is not None
        case _:
            return False


def makes_device(node: cst.BaseExpression) -> bool:
    """Whether it is a `torch.device(...)`."""
    return isinstance(node, cst.Call) and dotted(node.func) in ("torch.device", "th.device")


def shown(device: cst.CSTNode) -> str | None:
    """The text of what is asked, in whatever form: `device` of `str(device).lower()`."""
    match device:
        case cst.Call(func=cst.Name(value="str"), args=[cst.Arg(value=inner)]):
            return shown(inner)
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=name))) if name in _SAME:
            return shown(inner)
        case _:
            return spelled(device)


def type_of(scope: Scope, device: cst.BaseExpression) -> str | None:
    """An expression for the type of a device, if it is certain that it is one."""
    inner = device
    if isinstance(device, cst.Call):
        if dotted(device.func) != "str" or not device.args:
            return None
        inner = device.args[0].value
    text, found = scope.analysis.text(inner), kinds(scope, inner)
    if found <= {OBJECT, PLAIN_OBJECT, OF_THING}:
        return f"{text}.type"
    if found <= {TEXT, INDEXED, TYPE, OBJECT, PLAIN_OBJECT} and "torch" in scope.root.bound:
        return f"torch.device({text}).type"
    return None


def kinds(scope: Scope, node: cst.BaseExpression | None, hops: int = _HOPS) -> Kinds:
    """What an expression may be that names a device."""
    if node is None or hops == 0:
        return frozenset({ANY})
    match node:
        case cst.SimpleString():
            parsed = api.parse(str(node.evaluated_value))
            return frozenset({OTHER if parsed is None else TYPE if parsed[1] is None else INDEXED})
        case cst.FormattedString(parts=parts):
            texts = "".join(part.value for part in parts if isinstance(part, cst.FormattedStringText))
            return frozenset({INDEXED if ":" in texts else TEXT})
        case cst.Integer() | cst.Name(value="None" | "True" | "False"):
            return frozenset({OTHER})
        case cst.IfExp(body=then, orelse=otherwise) | cst.BooleanOperation(left=then, right=otherwise):
            return kinds(scope, then, hops) | kinds(scope, otherwise, hops)
        case cst.Call():
            return _called(scope, node, hops)
        case cst.Subscript(value=cst.Call(func=cst.Attribute(attr=cst.Name(value="split" | "partition")))):
            return frozenset({TYPE})
        case cst.Name(value=name):
            return _named(scope, name, hops)
        case cst.Attribute(attr=cst.Name(value=name)):
            if _TYPE_NAME.search(name) or name == "type":
                return frozenset({TYPE})
            return _attribute(scope, node, hops)
        case cst.Subscript():
            text = spelled(node)
            return _assigned(scope, text, hops) if text in scope.bound else frozenset({ANY})
        case _:
            return frozenset({ANY})


def _called(scope: Scope, node: cst.Call, hops: int) -> Kinds:
    path = dotted(node.func)
    if makes_device(node) and node.args:
        given = kinds(scope, node.args[0].value, hops - 1)
        if len(node.args) > 1 or given <= {INDEXED}:
            return frozenset({INDEXED})
        return frozenset({PLAIN_OBJECT if given <= {TYPE, OTHER} else OBJECT})
    if path == "str" and node.args:
        given = kinds(scope, node.args[0].value, hops - 1)
        return frozenset({TYPE}) if given <= {TYPE, PLAIN_OBJECT} else frozenset({SHOWN})
    match node.func:
        case cst.Attribute(value=inner, attr=cst.Name(value=name)) if name in _SAME:
            return kinds(scope, inner, hops - 1)
        case cst.Attribute(attr=cst.Name(value=name)) | cst.Name(value=name):
            if _TYPE_NAME.search(name):
                return frozenset({TYPE})
            if isinstance(node.func, cst.Name):
                return _returned(scope, name, hops)
        case _:
            pass
    return frozenset({ANY})


def _returned(scope: Scope, name: str, hops: int) -> Kinds:
    """What a function of the file gives."""
    for inner in scope.root.inner:
        if isinstance(inner.node, cst.FunctionDef) and inner.node.name.value == name and inner.owner is None:
            return _returns(inner, hops)
    return frozenset({ANY})


def _returns(scope: Scope, hops: int) -> Kinds:
    found: Kinds = frozenset()
    for node in scope.nodes:
        if isinstance(node, cst.Return):
            found |= kinds(scope, node.value, hops - 1)
    return found or frozenset({OTHER})


def _assigned(scope: Scope, text: str, hops: int) -> Kinds:
    found: Kinds = frozenset()
    for value in scope.bound.get(text, ()):
        found |= kinds(scope, value, hops - 1)
    return found


def _named(scope: Scope, name: str, hops: int) -> Kinds:
    current: Scope | None = scope
    while current is not None:
        parameter = current.parameter(name)
        if parameter is not None or name in current.bound:
            found = _assigned(current, name, hops)
            return found | _given(current, parameter) if parameter is not None else found
        current = current.outer
    return frozenset({ANY})


def _given(scope: Scope, parameter: cst.Param) -> Kinds:
    if parameter.annotation is None:
        return frozenset({ANY})
    return _said(scope, parameter.annotation.annotation)


def _said(scope: Scope, annotation: cst.BaseExpression) -> Kinds:
    """What an annotation says."""
    text = scope.analysis.text(annotation).strip("\"'")
    found = set()
    if "Literal[" in text:
        found.add(INDEXED if re.search(r":\d", text) else TYPE)
    elif re.search(r"\bstr\b", text):
        found.add(TEXT)
    if re.search(r"\b(?:torch\.|th\.)?[dD]evice(?:LikeType|Like)?\b", text):
        found.add(OBJECT)
        if "Like" in text:
            found.add(TEXT)
    return frozenset(found or {ANY})


def _attribute(scope: Scope, node: cst.Attribute, hops: int) -> Kinds:
    text = dotted(node)
    name = node.attr.value
    if text is None:
        return frozenset({OF_THING if name == "device" else ANY})
    base = text.rpartition(".")[0]
    if base == "self" and scope.owner is not None:
        return _of_instance(scope, scope.owner, text, name, hops)
    found = _assigned(scope, text, hops)
    if is_configuration(base):
        option = _option(scope, name)
        return option if not found else found if option == {ANY} else found | option
    if found:
        return found
    return frozenset({OF_THING if name == "device" else ANY})


def _of_instance(scope: Scope, owner: cst.ClassDef, text: str, name: str, hops: int) -> Kinds:
    found: Kinds = frozenset()
    for other in _of_class(scope.root, owner):
        if isinstance(other.node, cst.FunctionDef) and other.node.name.value == name:
            if other.node.returns is not None:
                said = _said(other, other.node.returns.annotation)
                if ANY not in said:
                    return said
            return _returns(other, hops)
        found |= _assigned(other, text, hops)
    for line in owner.body.body:
        for part in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            match part:
                case cst.AnnAssign(target=cst.Name(value=word), annotation=annotation) if word == name:
                    found |= _said(scope, annotation.annotation)
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=word))], value=value) if (
                    word == name
                ):
                    found |= kinds(scope.root, value, hops - 1)
                case _:
                    pass
    return found or frozenset({ANY})


def _of_class(scope: Scope, owner: cst.ClassDef) -> Iterator[Scope]:
    for inner in scope.inner:
        if inner.owner is owner:
            yield inner
        yield from _of_class(inner, owner)


def _option(scope: Scope, name: str) -> Kinds:
    """What an option of the command line may be: its choices, else any string."""
    for part in scope.root.nodes:
        found = _of_option(part, name)
        if found is not None:
            return found
    for inner in scope.root.inner:
        for part in inner.nodes:
            found = _of_option(part, name)
            if found is not None:
                return found
    return frozenset({ANY})


def _of_option(part: cst.CSTNode, name: str) -> Kinds | None:
    match part:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="add_argument")), args=arguments):
            words = [
                str(one.value.raw_value).lstrip("-").replace("-", "_")
                for one in arguments
                if isinstance(one.value, cst.SimpleString)
                and (one.keyword is None or one.keyword.value == "dest")
            ]
            if name not in words:
                return None
            for one in arguments:
                if one.keyword is not None and one.keyword.value == "choices":
                    return frozenset(
                        {TYPE if ":" not in cst.Module([]).code_for_node(one.value) else INDEXED}
                    )
            return frozenset({TEXT})
        case _:
            return None
