"""How many dimensions the result of an operator has at least: only what may be 0-dim goes with tensors of any device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.values import UNKNOWN, Items, Literal, Tensor, Value
from torchdev_lint.flow.torch_calls.operands import Given
from torchdev_lint.torch_api import dimensions as facts
from torchdev_lint.torch_api.operators import Operator


def least(value: Value) -> int:
    """How many dimensions a tensor has at least; 0 where it may be a number, and for what is no tensor."""
    if not isinstance(value, Tensor):
        return 0
    whole = value.scalar is False and not (value.guess or value.batch or value.mapping)
    return max(value.dims, int(whole))


def of_result(
    operator: Operator,
    site: CallSite,
    operands: Sequence[Given],
    told: Mapping[str, Value],
    *,
    method: bool,
) -> int:
    """How many dimensions the result, or each of several, has at least.

    `operands` are the tensors that are given, the receiver of a method or the items of a list first; `told` the arguments by
    the names of their parameters.
    """
    name = operator.name
    held = [least(one.value) for one in operands if isinstance(one.value, Tensor)]
    named = told.get("dim")
    first = held[0] if held else 0
    if name in facts.NEEDS_ITS_DIMENSION:
        first = max([first, *(_needed(told[one]) for one in ("dim", "dim0", "dim1") if one in told)])
    if name == "topk" and told.get("k", UNKNOWN) not in (Literal(0), Literal(1)):
        first = max(1, first)  # more than one of a number raises, and nobody looks for the largest of one
    sizes = sizes_told(operator, site, method=method)
    if sizes or name in ("view", "reshape"):
        return sizes
    fewest = facts.AT_LEAST.get(name, 0)
    if name in facts.BROADCASTS or (name in facts.PAIRS and len(held) > 1):
        return 0 if name == "where" and len(held) == 1 else max(held, default=0)
    if name in facts.AS_MANY_AS_ITEMS:
        return max([fewest, first, *held])
    if name in facts.ADDS_ONE:
        put = max(0, _needed(named) - 1)  # behind so many others
        return max([put, *held] if name == "stack" else [put, first]) + 1
    if name in facts.LIKE_ANOTHER:
        return max(first if name == "expand_as" else 0, least(told.get("other", UNKNOWN)))
    if name == "matmul":
        return max(0, max(held, default=0) - (min(held, default=0) < 2))
    if name == "flatten":
        return _flattened(told)
    if fewest:
        return fewest
    if not first:
        return 0
    if name in facts.KEEPS or operator.in_place:
        return 0 if name in _IN_PLACE_RESHAPING else first
    if name in facts.PAIRS_OF_SAME:
        return first + 1  # a pair, of which an index takes one
    if name in facts.SQUEEZES:
        return first - 1 if name == "unbind" or told.get("dim") else 0
    if name in facts.PAIRS:
        before = operands[0].value
        known = max(before.dims if isinstance(before, Tensor) else 0, _needed(named))
        return known if isinstance(named, Literal) else 0  # of a pair, of which an index takes one
    return _reduced(operator, first, told)


_IN_PLACE_RESHAPING = frozenset({"squeeze_", "unsqueeze_", "resize_", "resize_as_", "set_", "as_strided_"})


def _needed(dimension: Value | None) -> int:
    """How many dimensions a tensor has at least that has this one: the first and the last one a number has, too, for PyTorch."""
    match dimension:
        case Literal(value=int(number)) if not isinstance(number, bool) and number not in (0, -1):
            return number + 1 if number > 0 else -number
        case _:
            return 0


def _flattened(told: Mapping[str, Value]) -> int:
    """`flatten()` leaves one dimension, `flatten(1)` two."""
    start = told.get("start_dim")
    match start:
        case Literal(value=int(number)) if number > 0:
            return number + 1
        case _:
            return 1


def _reduced(operator: Operator, first: int, told: Mapping[str, Value]) -> int:
    """What a reduction leaves: without a dimension a number, along one of them all others."""
    if operator.named("keepdim") is None:
        return 0
    over = told.get("dim")
    match over:
        case Literal(value=int()) if not isinstance(over.value, bool):
            lost = 1
        case Items(items=several) if several:
            lost = len(several)
        case _:
            return 0
    if told.get("keepdim") == Literal(value=True):
        return first
    return max(0, first - lost)


def sizes_told(operator: Operator, site: CallSite, *, method: bool) -> int:
    """How many sizes are written out that a tensor is given: `x.view(n, -1)`; 0 if that is not seen."""
    if operator.name not in facts.BY_SIZES or site.has_star():
        return 0
    sizes = [one.value for one in site.positional()][int(not method) :]
    if len(sizes) == 1:
        match sizes[0]:
            case Items(items=items):
                return len(items)
            case Literal(value=int()):
                return 1
            case _:
                return 0  # a number, or all of them in one; or a dtype
    return len(sizes)
