"""Functions that may be told a device, and may not: what they do with it, and where things go when they are told none.

Nothing is executed: the body of the function, and the class of a constructor, are read for what stands beside the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.values import Class, Function
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, last_name, parents, remembered, walk
from torchdev_lint.torch_api import devices as api

NAMES = (*api.DEVICE_PARAMETERS, "map_location")
"""Names of parameters that say where a function puts what it makes, moves or loads."""

NONE = "none"
CPU = "cpu"
ACCELERATOR = "accelerator"
AS_GIVEN = "as given"
"""Where the tensors or the model are that it is given."""
CHOSEN = "chosen"
"""What the program chooses for all: a function or a name says it."""

_MOVES = frozenset({"to", "cuda", "to_empty"})
_NOT_PLACING = re.compile(
    r"(?i)^(?:print|str|repr|isinstance|type|len|hasattr|getattr|setattr|id|device|format|append|autocast|GradScaler|info|debug|warning|"
    r"log|get|startswith|split|synchronize|set_device|is_\w+|get_\w+|check_\w+|validate_\w+|parse_\w+|infer_\w+|resolve_\w+|"
    r"set_seed|manual_seed|empty_cache|memory_\w+|\w*profil\w*|\w*autocast\w*|\w*timer\w*|\w*Error)$"
)
"""Functions, by name, that a device is given for something else than to put a tensor there."""
_HOPS = 3

CALLED = "called with a device or without"
"""Under this, and the `id` of a call, `notes` has the functions that it was found to call, and whether it gives them a device."""


@dataclass(frozen=True)
class Taker:
    """The parameter of a function for a device, where things go when it is `left_out`; `later`: other methods use it, too.

    `only_moves`: what it is given stays where it is then. `only_loads`: it is a checkpoint that goes there.
    """

    parameter: cst.Param
    left_out: str
    later: bool = False
    only_moves: bool = False
    only_loads: bool = False

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.parameter.name.value


@remembered(cst.FunctionDef)
def device_parameter(node: cst.FunctionDef) -> cst.Param | None:
    """The parameter for a device that a call may leave out."""
    named = {one.name.value: one for one in all_parameters(node.params)}
    found = next((named[name] for name in NAMES if name in named), None)
    return None if found is None or found.default is None or found in node.params.posonly_params else found


def taker_of(function: Function, hops: int = 0) -> Taker | None:
    """What a function does with the device that it may be told; None if nothing shows that it puts anything there."""
    node = function.node
    parameter = device_parameter(node) if isinstance(node, cst.FunctionDef) else None
    if parameter is None or parameter.default is None:
        return None
    name = parameter.name.value
    uses = list(placing(node.body, {name}))
    methods: list[cst.FunctionDef] = []
    kept = stored(node, name) if function.name == "__init__" else set()
    if kept and function.owner is not None:
        methods = [
            method
            for model in function.owner.lineage()
            for method in model.methods.values()
            if method is not node
        ]
        uses += placing(node.body, kept)
    later = [use for method in methods for use in placing(method.body, kept)]
    if not uses and not later:
        return None
    left_out = _by_default(parameter.default)
    kinds = {kind for kind, _ in (*uses, *later)}
    if left_out == NONE:
        falls = {where_to(value) for value in _instead(node, name)}
        left_out = next((one for one in (AS_GIVEN, CHOSEN, ACCELERATOR, CPU) if one in falls), NONE)
    if left_out == NONE:
        if kinds <= {"moves"} or (not later and all(_is_asked(node, name, use) for _, use in uses)):
            return Taker(parameter, left_out, bool(later), only_moves=True)
        handed = {_handed(function, use, hops) for _, use in uses}
        if not later and len(handed) == 1 and (one := handed.pop()) is not None:
            return Taker(parameter, one.left_out, False, one.only_moves, one.only_loads)
    return Taker(parameter, left_out, bool(later), only_loads=kinds == {"loads"})


def _handed(function: Function, use: cst.CSTNode, hops: int) -> Taker | None:
    """What another function of the project does with it that is only told what this one was."""
    if not isinstance(use, cst.Call) or not isinstance(use.func, cst.Name) or hops >= _HOPS:
        return None
    frame: Frame = function.frame
    match frame.analysis.imports.peek(frame.lookup(use.func.value)):
        case Function() as other:
            return taker_of(other, hops + 1)
        case Class(model=model) if (made := model.find("__init__")) is not None:
            return taker_of(model.function(made, "__init__", None), hops + 1)
        case _:
            return None


def placing(body: cst.CSTNode, texts: Set[str]) -> Iterator[tuple[str, cst.CSTNode]]:
    """Where something is put on a device that goes by one of these names: how (it makes, moves, loads, hands on), and the call."""
    for node in walk(body):
        if isinstance(node, cst.DictElement):
            if dotted(node.value) in texts and _is_key(node.key):
                yield "makes", node
        elif isinstance(node, cst.Call):
            name = last_name(node.func)
            for one in node.args:
                if not _is_named(one.value, texts):
                    continue
                keyword = None if one.keyword is None else one.keyword.value
                if name in _MOVES:
                    yield "moves", node
                elif keyword == "map_location":
                    yield "loads", node
                elif not _NOT_PLACING.search(name) and (keyword is None or keyword in NAMES):
                    yield "makes" if keyword else "hands", node


def _is_named(value: cst.BaseExpression, texts: Set[str]) -> bool:
    match value:
        case cst.Call(args=[cst.Arg(value=inner)]) if last_name(value.func) in ("device", "str"):
            return dotted(inner) in texts
        case cst.BooleanOperation() | cst.IfExp():
            return any(mentioned([value], text) for text in texts)
        case _:
            return dotted(value) in texts


def _is_key(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.SimpleString) and node.evaluated_value in NAMES


def stored(node: cst.FunctionDef, name: str) -> set[str]:
    """The attributes of `self` that a parameter is kept in: `self.device = torch.device(device)`."""
    found: set[str] = set()
    for part in walk(node.body):
        if isinstance(part, cst.Assign) and any(
            isinstance(inner, cst.Name) and inner.value == name for inner in walk(part.value)
        ):
            for target in part.targets:
                text = dotted(target.target)
                if text is not None and re.fullmatch(r"self\.\w*(?:device|dev)", text):
                    found.add(text)
    return found


def _by_default(node: cst.BaseExpression) -> str:
    return NONE if isinstance(node, cst.Name) and node.value == "None" else where_to(node)


def where_to(node: cst.BaseExpression) -> str:
    """What an expression for a device says: the CPU, an accelerator whatever the machine, where something is, or what is chosen."""
    match node:
        case cst.Call(args=[cst.Arg(value=inner)]) if last_name(node.func) == "device":
            return where_to(inner)
        case cst.SimpleString():
            parsed = api.parse(str(node.evaluated_value))
            return CPU if parsed is not None and parsed[0] == "cpu" else ACCELERATOR
        case _:
            pass
    for part in walk(node):
        if isinstance(part, cst.Attribute):
            root = dotted(part.value)
            if part.attr.value in ("parameters", "_parameters", "buffers", "get_device"):
                return AS_GIVEN
            if part.attr.value in ("device", "_device") and root not in ("torch", "th"):
                return AS_GIVEN
    return CHOSEN


def _instead(node: cst.FunctionDef, name: str) -> Iterator[cst.BaseExpression]:
    """What takes the place of a parameter that is None: `if device is None: device = x.device`, `device or "cpu"`."""
    for part in walk(node.body):
        match part:
            case cst.BooleanOperation(left=cst.Name(value=left), operator=cst.Or(), right=right):
                if left == name:
                    yield right
            case cst.IfExp(test=test, body=body, orelse=orelse) if _asks(test, name):
                yield from (one for one in (body, orelse) if not mentioned([one], name))
            case cst.If(test=test) if _asks(test, name):
                for inner in walk(part):
                    if isinstance(inner, cst.Assign) and not mentioned([inner.value], name):
                        targets = [dotted(one.target) or "" for one in inner.targets]
                        if any(api.DEVICE_NAME.search(one.rpartition(".")[2]) for one in targets):
                            yield inner.value
            case _:
                pass


def _asks(test: cst.BaseExpression, name: str) -> bool:
    match test:
        case cst.Name(value=word):
            return word == name
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return _asks(inner, name)
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=cst.Is() | cst.IsNot())]):
            return dotted(left) == name
        case cst.BooleanOperation(left=left, right=right):
            return _asks(left, name) or _asks(right, name)
        case _:
            return False


def _is_asked(node: cst.FunctionDef, name: str, use: cst.CSTNode) -> bool:
    """Whether a use stands where the function knows that it was given the parameter."""
    return any(isinstance(one, (cst.If, cst.IfExp)) and _asks(one.test, name) for one in around(node, use))


def around(root: cst.CSTNode, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What a node stands in, from the inside out, up to the root."""
    above, nodes = _places(root)
    current = above.get(id(node))
    while current is not None and current in nodes:
        yield nodes[current]
        current = above.get(current)


