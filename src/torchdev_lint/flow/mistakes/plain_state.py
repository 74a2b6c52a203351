"""Tensors, and modules in tuples, that a module keeps as plain attributes, as far as the text of its class shows.

`registration` follows values: it tells of an attribute where it sees it meet what moves. Here nobody sees that. The class is read as a
reader would: what `__init__`, and the methods that it calls, assign to `self`, is a tensor by how it is made; another method reads it,
and brings it nowhere first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.events import Event, UnregisteredModule, UnregisteredTensor
from torchdev_lint.flow.activation.placement_events import PlainState
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.instances.classes import ClassModel
from torchdev_lint.flow.instances.own_state import attributes_written
from torchdev_lint.flow.nn_modules.registration import name_of_nn
from torchdev_lint.flow.project.defaults_elsewhere import builds_elsewhere
from torchdev_lint.flow.project.project_calls import argument_given, functions_named
from torchdev_lint.flow.read_alone.evidence import ONLY_TENSORS, TESTING, has_tests
from torchdev_lint.flow.read_alone.written_evidence import (
    GENERATOR,
    MAKES,
    holds_nothing,
    is_operation,
    path_of,
)
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, parents, says_device, walk
from torchdev_lint.torch_api.factories import TAKES_DATA
from torchdev_lint.torch_api.modules import CONTAINERS
from torchdev_lint.torch_api.tensor_methods import METADATA_ATTRIBUTES

_KINDS = ("tensor", "tensors", "modules", "function", "table")
_HOPS = 3
"""How many functions are looked into for what they return."""

_ENDS_TENSOR = frozenset(
    "item tolist numpy size dim numel stride get_device is_contiguous data_ptr element_size nelement backward".split()
)
_BRINGS = frozenset(
    "to cuda type_as cpu xpu npu item tolist numpy copy_ new_tensor shape size dim numel device".split()
)
"""What is said of an attribute where it is brought somewhere, or is only asked about itself."""
_TENSOR = re.compile(r"\b(?:torch\.)?(?:\w*Tensor)\b")
_NOT_TENSOR = re.compile(
    r"\b(?:List|list|Tuple|tuple|Dict|dict|Sequence|Callable|Iterable|Mapping|float|int|str|ndarray)\b"
)
_SHOWS = re.compile(
    r"^(?:__init__|__repr__|extra_repr|__str__|__getstate__|__setstate__|_apply|to|cuda|cpu|float|half|double|\w*state_dict\w*)$"
)
_TABLE = re.compile(
    r"(?i)(?:^|_)(?:pos\w*_?(?:enc\w*|emb\w*|table)|sin(?:cos|usoid\w*)|encodings?|anchors?|grids?|masks?|freqs?(?:_?cis)?|tables?)(?:$|_)"
)
"""What functions are called that make constant tensors."""
_MAY_BE_PLAIN = re.compile(
    r"self\.\w+(?:\s*:[^=\n]+)?\s*=\s*(?:lambda\b|(?:functools\.)?partial\(|[\w.]*(?i:pos|sin|enc|anchor|grid|mask|freq|table)\w*\()|"
    r"\bimport\b[^\n]*(?i:pos|sin|enc|anchor|grid|mask|freq|table)\w* as "
)
"""What a class says that keeps a function, or a table that a function makes."""
_MODULE = re.compile(r"(?:Module|Layer|Block|Net|Network|Encoder|Decoder|Embeddings?|Policy|Loss)$")
_PREPARES = re.compile(
    r"(?i)dataset|transform(?!er)|augment|collat|sampler|loader|processor|tokeni[sz]er|Compose"
)


def settle(analysis: Analysis, known: Sequence[Event], met: Sequence[Function]) -> list[PlainState]:
    """The plain attributes of the modules of a file, less those of which more is known."""
    if (
        not (analysis.options.audits or analysis.says(_MAY_BE_PLAIN))
        or not TESTING.isdisjoint(analysis.imported)
        or has_tests(analysis.module)
    ):
        return []
    told = {
        (id(event.node), event.attribute)
        for event in known
        if isinstance(event, (UnregisteredTensor, UnregisteredModule))
    }
    found: list[PlainState] = []
    models = dict.fromkeys(function.owner for function in met if function.owner is not None)
    for model in models:
        if _is_module(model):
            plain = [one for one in _Class(model).plain() if (id(one.node), one.attribute) not in told]
            if plain and not builds_elsewhere(analysis, model.name):
                found += plain
    return found


def _is_module(model: ClassModel) -> bool:
    if model.frame.source.foreign or _PREPARES.search(model.name) is not None:
        return False
    bases = [dotted(base.value) or "" for base in model.node.bases]
    if any(_PREPARES.search(base) is not None for base in bases):
        return False
    return model.is_module or any(_MODULE.search(base) is not None for base in bases)


_Names: TypeAlias = dict[str, str]
"""What the names of a function hold, as far as its text shows: what `_Class._kind` says of each."""


@dataclass(frozen=True)
class _Kept:
    node: cst.Assign | cst.AnnAssign
    value: cst.BaseExpression
    kind: str


class _Class:
    """A class of modules, and what it keeps."""

    def __init__(self, model: ClassModel) -> None:
        self.model = model
        self.frame = model.frame
        self.kept: dict[str, _Kept] = {}
        self.held: dict[int, set[str]] = {}
        """By `id` of a lambda: the tensors that it holds."""
        self.other: set[str] = set()
        """The attributes that are something else as well, are registered or moved somewhere."""

    def plain(self) -> Iterator[PlainState]:
        initializer = self.model.methods.get("__init__")
        if initializer is None or self.model.find("_apply") is not None:
            return
        makers = self._makers(initializer)
        for maker in makers:
            self._read(maker)
        rest = [
            method
            for method in self.model.methods.values()
            if method not in makers and _SHOWS.match(method.name.value) is None
        ]
        for method in self.model.methods.values():
            if method not in makers:
                self.other |= attributes_written(method)
        asked = {name for name in self.kept if name not in self.other and not self._moves_it(name)}
        uses: dict[str, cst.CSTNode] = {}
        functions = {name for name in asked if self.kept[name].kind == "function"}
        tables = {name for name in asked if self.kept[name].kind == "table"}
        for method in rest if asked else ():
            found = (
                *_uses(method, asked - functions - tables),
                *_mentions(method, functions),
                *_parts_used(method, tables),
            )
            for name, use in found:
                uses.setdefault(name, use)
        for name, kept in self.kept.items():
            if name in uses:
                kind = "tensor" if kept.kind == "table" else kept.kind
                seen = kept.kind in ("function", "table")
                yield PlainState(kept.node, name, kind, self._cure(name, kept), uses[name], plain=seen)

    def _cure(self, name: str, kept: _Kept) -> str:
        """The assignment as it registers what it keeps; empty for tensors in containers."""
        text, value = self.frame.analysis.text, kept.value
        if kept.kind in ("tensor", "table"):
            return f'self.register_buffer("{name}", {text(value)}, persistent=False)'
        if isinstance(value, cst.Lambda):
            return self._bringing(name, value)
        nn = name_of_nn(self.frame)
        if kept.kind != "modules" or nn is None:
            return ""
        match value:
            case cst.Call(func=cst.Name(value="tuple" | "list"), args=[cst.Arg(value=inner)]):
                return f"self.{name} = {nn}.ModuleList({text(inner)})"
            case cst.List() | cst.ListComp():
                return f"self.{name} = {nn}.ModuleList({text(value)})"
            case _:
                return ""

    def _bringing(self, name: str, function: cst.Lambda) -> str:
        """The assignment of a function that brings its tensors to what it is given; empty where that is not one thing."""
        given = [one.name.value for one in all_parameters(function.params)]
        if len(given) != 1 or isinstance(function.params.star_arg, cst.Param):
            return ""
        held = {name: f"{name}.to({given[0]}.device)" for name in self.held[id(function)]}
        brought = function.visit(_Renaming(held))
        assert isinstance(brought, cst.Lambda)
        return f"self.{name} = {self.frame.analysis.module.code_for_node(brought)}"

    def _makers(self, initializer: cst.FunctionDef) -> list[cst.FunctionDef]:
        found = [initializer]
        for method in found:
            for node in walk(method.body):
                if (
                    isinstance(node, cst.Call)
                    and isinstance(node.func, cst.Attribute)
                    and dotted(node.func.value) == "self"
                ):
                    called = self.model.methods.get(node.func.attr.value)
                    if called is not None and called not in found and called.name.value != "forward":
                        found.append(called)
        return found

    def _moves_it(self, name: str) -> bool:
        moving = (self.model.find(one) for one in ("to", "cuda", "cpu"))
        text = self.frame.analysis.text
        mine = re.compile(rf"\b{re.escape(name)}\b|__dict__|\bvars\(|setattr\(")
        return any(method is not None and mine.search(text(method)) is not None for method in moving)

    def _read(self, method: cst.FunctionDef) -> None:
        names = self._names(method)
        for node in walk(method.body, below=(cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            match node:
                case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                    pass
                case cst.AnnAssign(target=target, value=cst.BaseExpression() as value):
                    pass
                case cst.Call(
                    func=cst.Attribute(attr=cst.Name(value="register_buffer" | "register_parameter")),
                    args=[cst.Arg(value=cst.SimpleString() as registered), *_],
                ):
                    self.other.add(str(registered.evaluated_value))
                    continue
                case _:
                    continue
            if isinstance(target, cst.Name):
                names[target.value] = self._kind(value, names)
            elif isinstance(target, cst.Attribute) and dotted(target.value) == "self":
                self._keep(target.attr.value, node, value, names)
            else:
                self.other |= set(_attributes_of(target))

    def _keep(
        self, name: str, node: cst.Assign | cst.AnnAssign, value: cst.BaseExpression, names: _Names
    ) -> None:
        kind = self._kind(value, names)
        if kind in _KINDS and not (name in self.kept and self.kept[name].kind != kind):
            self.kept.setdefault(name, _Kept(node, value, kind))
        elif not (isinstance(value, cst.Name) and value.value == "None"):
            self.other.add(name)

    def _names(self, method: cst.FunctionDef) -> _Names:
        names: _Names = {}
        for one in all_parameters(method.params):
            if one.annotation is not None:
                text = self.frame.analysis.text(one.annotation.annotation)
                if _TENSOR.search(text) and not _NOT_TENSOR.search(text):
                    names[one.name.value] = "tensor"
        return names

    # -- what an expression is -------------------------------------------------------------------------------------------

    def _kind(self, node: cst.BaseExpression, names: _Names, hops: int = 0) -> str:
        """What an expression gives: "tensor", "tensors", "modules", "function", or "" if the text does not show it.

        "table" is what a function of another file makes whose name says so, a tensor if it is used as one. "moved" is a tensor that
        was put somewhere: it stays there only where nobody can reach it, in a function.
        """
        match node:
            case cst.Name(value=name):
                return names.get(name, "")
            case cst.Lambda():
                self.held[id(node)] = _held(node, names)
                return "function" if self.held[id(node)] else ""
            case cst.Call():
                return self._called(node, names, hops)
            case cst.Attribute(value=base, attr=cst.Name(value=attribute)):
                if dotted(base) == "self":
                    kept = self.kept.get(attribute)
                    return kept.kind if kept is not None and attribute not in self.other else ""
                return (
                    self._kind(base, names, hops) if attribute in ("T", "mT", "data", "real", "imag") else ""
                )
            case cst.Subscript(value=base):
                return "tensor" if self._kind(base, names, hops) == "tensor" else ""
            case cst.UnaryOperation(operator=cst.Minus() | cst.BitInvert(), expression=inner):
                return self._kind(inner, names, hops)
            case cst.BinaryOperation(left=left, right=right):
                both = (self._kind(left, names, hops), self._kind(right, names, hops))
                return "tensor" if "tensor" in both else ""
            case cst.IfExp(body=body, orelse=orelse):
                ways = {self._kind(body, names, hops), self._kind(orelse, names, hops)}
                return ways.pop() if len(ways) == 1 else ""
            case cst.List(elements=elements) | cst.Tuple(elements=elements) if elements:
                return _several({self._kind(one.value, names, hops) for one in elements})
            case cst.Dict(elements=elements) if elements:
                values = [one.value for one in elements if isinstance(one, cst.DictElement)]
                return _several({self._kind(one, names, hops) for one in values})
            case cst.ListComp(elt=element) | cst.GeneratorExp(elt=element):
                return _several({self._kind(element, names, hops)})
            case cst.DictComp(value=element):
                return _several({self._kind(element, names, hops)})
            case _:
                return ""

    def _called(self, call: cst.Call, names: _Names, hops: int) -> str:
        path = path_of(self.frame, call.func)
        if path is not None and not path.startswith("builtins."):
            return self._of_library(path, call, names, hops)
        match call.func:
            case cst.Name(value="tuple" | "list" as name) if len(call.args) == 1:
                kind = self._kind(call.args[0].value, names, hops)
                return kind if kind in ("tensors", "modules") else ""
            case cst.Name(value=name):
                functions = functions_named(self.frame.analysis.module.body, name)
                return self._of_function(functions[0], call, names, hops) if functions else ""
            case cst.Attribute(value=base, attr=cst.Name(value=method)):
                if dotted(base) == "self":
                    return self._of_function(self.model.methods.get(method), call, names, hops)
                if (
                    method in ("items", "keys", "values")
                    or method in _ENDS_TENSOR
                    or method in METADATA_ATTRIBUTES
                ):
                    return ""
                kind = self._kind(base, names, hops)
                if kind not in ("tensor", "moved"):
                    return ""
                return "moved" if method in ("to", "cuda") else kind
            case _:
                return ""

    def _of_library(self, path: str, call: cst.Call, names: _Names, hops: int) -> str:
        if path == "functools.partial":
            given = {self._kind(one.value, names, hops) for one in call.args[1:]}
            return "" if given.isdisjoint(("tensor", "moved")) else "function"
        if path in MAKES:
            if (
                path == GENERATOR
                or holds_nothing(call)
                or says_device(call.args)
                or (path in TAKES_DATA and _may_be_number(call))
            ):
                return ""
            return "tensor"
        if path.startswith("torch.nn.") and path not in CONTAINERS:
            last = path.rpartition(".")[2]
            return "module" if last[:1].isupper() and "Parameter" not in last and "Buffer" not in last else ""
        given = {self._kind(one.value, names, hops) for one in call.args if one.keyword is None}
        if path.startswith("torch.distributions.") and path.rpartition(".")[2][:1].isupper():
            every = {self._kind(one.value, names, hops) for one in call.args}
            return "tensors" if "tensor" in every else ""
        if is_operation(path):
            return "tensor" if "tensor" in given or "tensors" in given else ""
        last = path.rpartition(".")[2]
        return "table" if last.islower() and _TABLE.search(last) else ""

    def _of_function(self, function: cst.FunctionDef | None, call: cst.Call, outer: _Names, hops: int) -> str:
        """What a function of the file, or a method of the class, returns whichever way it takes."""
        if function is None or hops >= _HOPS or says_device(call.args):
            return ""
        if not all(dotted(one.decorator) == "staticmethod" for one in function.decorators):
            return ""
        names = self._names(function)
        for one in all_parameters(function.params):
            given = argument_given(function, call, one.name.value)
            if given is not None:
                names[one.name.value] = self._kind(given, outer, hops + 1)
        kinds: set[str] = set()
        for node in walk(function.body, below=(cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            match node:
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                    names[name] = self._kind(value, names, hops + 1)
                case cst.Return(value=cst.BaseExpression() as value):
                    kinds.add(self._kind(value, names, hops + 1))
                case _:
                    pass
        return kinds.pop() if len(kinds) == 1 else ""


def _held(function: cst.Lambda, names: _Names) -> set[str]:
    """The tensors of the function around it that one without a name computes with; none if it brings some of them anywhere."""
    own = {one.name.value for one in all_parameters(function.params)}
    mentioned = {part.value for part in walk(function.body) if isinstance(part, cst.Name)} - own
    held = {name for name in mentioned if names.get(name) in ("tensor", "moved")}
    brought = {
        dotted(part.value)
        for part in walk(function.body)
        if isinstance(part, cst.Attribute) and part.attr.value in _BRINGS
    }
    return held if held.isdisjoint(brought) else set()


class _Renaming(cst.CSTTransformer):
    """Writes other expressions in the place of names."""

    def __init__(self, written: dict[str, str]) -> None:
        super().__init__()
        self.written = written

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        text = self.written.get(original_node.value)
        return updated_node if text is None else cst.parse_expression(text)

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)


def _several(kinds: set[str]) -> str:
    if kinds == {"tensor"} or kinds == {"tensors"}:
        return "tensors"
    if kinds == {"module"}:
        return "modules"
    return ""


def _may_be_number(call: cst.Call) -> bool:
    """Whether data may be a number: then the tensor has no dimension, and goes with tensors of all devices."""
    if not call.args:
        return True
    data = call.args[0].value
    if isinstance(data, cst.Call):
        called = (dotted(data.func) or "").rpartition(".")[0]
        return called not in ("np", "numpy") and not isinstance(data.func, cst.Name)
    return not isinstance(data, (cst.List, cst.ListComp, cst.Tuple))


def _attributes_of(target: cst.BaseExpression) -> Iterator[str]:
    for part in walk(target):
        if isinstance(part, cst.Attribute) and dotted(part.value) == "self":
            yield part.attr.value


def _mentions(method: cst.FunctionDef, names: Set[str]) -> list[tuple[str, cst.CSTNode]]:
    """Where a method asks for attributes of these names."""
    return [
        (node.attr.value, node)
        for node in (walk(method.body) if names else ())
        if isinstance(node, cst.Attribute) and node.attr.value in names and dotted(node.value) == "self"
    ]


def _uses(method: cst.FunctionDef, names: Set[str]) -> Iterator[tuple[str, cst.CSTNode]]:
    """Where a method computes with attributes of these names, and brings them nowhere."""
    mentions = _mentions(method, names)
    if not mentions:
        return
    above = parents(method)
    nodes = {id(node): node for node in walk(method)}
    for name, mention in mentions:
        if _is_computed_with(mention, above, nodes, method):
            yield name, mention


def _parts_used(method: cst.FunctionDef, names: Set[str]) -> Iterator[tuple[str, cst.CSTNode]]:
    """Where a method computes with parts along several dimensions of attributes of these names: `x + self.table[:, :n]`."""
    for node in walk(method.body) if names else ():
        for part in (node.left, node.right) if isinstance(node, cst.BinaryOperation) else ():
            match part:
                case cst.Subscript(
                    value=cst.Attribute(attr=cst.Name(value=name)) as table, slice=[_, _, *_]
                ) if name in names and dotted(table.value) == "self":
                    yield name, table
                case _:
                    pass


def _is_computed_with(
    mention: cst.CSTNode, above: dict[int, int], nodes: dict[int, cst.CSTNode], method: cst.FunctionDef
) -> bool:
    """Whether a mention ends up in an operation or a call without having been brought elsewhere on the way there."""
    node: cst.CSTNode = mention
    while True:
        over = nodes.get(above.get(id(node), 0))
        match over:
            case cst.Attribute(attr=cst.Name(value=attribute)) if over.value is node:
                if attribute in _BRINGS or attribute in METADATA_ATTRIBUTES:
                    return False
                node = over
            case cst.Call() if over.func is node:
                node = over
            case cst.Subscript() if over.value is node:
                node = over
            case cst.Arg():
                call = nodes[above[id(over)]]
                assert isinstance(call, (cst.Call, cst.ClassDef))
                return isinstance(call, cst.Call) and _takes(call, over)
            case cst.BinaryOperation():
                return True
            case cst.Comparison() | cst.ComparisonTarget():
                return not _is_identity(over)
            case cst.Index() | cst.SubscriptElement():
                node = over
            case cst.IfExp() if over.test is not node:
                node = over
            case cst.Subscript():
                return False  # an index of the CPU goes with tensors of all devices
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=local))]):
                return _local_is_used(method, local)
            case _:
                return False


def _is_identity(node: cst.Comparison | cst.ComparisonTarget) -> bool:
    """Whether it is asked what something is (`is None`), or whether it is in something: no operation of tensors."""
    asked = node.comparisons if isinstance(node, cst.Comparison) else [node]
    return any(isinstance(one.operator, (cst.Is, cst.IsNot, cst.In, cst.NotIn)) for one in asked)


_ASKS = frozenset("len isinstance hasattr print repr str type id range int float setattr getattr".split())


def _takes(call: cst.Call, given: cst.Arg) -> bool:
    """Whether a call computes with what it is given: it is told no device, and does not only ask."""
    name = dotted(call.func) or ""
    last = name.rpartition(".")[2] or (call.func.attr.value if isinstance(call.func, cst.Attribute) else "")
    if (
        name in _ASKS
        or last in _BRINGS
        or last in ("append", "format", "info", "debug", "add_scalar", "tensor", "as_tensor")
    ):
        return False
    if says_device(call.args):
        return False
    return not re.search(r"(?i)device|register|move|convert|to_|save|plot|draw|log_|numpy", last)


def _local_is_used(method: cst.FunctionDef, name: str) -> bool:
    """Whether a name for it is used, and brought nowhere."""
    used = False
    for node in walk(method.body):
        match node:
            case cst.Attribute(value=cst.Name(value=base), attr=cst.Name(value=attribute)) if base == name:
                if attribute in _BRINGS:
                    return False
                used = used or attribute in ONLY_TENSORS
            case (
                cst.BinaryOperation(left=cst.Name(value=one)) | cst.BinaryOperation(right=cst.Name(value=one))
            ) if one == name:
                used = True
            case cst.Call(args=given):
                used = used or any(dotted(one.value) == name and _takes(node, one) for one in given)
            case _:
                pass
    return used
