"""Declared devices that reach nothing: a parameter `device` or `map_location` that its function does not hand on.

The parameter is followed by its name: it counts as handed on wherever the function's body reads it for anything but
giving itself a default (`if device is None: device = "cpu"`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.events import Event, MixedOperation, ModelCall
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.placement_events import DeviceNotForwarded
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import Cpu
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.project import caller_results
from torchdev_lint.flow.syntax.trees import all_parameters, last_name, only_indexes, walk
from torchdev_lint.torch_api.devices import DEVICE_PARAMETERS

_SAYS_UNUSED = re.compile(
    r"(?i)deprecat|unused|ignored|not used|no effect|backwards? compat|compatib|for api|same signature|placeholder|dummy"
)
_MOVES = frozenset(
    "to cuda cpu type_as to_empty new_tensor new_zeros new_ones new_full new_empty zeros_like".split()
)
_REDUCES = frozenset("mean sum median min max".split())
_READS_ON_HOST = frozenset("tolist item numpy size dim numel".split())
_PLAIN_DECORATORS = frozenset(
    "staticmethod classmethod no_grad inference_mode property torch cache lru_cache wraps contextmanager typechecked beartype "
    "jaxtyped contextlib functools".split()
)


def note_load(frame: Frame, site: CallSite) -> bool:
    """A load without `map_location` in a function that declares one (or a `device` that it never reads)."""
    function = frame.function
    if function is None or isinstance(function.node, cst.Lambda):
        return False
    declared = parameters(function.node)
    if "map_location" in declared and not _is_given_elsewhere(function.node):
        _publish(frame, site, function, declared["map_location"], "map_location")
        return True
    for name in DEVICE_PARAMETERS:
        if name in declared and _declared_in_vain(frame, function, name):
            _publish(frame, site, function, declared[name], "map_location")
            return True
    return False


def _is_given_elsewhere(node: cst.FunctionDef) -> bool:
    """Whether the function moves what it loads by itself (`.to(map_location)`)."""
    return any(
        isinstance(part, cst.Call)
        and isinstance(part.func, cst.Attribute)
        and part.func.attr.value == "to"
        and any(isinstance(a.value, cst.Name) and a.value.value == "map_location" for a in part.args)
        for part in walk(node.body)
    )


def note_factory(frame: Frame, site: CallSite) -> None:
    """A tensor is made without `device=` in a function that declares a device."""
    function = frame.function
    if function is None or isinstance(function.node, cst.Lambda) or not isinstance(site.node, cst.Call):
        return
    if site.has_star() or not isinstance(frame.default_device(), Cpu):
        return
    declared = parameters(function.node)
    for name in DEVICE_PARAMETERS:
        if name in declared and _declared_in_vain(frame, function, name):
            if not stays_on_host(function.node, site.node) and not _only_indexes(function.node, site.node):
                _publish(frame, site, function, declared[name], "device")
            return


def _only_indexes(node: cst.FunctionDef, made: cst.Call) -> bool:
    """Whether what a call makes does nothing in the function but index other tensors, which an index of the CPU may, wherever these are."""
    bound = next(
        (
            part.targets[0].target.value
            for part in walk(node.body)
            if isinstance(part, cst.Assign)
            and part.value is made
            and len(part.targets) == 1
            and isinstance(part.targets[0].target, cst.Name)
        ),
        None,
    )
    # `i = torch.tensor([i for i in range(n)])` has an `i` of its own
    return bound is not None and only_indexes(node.body, bound, made)


def _publish(frame: Frame, site: CallSite, function: Function, parameter: cst.Param, keyword: str) -> None:
    name = parameter.name.value
    event = DeviceNotForwarded(
        node=site.node,
        name=name,
        owner=function.name,
        calls=(site.node,),
        function=site.callee,
        keyword=keyword,
        fixable=bool(site.arguments) and not _is_rebound(function.node, name, site.node),
        parameter=parameter,
        returned=_is_returned(function.node, site.node),
    )
    if not frame.analysis.muted:
        frame.analysis.unforwarded.setdefault(id(parameter), {}).setdefault(id(site.node), event)


def settle(analysis: Analysis) -> Iterator[DeviceNotForwarded]:
    """One event for a function that makes several tensors; each load is one of its own."""
    for found in analysis.unforwarded.values():
        made = [event for event in found.values() if event.keyword == "device"]
        yield from (event for event in found.values() if event.keyword != "device")
        if made:
            calls = tuple(call for event in made for call in event.calls)
            shown = next((event for event in made if event.returned), made[0])
            yield replace(shown, calls=calls, fixable=all(event.fixable for event in made))


def _is_returned(node: cst.FunctionDef, call: cst.CSTNode) -> bool:
    """Whether the function returns what the call makes, at once."""
    return any(
        isinstance(part, cst.Return) and any(inner is call for inner in walk(part))
        for part in walk(node.body)
    )


def parameters(node: cst.FunctionDef) -> dict[str, cst.Param]:
    """The named parameters of a function."""
    given = node.params
    return {parameter.name.value: parameter for parameter in all_parameters(given)}


def _declared_in_vain(frame: Frame, function: Function, name: str) -> bool:
    """Whether nothing reads the parameter, and nothing but the function's author could have wanted it there."""
    node = function.node
    if any(True for _ in reads(node.body, name)) or places_otherwise(node) or is_imposed(function):
        return False
    if _is_named_as_a_value(frame.analysis, function) or says_unused(frame.analysis, node):
        return False
    return not frame.analysis.learn(caller_results.nobody_gives, frame, function, name)


