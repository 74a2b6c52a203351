"""What a function makes alike and returns together, all but one part of it on a device: `return tensor(x).to(device), tensor(y)`.

Nothing fails in the function, but its caller gets one of them from the CPU, and the first operation on two of them raises. It
counts only where every other part was placed in the function, one of them by the same call with a device: what is left on the CPU on
purpose (lengths, labels for the host) stands beside other things.
"""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.events import Made, ReturnedFactory
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import atoms
from torchdev_lint.flow.domain.lattice import Cpu, Device, Level, conflict, describe, leaves, may_tell_where
from torchdev_lint.flow.domain.values import Function, Items, Tensor, Value
from torchdev_lint.flow.mistakes.disagreeing_returns import made_by
from torchdev_lint.flow.mistakes.returned_factories import moved_by_caller
from torchdev_lint.flow.syntax.trees import dotted, takes_device, walk
from torchdev_lint.flow.torch_calls import device_values

_LENGTHS = re.compile(r"(?i)(?:^|_)(?:seq_?)?len(?:s|gths?)?(?:$|_)")
"""Words in the names of lengths, which packing wants on the CPU."""


def check(frame: Frame, function: Function) -> None:
    """A function was read alone to its end: publish what it returns from the CPU beside what it placed."""
    if not isinstance(function.node, cst.FunctionDef) or frame.source.foreign:
        return
    for value, _ in frame.returns:
        if isinstance(value, Items) and len(value.items) > 1:
            _check_parts(frame, function, list(value.items))
    _check_ways(frame, function)


def _check_ways(frame: Frame, function: Function) -> None:
    """`return net(x).argmax(1)` on one way, `return torch.tensor([[choice()]])` on another, and the program joins what it got."""
    ways = [(value, env) for value, env in frame.returns if isinstance(value, Tensor)]
    if len(ways) < 2 or len(ways) < len(frame.returns):
        return
    common = set.intersection(*(set(env.path) for _, env in ways))
    for value, env in ways:
        origin = made_by(value.device, _OF_DATA)
        if origin is None or origin.frame != frame.uid or value.scalar is not False:
            continue
        asked = [atom for fact in env.path if fact not in common for atom in atoms(fact)]
        if any(may_tell_where(atom) for atom in asked if atom.kind != "opaque" or atom.key[0] != "more"):
            continue  # not so by a number, as in `random.random() > 0.1`
        found = [conflict(other.device, value.device) for other, _ in ways]
        there = next((one.left for one in found if one is not None and one.level == Level.CERTAIN), None)
        if there is None or not _is_joined(frame, function.name):
            continue
        target = device_values.name_of_device(frame, there)
        made = Made(origin.node, target, takes_device(origin.node))
        event = ReturnedFactory(made, "", function.name, otherwise=describe(there))
        frame.analysis.publish(("factory", id(origin.node)), event)


_OF_DATA = frozenset({"from_numpy", "as_tensor", "arange", "randperm"})
_KEEPS = frozenset("append push add store put remember extend insert save".split())


def _is_joined(frame: Frame, function: str) -> bool:
    """Whether the file keeps what a function returns, under a name, and joins what is called so: `torch.cat(batch.action)`."""
    names: set[str] = set()
    kept: set[str] = set()
    joined: set[str] = set()
    for part in walk(frame.source.module):
        match part:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name(value=name))], value=cst.Call(func=callee)
            ) if (dotted(callee) or "").rpartition(".")[2] == function:
                names.add(name)
            case cst.Call(func=cst.Attribute(attr=cst.Name(value=word)), args=arguments) if word in _KEEPS:
                kept |= {dotted(a.value) or "" for a in arguments}
            case cst.Call(func=callee, args=[cst.Arg(value=given), *_]) if dotted(callee) in _JOINS:
                joined.add((dotted(given) or "").rpartition(".")[2])
            case _:
                pass
    return any(name == one.removesuffix("s") or name == one for name in names & kept for one in joined)


_JOINS = frozenset({"torch.cat", "torch.stack", "torch.vstack", "torch.concat"})


def _check_parts(frame: Frame, function: Function, parts: list[Value]) -> None:
    left = [part for part in parts if isinstance(part, Tensor) and isinstance(part.device, Cpu)]
    if len(left) != 1 or left[0].scalar is True:
        return
    origin = made_by(left[0].device, frozenset())
    if origin is None or origin.frame != frame.uid or _speaks_of_lengths(origin.node):
        return
    name = dotted(origin.node.func)
    placed = [
        _placed(part.device, frame.uid) for part in parts if isinstance(part, Tensor) and part is not left[0]
    ]
    if len(placed) < len(parts) - 1 or None in placed:
        return
    alike = [one for one in placed if one is not None and one[0] == name]
    if (
        name is None
        or not alike
        or len({frame.analysis.text(one[1]) for one in placed if one is not None}) > 1
        or frame.analysis.learn(moved_by_caller, frame, function.name)
    ):
        return
    target = frame.analysis.text(alike[0][1])
    made = Made(origin.node, target, takes_device(origin.node))
    frame.analysis.publish(
        ("factory", id(origin.node)), ReturnedFactory(made, "", function.name, there=target)
    )


def _speaks_of_lengths(node: cst.CSTNode) -> bool:
    return any(isinstance(part, cst.Name) and _LENGTHS.search(part.value) is not None for part in walk(node))


def _placed(device: Device, activation: int) -> tuple[str, cst.BaseExpression] | None:
    """What made a tensor and the device it was given, if both stand in one expression of the function."""
    origins = {leaf.origin for leaf in leaves(device)}
    origin = origins.pop() if len(origins) == 1 else None
    if origin is None or origin.frame != activation or not isinstance(origin.node, cst.Call):
        return None
    node, target = origin.node, None
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "to" and node.args:
        target = node.args[0].value
    for argument in node.args:
        if argument.keyword is not None and argument.keyword.value == "device":
            target = argument.value
    if target is None or dotted(target) is None:
        return None
    return _made_with(node), target


def _made_with(node: cst.BaseExpression) -> str:
    """The call that a chain of methods begins with: `torch.tensor` in `torch.tensor(x).float().to(device)`."""
    while isinstance(node, cst.Call):
        name = dotted(node.func)
        if name is not None or not isinstance(node.func, cst.Attribute):
            return name or ""
        node = node.func.value
    return ""
