"""`torch.distributions`: what is drawn from a distribution is where its parameters are, and so must be what it is asked about.

A distribution is no module and has no `.to`: it stays where the tensors are that it was made from; made from numbers, its samples are
on the default device (torch/distributions/utils.py, `broadcast_all`).
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE, Cpu, Device, Origin, leaves, with_origin
from torchdev_lint.flow.domain.values import (
    NONE,
    AnyOf,
    Items,
    Literal,
    Object,
    State,
    Tensor,
    Value,
    join_all,
)
from torchdev_lint.flow.torch_calls.operands import Given
from torchdev_lint.flow.torch_calls.operations import combine
from torchdev_lint.flow.torch_calls.tensor_values import moved_tensor
from torchdev_lint.torch_api.distributions import (
    ASKS,
    CONVERTS,
    DRAWS,
    FAMILIES,
    GATHERS,
    MODULES,
    OF_VECTORS,
    PARAMETERS,
    PICKS,
    WRAPPERS,
)
from torchdev_lint.torch_api.operators import SCALAR, SHARED

_HELD = "(parameters)"
"""The attribute, under a name that no program can write, that stands for all parameters of a distribution."""


def construct(frame: Frame, path: str, site: CallSite) -> Value | None:
    """`torch.distributions.Normal(loc, scale)`; None for what is no family of distributions."""
    module, _, name = path.rpartition(".")
    if not module.startswith(MODULES):
        return None
    if name == "kl_divergence":
        return divergence(frame, site)
    if name in WRAPPERS:
        argument = site.get(*WRAPPERS[name])
        inner = None if argument is None else argument.value
        held = None if inner is None else _held(frame, inner)
        if argument is None or held is None or not isinstance(inner, Object):
            return None
        if name in PICKS:
            _weigh(frame, name, site, (held, argument.node.value))
        family = path if name in PICKS else frame.state(inner).api
        return _made(frame, site, family, replace(held, scalar=False))
    if name not in FAMILIES or site.has_star():
        return None
    given = [
        replace(a, value=moved_tensor(frame, a.value) or a.value)
        for a in site.arguments
        if a.keyword not in ("validate_args", "total_count")
    ]
    values = [argument.value for argument in given if argument.value != NONE]
    tensors = [value for value in values if isinstance(value, Tensor)]
    scalar: bool | None = all(value.scalar is True for value in tensors)
    if any(value.scalar is not True for value in tensors):
        scalar = False if any(value.scalar is False for value in tensors) else None
    if name in OF_VECTORS:
        # one of several, for each row of a table of their weights
        rows = any(value.dims > 1 for value in tensors)
        scalar = False if OF_VECTORS[name] or rows else None
    device: Device = UNKNOWN_DEVICE
    if values and all(_is_number(value) for value in values):
        origin = Origin(site.node, "made", frame.uid, step=frame.analysis.budget)
        device = with_origin(frame.default_device(), origin)
    elif all(isinstance(value, Tensor) or _is_number(value) for value in values):
        operands = [Given(a.value, a.node.value) for a in given if isinstance(a.value, Tensor)]
        # beside one with dimensions a 0-dim one is expanded, and no scalar any more when something is drawn or asked
        role = SCALAR if all(tensor.scalar is True for tensor in tensors) else SHARED
        result = combine(frame, site.node, name, operands, [role] * len(operands))
        if len({tensor.device for tensor in tensors}) == 1:
            device = tensors[0].device
        elif isinstance(result, Tensor):
            device = result.device
    return _made(frame, site, path, Tensor(device, scalar=scalar))


def _weigh(frame: Frame, name: str, site: CallSite, component: tuple[Tensor, cst.BaseExpression]) -> None:
    """`MixtureSameFamily(mixture, component)`: whatever it is asked brings the weights and what is weighed together.

    Both `log_prob` and `sample`, `mean` and `cdf` do, and both have a dimension for the components
    (torch/distributions/mixture_same_family.py).
    """
    mixture = site.get(*PICKS[name])
    weights = None if mixture is None else _held(frame, mixture.value)
    if mixture is None or weights is None:
        return
    weighed, node = component
    operands = [
        Given(replace(weights, scalar=False), mixture.node.value, inside=True),
        Given(replace(weighed, scalar=False), node, inside=True),
    ]
    combine(frame, site.node, name, operands, [SCALAR, SCALAR])


def divergence(frame: Frame, site: CallSite) -> Value | None:
    """`kl_divergence(p, q)`: both have to be in one place, where the result is."""
    given = site.positional()
    held = [(_held(frame, argument.value), argument.node.value) for argument in given]
    operands = [Given(value, node, inside=True) for value, node in held if value is not None]
    if len(operands) != 2:
        return None
    result = combine(frame, site.node, "kl_divergence", operands, [SCALAR, SCALAR])
    return replace(result, scalar=None) if isinstance(result, Tensor) else None


def _made(frame: Frame, site: CallSite, path: str, held: Tensor) -> Object:
    attributes: dict[str, Value] = {_HELD: held}
    for name in PARAMETERS:
        attributes[name] = replace(held, scalar=None)
    return frame.fresh(site.node, State("instance", UNKNOWN_DEVICE, api=path, attributes=attributes))


def _is_number(value: Value) -> bool:
    return isinstance(value, Literal) and isinstance(value.value, (int, float))


def _held(frame: Frame, value: Value) -> Tensor | None:
    """The parameters of a distribution, or of one of several."""
    if isinstance(value, AnyOf):
        each = (_held(frame, thing) for thing in value.things)
        one = join_all([held for held in each if held is not None])
        return one if isinstance(one, Tensor) else None
    if not isinstance(value, Object):
        return None
    held = frame.state(value).attributes.get(_HELD)
    return held if isinstance(held, Tensor) else None


def _was_brought_to_host(device: Device) -> bool:
    """Whether something was moved to the CPU on purpose: `Config.DEVICE = torch.device("cpu")`, until the program says otherwise."""
    return all(
        isinstance(leaf, Cpu) and leaf.origin is not None and leaf.origin.root().what == "moved"
        for leaf in leaves(device)
    )


def call_method(frame: Frame, thing: Object, name: str, site: CallSite) -> Value | None:
    """`normal.sample((8,))`, `normal.log_prob(x)`; None for anything else."""
    held = _held(frame, thing)
    if held is None:
        return None
    if name in DRAWS:
        alone = None if frame.state(thing).api.rpartition(".")[2] in PICKS else held.scalar
        shape = site.get(0, "sample_shape")
        empty = shape is None or shape.value == Items(())  # of one, as without an argument
        return replace(held, scalar=alone if empty else False)
    if name not in ASKS:
        return None
    value = site.get(0, "value")
    family = frame.state(thing).api.rpartition(".")[2]
    if value is None or family in CONVERTS or site.receiver is None or _was_brought_to_host(held.device):
        return replace(held, scalar=None)
    operands = [Given(held, site.receiver, inside=True), Given(value.value, value.node.value)]
    roles = [SHARED if family in GATHERS else SCALAR] * 2
    result = combine(frame, site.node, f"{frame.analysis.text(site.receiver)}.{name}", operands, roles)
    return replace(result, scalar=None) if isinstance(result, Tensor) else result
