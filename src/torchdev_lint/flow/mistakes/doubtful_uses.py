"""Uses of devices that suit some only: a device as the type of one, a tensor's index or type for its device, a guess for a given one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.placement_events import DoubtfulDevice
from torchdev_lint.flow.mistakes.device_objects import has_its_own_get_device
from torchdev_lint.flow.read_alone.device_spellings import (
    ANY,
    INDEXED,
    OBJECT,
    OTHER,
    TEXT,
    TYPE,
    Scope,
    is_called_device,
    kinds,
    makes_device,
    shown,
    type_of,
)
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, walk
from torchdev_lint.flow.torch_calls.operands import needs_parentheses

_TAKES_TYPE = re.compile(r"(?:^|\.)(?:autocast|get_autocast_dtype|is_autocast_enabled|init_device_mesh)$")
_MOVERS = frozenset("to move_to set_device to_device move_to_device".split())
_CHOOSERS = re.compile(r"(?i)^_*(?:main|run|demo|\w*device\w*|\w*parse_args?|setup\w*|init_\w+)$")
"""Functions, by name, in which a program chooses its device."""
_TO_A_DEVICE = re.compile(r"\.to\(\s*(?:\w+\.)*_?(?:\w+_)?device\s*[,)]")
"""What a file says that takes the devices it is given, the CPU among them."""
_TENSORS = frozenset(
    (
        "device shape size dim unsqueeze squeeze view reshape permute detach numel dtype new_zeros is_cuda float long expand"
    ).split()
)
"""What shows a tensor."""


# -- calls


def check_call(scope: Scope, node: cst.Call, *, indices_only: bool = False) -> Iterator[DoubtfulDevice]:
    """What a call is given as a device, or as the type of one; `indices_only`: only what is a device's number."""
    if indices_only and ".get_device()" not in scope.analysis.written:
        return
    path = dotted(node.func) or ""
    method = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
    takes_type = _TAKES_TYPE.search(path) is not None and ".cuda." not in path
    places = method in ("to", "cuda", "device")
    for index, argument in enumerate(node.args):
        keyword = None if argument.keyword is None else argument.keyword.value
        first = index == 0 and keyword is None and not argument.star
        if not indices_only and (keyword == "device_type" or (takes_type and first)):
            yield from _as_type(scope, argument.value)
        if keyword == "device" or (places and first):
            places_anywhere = method != "cuda" and scope.analysis.says(_TO_A_DEVICE)
            yield from _as_index(scope, argument.value, "index" if places_anywhere else "index of a GPU")
    if method == "type" and len(node.args) == 1 and not indices_only:
        yield from _by_name_of_type(scope, node, node.args[0].value)


def _as_type(scope: Scope, node: cst.BaseExpression) -> Iterator[DoubtfulDevice]:
    if is_called_device(node) and not kinds(scope, node) <= {TYPE, OTHER}:
        replacement = type_of(scope, node)
        yield DoubtfulDevice(
            node,
            "type",
            scope.analysis.text(node),
            replaced=None if replacement is None else node,
            replacement=replacement,
        )


