"""What a function makes alike and returns together, all but one part of it on a device: `return tensor(x).to(device), tensor(y)`.

Nothing fails in the function, but its caller gets one of them from the CPU, and the first operation on two of them raises. It
counts only where every other part was placed in the function, one of them by the same call with a device: what is left on the CPU on
purpose (lengths, labels for the host) stands beside other things.
"""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.disagreeing_returns import made_by
from torchdev_lint.flow.events import Made, ReturnedFactory
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.lattice import Cpu, Device, leaves
from torchdev_lint.flow.operands import dotted
from torchdev_lint.flow.trees import walk
from torchdev_lint.flow.values import Function, Items, Tensor, Value
from torchdev_lint.torch_api.factories import TAKES_DEVICE

_LENGTHS = re.compile(r"(?i)(?:^|_)(?:seq_?)?len(?:s|gths?)?(?:$|_)")
"""Words in the names of lengths, which packing wants on the CPU."""


def check(frame: Frame, function: Function) -> None:
    """A function was read alone to its end: publish what it returns from the CPU beside what it placed."""
    if not isinstance(function.node, cst.FunctionDef) or frame.source.foreign:
        return
    for value, _ in frame.returns:
        if isinstance(value, Items) and len(value.items) > 1:
            _check_parts(frame, function, list(value.items))


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
    ):
        return
    target = frame.analysis.text(alike[0][1])
    made = Made(origin.node, target, name.rpartition(".")[2] in TAKES_DEVICE)
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
