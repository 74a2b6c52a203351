"""`sum` and `functools.reduce`: what is held is brought together two by two; and the functions of `operator`."""

from __future__ import annotations

from collections.abc import Callable

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite, ImpliedItem, implied_items
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.values import UNKNOWN, Either, Items, Literal, Many, Tensor, Value, element_of
from torchdev_lint.flow.execution import containers
from torchdev_lint.flow.execution.iteration import MAX_UNROLLED, iterate, known_items
from torchdev_lint.flow.torch_calls import operations
from torchdev_lint.flow.torch_calls.operands import Given
from torchdev_lint.torch_api.operators import SCALAR

OPERATORS = frozenset(
    (
        "add sub mul truediv floordiv mod pow matmul and_ or_ xor iadd isub imul itruediv imatmul "
        "eq ne lt le gt ge"
    ).split()
)
"""Functions of `operator` that do what the operators between two tensors do."""


def summed(frame: Frame, site: CallSite) -> Value:
    """`sum(items)`: added up from the left, to a number at first."""
    arguments = site.positional()
    start = arguments[1] if len(arguments) > 1 else site.keyword("start")
    if start is not None and isinstance(start.value, (Items, Many)):
        return _joined(frame, start.value, arguments[0].value)
    given = _held(frame, arguments[0])
    if start is not None and isinstance(start.value, Tensor):
        given = [start, *given]
    result: Argument | None = None
    for argument in given:
        if not isinstance(argument.value, (Tensor, Either)):
            if not isinstance(argument.value, Literal):
                return UNKNOWN
            continue  # a number
        value: Value = argument.value
        if result is not None:
            value = _operate(frame, site, result, argument)
            # added item by item: the sum has the dimensions of the one that has most
            most = max(one.dims if isinstance(one, Tensor) else 0 for one in (result.value, argument.value))
            value = replace(value, dims=most) if isinstance(value, Tensor) else value
        result = Argument(value, argument.node)
    return UNKNOWN if result is None else result.value


def _joined(frame: Frame, start: Items | Many, lists: Value) -> Value:
    """`sum(lists, [])`."""
    parts = known_items(frame, lists)
    if parts is None:
        element = iterate(frame, lists)
        return Many(element_of(element)) if isinstance(element, (Items, Many)) else UNKNOWN
    whole = replace(start, cell=None)
    for part in parts:
        whole = containers.extended(whole, part, frame)
    return whole


def reduced(frame: Frame, site: CallSite, call_value: Callable[..., Value]) -> Value:
    """`functools.reduce(function, items[, start])`: called with what the calls before gave, and the next item."""
    function, items, *start = site.positional()
    given = [*start[:1], *_held(frame, items)]
    if known_items(frame, items.value) is None and not start:
        given *= 2
    if not given:
        return UNKNOWN
    result = given[0]
    for argument in given[1:]:
        result = Argument(
            call_value(frame, function.value, CallSite(site.node, (result, argument), "reduce")),
            argument.node,
        )
    return result.value


def operated(frame: Frame, site: CallSite) -> Value:
    """`operator.add(a, b)`."""
    left, right = site.positional()
    return _operate(frame, site, left, right)


def _held(frame: Frame, container: Argument) -> list[Argument]:
    """What a container holds; one for all where that is many or not known."""
    parts = known_items(frame, container.value)
    if parts is None or len(parts) > MAX_UNROLLED:
        return [Argument(iterate(frame, container.value), ImpliedItem(container.node.value))]
    nodes = implied_items(container, len(parts))
    return [Argument(part, node) for part, node in zip(parts, nodes, strict=True)]


def _operate(frame: Frame, site: CallSite, left: Argument, right: Argument) -> Value:
    given = [
        Given(argument.value, argument.node.value, inside=isinstance(argument.node, ImpliedItem))
        for argument in (left, right)
    ]
    return operations.combine(frame, site.node, "operator", given, [SCALAR, SCALAR])