def _values(scope: Scope, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The expression, or what is assigned to the name."""
    if isinstance(node, cst.Name):
        return [one for one in scope.bound.get(node.value, ()) if one is not None]
    return [node]


def _as_index(scope: Scope, node: cst.BaseExpression, form: str) -> Iterator[DoubtfulDevice]:
    """`.to(x.get_device())`: -1 for a tensor on the CPU."""
    if isinstance(node, cst.Name) and any(
        isinstance(part, cst.Comparison) and dotted(part.left) == node.value for part in scope.nodes
    ):
        return  # asked whether it is one
    for value in _values(scope, node):
        match value:
            case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value="get_device")), args=[]):
                text = scope.analysis.text(base)
                if _is_compared(scope, text):
                    continue
                if text in ("self", "cls") or _is_imported(scope, text) or _asks_for_cuda(scope):
                    continue
                if scope.analysis.learn(has_its_own_get_device, scope.analysis):
                    continue
                yield DoubtfulDevice(value, form, text, replaced=value, replacement=f"{text}.device")
            case _:
                pass


def _is_compared(scope: Scope, text: str) -> bool:
    """Whether the function asks whether the number is one: `"cpu" if x.get_device() == -1 else x.get_device()`."""
    return any(
        isinstance(node, cst.Comparison) and scope.analysis.text(node.left) == f"{text}.get_device()"
        for node in scope.nodes
    )


def _is_imported(scope: Scope, text: str) -> bool:
    first = text.partition(".")[0]
    return any(
        isinstance(part, cst.Name) and part.value == first
        for node in scope.root.nodes
        if isinstance(node, cst.ImportAlias)
        for part in walk(node)
    )


def _asks_for_cuda(scope: Scope) -> bool:
    return any(
        isinstance(node, cst.Attribute) and node.attr.value in ("is_cuda", "is_available")
        for node in scope.nodes
    )


def _by_name_of_type(scope: Scope, node: cst.Call, given: cst.BaseExpression) -> Iterator[DoubtfulDevice]:
    """`x.type(y.type())`: the names that `type` gives are not all known to it: those of MPS are not."""
    assert isinstance(node.func, cst.Attribute)
    for value in _values(scope, given):
        match value:
            case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value="type")), args=[]):
                text, receiver = scope.analysis.text(base), node.func.value
                simple = value is given and not needs_parentheses(receiver)
                yield DoubtfulDevice(
                    node,
                    "tensor type",
                    text,
                    replaced=node if simple else None,
                    replacement=f"{scope.analysis.text(receiver)}.type_as({text})" if simple else None,
                )
            case _:
                pass


def names_cuda(node: cst.BaseExpression) -> bool:
    """Whether it is CUDA's first, or current, device: `"cuda"`, `torch.device("cuda:0")`."""
    match node:
        case cst.SimpleString():
            return str(node.evaluated_value) in ("cuda", "cuda:0")
        case cst.Call(args=[cst.Arg(value=inner), *_]):
            return makes_device(node) and names_cuda(inner)
        case _:
            return False


# -- parts of a device's string


def check_part(scope: Scope, node: cst.Subscript) -> Iterator[DoubtfulDevice]:
    """`device.split(":")[1]`: there may be no index."""
    match node:
        case cst.Subscript(
            value=cst.Call(
                func=cst.Attribute(value=inner, attr=cst.Name(value="split")),
                args=[cst.Arg(value=cst.SimpleString() as colon)],
            ),
            slice=[cst.SubscriptElement(slice=cst.Index(value=which))],
        ) if (
            colon.evaluated_value == ":"
            and scope.analysis.text(which) in ("1", "-1")
            and is_called_device(inner)
        ):
            if not (kinds(scope, inner) <= {INDEXED} or _minds_index(scope, shown(inner))):
                yield DoubtfulDevice(node, "part", scope.analysis.text(inner))
        case _:
            pass


def _minds_index(scope: Scope, name: str | None) -> bool:
    """Whether the scope asks for a colon in it, or catches that there is none."""
    for part in scope.nodes:
        match part:
            case cst.Try():
                return True
            case cst.Comparison(
                left=cst.SimpleString() as left,
                comparisons=[cst.ComparisonTarget(operator=cst.In(), comparator=asked)],
            ) if ":" in str(left.evaluated_value) and shown(asked) == name:
                return True
            case _:
                pass
    return False


# -- functions


def check_function(scope: Scope, node: cst.FunctionDef) -> Iterator[DoubtfulDevice]:
    """What a function does with a device that it is given, or although it is given tensors."""
    yield from _before_the_move(scope, node)
    yield from _taken_for_one_kind(scope, node)
    yield from _as_it_was_given(scope)
    yield from _guessed(scope, node)


def _before_the_move(scope: Scope, node: cst.FunctionDef) -> Iterator[DoubtfulDevice]:
    """`def to(self, device)` that uses `self.device` before that is the new one."""
    if scope.owner is None or node.name.value not in _MOVERS or scope.parameter("device") is None:
        return
    kept = {
        text
        for part in scope.nodes
        if isinstance(part, cst.Assign) and isinstance(part.value, cst.Name) and part.value.value == "device"
        for target in part.targets
        if (text := dotted(target.target)) is not None and text.startswith("self.")
    }
    for part in scope.nodes:
        match part:
            case cst.Assign(targets=targets):
                kept -= {dotted(target.target) or "" for target in targets}
            case cst.Arg(value=value) | cst.DictElement(value=value):
                text = dotted(value)
                if text is not None and text in kept:
                    yield DoubtfulDevice(
                        value, "before", text, "device", replaced=value, replacement="device"
                    )
            case _:
                pass


def _taken_for_one_kind(scope: Scope, node: cst.FunctionDef) -> Iterator[DoubtfulDevice]:
    """`device.type` of what may be a string, `"cuda" in device` of what may be a `torch.device`, by the signature."""
    for part in scope.nodes:
        match part:
            case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="type" | "index")):
                wrong = TEXT
            case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="startswith" | "split")):
                wrong = OBJECT
            case cst.Comparison(
                left=cst.SimpleString(),
                comparisons=[
                    cst.ComparisonTarget(operator=cst.In() | cst.NotIn(), comparator=cst.Name(value=name))
                ],
            ):
                wrong = OBJECT
            case _:
                continue
        parameter = scope.parameter(name)
        if parameter is None or name in scope.bound or not is_called_device(parameter.name):
            continue
        found = kinds(scope, parameter.name)
        by_default = wrong == TEXT and isinstance(parameter.default, cst.SimpleString)
        both = {TEXT, OBJECT} <= found and ANY not in found
        if (both or by_default) and not _asks_kind(scope, name):
            yield DoubtfulDevice(part, "kind", name, "a string" if wrong == TEXT else "a torch.device")


