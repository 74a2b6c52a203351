"""Functions that take a device, load a checkpoint there, and return the model where it was built: `load_state_dict` copies.

`Module.load_state_dict` copies into the parameters that a module has, so where the checkpoint was loaded does not show in it.
(https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict; `assign=True` is the exception.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.placement_events import DeviceNotForwarded
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.mistakes.forwarding import (
    is_imposed,
    parameters,
    places_otherwise,
    reads,
    says_unused,
)
from torchdev_lint.flow.project.project_calls import argument_at, position_of
from torchdev_lint.flow.syntax.trees import dotted, names_cpu, remembered, walk
from torchdev_lint.torch_api.devices import DEVICE_PARAMETERS

_SAYS = frozenset("print info debug warning warn log isinstance str".split())
"""Functions that only speak of what they are given."""
_TELLING = frozenset({cst.Arg, cst.Call, cst.Comparison, cst.FormattedString})
"""Nodes that are looked at for it: to ask LibCST's abstract classes of all would cost more."""
_PLAIN_CONTEXT = re.compile(r"(?:^|\.)(?:open|no_grad|inference_mode|suppress|catch_warnings)$")


def check_function(analysis: Analysis, function: Function) -> None:
    """A function whose device reaches its checkpoint and not the model that it builds, fills and returns."""
    node = function.node
    if not isinstance(node, cst.FunctionDef) or "set_default_" in analysis.written:
        return
    declared = parameters(node)
    name = _device_parameter(node)
    if name is None or not _only_locates(node) or places_otherwise(node):
        return
    if is_imposed(function) or says_unused(analysis, node) or _is_moved_by_callers(analysis, node.name.value):
        return
    if _stays_on_host(analysis, node, declared[name]):
        return
    found = _returned_model(node, set(declared))
    if found is None:
        return
    model, place = found
    analysis.unforwarded.setdefault(id(declared[name]), {})[id(place)] = DeviceNotForwarded(
        node=place,
        name=name,
        owner=function.name,
        calls=(),
        function=model,
        keyword="to",
        fixable=True,
        parameter=declared[name],
        run=place,
    )


def _device_parameter(node: cst.FunctionDef) -> str | None:
    declared = parameters(node)
    return next((name for name in DEVICE_PARAMETERS if name in declared), None)


@remembered(cst.FunctionDef)
def _only_locates(node: cst.FunctionDef) -> bool:
    """Whether the device that the function declares says where checkpoints are loaded, and nothing else."""
    name = _device_parameter(node)
    locating: set[int] = set()
    harmless: set[int] = set()
    for part in walk(node.body):
        if type(part) not in _TELLING:
            continue
        match part:
            case cst.Arg(keyword=cst.Name(value="map_location"), value=cst.Name(value=word) as given) if (
                word == name
            ):
                locating.add(id(given))
            case cst.Call(
                func=cst.Attribute(attr=cst.Name(value="load")),
                args=[cst.Arg(keyword=None), cst.Arg(keyword=None, value=cst.Name(value=word) as given), *_],
            ) if word == name:
                locating.add(id(given))
            case cst.Comparison() | cst.FormattedString():
                harmless |= {id(inner) for inner in walk(part)}
            case cst.Call(func=cst.Name(value=word) | cst.Attribute(attr=cst.Name(value=word))):
                if word in _SAYS:
                    harmless |= {id(inner) for inner in walk(part)}
            case _:
                pass
    if name is None or not locating:
        return False
    return all(id(read) in locating | harmless for read in reads(node.body, name))


def _returned_model(node: cst.FunctionDef, given: set[str]) -> tuple[str, cst.BaseExpression] | None:
    """The model that the function builds, fills and returns, and the expression to move: where it is wrapped, else returned."""
    built: dict[str, cst.Call] = {}
    filled: set[str] = set()
    returned: dict[str, cst.Name] = {}
    for part in walk(node.body):
        match part:
            case cst.FunctionDef() | cst.ClassDef():
                return None  # may run at another time
            case cst.WithItem(item=item) if not _PLAIN_CONTEXT.search(
                dotted(getattr(item, "func", item)) or ""
            ):
                return None  # it may set a default device
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                if not isinstance(value, cst.Call) or name in given:
                    given.add(name)
                else:
                    built[name] = value
            case cst.Call(
                func=cst.Attribute(value=receiver, attr=cst.Name(value="load_state_dict")), args=arguments
            ):
                if any(
                    argument.keyword is not None and argument.keyword.value == "assign"
                    for argument in arguments
                ):
                    return None
                filled.add(dotted(receiver) or "")
            case cst.Return(value=cst.Name(value=name) as whole):
                returned[name] = whole
            case cst.Return(value=cst.Tuple(elements=elements)):
                returned |= {e.value.value: e.value for e in elements if isinstance(e.value, cst.Name)}
            case cst.Return(value=cst.BaseExpression()):
                return None
            case _:
                pass
    for name, place in returned.items():
        if name in filled and name in built and name not in given:
            wraps = (dotted(built[name].func) or "").endswith("DataParallel")
            return name, built[name] if wraps else place
    return None


def _stays_on_host(analysis: Analysis, node: cst.FunctionDef, parameter: cst.Param) -> bool:
    """Whether the device is the CPU by default, and all callers in the file leave it at that: the model is where it is said to be.

    Or they hand on a device of their own that is the CPU by default: `resnet18(device="cpu")` calls `_resnet(layers, device)`.
    """
    name, position = parameter.name.value, position_of(node, parameter.name.value)
    scopes: list[tuple[cst.CSTNode, cst.CSTNode]] = [(analysis.module, analysis.module)]
    scopes += [(around, around.body) for around in _functions_of(analysis.module)]
    calls = [
        (call, around)
        for around, body in scopes
        for call in walk(body, below=(cst.FunctionDef,))
        if isinstance(call, cst.Call) and _calls(call, node.name.value)
    ]

    def leaves_it(call: cst.Call, around: cst.CSTNode) -> bool:
        given = argument_at(call, -1 if position is None else position, name)
        if given is not None:
            own = parameters(around) if isinstance(around, cst.FunctionDef) else {}
            return isinstance(given, cst.Name) and given.value in own and names_cpu(own[given.value].default)
        return names_cpu(parameter.default) and not any(one.star for one in call.args)

    return bool(calls) and all(leaves_it(call, around) for call, around in calls)


@remembered(cst.Module)
def _functions_of(module: cst.Module) -> tuple[cst.FunctionDef, ...]:
    return tuple(node for node in walk(module) if isinstance(node, cst.FunctionDef))


def _is_moved_by_callers(analysis: Analysis, name: str) -> bool:
    """Whether some caller in the file moves what the function returns."""
    kept: set[str] = set()
    for part in walk(analysis.module):
        match part:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value) if _calls(value, name):
                kept |= set(_texts(target))
            case cst.Attribute(value=value, attr=cst.Name(value="to" | "cuda")) if _calls(value, name):
                return True
            case _:
                pass
    return any(
        isinstance(part, cst.Attribute) and part.attr.value in ("to", "cuda") and dotted(part.value) in kept
        for part in walk(analysis.module)
    )


def _calls(node: cst.BaseExpression, name: str) -> bool:
    return isinstance(node, cst.Call) and (dotted(node.func) or "").rpartition(".")[2] == name


def _texts(target: cst.BaseExpression) -> Iterator[str]:
    if isinstance(target, cst.Tuple):
        for element in target.elements:
            yield from _texts(element.value)
    else:
        yield dotted(target) or ""