def _places(root: cst.CSTNode) -> tuple[dict[int, int], dict[int, cst.CSTNode]]:
    match root:
        case cst.FunctionDef():
            return _places_of_function(root)
        case _:
            return parents(root), {id(node): node for node in walk(root)}


@remembered(cst.FunctionDef)
def _places_of_function(root: cst.FunctionDef) -> tuple[dict[int, int], dict[int, cst.CSTNode]]:
    return parents(root), {id(node): node for node in walk(root)}


def mentioned(nodes: Iterable[cst.CSTNode], text: str) -> bool:
    """Whether a name, or an attribute of one, stands in one of these for what it holds."""
    for node in nodes:
        others: set[int] = set()
        for part in walk(node):
            match part:
                case cst.Attribute(attr=name):
                    others.add(id(name))
                case cst.Arg(keyword=cst.Name() as name):
                    others.add(id(name))
                case _:
                    pass
            if (
                isinstance(part, (cst.Name, cst.Attribute))
                and id(part) not in others
                and dotted(part) == text
            ):
                return True
    return False


def note(frame: Frame, function: Function, site: CallSite) -> None:
    """A call of a function of the project that may be told a device."""
    analysis = frame.analysis
    if frame.source.foreign or not isinstance(site.node, cst.Call):
        return
    node = function.node
    parameter = device_parameter(node) if isinstance(node, cst.FunctionDef) else None
    if parameter is None:
        return
    key = (CALLED, id(site.node))
    known: tuple[tuple[Function, bool], ...] = analysis.notes.get(key, ())
    if all(one.node is not node for one, _ in known):
        name = parameter.name.value
        named = [one.name.value for one in (*node.params.posonly_params, *node.params.params)]
        at = named.index(name) - (named[0] in ("self", "cls")) if name in named else None
        given = site.has_star() or site.keyword(name) is not None
        given = given or (at is not None and at < len(site.positional()))
        analysis.notes[key] = (*known, (function, given))
