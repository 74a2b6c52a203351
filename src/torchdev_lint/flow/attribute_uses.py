"""What methods do with a tensor that an attribute of `self` holds, as their text shows: what it meets, where it is moved, or read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import libcst as cst

from torchdev_lint.flow.classes import ClassModel
from torchdev_lint.flow.evidence import ONLY_TENSORS, resolved_path
from torchdev_lint.flow.evident_tensors import Scope, assigned_values, class_named, moves, unpacked_values
from torchdev_lint.flow.operands import dotted
from torchdev_lint.flow.trees import all_parameters, remembered, walk
from torchdev_lint.flow.values import Function
from torchdev_lint.torch_api.devices import DEVICE_NAME
from torchdev_lint.torch_api.modules import IN_PLACE_MOVES
from torchdev_lint.torch_api.tensor_methods import HOST_METHODS, METADATA_ATTRIBUTES

How: TypeAlias = Literal["meets", "moved", "read", "set"]
"""It meets a tensor; it is moved; only its shape, or the host's numbers, are asked for; it is given another value."""

_HOST_READS = (METADATA_ATTRIBUTES | HOST_METHODS | {"device", "item", "tolist", "size", "dim", "numel"}) - {
    "backward"
}
_HOST_FUNCTIONS = frozenset(
    (
        "print len range int float str bool isinstance hasattr getattr setattr id type repr enumerate list tuple dict set max min "
        "delattr callable iter next sorted"
    ).split()
)
_BRINGS = re.compile(r"(?i)device|cuda|gpu|(?:^|_)(?:to|move|send|place|cast|as)(?:_|$)")
"""Functions, by name, that may bring what they are given to a device."""

_SCALAR = re.compile(r"\b(?:int|float|str|bool|ndarray|np\.|dict|Dict|Callable|Path|Any)\b")
_NO_LAYERS = re.compile(
    r"Config|Processor|Tokenizer|Vocab|Dict|List|Path|Lock|Event|Queue|Counter|Meter|Logger|Writer|Tensor|Size|Enum|Generator|Builder|"
    r"Manager|Handler|Scheduler|Optimizer|Dataset|Loader|Sampler|Spec|Info|Args|Params"
)
"""Classes, by name, whose instances are no layers."""

_RUN = frozenset({"forward", "__call__", "update", "training_step", "validation_step"})
"""Methods of modules that are given tensors, if nothing is said of their arguments."""


@dataclass(frozen=True, slots=True)
class Use:
    """One place where the tensor is used; `met`: what it meets there."""

    how: How
    node: cst.CSTNode
    met: str = ""
    shown: bool = False
    """The place shows that it is a tensor."""


@remembered(cst.FunctionDef)
def parents_of(method: cst.FunctionDef) -> dict[int, cst.CSTNode]:
    """For each node of a method, by `id`, what it is a part of."""
    found: dict[int, cst.CSTNode] = {}
    for node in walk(method.body):
        for child in node.children:
            found[id(child)] = node
            for below in child.children:
                found.setdefault(id(below), child)
    return found


@remembered(cst.FunctionDef)
def own_attributes(method: cst.FunctionDef) -> dict[str, tuple[cst.Attribute, ...]]:
    """The places where a method names attributes of `self`, by their names."""
    found: dict[str, list[cst.Attribute]] = {}
    for node in walk(method.body):
        match node:
            case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)):
                found.setdefault(name, []).append(node)
            case _:
                pass
    return {name: tuple(nodes) for name, nodes in found.items()}


@dataclass(slots=True)
class Reading:
    """What was found out about the classes of a file while their texts are read."""

    held: dict[int, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)
    names: dict[int, frozenset[str]] = field(default_factory=dict)

    def submodules(self, model: ClassModel) -> frozenset[str]:
        """The attributes that hold layers of PyTorch's, or modules of the file."""
        return self._held(model)[0]

    def registered(self, model: ClassModel) -> frozenset[str]:
        """The attributes that are parameters or buffers."""
        return self._held(model)[1]

    def _held(self, model: ClassModel) -> tuple[frozenset[str], frozenset[str]]:
        if id(model) not in self.held:
            self.held[id(model)] = _find_held(model)
        return self.held[id(model)]

    def tensors(self, model: ClassModel, method: cst.FunctionDef) -> frozenset[str]:
        """The names of a method that hold tensors which come from outside: its arguments, what submodules and they give."""
        if id(method) not in self.names:
            self.names[id(method)] = _tensor_names(method, model, self.submodules(model))
        return self.names[id(method)]


def parameter_names(node: cst.FunctionDef) -> list[str]:
    """The names of a function's parameters."""
    return [parameter.name.value for parameter in all_parameters(node.params)]


def _moves_inside(value: cst.CSTNode) -> bool:
    return any(isinstance(part, cst.Call) and _is_move(part) for part in walk(value))


