"""Uses of a device that are right for some of the devices that the same code takes, and wrong for others.

A name that stands for `"cuda"` today may be `"cuda:0"`, or a `torch.device`, tomorrow: what compares it with `"cuda"`, hands it on as the
type of a device, or asks a tensor for less than its device, then takes another way, or raises. What is certain is `device_objects`'.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

import libcst as cst

from torchdev_lint.flow.analysis import Analysis
from torchdev_lint.flow.device_spellings import (
    ANY,
    INDEXED,
    OBJECT,
    OF_THING,
    OTHER,
    PLAIN_OBJECT,
    SHOWN,
    TEXT,
    TYPE,
    Scope,
    is_called_device,
    kinds,
    read,
    spelled,
)
from torchdev_lint.flow.events import DeviceMisuse, Event
from torchdev_lint.flow.evidence import TESTING, has_tests
from torchdev_lint.flow.missing_devices import missing
from torchdev_lint.flow.operands import dotted
from torchdev_lint.flow.placement_events import DoubtfulDevice
from torchdev_lint.flow.trees import walk
from torchdev_lint.torch_api import devices as api

ON = set(os.environ.get("FORMS", "literal equal type is_cuda cuda legacy get_device tensor_type stale split mixed set_device none unbound raw guess").split())


def settle(analysis: Analysis, known: Sequence[Event]) -> list[DoubtfulDevice]:
    """The doubtful uses of devices in a file, less those of which more is known."""
    if not analysis.speaks_of_devices or not TESTING.isdisjoint(analysis.imported) or has_tests(analysis.module):
        return []
    told = {id(event.node) for event in known if isinstance(event, DeviceMisuse)}
    found = {}
    for scope in read(analysis):
        for one in _doubts(scope):
            if id(one.node) not in told:
                found.setdefault(id(one.node), one)
    return [one for one in found.values() if one.form in ON]


def _doubts(scope: Scope) -> Iterator[DoubtfulDevice]:
    for node in scope.nodes:
        match node:
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]):
                yield from _comparison(scope, node, left, operator, right)
            case cst.Match(subject=subject, cases=cases):
                for case in cases:
                    if isinstance(case.pattern, cst.MatchValue):
                        yield from _literal(scope, case.pattern.value, subject, case.pattern.value)
            case cst.Call():
                yield from _call(scope, node)
            case cst.IfExp():
                yield from _choice(scope, node)
            case cst.If():
                yield from _branch(scope, node)
            case cst.Subscript():
                yield from _part(scope, node)
            case _:
                pass
    yield from _stale(scope)
    yield from _mixed(scope)
    yield from _raw(scope)
    for one in missing(scope):
        yield DoubtfulDevice(one.bound or one.node, "none" if one.none else "unbound", one.name, replaced=one.node)


# -- comparisons


def _comparison(
    scope: Scope, node: cst.Comparison, left: cst.BaseExpression, operator: cst.BaseCompOp, right: cst.BaseExpression
) -> Iterator[DoubtfulDevice]:
    if isinstance(operator, (cst.Equal, cst.NotEqual)):
        for device, other in ((left, right), (right, left)):
            if isinstance(other, cst.SimpleString):
                yield from _literal(scope, node, device, other)
                return
        yield from _equal(scope, node, left, right)
    elif isinstance(operator, (cst.In, cst.NotIn)) and isinstance(right, (cst.Tuple, cst.List, cst.Set)):
        for element in right.elements:
            if isinstance(element.value, cst.SimpleString) and element.value.evaluated_value != "cpu":
                yield from _literal(scope, node, left, element.value)
                return


def _literal(
    scope: Scope, node: cst.CSTNode, device: cst.BaseExpression, literal: cst.CSTNode
) -> Iterator[DoubtfulDevice]:
    if not isinstance(literal, cst.SimpleString) or not is_called_device(device):
        return
    word = str(literal.evaluated_value)
    parsed = api.parse(word)
    if parsed is None or parsed[1] is not None:
        return
    found = kinds(scope, device)
    wrong = {OBJECT, PLAIN_OBJECT, OF_THING}
    if word not in ("cpu", "meta"):
        wrong |= {INDEXED, SHOWN}
        if word != "mps":
            wrong |= {TEXT, ANY}
    if not found & wrong or (found <= {TYPE, OTHER}):
        return
    if _handles(scope, device) or _is_checked(scope, device):
        return
    yield DoubtfulDevice(node, "literal", scope.analysis.text(device), word, kinds=",".join(sorted(found)))


def _handles(scope: Scope, device: cst.BaseExpression) -> bool:
    """Whether the scope asks the same thing in another way, too: it reckons with more than the type."""
    name = _name(device)
    for node in scope.nodes:
        match node:
            case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.In() | cst.NotIn(), comparator=asked)]):
                if _name(asked) == name:
                    return True
            case cst.Attribute(value=asked, attr=cst.Name(value="startswith" | "split" | "partition" | "type" | "index" | "find")):
                if _name(asked) == name:
                    return True
            case cst.Call(func=func, args=[cst.Arg(value=asked), *_]) if dotted(func) == "isinstance":
                if _name(asked) == name:
                    return True
            case cst.Call(func=func, args=[_, cst.Arg(value=asked), *_]) if (dotted(func) or "").startswith("re."):
                if _name(asked) == name:
                    return True
            case _:
                pass
    return False


def _name(device: cst.BaseExpression) -> str | None:
    match device:
        case cst.Call(func=cst.Name(value="str"), args=[cst.Arg(value=inner)]):
            return _name(inner)
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="lower" | "strip"))):
            return _name(inner)
        case _:
            return spelled(device)


def _is_checked(scope: Scope, device: cst.BaseExpression) -> bool:
    """Whether the scope refuses all but the words that it knows."""
    name = _name(device)
    for node in scope.nodes:
        match node:
            case cst.Assert(test=cst.Comparison(left=asked, comparisons=[cst.ComparisonTarget(operator=cst.In())])):
                if _name(asked) == name:
                    return True
            case cst.If(test=cst.Comparison(left=asked, comparisons=[cst.ComparisonTarget(operator=cst.NotIn())]), body=body):
                if _name(asked) == name and _raises(body):
                    return True
            case cst.If(test=cst.Comparison(left=asked, comparisons=[cst.ComparisonTarget(operator=cst.Equal())])):
                if _name(asked) == name and _ends_in_refusal(node):
                    return True
            case _:
                pass
    return False


def _ends_in_refusal(node: cst.If) -> bool:
    last = node.orelse
    while isinstance(last, cst.If):
        last = last.orelse
    return last is not None and _raises(last.body)


def _raises(body: cst.CSTNode) -> bool:
    return any(isinstance(part, cst.Raise) for part in walk(body))


def _equal(
    scope: Scope, node: cst.Comparison, left: cst.BaseExpression, right: cst.BaseExpression
) -> Iterator[DoubtfulDevice]:
    for of_tensor, other in ((left, right), (right, left)):
        if not (is_called_device(of_tensor) and _is_placed(of_tensor)):
            continue
        if _is_placed(other) or not (is_called_device(other) or _is_made(other)):
            continue
        found = kinds(scope, other)
        text = scope.analysis.text(of_tensor)
        if _says_cpu(other):
            continue
        shown = isinstance(of_tensor, cst.Call)
        if found <= {TYPE, OTHER} and not shown:
            continue
        if found == {PLAIN_OBJECT} or _decides(scope, node):
            yield DoubtfulDevice(node, "equal", text, scope.analysis.text(other), kinds=",".join(sorted(found)))
            return


def _is_placed(node: cst.BaseExpression) -> bool:
    """Whether it asks something for its `.device`; not a setting."""
    match node:
        case cst.Attribute(value=base, attr=cst.Name(value="device")):
            return dotted(base) not in ("self", "args", "cfg", "config", "opt", "torch", "cls")
        case cst.Call(func=cst.Name(value="str"), args=[cst.Arg(value=inner)]):
            return _is_placed(inner)
        case _:
            return False


def _is_made(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Call) and dotted(node.func) in ("torch.device", "th.device")


def _says_cpu(node: cst.BaseExpression) -> bool:
    return any(
        isinstance(part, cst.SimpleString) and part.evaluated_value in ("cpu", "meta", "disk") for part in walk(node)
    )


_TELLS = re.compile(r"(?:^|[._])(?:warn|warning|error|exception)$")


def _decides(scope: Scope, node: cst.Comparison) -> bool:
    """Whether more hangs on a comparison than a copy that need not be."""
    equal = isinstance(node.comparisons[0].operator, cst.Equal)
    for part in scope.nodes:
        match part:
            case cst.Assert(test=test):
                if _has(test, node):
                    return True
            case cst.If(test=test, body=body, orelse=orelse):
                if _has(test, node):
                    if not equal:
                        return any(
                            isinstance(inner, cst.Raise)
                            or (isinstance(inner, cst.Call) and _TELLS.search(dotted(inner.func) or "") is not None)
                            for inner in walk(body)
                        )
                    last = body.body[-1]
                    only = isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return) and last.body[-1].value is None
                    return only or (orelse is not None and _raises(orelse))
            case _:
                pass
    return False


def _has(tree: cst.CSTNode, node: cst.CSTNode) -> bool:
    return any(part is node for part in walk(tree))


# -- calls


_TAKES_TYPE = re.compile(r"(?:^|\.)(?:autocast|get_autocast_dtype|is_autocast_enabled|init_device_mesh|custom_fwd|custom_bwd)$")


def _call(scope: Scope, node: cst.Call) -> Iterator[DoubtfulDevice]:
    path = dotted(node.func) or ""
    for index, argument in enumerate(node.args):
        if argument.keyword is not None and argument.keyword.value == "device_type":
            yield from _as_type(scope, argument.value)
        elif index == 0 and argument.keyword is None and _TAKES_TYPE.search(path) and ".cuda." not in path and not argument.star:
            yield from _as_type(scope, argument.value)
        placing = argument.keyword is not None and argument.keyword.value == "device"
        if placing or (
            index == 0
            and argument.keyword is None
            and (path.endswith(("torch.device", ".cuda")) or (isinstance(node.func, cst.Attribute) and node.func.attr.value == "to"))
        ):
            yield from _index_of_tensor(scope, argument.value)
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="type")), args=[cst.Arg(value=given, keyword=None)]):
            yield from _tensor_type(scope, node, given)
        case _:
            pass
    if path == "torch.cuda.set_device" and node.args:
        given = node.args[0].value
        found = kinds(scope, given)
        if is_called_device(given) and found & {TYPE, PLAIN_OBJECT, TEXT, OBJECT, ANY}:
            yield DoubtfulDevice(node, "set_device", scope.analysis.text(given), "", kinds=",".join(sorted(found)))


def _as_type(scope: Scope, node: cst.BaseExpression) -> Iterator[DoubtfulDevice]:
    if not is_called_device(node):
        return
    found = kinds(scope, node)
    if found <= {TYPE, OTHER}:
        return
    yield DoubtfulDevice(node, "type", scope.analysis.text(node), "", kinds=",".join(sorted(found)))


def _index_of_tensor(scope: Scope, node: cst.BaseExpression) -> Iterator[DoubtfulDevice]:
    values = [node]
    if isinstance(node, cst.Name):
        values = [one for one in scope.bound.get(node.value, ()) if one is not None]
    for value in values:
        match value:
            case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value="get_device")), args=[]):
                text = scope.analysis.text(base)
                if text in ("self", "cls") or _is_imported(scope, text) or _asks_cuda(scope):
                    continue
                yield DoubtfulDevice(value, "get_device", text, "")
            case _:
                pass


def _is_imported(scope: Scope, text: str) -> bool:
    first = text.partition(".")[0]
    for node in scope.root.nodes:
        match node:
            case cst.ImportAlias(name=name, asname=asname):
                bound = asname.name.value if asname is not None and isinstance(asname.name, cst.Name) else (dotted(name) or "").partition(".")[0]
                if bound == first:
                    return True
            case _:
                pass
    return False


def _asks_cuda(scope: Scope) -> bool:
    return any(isinstance(node, cst.Attribute) and node.attr.value in ("is_cuda", "is_available") for node in scope.nodes)


def _tensor_type(scope: Scope, node: cst.Call, given: cst.BaseExpression) -> Iterator[DoubtfulDevice]:
    values = [given]
    if isinstance(given, cst.Name):
        values = [one for one in scope.bound.get(given.value, ()) if one is not None]
    for value in values:
        match value:
            case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value="type")), args=[]):
                yield DoubtfulDevice(node, "tensor_type", scope.analysis.text(base), "")
            case _:
                pass


# -- is_cuda


def _choice(scope: Scope, node: cst.IfExp) -> Iterator[DoubtfulDevice]:
    asked = _asks_is_cuda(node.test)
    if asked is None:
        return
    if _names_cuda(node.body):
        yield DoubtfulDevice(node, "is_cuda", scope.analysis.text(asked), "")
    elif _is_legacy(node.body):
        yield DoubtfulDevice(node, "legacy", scope.analysis.text(asked), "")
    else:
        yield from _moves(scope, node.body, asked)


def _branch(scope: Scope, node: cst.If) -> Iterator[DoubtfulDevice]:
    asked = _asks_is_cuda(node.test)
    if asked is None:
        return
    for part in walk(node.body):
        if isinstance(part, cst.Assign):
            if _names_cuda(part.value):
                yield DoubtfulDevice(part, "is_cuda", scope.analysis.text(asked), "")
            elif _is_legacy(part.value):
                yield DoubtfulDevice(part, "legacy", scope.analysis.text(asked), "")
    yield from _moves(scope, node.body, asked)


def _asks_is_cuda(test: cst.BaseExpression) -> cst.BaseExpression | None:
    match test:
        case cst.Attribute(value=base, attr=cst.Name(value="is_cuda")):
            return base
        case _:
            return None


def _names_cuda(node: cst.BaseExpression) -> bool:
    match node:
        case cst.SimpleString():
            return str(node.evaluated_value) in ("cuda", "cuda:0")
        case cst.Call(args=[cst.Arg(value=inner), *_]):
            return _is_made(node) and _names_cuda(inner)
        case _:
            return False


def _is_legacy(node: cst.BaseExpression) -> bool:
    return any((dotted(part) or "").startswith("torch.cuda.") and (dotted(part) or "").endswith("Tensor") for part in walk(node))


def _moves(scope: Scope, body: cst.CSTNode, asked: cst.BaseExpression) -> Iterator[DoubtfulDevice]:
    for part in walk(body):
        match part:
            case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value="cuda")), args=[]):
                if dotted(base) != "torch":
                    yield DoubtfulDevice(part, "cuda", scope.analysis.text(asked), scope.analysis.text(base))
            case _:
                pass


# -- parts of device strings


def _part(scope: Scope, node: cst.Subscript) -> Iterator[DoubtfulDevice]:
    match node:
        case cst.Subscript(
            value=cst.Call(
                func=cst.Attribute(value=inner, attr=cst.Name(value="split")),
                args=[cst.Arg(value=cst.SimpleString(value='":"' | "':'"))],
            ),
            slice=[cst.SubscriptElement(slice=cst.Index(value=index))],
        ) if scope.analysis.text(index) in ("1", "-1") and is_called_device(inner):
            name = _name(inner)
            for part in scope.nodes:
                match part:
                    case cst.Comparison(left=cst.SimpleString() as left, comparisons=[cst.ComparisonTarget(operator=cst.In(), comparator=asked)]):
                        if ":" in str(left.evaluated_value) and _name(asked) == name:
                            return
                    case cst.Try():
                        return
                    case _:
                        pass
            yield DoubtfulDevice(node, "split", scope.analysis.text(inner), "")
        case _:
            pass


# -- functions


_MOVERS = re.compile(r"^(?:to|move_to|set_device|to_device|move_to_device)$")


def _stale(scope: Scope) -> Iterator[DoubtfulDevice]:
    """`def to(self, device)` that uses `self.device` before it is told the new one."""
    node = scope.node
    if not isinstance(node, cst.FunctionDef) or scope.owner is None or _MOVERS.search(node.name.value) is None:
        return
    if scope.parameter("device") is None:
        return
    targets = {
        target.target.attr.value
        for part in scope.nodes
        if isinstance(part, cst.Assign)
        for target in part.targets
        if isinstance(target.target, cst.Attribute) and (dotted(target.target) or "").startswith("self.") and is_called_device(target.target)
    }
    for part in scope.nodes:
        match part:
            case cst.Assign(targets=targets_here):
                for target in targets_here:
                    if isinstance(target.target, cst.Attribute):
                        targets.discard(target.target.attr.value) if not any(
                            isinstance(inner, cst.Attribute) and (dotted(inner) or "") == f"self.{target.target.attr.value}"
                            for inner in walk(part.value)
                        ) else None
            case cst.Arg(value=value) | cst.DictElement(value=value):
                name = dotted(value) or ""
                if name.startswith("self.") and name.removeprefix("self.") in targets:
                    yield DoubtfulDevice(value, "stale", name, "device")
            case _:
                pass


def _mixed(scope: Scope) -> Iterator[DoubtfulDevice]:
    """A parameter that may be a string or a `torch.device`, taken for one of them."""
    node = scope.node
    if not isinstance(node, cst.FunctionDef):
        return
    for part in scope.nodes:
        match part:
            case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="type" | "index")):
                wrong = TEXT
            case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="startswith" | "split")):
                wrong = OBJECT
            case cst.Comparison(left=cst.SimpleString(), comparisons=[cst.ComparisonTarget(operator=cst.In() | cst.NotIn(), comparator=cst.Name(value=name))]):
                wrong = OBJECT
            case _:
                continue
        parameter = scope.parameter(name)
        if parameter is None or name in scope.bound or not is_called_device(cst.Name(name)):
            continue
        found = kinds(scope, parameter.name)
        default = parameter.default is not None and isinstance(parameter.default, cst.SimpleString)
        if (wrong in found and len(found) > 1 and ANY not in found) or (wrong == TEXT and default):
            if not any(
                isinstance(one, cst.Call)
                and dotted(one.func) in ("isinstance", "hasattr")
                and one.args
                and dotted(one.args[0].value) == name
                for one in scope.nodes
            ):
                yield DoubtfulDevice(part, "mixed", name, wrong)


def _raw(scope: Scope) -> Iterator[DoubtfulDevice]:
    """A parameter that may be None, used as it was given although a default was chosen for it under another name."""
    node = scope.node
    if not isinstance(node, cst.FunctionDef):
        return
    chosen: dict[str, str] = {}
    for part in scope.nodes:
        match part:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                name = _defaulted(value)
                text = dotted(target)
                if name is None or text is None or text == name:
                    continue
                parameter = scope.parameter(name)
                if parameter is not None and isinstance(parameter.default, cst.Name) and is_called_device(parameter.name):
                    chosen[name] = text
            case cst.Call(func=function, args=arguments):
                for index, argument in enumerate(arguments):
                    moved = index == 0 and argument.keyword is None and isinstance(function, cst.Attribute) and function.attr.value == "to"
                    told = argument.keyword is not None and argument.keyword.value == "device"
                    if (moved or told) and isinstance(argument.value, cst.Name) and argument.value.value in chosen:
                        if argument.value.value not in scope.bound:
                            yield DoubtfulDevice(argument.value, "raw", argument.value.value, chosen[argument.value.value])
            case _:
                pass


def _defaulted(value: cst.BaseExpression) -> str | None:
    """The name that a choice of a default begins with: `device or "cpu"`, `device if device is not None else "cpu"`."""
    match value:
        case cst.IfExp(test=test, body=body, orelse=otherwise):
            for part in (test, body, otherwise):
                name = _defaulted(part) if isinstance(part, cst.BooleanOperation) else None
                if name is not None:
                    return name
            match test:
                case cst.Name(value=name) | cst.Comparison(
                    left=cst.Name(value=name), comparisons=[cst.ComparisonTarget(operator=cst.Is() | cst.IsNot())]
                ):
                    return name
                case _:
                    return None
        case cst.BooleanOperation(left=cst.Name(value=name), operator=cst.Or()):
            return name
        case cst.Call(args=[cst.Arg(value=inner), *_]) if _is_made(value):
            return _defaulted(inner)
        case _:
            return None
