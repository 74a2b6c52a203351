"""A device that is one of two, the other of which is the CPU: whatever is asked, the program reckons with a machine without it."""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.syntax.trees import dotted, last_name, names_cpu, remembered, walk
from torchdev_lint.torch_api import devices

_ASKS = re.compile(r"(?i)available|device_count")


def is_beside_cpu(analysis: Analysis, node: cst.BaseExpression) -> bool:
    """Whether a device is what a condition or a table gives (`"cuda:0" if many else "cpu"`, a name bound by branches), and else the CPU."""
    return id(node) in analysis.learn(_beside_cpu, analysis.module)


@remembered(cst.Module)
def _beside_cpu(module: cst.Module) -> frozenset[int]:
    found: set[int] = set()
    for node in walk(module):
        match node:
            case cst.IfExp(test=test, body=one, orelse=other):
                pass
            case cst.If(test=test, body=body, orelse=cst.Else(body=orelse)):
                bound, else_bound = _bound(body), _bound(orelse)
                if bound is None or else_bound is None or bound[0] != else_bound[0]:
                    continue
                one, other = bound[1], else_bound[1]
            case cst.Call(
                func=cst.Attribute(value=cst.Dict() as table, attr=cst.Name(value="get")),
                args=[cst.Arg(value=key), cst.Arg(value=instead)],
            ) if names_cpu(instead) or (isinstance(key, cst.Name) and instead.deep_equals(key)):
                # `{"gpu": "cuda:0"}.get(name, name)`: another name is the device itself
                found.update(id(part) for part in walk(table))
                continue
            case cst.Subscript(
                value=cst.Dict(elements=entries) as table,
                slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Name()))],
            ) if any(names_cpu(one.value) for one in entries) and all(
                _is_device(one.value) for one in entries
            ):
                found.update(id(part) for part in walk(table))
                continue
            case cst.Subscript(
                value=cst.Dict(elements=entries) as table,
                slice=[cst.SubscriptElement(slice=cst.Index(value=cst.IfExp(body=key, orelse=other_key)))],
            ) if any(names_cpu(one.value) for one in entries) and (names_cpu(key) or names_cpu(other_key)):
                found.update(id(part) for part in walk(table))
                continue
            case _:
                continue
        if _asks_for_accelerator(test):
            continue
        for device, instead in ((one, other), (other, one)):
            if names_cpu(instead):
                found.update(id(part) for part in walk(device))
    return frozenset(found)


def is_asked_under_its_name(analysis: Analysis, node: cst.BaseExpression) -> bool:
    """Whether a device has a name that is used where there is one only: `GPU = "cuda:0"`, `device = GPU if is_available() else "cpu"`."""
    return id(node) in analysis.learn(_asked_by_name, analysis.module)


@remembered(cst.Module)
def _asked_by_name(module: cst.Module) -> frozenset[int]:
    named: dict[str, list[cst.BaseExpression]] = {}
    asked: dict[str, set[int]] = {}
    placing: list[cst.Name] = []
    for node in walk(module):
        match node:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name(value=name))], value=cst.SimpleString() as value
            ):
                named.setdefault(name, []).append(value)
            case cst.IfExp(test=test) | cst.If(test=test) if _asks_for_accelerator(test):
                for part in walk(node):
                    if isinstance(part, cst.Name):
                        asked.setdefault(part.value, set()).add(id(part))
            case cst.Call(func=function, args=args):
                moves = last_name(function) in ("to", "cuda", "device", "set_device")
                placing += [
                    one.value
                    for one in args
                    if isinstance(one.value, cst.Name)
                    and (moves or (one.keyword is not None and one.keyword.value == "device"))
                ]
            case _:
                pass
    bare = {name.value for name in placing if id(name) not in asked.get(name.value, ())}
    return frozenset(id(value) for name in asked.keys() - bare for value in named.get(name, ()))


def _is_device(node: cst.BaseExpression) -> bool:
    """Whether a device is made, `torch.device("cuda", 0)`, or named."""
    if isinstance(node, cst.SimpleString):
        return devices.parse(node.raw_value) is not None
    return isinstance(node, cst.Call) and last_name(node.func) == "device"


def _asks_for_accelerator(test: cst.BaseExpression) -> bool:
    """Whether the machine itself is asked: what follows from that is known, and may be the wrong way round."""
    return any(isinstance(part, cst.Name) and _ASKS.search(part.value) for part in walk(test))


def _bound(body: cst.BaseSuite) -> tuple[str, cst.BaseExpression] | None:
    """The one name that a branch binds, as all that it does, and what to."""
    match body:
        case cst.IndentedBlock(
            body=[
                cst.SimpleStatementLine(
                    body=[cst.Assign(targets=[cst.AssignTarget(target=target)], value=value)]
                )
            ]
        ):
            name = dotted(target)
            return None if name is None else (name, value)
        case _:
            return None