def _is_move(call: cst.Call) -> bool:
    return (
        isinstance(call.func, cst.Attribute)
        and call.func.attr.value in (*IN_PLACE_MOVES, "type_as")
        and moves(call)
    )


def uses_in(
    reading: Reading, model: ClassModel, method: cst.FunctionDef, name: str, plain: frozenset[str]
) -> Iterator[Use]:
    """What a method does with `self.name`; `plain`: the attributes that are kept like it, and so may meet it."""
    reader = _Reader(reading, model, method, plain)
    for node in own_attributes(method).get(name, ()):
        yield from reader.climb(node)


class _Reader:
    def __init__(
        self, reading: Reading, model: ClassModel, method: cst.FunctionDef, plain: frozenset[str]
    ) -> None:
        self.submodules = reading.submodules(model)
        self.registered = reading.registered(model)
        self.tensors = reading.tensors(model, method)
        self.model = model
        self.method = method
        self.plain = plain
        self.parents = parents_of(method)
        self.followed: set[str] = set()

    def climb(self, node: cst.CSTNode, *, shown: bool = False) -> Iterator[Use]:
        """What becomes of the value of an expression."""
        while True:
            above = self.parents.get(id(node))
            found: Use | None = None
            match above:
                case cst.Attribute(value=value) if value is node:
                    found, next_node, shown = self.attribute(above, shown=shown)
                    if found is None and next_node is None:
                        return
                    node = next_node or node
                case cst.Subscript(value=value) if value is node:
                    keys = [key.slice for key in above.slice]
                    shown = shown or len(keys) > 1
                    index = keys[0] if len(keys) == 1 else None
                    if isinstance(index, cst.Index) and self.is_index(index.value):
                        found = Use("meets", above, _text(index.value), shown)
                    node = above
                case cst.BinaryOperation(left=left, right=right):
                    found = self.meeting(above, right if left is node else left, shown=shown)
                    node = above
                case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget() as target]) if (
                    left is node
                ):
                    found = self.compared(above, target, target.comparator, shown=shown)
                    node = above
                case cst.ComparisonTarget():
                    whole = self.parents.get(id(above))
                    if not isinstance(whole, cst.Comparison):
                        return
                    found = self.compared(whole, above, whole.left, shown=shown)
                    node = whole
                case cst.UnaryOperation(operator=cst.Not()):
                    found = Use("read", above)
                case cst.IfExp(test=test) if test is node:
                    found = Use("read", above)
                case cst.UnaryOperation() | cst.IfExp() | cst.Element() | cst.List() | cst.Tuple():
                    node = above
                case cst.Arg():
                    call = self.parents.get(id(above))
                    if not isinstance(call, cst.Call):
                        return
                    found = self.given(call, above, shown=shown)
                    node = call
                case cst.AugAssign(target=target, value=value) if value is node:
                    found = self.meeting(above, target, shown=shown) or Use("read", above)
                case cst.AugAssign() | cst.Del() | cst.AssignTarget() | cst.AnnAssign(value=None):
                    found = Use("set", above)
                case cst.Call(func=func, args=arguments) if func is node and arguments:
                    found = Use("meets", above, _text(arguments[0].value), shown)  # a function that is kept
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if (
                    value is node
                ):
                    yield from self.follow(name, shown=shown)
                    return
                case _:
                    return  # an index of the CPU is taken anywhere
            if found is not None:
                yield found
                return

    def attribute(self, above: cst.Attribute, *, shown: bool) -> tuple[Use | None, cst.CSTNode | None, bool]:
        """What an attribute or method of the tensor does, or where its result is."""
        name = above.attr.value
        call = self.parents.get(id(above))
        if not isinstance(call, cst.Call) or call.func is not above:
            if name in _HOST_READS:
                return Use("read", above), None, shown
            return None, above if name in ("T", "mT", "data") else None, shown
        if name in IN_PLACE_MOVES or name in ("type_as", "type"):
            return (Use("moved", call) if moves(call) else None), call, shown
        if name in _HOST_READS:
            return Use("read", call), None, shown
        shown = shown or name in ONLY_TENSORS
        met = next((text for one in call.args if (text := self.tensor(one.value))), "")
        return (Use("meets", call, met, shown) if met else None), call, shown

    def meeting(self, whole: cst.CSTNode, other: cst.CSTNode, *, shown: bool) -> Use | None:
        """The use of an operation, if its other operand is a tensor that may be elsewhere."""
        met = self.tensor(other)
        return Use("meets", whole, met, shown) if met else None

    def compared(
        self, whole: cst.Comparison, target: cst.ComparisonTarget, other: cst.CSTNode, *, shown: bool
    ) -> Use | None:
        """The use of a comparison."""
        if isinstance(target.operator, (cst.Is, cst.IsNot, cst.In, cst.NotIn)):
            return Use("read", whole)
        return self.meeting(whole, other, shown=shown)

    def follow(self, name: str, *, shown: bool) -> Iterator[Use]:
        """What a method does with a name that it has given the tensor, and nothing else."""
        values = assigned_values(self.method).get(name, ())
        if name in self.followed or any(value is None or _moves_inside(value) for value in values):
            return
        self.followed.add(name)
        for node in walk(self.method.body):
            if isinstance(node, cst.Name) and node.value == name:
                above = self.parents.get(id(node))
                named = getattr(above, "attr", None) is node or getattr(above, "keyword", None) is node
                if not isinstance(above, cst.AssignTarget) and not named:
                    yield from self.climb(node, shown=shown)

    def given(self, call: cst.Call, argument: cst.Arg, *, shown: bool) -> Use | None:
        """What a call does with the tensor among its arguments; None where what it gives is one like it."""
        name = call.func.attr.value if isinstance(call.func, cst.Attribute) else dotted(call.func) or ""
        if name in _HOST_FUNCTIONS and isinstance(call.func, cst.Name):
            return Use("read", call)
        path = resolved_path(self.model.frame, call.func)
        others = [one.value for one in call.args if one is not argument]
        if isinstance(argument.value, (cst.List, cst.Tuple)):
            others += [element.value for element in argument.value.elements]
        met = next((text for one in others if (text := self.tensor(one))), "")
        if path is not None and path.startswith("torch."):
            if path.endswith(("_like", ".is_tensor", ".numel", ".tensor", ".as_tensor", ".save")):
                return Use("read", call)
            return Use("meets", call, met, shown=True) if met else None
        if _BRINGS.search(name):
            return Use("moved", call)
        receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
        called = self.called(call.func, name)
        if called is not None:
            if _moves_inside(called.body) or DEVICE_NAME.search(" ".join(parameter_names(called))):
                return Use("moved", call)
            return Use("meets", call, met, shown) if met else None
        if isinstance(receiver, cst.Name) and receiver.value == "self":
            there = name in self.submodules or (bool(met) and self.model.find(name) is None)
            return Use("meets", call, met or f"self.{name}", shown) if there else Use("read", call)
        if receiver is not None and name in ONLY_TENSORS:
            return self.meeting(call, receiver, shown=True) or Use("read", call)
        return Use("read", call)

    def called(self, function: cst.BaseExpression, name: str) -> cst.FunctionDef | None:
        """The function of the file, or method of the class, that is called."""
        match function:
            case cst.Name():
                found = self.model.frame.lookup(name)
                node = found.node if isinstance(found, Function) else None
                return node if isinstance(node, cst.FunctionDef) else None
            case cst.Attribute(value=cst.Name(value=on)) if on == "self" or on == self.model.name:
                return self.model.find(name)
            case _:
                return None

    def is_own(self, node: cst.BaseExpression) -> bool:
        """Whether it is kept as the tensor is, or made of such."""
        match node:
            case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)):
                return name in self.plain
            case cst.Subscript(value=value) | cst.Call(func=cst.Attribute(value=value)):
                return self.is_own(value)
            case cst.BinaryOperation(left=left, right=right):
                return self.is_own(left) and self.is_own(right)
            case _:
                return False

    def is_index(self, node: cst.BaseExpression) -> bool:
        """Whether an index is a tensor that comes from elsewhere."""
        match node:
            case cst.Name() | cst.BinaryOperation() | cst.Comparison():
                return bool(self.tensor(node))
            case cst.Call(func=cst.Attribute(value=value, attr=cst.Name(value="long"))):
                return bool(self.tensor(value))
            case _:
                return False

    def tensor(self, node: cst.CSTNode) -> str:
        """The text of an expression that gives a tensor which is not kept as this one is; empty where it may be a number."""
        if isinstance(node, cst.BaseExpression) and not self.is_own(node) and self.is_tensor(node):
            return _text(node)
        return ""

    def is_tensor(self, node: cst.BaseExpression) -> bool:
        """Whether it evidently is a tensor that may be elsewhere."""
        match node:
            case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)):
                return name in self.registered
            case cst.Attribute(attr=cst.Name(value="weight" | "bias")):
                return True
            case cst.Attribute(value=value, attr=cst.Name(value="data")):
                return self.is_tensor(value)
            case cst.Comparison(left=left):
                return self.is_tensor(left)
            case cst.UnaryOperation(expression=inner):
                return not isinstance(node.operator, cst.Not) and self.is_tensor(inner)
            case cst.List(elements=elements) | cst.Tuple(elements=elements):
                return any(self.is_tensor(element.value) for element in elements)
            case cst.Subscript(value=value):
                return self.is_tensor(value)
            case _:
                return comes_of(self.model, node, self.tensors, self.submodules)