_STANDS_IN = re.compile(r"(?:^|_)(?:mock|fake|dummy|stub)(?:_|$)")


def is_imposed(function: Function) -> bool:
    """Whether somebody else decides what the function's parameters are.

    A test runs once for each device of a fixture that it asks for, whether it uses it or not, and what stands in for something in a test
    takes what that takes.
    """
    if function.name.startswith("test_") or _STANDS_IN.search(function.name) is not None:
        return True
    if any(decorator not in _PLAIN_DECORATORS for decorator in function.decorators):
        return True
    owner = function.owner
    if owner is None or function.name == "__init__":
        return False
    return owner.has_unseen_base() or any(
        base.find(function.name) is not None for base in owner.bases_in_file()
    )


def _is_named_as_a_value(analysis: Analysis, function: Function) -> bool:
    """Whether the function is handed around: who calls it decides what it is given."""
    if function.owner is not None:
        return False
    named = analysis.notes.get("named as values")
    if named is None:
        named = analysis.notes["named as values"] = _names_of_values(analysis.module)
    return function.name in named


def _names_of_values(module: cst.Module) -> frozenset[str]:
    """The names in a file that stand for themselves: neither called, defined, attributes nor keywords."""
    other: set[int] = set()
    names: list[cst.Name] = []
    for node in walk(module):
        match node:
            case cst.Name():
                names.append(node)
            case cst.Call(func=cst.Name() as name):
                other.add(id(name))
            case cst.FunctionDef(name=name) | cst.Attribute(attr=name) | cst.Arg(keyword=cst.Name() as name):
                other.add(id(name))
            case _:
                pass
    return frozenset(name.value for name in names if id(name) not in other)


def says_unused(analysis: Analysis, node: cst.FunctionDef) -> bool:
    """Whether the documentation or a comment says that the parameter does nothing."""
    text = analysis.module.code_for_node(node)
    return any("device" in line and _SAYS_UNUSED.search(line) for line in text.splitlines())


