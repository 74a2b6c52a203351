"""Operations: their operands must share a device, and their result is there."""

from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import (
    UNKNOWN_DEVICE,
    Accelerator,
    Anywhere,
    Choice,
    Cpu,
    Device,
    Level,
    Symbol,
    UnknownDevice,
    conflict,
    leaves,
)
from torchdev_lint.flow.domain.values import (
    ASKED,
    NUMBER,
    UNKNOWN,
    Either,
    Literal,
    Many,
    Object,
    Tensor,
    Value,
    is_number,
)
from torchdev_lint.flow.libraries import command_lines
from torchdev_lint.flow.mistakes import unstated_devices
from torchdev_lint.flow.nn_modules import seen_to_work
from torchdev_lint.flow.project import settings
from torchdev_lint.flow.telling import conflicts
from torchdev_lint.flow.torch_calls.operands import Given, Operand
from torchdev_lint.flow.torch_calls.tensor_values import (
    counts_as_operand,
    moved_tensor,
    scalar_ness,
    taken_for_tensor,
    tensor_device,
)
from torchdev_lint.torch_api.operators import ANY_SCALAR, SCALAR, SHARED

_Entry: TypeAlias = tuple[Device, "bool | None", Operand]


def binary_operation(
    frame: Frame, node: cst.BinaryOperation | cst.Comparison, left: Value, right: Value
) -> Value:
    """The result of `left op right`, and the check that both are on one device."""
    left, right = moved_tensor(frame, left) or left, moved_tensor(frame, right) or right
    if not isinstance(left, (Tensor, Either)) and not isinstance(right, (Tensor, Either)):
        if not isinstance(node, cst.BinaryOperation):
            return UNKNOWN
        numbers = _counts(frame, Given(left, node.left)) and _counts(frame, Given(right, node.right))
        return NUMBER if numbers else UNKNOWN
    if isinstance(node, cst.BinaryOperation):
        left, right = computed_beside(frame, left, right), computed_beside(frame, right, left)
    left_node = node.left
    right_node = node.right if isinstance(node, cst.BinaryOperation) else node.comparisons[0].comparator
    if isinstance(node, cst.Comparison) and (ASKED, id(node)) in frame.analysis.notes:
        left, right = _asked_of(left, left_node), _asked_of(right, right_node)
    given = [Given(left, left_node), Given(right, right_node)]
    # `@` takes no 0-dim operand
    product = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.MatrixMultiply)
    return combine(frame, node, "operator", given, [SHARED if product else SCALAR] * 2)


def _asked_of(value: Value, node: cst.BaseExpression) -> Value:
    """An item of a tensor that a condition compares, `found[i] == wanted[i]`: of several elements none could be told the truth of."""
    match node:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index())]) if isinstance(value, Tensor):
            return replace(value, scalar=True)
        case _:
            return value


def computed_beside(frame: Frame, value: Value, other: Value) -> Value:
    """What a call that cannot be read has computed of a tensor, beside a tensor that was made on the CPU: a tensor, too."""
    if not (isinstance(value, Object) and value.key[0] == "call" and isinstance(other, Tensor)):
        return value
    origin = other.device.origin if isinstance(other.device, Cpu) else None
    if origin is None or origin.root().what != "factory":
        return value
    return taken_for_tensor(frame, value)


def combine(
    frame: Frame,
    node: cst.CSTNode,
    operation: str,
    operands: list[Given],
    roles: list[str],
) -> Value:
    """The result of an operation on operands that must share a device, each with its role (`torch_api.operators`)."""
    if not operands:
        return UNKNOWN
    found: list[_Entry] = []
    strict: list[_Entry] = []
    lenient: list[_Entry] = []
    together: list[_Entry] = []
    # beside a tensor that cannot but be on the CPU, a 0-dim one is at fault wherever it is not there, too
    if SCALAR in roles and any(
        _is_on_cpu(frame, one, role) for one, role in zip(operands, roles, strict=True)
    ):
        roles = [SHARED if role == SCALAR else role for role in roles]
    guess = False
    if operation == "operator":  # PyTorch's own functions return tensors, whatever they were given
        guesses = [given.value.guess for given in operands if isinstance(given.value, Tensor)]
        guess = bool(guesses) and all(guesses)
    for given, role in zip(operands, roles, strict=True):
        value = given.value
        device = tensor_device(frame, value)
        if device is not None and counts_as_operand(frame, value):
            held = Many(value) if given.inside else value
            operand = Operand(held, device, given.node, given.changed)
            found.append((device, scalar_ness(value), operand))
            if role == ANY_SCALAR and found[-1][1]:
                continue  # admitted wherever it is
            (strict if _is_strict(role, found[-1]) else lenient).append(found[-1])
            if role != ANY_SCALAR:
                together.append(found[-1])
    if not found:
        return UNKNOWN
    operands = [
        entry for entry in operands if not isinstance(entry.value, Literal) and not _counts(frame, entry)
    ]
    if any(_unknown(entry[0]) for entry in strict):
        unstated_devices.note(frame, [given.value for given in operands], node, "meets")
    mended: Device | None = None
    for entry in strict[1:]:
        mended = conflicts.check_operands(frame, node, operation, strict[0][2], entry[2]) or mended
    for entry in lenient:
        # an accelerator's meets one that certainly has dimensions and is on the CPU
        for left_behind in strict:
            met = conflict(entry[0], left_behind[0], frame.env.path)
            if met is not None and met.level != Level.NO and isinstance(met.right, Cpu):
                mended = conflicts.check_operands(frame, node, operation, entry[2], left_behind[2]) or mended
    if lenient and together and mended is None:
        mended = _apart(frame, node, operation, together)
    if mended is None:
        seen_to_work.note_operation(frame, node, [entry[0] for entry in found])
    scalars = [entry[1] for entry in found]
    scalar = all(scalars) if None not in scalars and len(found) == len(operands) else None
    brought = any(_was_brought(entry[0]) for entry in found)
    if mended is not None:
        return Tensor(UNKNOWN_DEVICE if brought and _is_assumed(mended) else mended)
    if strict:
        known = [entry[0] for entry in strict if not _unknown(entry[0])]
        certainly_not = any(entry[1] is False for entry in found)
        whole = scalar if not certainly_not else False
        dims = [given.value.dims for given in operands if isinstance(given.value, Tensor)]
        # the operators broadcast: the result has the dimensions of the one that has most
        kind = type(node)
        broadcasts = kind is cst.Comparison or (
            kind is cst.BinaryOperation and type(node.operator) is not cst.MatrixMultiply  # type: ignore[attr-defined]
        )
        most = max(dims, default=0) if broadcasts or min(dims, default=0) > 1 else 0
        # a 0-dim tensor and what is not known (`best % count`) give a number as a rule
        number = whole is None and all(entry[1] for entry in found)
        place = known[0] if known else strict[0][0]
        if brought and _is_assumed(place):
            place = UNKNOWN_DEVICE
        return Tensor(place, scalar=whole, guess=guess, element=number, dims=most)
    if len(operands) > len(found) or any(entry[0] != found[0][0] for entry in found):
        return Tensor(_device_of_scalars(found, len(operands)), scalar=scalar)
    return Tensor(found[0][0], scalar=scalar)