def _tensor_names(method: cst.FunctionDef, model: ClassModel, parts: frozenset[str]) -> frozenset[str]:
    runs = method.name.value in _RUN
    found: set[str] = set()
    for parameter in all_parameters(method.params)[1:]:
        name = parameter.name.value
        annotation = parameter.annotation
        text = "" if annotation is None else cst.Module([]).code_for_node(annotation.annotation)
        untold = not text and parameter.default is None
        if ("Tensor" in text and not _SCALAR.search(text)) or (
            untold and (runs or name in _used_as_tensors(method))
        ):
            found.add(name)
    for _ in range(2):
        for name, values in assigned_values(method).items():
            if any(value is not None and comes_of(model, value, found, parts) for value in values):
                found.add(name)
        for names, value in unpacked_values(method):
            if comes_of(model, value, found, parts):
                found |= names
    return frozenset(found)


def comes_of(model: ClassModel, value: cst.BaseExpression, found: Set[str], parts: frozenset[str]) -> bool:
    """Whether a value is computed of these tensors, or given out by a submodule."""
    match value:
        case cst.Name(value=name):
            return name in found
        case cst.Attribute(value=inner, attr=cst.Name(value=name)):
            return (
                name not in _HOST_READS and not _NUMBERS.search(name) and comes_of(model, inner, found, parts)
            )
        case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=name))):
            if name in _HOST_READS or name in ("cpu", "numpy"):
                return False
            if _is_of_self(receiver) or (isinstance(receiver, cst.Name) and receiver.value == "self"):
                # a layer, a method, or a method of a part: of tensors they make tensors
                return (isinstance(receiver, cst.Name) and (name in parts or name == "forward")) or (
                    not _NUMBERS.search(name)
                    and any(comes_of(model, one.value, found, parts) for one in value.args)
                )
            path = resolved_path(model.frame, value.func)
            if path is not None:
                return path.startswith("torch.") and any(
                    comes_of(model, one.value, found, parts) for one in value.args
                )
            return comes_of(model, receiver, found, parts)
        case cst.BinaryOperation(left=left, right=right):
            return comes_of(model, left, found, parts) or comes_of(model, right, found, parts)
        case cst.Subscript(value=inner):
            return comes_of(model, inner, found, parts)
        case _:
            return False