def _asks_kind(scope: Scope, name: str) -> bool:
    return any(
        isinstance(one, cst.Call)
        and dotted(one.func) in ("isinstance", "hasattr", "type")
        and one.args
        and dotted(one.args[0].value) == name
        for one in scope.nodes
    )


def _as_it_was_given(scope: Scope) -> Iterator[DoubtfulDevice]:
    """A parameter that may be None, used as it was given although a default was chosen for it under another name."""
    chosen: dict[str, str] = {}
    for part in scope.nodes:
        match part:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                name, text = _defaulted(value), dotted(target)
                parameter = None if name is None else scope.parameter(name)
                if parameter is None or name is None or text is None or name in scope.bound:
                    continue
                if not is_called_device(target):
                    continue
                if isinstance(parameter.default, cst.Name) and is_called_device(parameter.name):
                    chosen[name] = text
            case cst.Call(func=function, args=arguments) if chosen:
                moves = isinstance(function, cst.Attribute) and function.attr.value == "to"
                for index, argument in enumerate(arguments):
                    told = argument.keyword is not None and argument.keyword.value == "device"
                    given = argument.value
                    if ((moves and index == 0 and argument.keyword is None) or told) and isinstance(
                        given, cst.Name
                    ):
                        other = chosen.get(given.value)
                        if other is not None:
                            yield DoubtfulDevice(
                                given, "given", given.value, other, replaced=given, replacement=other
                            )
            case _:
                pass


def _defaulted(value: cst.BaseExpression) -> str | None:
    """The name that a default is chosen for: `device or "cpu"`, `device if device is not None else "cpu"`."""
    match value:
        case cst.BooleanOperation(left=cst.Name(value=name), operator=cst.Or()):
            return name
        case (
            cst.IfExp(test=cst.Name(value=name))
            | cst.IfExp(
                test=cst.Comparison(
                    left=cst.Name(value=name),
                    comparisons=[cst.ComparisonTarget(operator=cst.Is() | cst.IsNot())],
                )
            )
        ):
            return name
        case cst.IfExp(body=body, orelse=otherwise):
            return _defaulted(body) or _defaulted(otherwise)
        case cst.Call(args=[cst.Arg(value=inner), *_]) if makes_device(value):
            return _defaulted(inner)
        case _:
            return None


def _guessed(scope: Scope, node: cst.FunctionDef) -> Iterator[DoubtfulDevice]:
    """A device chosen by what the machine has, in a function that is given tensors, wherever those are."""
    declared = all_parameters(node.params)
    given = {one.name.value: one.name for one in declared if one.name.value not in ("self", "cls")}
    if _CHOOSERS.search(node.name.value) or any(is_called_device(name) for name in given.values()):
        return
    tensors = [
        part.value.value
        for part in scope.nodes
        if isinstance(part, cst.Attribute)
        and isinstance(part.value, cst.Name)
        and part.value.value in given
        and part.attr.value in _TENSORS
    ]
    if not tensors:
        return
    for part in scope.nodes:
        if isinstance(part, (cst.IfExp, cst.If)) and _asks_machine(part.test):
            place = next(_taken(part), None)
            if place is not None:
                yield DoubtfulDevice(place, "guess", tensors[0])


def _taken(node: cst.IfExp | cst.If) -> Iterator[cst.CSTNode]:
    if isinstance(node, cst.IfExp):
        if names_cuda(node.body):
            yield node
        return
    for part in walk(node.body):
        if isinstance(part, cst.Assign) and names_cuda(part.value):
            yield part


def _asks_machine(test: cst.BaseExpression) -> bool:
    return any(isinstance(part, cst.Attribute) and part.attr.value == "is_available" for part in walk(test))
