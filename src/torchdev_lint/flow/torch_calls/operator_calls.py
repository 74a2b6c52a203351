"""Calls of PyTorch's functions and tensor methods that the operator table knows: who must be where, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import CPU, UNKNOWN_DEVICE, Symbol
from torchdev_lint.flow.domain.values import (
    NONE,
    NUMBER,
    UNKNOWN,
    Entries,
    Items,
    Literal,
    Many,
    Tensor,
    Value,
)
from torchdev_lint.flow.execution import mixed_lists
from torchdev_lint.flow.mistakes import host_arguments
from torchdev_lint.flow.nn_modules import loaded_parts
from torchdev_lint.flow.read_alone import evident_parts
from torchdev_lint.flow.telling import conflicts
from torchdev_lint.flow.torch_calls import dimensions, generators
from torchdev_lint.flow.torch_calls.operands import Given, Operand, given_by
from torchdev_lint.flow.torch_calls.operations import combine
from torchdev_lint.flow.torch_calls.tensor_values import taken_for_tensor, tensor_device
from torchdev_lint.torch_api.functions import UNUSED_WITH
from torchdev_lint.torch_api.operators import (
    FIRST,
    HOST,
    INDEX,
    SCALAR,
    SHARED,
    UNKNOWN_ROLE,
    Operator,
    Parameter,
)


def call(frame: Frame, operator: Operator, site: CallSite, receiver: Given | None = None) -> Value | None:
    """The result of calling the operator, as a method of `receiver` if there is one; None where nothing is known of it."""
    if _is_refused(operator, site):
        return None
    operands: list[Given] = []
    roles: list[str] = []
    keys: list[Given] = []
    if receiver is not None:
        first = operator.parameters[0] if operator.parameters else Parameter(("self",))
        if first.is_operand:
            # what is changed in place cannot be moved on the spot: it counts as something inside a container
            operands.append(replace(receiver, inside=operator.in_place, changed=operator.in_place))
            roles.append(first.role)
    given_to = [
        (parameter, argument)
        for parameter, argument in bound(operator, site, 0 if receiver is None else 1)
        if not _is_unused(operator, parameter, site)
    ]
    for parameter, argument in given_to:
        if parameter.role == HOST:
            host_arguments.check(frame, site, argument, parameter.names[-1].removeprefix("tensor_"))
        if not parameter.is_operand:
            continue
        given = given_by(argument)
        if parameter.role == SHARED:
            _check_list(frame, operator, site, argument)
        if parameter is operator.parameters[0]:
            for one in given:
                evident_parts.note(frame, one.node, one.value)
            given = [replace(one, value=taken_for_tensor(frame, one.value)) for one in given]
        elif parameter.role == SHARED:
            given = [replace(one, value=loaded_parts.as_tensor(frame, one.value)) for one in given]
        if parameter.role == INDEX:
            keys += given
        else:
            given = given[:1] if parameter.role == FIRST else given
            operands += given
            roles += [parameter.role] * len(given)
    out = next((one for one in site.arguments if one.keyword == "out" and one.value != NONE), None)
    if out is not None and (SHARED in roles or SCALAR in roles):
        # what is written to must be there, too, even if it has no dimensions (TensorIterator.cpp, `is_output`)
        for one in given_by(out):
            operands.append(replace(one, inside=True, changed=True))
            roles.append(SHARED)
    result = combine(frame, site.node, operator.name, operands, roles)
    for key in keys:
        check_key(frame, site.node, operands, key)
    if operator.result == "-":
        number = operator.name in _NUMBERS or (operator.name == "size" and bool(site.arguments))
        return NUMBER if number else UNKNOWN
    if out is not None:
        device = tensor_device(frame, out.value)
        return Tensor(UNKNOWN_DEVICE if device is None else device, scalar=None)
    if operator.result == "c":
        return Tensor(CPU, scalar=None)
    if not isinstance(result, Tensor):
        unjudged = any(parameter.role == UNKNOWN_ROLE for parameter, _ in given_to)
        return Tensor(UNKNOWN_DEVICE, scalar=None) if unjudged else None
    generators.check(frame, site, result.device)
    scalar = _scalar_ness(operator, site, given_to, result.scalar, receiver)
    given = operands if receiver is None or operands else [receiver]
    told = {name: argument.value for parameter, argument in given_to for name in parameter.names}
    dims = dimensions.of_result(operator, site, given, told, method=receiver is not None)
    result = replace(result, scalar=False if dims else scalar, dims=dims)
    return Many(result) if operator.many else result


_NUMBERS = frozenset("item numel nelement dim ndimension element_size".split())
"""Operators that give a number of Python's."""


def _is_refused(operator: Operator, site: CallSite) -> bool:
    """Whether what joins tensors is given an argument that it does not have, by name: `torch.cat(parts, dims=-1)` fails on any device.

    (torch/_C/_VariableFunctions.pyi: `tensors`, `dim` or `axis`, and `out`.)
    """
    return operator.parameters[:1] == (Parameter(("tensors",), SHARED),) and not {
        one.keyword for one in site.arguments
    } <= {None, "tensors", "dim", "axis", "out"}


def _check_list(frame: Frame, operator: Operator, site: CallSite, argument: Argument) -> None:
    """The items of a list that a loop went on with must be together."""
    value = argument.value
    match argument.node.value:
        case cst.Call(func=cst.Name(value="list" | "tuple"), args=[cst.Arg(value=whole)]):
            with frame.quietly():
                value = frame.evaluate(whole)  # the same, in another list
        case _:
            pass
    mixed = mixed_lists.begun_with(frame, value)
    if mixed is not None:
        held, added = (Operand(Many(one), one.device, argument.node.value) for one in mixed)
        conflicts.check_operands(frame, site.node, operator.name, added, held)


