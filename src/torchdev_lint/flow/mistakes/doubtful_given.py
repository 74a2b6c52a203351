"""Devices that somebody gave, and that an `or` passes over: `device or "cuda" if available() else "cpu"`, `device.index or -1`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.placement_events import DoubtfulDevice
from torchdev_lint.flow.libraries.command_lines import asks_for_one
from torchdev_lint.flow.read_alone.device_spellings import Scope, is_called_device


def check_choice(scope: Scope, node: cst.IfExp | cst.If) -> Iterator[DoubtfulDevice]:
    """`(device or "cuda") if available else "cpu"`, which is what stands there without parentheses: only half of it minds the device."""
    match node:
        case cst.IfExp(
            body=cst.BooleanOperation(left=given, operator=cst.Or(), right=chosen, lpar=[]), orelse=orelse
        ) if is_called_device(given) and asks_for_one(node.test):
            pass
        case _:
            return
    text = scope.analysis.text
    written = f"{text(given)} or ({text(chosen)} if {text(node.test)} else {text(orelse)})"
    yield DoubtfulDevice(node, "ignored", text(given), text(node.test), replaced=node, replacement=written)


def check_either(scope: Scope, node: cst.BooleanOperation) -> Iterator[DoubtfulDevice]:
    """`device.index or -1`: the first device has the index 0, which counts as false."""
    match node:
        case cst.BooleanOperation(
            left=cst.Attribute(value=base, attr=cst.Name(value="index")) as index,
            operator=cst.Or(),
            right=(
                cst.Integer() | cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer())
            ) as other,
        ) if is_called_device(base):
            pass
        case _:
            return
    if isinstance(other, cst.Integer) and other.evaluated_value == 0:
        return
    text = scope.analysis.text
    written = f"{text(index)} if {text(index)} is not None else {text(other)}"
    yield DoubtfulDevice(node, "zero", text(index), text(other), replaced=node, replacement=f"({written})")
