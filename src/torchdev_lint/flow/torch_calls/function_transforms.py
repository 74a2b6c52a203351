"""`vmap`, `grad` and `jacrev` of `torch.func`, and modules whose parameters are stacked: functions that call the one they are made of.

`vmap` runs it on operands that have one dimension less, which stay where they are; `grad` gives what is like its first argument,
`jacrev` and its like the same with further dimensions
(https://docs.pytorch.org/docs/stable/func.api.html).
"""

from __future__ import annotations

from collections.abc import Callable

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import Device
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    AnyOf,
    Either,
    Entries,
    Function,
    Items,
    Literal,
    Many,
    Method,
    Object,
    Partial,
    Tensor,
    Value,
    join,
)
from torchdev_lint.flow.execution.iteration import iterate

_MAPPED, _GRADIENT, _WITH_VALUE, _JACOBIAN = "[vmap]", "[grad]", "[grad_and_value]", "[jacobian]"
_KINDS = {
    f"{module}.{name}": kind
    for module in ("torch.func", "functorch", "torch._functorch.apis")
    for name, kind in (
        ("vmap", _MAPPED),
        ("grad", _GRADIENT),
        ("grad_and_value", _WITH_VALUE),
        ("jacrev", _JACOBIAN),
        ("jacfwd", _JACOBIAN),
        ("hessian", _JACOBIAN),
    )
} | {"torch.vmap": _MAPPED}
_STACKING = frozenset({"torch.func.stack_module_state", "functorch.combine_state_for_ensemble"})
_IN_DIMS = "_in_dims"
_PLAIN = frozenset({"in_dims", "out_dims", "randomness", "chunk_size"})
"""Options that change nothing about which arguments the function is given, and what it gives."""


def make(frame: Frame, path: str, site: CallSite) -> Value | None:
    """`vmap(function)` and its like; None for any other name, or a function that cannot be read."""
    given = site.positional()
    if path in _STACKING and path.startswith("torch.") and given:
        device = _common_device(frame, iterate(frame, given[0].value))
        return None if device is None else Items((Entries((), Tensor(device)), Entries((), Tensor(device))))
    kind = _KINDS.get(path)
    if kind is None or not given or not isinstance(given[0].value, (Function, Method, Partial)):
        return None
    told = {argument.keyword for argument in site.arguments if argument.keyword is not None}
    if not told <= _PLAIN or (len(given) > 1 and kind != _MAPPED):
        return None
    made = Method(given[0].value, kind)
    dims = site.get(1, "in_dims")
    return made if dims is None or kind != _MAPPED else Partial(made, (), ((_IN_DIMS, dims.value),))


def is_transformed(receiver: Value, name: str) -> bool:
    """Whether a method is the call of a function that `make` has made."""
    return name in (_MAPPED, _GRADIENT, _WITH_VALUE, _JACOBIAN) and isinstance(
        receiver, (Function, Method, Partial)
    )


def call(
    frame: Frame,
    function: Value,
    kind: str,
    site: CallSite,
    call_value: Callable[[Frame, Value, CallSite], Value],
) -> Value:
    """The result of calling what `make` has made of a function."""
    if kind == _MAPPED:
        told = site.keyword(_IN_DIMS)
        dims: Value = Literal(0) if told is None else told.value
        given = [argument for argument in site.arguments if argument.keyword != _IN_DIMS]
        inside = tuple(
            replace(one, value=_taken_apart(one.value, _dimension(dims, index)))
            for index, one in enumerate(given)
        )
        result = call_value(frame, function, replace(site, arguments=inside))
        return _with_any_dimensions(result, batched=True)
    value = call_value(frame, function, site)
    first: Argument | None = next(iter(site.positional()), None)
    like = UNKNOWN if first is None else _plain(first.value)
    if kind == _JACOBIAN:
        # more tensors than one that come out have a derivative each
        return _with_any_dimensions(like) if isinstance(value, Tensor) else UNKNOWN
    return like if kind == _GRADIENT else Items((like, value))


def _dimension(dims: Value, index: int) -> Value:
    """What `in_dims` says of an argument: None where it is given whole."""
    if isinstance(dims, Items):
        return dims.items[index] if index < len(dims.items) else UNKNOWN
    return dims


def _taken_apart(value: Value, dimension: Value) -> Value:
    """An argument as the function sees it: one row of it, which is computed with together with all others, or all of it."""
    if dimension == NONE:
        return value
    return _with_any_dimensions(value, batched=isinstance(dimension, Literal))


def _with_any_dimensions(value: Value, *, batched: bool = False) -> Value:
    """The same tensors with another number of dimensions; `batched`: with at least one."""

    def inside(part: Value) -> Value:
        return _with_any_dimensions(part, batched=batched)

    match value:
        case Tensor():
            return replace(value, scalar=False if batched else None, dims=0, parameter=False)
        case Items(items):
            return Items(tuple(inside(item) for item in items))
        case Many(element):
            return Many(inside(element))
        case Entries():
            return value.of_each(inside)
        case Either(guard, then, otherwise):
            return join(guard, inside(then), inside(otherwise))
        case _:
            return value


def _plain(value: Value) -> Value:
    match value:
        case Tensor():
            return replace(value, parameter=False)
        case Items(items):
            return Items(tuple(_plain(item) for item in items))
        case Entries():
            return value.of_each(_plain)
        case _:
            return UNKNOWN


def _common_device(frame: Frame, value: Value) -> Device | None:
    """Where all of some modules are; None where that is not one place, or they are no modules."""
    things = value.things if isinstance(value, AnyOf) else (value,)
    devices = []
    for thing in things:
        if not isinstance(thing, Object) or frame.state(thing).kind != "module":
            return None
        devices.append(frame.state(thing).device)
    return devices[0] if all(device == devices[0] for device in devices) else None
