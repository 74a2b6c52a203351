"""Operations: their operands must share a device, and their result is there."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow import (
    conflicts,
)
from torchdev_lint.flow.callsites import CallSite
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.lattice import (
    UNKNOWN_DEVICE,
    Anywhere,
    Cpu,
    Device,
    UnknownDevice,
    leaves,
)
from torchdev_lint.flow.operands import Given, Operand
from torchdev_lint.flow.tensor_values import counts_as_operand, scalar_ness, tensor_device
from torchdev_lint.flow.values import (
    UNKNOWN,
    Either,
    Literal,
    Many,
    Tensor,
    Value,
)


def binary_operation(
    frame: Frame, node: cst.BinaryOperation | cst.Comparison, left: Value, right: Value
) -> Value:
    """The result of `left op right`, and the check that both are on one device."""
    if not isinstance(left, (Tensor, Either)) and not isinstance(right, (Tensor, Either)):
        return UNKNOWN
    left_node = node.left
    right_node = node.right if isinstance(node, cst.BinaryOperation) else node.comparisons[0].comparator
    given = [Given(left, left_node), Given(right, right_node)]
    return combine(frame, node, "operator", given, admits_scalar=True)


def combine(
    frame: Frame,
    node: cst.CSTNode,
    operation: str,
    operands: list[Given],
    *,
    admits_scalar: bool,
) -> Value:
    """The result of an operation on operands that must share a device."""
    found: list[tuple[Device, bool | None, Operand]] = []
    guess = all(given.value.guess for given in operands if isinstance(given.value, Tensor))
    for given in operands:
        value = given.value
        device = tensor_device(frame, value)
        if device is not None and counts_as_operand(frame, value):
            found.append(
                (
                    device,
                    scalar_ness(value),
                    Operand(Many(value) if given.inside else value, device, given.node),
                )
            )
    if not found:
        return UNKNOWN
    operands = [entry for entry in operands if not isinstance(entry.value, Literal)]
    # where a 0-dim CPU tensor is admitted, one that may be 0-dim proves nothing (an accelerator's is not admitted)
    strict = [
        entry for entry in found if not (admits_scalar and entry[1] is not False and _on_host(entry[0]))
    ]
    mended: Device | None = None
    for entry in strict[1:]:
        mended = conflicts.check_operands(frame, node, operation, strict[0][2], entry[2]) or mended
    scalars = [entry[1] for entry in found]
    scalar = all(scalars) if None not in scalars and len(found) == len(operands) else None
    if mended is not None:
        return Tensor(mended)
    if strict:
        known = [entry[0] for entry in strict if not _unknown(entry[0])]
        certainly_not = any(entry[1] is False for entry in found)
        whole = scalar if not certainly_not else False
        return Tensor(known[0] if known else strict[0][0], scalar=whole, guess=guess)
    if len(operands) > len(found) or any(entry[0] != found[0][0] for entry in found):
        return Tensor(_device_of_scalars(found, len(operands)), scalar=scalar)
    return Tensor(found[0][0], scalar=scalar)


def has_room_for_scalars(receiver: Value) -> bool:
    """Whether a tensor that is changed in place takes in a 0-dim tensor from elsewhere: on the CPU none from an accelerator."""
    return not (isinstance(receiver, Tensor) and isinstance(receiver.device, Cpu))


def _on_host(device: Device) -> bool:
    return any(isinstance(leaf, (Cpu, UnknownDevice)) for leaf in leaves(device))


def _device_of_scalars(found: list[tuple[Device, bool | None, Operand]], operands: int) -> Device:
    """Where the result of operands that may all be 0-dim is: a number changes nothing, an accelerator's wins."""
    if len(found) == 1 and operands == 1:
        return found[0][0]
    return UNKNOWN_DEVICE


def _unknown(device: Device) -> bool:
    return any(leaf == UNKNOWN_DEVICE or isinstance(leaf, Anywhere) for leaf in leaves(device))


def reduces_inner_dimension(site: CallSite) -> bool:
    """Whether a reduction certainly leaves a dimension: over a dimension other than the first, or with `keepdim`."""
    keep, dim = site.keyword("keepdim"), site.keyword("dim")
    if keep is not None and isinstance(keep.value, Literal) and keep.value.value is True:
        return True
    candidates = [dim] if dim is not None else site.positional()
    return any(
        isinstance(argument.value, Literal)
        and isinstance(argument.value.value, int)
        and argument.value.value >= 1
        for argument in candidates
    )