def _is_unused(operator: Operator, parameter: Parameter, site: CallSite) -> bool:
    """Whether a call may leave the argument alone, by another argument (torch/nn/functional.py)."""
    name = UNUSED_WITH.get((operator.name, parameter.names[0]))
    switch = None if name is None else site.keyword(name)
    return switch is not None and switch.value != Literal(False)


def check_key(frame: Frame, node: cst.CSTNode, operands: list[Given], key: Given) -> None:
    """An index or mask that is given to a function: a CPU tensor is not indexed by an accelerator's."""
    table = operands[0] if operands else None
    device = None if table is None else tensor_device(frame, table.value)
    if table is None or device is None or not is_index(key.value) or not isinstance(key.value, Tensor):
        return
    operand = Operand(key.value, key.value.device, key.node)
    conflicts.check_index(frame, node, Operand(table.value, device, table.node), operand)


def is_index(value: Value) -> bool:
    """Whether a value used as an index is a tensor of indices: a 0-dim one is read as a number, a caller's is none as a rule."""
    return isinstance(value, Tensor) and (
        value.scalar is False or (value.scalar is None and _is_handed_in(value))
    )


def _is_handed_in(key: Tensor) -> bool:
    """Whether an index is, or follows, what a caller gave, not just an element of it."""
    device = key.device
    if key.element or not (isinstance(device, Symbol) and device.assumed):
        return False
    return device.key[1][:1] in (("parameter",), ("item",))


def bound(operator: Operator, site: CallSite, start: int = 0) -> Iterator[tuple[Parameter, Argument]]:
    """The arguments with the parameters that they are given to, `start` being that of the first one.

    What stands behind a star of unknown length is left out.
    """
    position = start
    for argument in site.arguments:
        if argument.star == "**":
            if isinstance(argument.value, Entries):
                for name, value in argument.value.entries:
                    named = operator.named(str(name))
                    if named is not None:
                        yield named, Argument(value, argument.node)
            continue
        if argument.keyword is not None:
            named = operator.named(argument.keyword)
            if named is not None:
                yield named, argument
            continue
        starred = argument.star == "*"
        if starred and not isinstance(argument.value, Items):
            parameter = operator.parameter(position)
            if parameter is not None and parameter.star:
                yield parameter, argument
            position = _FAR
            continue
        values = argument.value.items if starred and isinstance(argument.value, Items) else (argument.value,)
        for value in values:
            parameter = operator.parameter(position)
            position += 1
            if parameter is not None:
                yield parameter, Argument(value, argument.node) if starred else argument


_FAR = 1000
"""A position behind every parameter."""


# -- whether a result is 0-dimensional


def _scalar_ness(
    operator: Operator,
    site: CallSite,
    given_to: list[tuple[Parameter, Argument]],
    operands: bool | None,
    receiver: Given | None,
) -> bool | None:
    """Whether the result is 0-dim; `operands`: whether all tensors given are."""
    if operator.name == "einsum":
        return _of_equation(site)
    if operator.name in VECTOR_PRODUCTS or operator.name in JOINING:
        return False
    if dimensions.sizes_told(operator, site, method=receiver is not None):
        return False
    given = len(given_to) + (receiver is not None)
    bare = given == len(site.arguments) + (receiver is not None) and all(
        one.is_operand for one, _ in given_to
    )
    match operator.dims:
        case "0":
            return True
        case "k":
            return False
        case "p":
            return None if any(argument.value == Items(()) for _, argument in given_to) else operands
        case "w" if bare and given > 1:
            return operands  # `torch.where(condition, one, other)`: nothing but tensors, no size
        case "w":
            told = [one for one in site.arguments if one.keyword is None][int(receiver is None) :]
            sized = bool(told) and all(one.value != Items(()) for one in told)
            return False if operands is False or sized else None
        case "r" if bare:
            return True
        case "m" if bare and given == 1:
            return True
        case "m" if bare and isinstance(given_to[-1][1].value, Tensor):
            return operands  # the larger of two tensors, element by element
        case _:
            return False if _leaves_a_dimension(operator, site, method=receiver is not None) else None


JOINING = frozenset("cat concat concatenate stack hstack vstack dstack column_stack row_stack".split())
"""What they give has a dimension: that along which the tensors were put together."""

VECTOR_PRODUCTS = frozenset({"matmul"})
"""0-dim for two vectors only, which programs leave to `dot`: taken for something with dimensions."""


def _of_equation(site: CallSite) -> bool | None:
    """Whether `einsum` sums over everything, by its equation."""
    first = site.get(0, "equation")
    if first is None or not isinstance(first.value, Literal) or not isinstance(first.value.value, str):
        return None
    _, arrow, output = first.value.value.partition("->")
    return not output.strip() if arrow else None


def _leaves_a_dimension(operator: Operator, site: CallSite, *, method: bool) -> bool:
    """Whether a reduction certainly leaves a dimension: over a dimension other than the first, or with `keepdim`."""
    dim, keep = operator.named("dim"), operator.named("keepdim")
    if keep is None:
        return False
    for parameter, argument in bound(operator, site, int(method)):
        value = argument.value.value if isinstance(argument.value, Literal) else None
        if (parameter is keep and value is True) or (
            parameter is dim and type(value) is int and isinstance(value, int) and value >= 1
        ):
            return True
    return False