def _apart(frame: Frame, node: cst.CSTNode, operation: str, entries: list[_Entry]) -> Device | None:
    """Where an operation is whose operands are on two accelerators in some case: there a 0-dim one is not admitted, either.

    What one of them is where it is on the CPU says nothing.
    """
    first, *others = entries
    if not _may_be_numbered(first[0]):
        return None
    for other in others:
        if not _may_be_numbered(other[0]):
            continue
        met = settings.meeting(frame, _off_host(first[0]), _off_host(other[0]))
        if met is None or met.level == Level.NO:
            continue
        mended = conflicts.check_operands(frame, node, operation, first[2], other[2], found=met)
        if mended is not None:
            return mended
    return None


def _was_brought(device: Device) -> bool:
    """Whether a tensor was brought to the CPU: if it has dimensions, what it is added to is there as well, or the operation raises."""
    origin = device.origin if isinstance(device, Cpu) else None
    return origin is not None and origin.root().what == "moved"


def _is_assumed(device: Device) -> bool:
    """Whether it is only known as that of something else, which may be the CPU."""
    return isinstance(device, Symbol) and device.assumed


def _may_be_numbered(device: Device) -> bool:
    """Whether it is `cuda:1` in some case."""
    return any(isinstance(leaf, Accelerator) and leaf.index is not None for leaf in leaves(device))


def _off_host(device: Device) -> Device:
    """The same, but nothing is told of the case that it is the CPU."""
    if isinstance(device, Choice):
        return Choice(device.guard, _off_host(device.then), _off_host(device.otherwise))
    return Anywhere(device.origin) if isinstance(device, Cpu) else device


def _counts(frame: Frame, given: Given) -> bool:
    """Whether an operand is a number, whatever it is.

    How many of something there are, an option of the command line, or what a loop counts with (`chosen == k`).
    """
    from torchdev_lint.flow.torch_calls.indexing import counters

    if is_number(given.value) or command_lines.is_number(frame, given.value):
        return True
    return given.value == UNKNOWN and isinstance(given.node, cst.Name) and given.node.value in counters(frame)


def _is_on_cpu(frame: Frame, given: Given, role: str) -> bool:
    return role == SHARED and isinstance(tensor_device(frame, given.value), Cpu)


def _is_strict(role: str, entry: tuple[Device, bool | None, Operand]) -> bool:
    """Whether an operand must be where the others are: one that is admitted if it is 0-dim and may be so proves nothing."""
    device, scalar, _ = entry
    if scalar is False or role not in (SCALAR, ANY_SCALAR):
        return True
    return role == SCALAR and not _on_host(device)


def _on_host(device: Device) -> bool:
    if not isinstance(device, Choice):
        return isinstance(device, (Cpu, UnknownDevice))
    return any(isinstance(leaf, (Cpu, UnknownDevice)) for leaf in leaves(device))


def _device_of_scalars(found: list[tuple[Device, bool | None, Operand]], operands: int) -> Device:
    """Where the result of operands that may all be 0-dim is: a number changes nothing, an accelerator's wins."""
    if len(found) == 1 and operands == 1:
        return found[0][0]
    return UNKNOWN_DEVICE


def _unknown(device: Device) -> bool:
    if not isinstance(device, Choice):
        return isinstance(device, (UnknownDevice, Anywhere))
    return any(isinstance(leaf, (UnknownDevice, Anywhere)) for leaf in leaves(device))