def _is_of_self(node: cst.BaseExpression) -> bool:
    """`self.encoder`, `super()`."""
    match node:
        case cst.Attribute(value=value):
            return isinstance(value, cst.Name) and value.value == "self"
        case cst.Call(func=cst.Name(value=name)):
            return name == "super"
        case _:
            return False


_NUMBERS = re.compile(
    r"(?i)len|num|count|size|shape|idx|index|name|dim|key|id$|config|dtype|device|^is_|^has_"
)
"""What is called like this gives numbers, or names."""


@remembered(cst.FunctionDef)
def _used_as_tensors(method: cst.FunctionDef) -> frozenset[str]:
    """The names whose attributes are asked for that only tensors have."""
    return frozenset(
        node.value.value
        for node in walk(method.body)
        if isinstance(node, cst.Attribute)
        and isinstance(node.value, cst.Name)
        and node.attr.value in ONLY_TENSORS
    )


def _find_held(model: ClassModel) -> tuple[frozenset[str], frozenset[str]]:
    parts: set[str] = set()
    tensors: set[str] = set()
    for owner in model.lineage():
        for method in owner.methods.values():
            scope = Scope(owner.frame, method, owner)
            for node in walk(method.body):
                match node:
                    case cst.Assign(
                        targets=[
                            cst.AssignTarget(
                                target=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name))
                            )
                        ],
                        value=cst.Call(func=called),
                    ):
                        held = class_named(scope, called)
                        last = (dotted(called) or "").rpartition(".")[2]
                        if last in ("Parameter", "Buffer"):
                            tensors.add(name)
                        elif held is not None:
                            parts |= {name} if held.is_module else set()
                        elif last.lstrip("_")[:1].isupper() and (
                            (resolved_path(owner.frame, called) or "").startswith("torch.nn.")
                            or not _NO_LAYERS.search(last)
                        ):
                            parts.add(name)
                    case cst.Call(
                        func=cst.Attribute(
                            value=cst.Name(value="self"),
                            attr=cst.Name(value="register_buffer" | "register_parameter"),
                        ),
                        args=[cst.Arg(value=cst.SimpleString() as key), *_],
                    ):
                        tensors.add(str(key.evaluated_value))
                    case _:
                        pass
    return frozenset(parts), frozenset(tensors)


def _text(node: cst.CSTNode) -> str:
    text = cst.Module([]).code_for_node(node).strip()
    return text if len(text) <= 40 and "\n" not in text else "a tensor"