def reads(body: cst.CSTNode, name: str) -> Iterator[cst.Name]:
    """Where a name is read in a body, but for statements that only give it a value."""
    skipped: set[int] = set()
    for node in walk(body):
        if id(node) in skipped:
            continue
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=target))]) if target == name:
                skipped |= {id(part) for part in walk(node)}
            case cst.If(orelse=None) if _only_assigns(node.body, name):
                skipped |= {id(part) for part in walk(node)}
            case cst.Attribute(attr=attribute):
                skipped.add(id(attribute))
            case cst.Arg(keyword=cst.Name() as keyword):
                skipped.add(id(keyword))
            case cst.Name(value=word) if word == name:
                yield node
            case cst.Name(value="locals" | "vars" | "eval" | "exec" | "globals"):
                yield node
            case _:
                pass


def _only_assigns(body: cst.BaseSuite, name: str) -> bool:
    lines = body.body
    return bool(lines) and all(
        isinstance(line, cst.SimpleStatementLine)
        and all(
            isinstance(part, cst.Assign)
            and len(part.targets) == 1
            and isinstance(part.targets[0].target, cst.Name)
            and part.targets[0].target.value == name
            for part in line.body
        )
        for line in lines
    )


def _is_rebound(node: cst.FunctionDef, name: str, call: cst.CSTNode) -> bool:
    """Whether the name is assigned below the call."""
    met = False
    for part in walk(node.body):
        met = met or part is call
        target = part.target if met and isinstance(part, cst.AssignTarget) else None
        if isinstance(target, cst.Name) and target.value == name:
            return True
    return False


def places_otherwise(node: cst.FunctionDef) -> bool:
    """Whether the function places things by other means."""
    return moves_something(node) or any(
        isinstance(part, cst.Attribute) and part.attr.value == "device" and not is_torch(part.value)
        for part in walk(node.body)
    )


def is_torch(node: cst.BaseExpression) -> bool:
    """Whether it is the module, by one of its usual names."""
    return isinstance(node, cst.Name) and node.value in ("torch", "th")


def moves_something(node: cst.FunctionDef) -> bool:
    """Whether the function moves tensors, or makes them where others are."""
    return any(
        isinstance(part, cst.Attribute) and (part.attr.value in _MOVES or part.attr.value.endswith("_like"))
        for part in walk(node.body)
    )


def stays_on_host(node: cst.FunctionDef, call: cst.Call) -> bool:
    """Whether what is made is read on the host at once (`torch.randperm(n).tolist()`), is an index, a number as good as one of Python's
    (`torch.tensor(losses).mean()`), or a parameter or buffer of a module, which goes where that is put."""
    for part in walk(node.body):
        match part:
            case cst.Attribute(value=value, attr=cst.Name(value=name)) if (
                value is call and name in _READS_ON_HOST
            ):
                return True
            case cst.Call(func=cst.Attribute(value=value, attr=cst.Name(value=name)), args=[]) if (
                value is call and name in _REDUCES
            ):
                return True
            case cst.Call(func=function, args=[cst.Arg(value=value), *_]) if last_name(
                function
            ) == "Parameter" and any(inner is call for inner in walk(value)):
                return True
            case cst.Call(func=function, args=[_, cst.Arg(value=value), *_]) if last_name(
                function
            ) == "register_buffer" and any(inner is call for inner in walk(value)):
                return True
            case cst.For(iter=value) | cst.CompFor(iter=value) if value is call:
                return True
            case cst.Subscript(slice=keys) if any(inner is call for key in keys for inner in walk(key)):
                return True
            case _:
                pass
    return False


def without_consequences(events: list[Event]) -> list[Event]:
    """The events, without the mixed operations that follow from a device that was not handed on."""
    causes = {id(call) for event in events if isinstance(event, DeviceNotForwarded) for call in event.calls}
    if not causes:
        return events

    def follows(event: Event) -> bool:
        leaf = (
            event.right
            if isinstance(event, MixedOperation)
            else event.given
            if isinstance(event, ModelCall)
            else None
        )
        return leaf is not None and leaf.origin is not None and id(leaf.origin.root().node) in causes

    return [event for event in events if not follows(event)]
