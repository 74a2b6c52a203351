"""Devices whose number a function is told apart from their type, `device="cuda", device_index=1`, and that are used without it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.placement_events import DoubtfulDevice
from torchdev_lint.flow.read_alone.device_spellings import Scope
from torchdev_lint.flow.syntax.trees import all_parameters, dotted

_NUMBER = re.compile(r"^(?:device|gpu|cuda)_?(?:index|idx|ids?|num|number|ordinal)$")


def told_apart(node: cst.CSTNode) -> tuple[str, str] | None:
    """The parameters of a function that is told the type of a device and its number: the first has no index."""
    if not isinstance(node, cst.FunctionDef):
        return None
    given = [one.name.value for one in all_parameters(node.params)]
    number = next((one for one in given if _NUMBER.match(one)), None)
    device = next((one for one in given if one in ("device", "device_type")), None)
    return None if number is None or device is None else (device, number)


def check_function(scope: Scope, node: cst.FunctionDef) -> Iterator[DoubtfulDevice]:
    """`Model(device=device, device_index=index)`, and `torch.device(device)` beside it: the first of all, whatever the index is.

    Nothing is said where the function puts the two together: `f"{device}:{index}"`, `torch.device(device, index)`.
    """
    apart = told_apart(node)
    if apart is None:
        return
    device, number = apart
    handed_on = False
    alone: list[cst.Call] = []
    for part in scope.nodes:
        match part:
            case cst.Call(func=called, args=arguments):
                names = [dotted(one.value) for one in arguments]
                if dotted(called) == "torch.device" and names == [device]:
                    alone.append(part)
                elif number in names:
                    if device not in names or dotted(called) == "torch.device":
                        return
                    handed_on = True
            case cst.FormattedStringExpression(expression=cst.Name(value=name)) if name == number:
                return
            case cst.BinaryOperation() | cst.Comparison() if number in scope.analysis.text(part):
                return
            case _:
                pass
    for call in alone if handed_on else ():
        written = f"{scope.analysis.text(call.func)}({device}, {number})"
        yield DoubtfulDevice(call, "number", device, number, replaced=call, replacement=written)
