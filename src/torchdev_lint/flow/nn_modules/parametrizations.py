"""Parametrizations: modules that compute a layer's weight anew whenever it is read (torch/nn/utils/parametrize.py).

A parametrization becomes a part of its layer, and moves with it, less what it keeps in a plain attribute. It is called with the weight
when it is registered, and at each call of the layer.
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import Anywhere, leaves
from torchdev_lint.flow.domain.values import UNKNOWN, Literal, Object, Tensor, Value
from torchdev_lint.flow.nn_modules import module_containers

CallValue = Callable[[Frame, Value, CallSite], Value]

REGISTERS = "torch.nn.utils.parametrize.register_parametrization"

REMOVES = "torch.nn.utils.parametrize.remove_parametrizations"

_PREFIX = "parametrizations."
_REGISTERED = ("parametrizations",)


def register(frame: Frame, site: CallSite, call_value: CallValue) -> Value | None:
    """`register_parametrization(module, "weight", parametrization)`, which gives the module; None where that cannot be read."""
    layer, name, part = (
        site.get(0, "module"),
        site.get(1, "tensor_name"),
        site.get(2, "parametrization"),
    )
    if (
        layer is None
        or part is None
        or name is None
        or not isinstance(name.value, Literal)
        or not isinstance(layer.value, Object)
        or not isinstance(part.value, Object)
        or frame.state(layer.value).kind != "module"
        or frame.state(part.value).model is None
    ):
        return None
    table: dict[Key, list[Object]] = frame.analysis.notes.setdefault(_REGISTERED, {})
    known = table.setdefault(layer.value.key, [])
    if part.value not in known:
        known.append(part.value)
    device = frame.state(layer.value).device
    module_containers.add(frame, layer.value, f"{_PREFIX}{name.value.value}", part.value, site.node)
    if not all(isinstance(leaf, Anywhere) for leaf in leaves(device)):
        # what it is made of stays where it was, wherever the part is
        frame.set_state(layer.value, replace(frame.state(layer.value), device=device))
    _call(frame, layer.value, part.value, site, call_value)
    return layer.value


def remove(frame: Frame, site: CallSite) -> Value:
    """`remove_parametrizations(module, "weight")`, which gives the module: nothing computes its weight any more."""
    layer = site.get(0, "module")
    if layer is None or not isinstance(layer.value, Object):
        return UNKNOWN
    table: dict[Key, list[Object]] = frame.analysis.notes.get(_REGISTERED, {})
    table.pop(layer.value.key, None)
    state = frame.state(layer.value)
    kept = {name: held for name, held in state.attributes.items() if not name.startswith(_PREFIX)}
    frame.set_state(layer.value, replace(state, attributes=kept))
    return layer.value


def run(frame: Frame, layer: Object, site: CallSite, call_value: CallValue) -> None:
    """A layer was called: its weight is computed, where the layer is now."""
    table: dict[Key, list[Object]] | None = frame.analysis.notes.get(_REGISTERED)
    for part in () if not table else table.get(layer.key, ()):
        if frame.env.knows(part):
            _call(frame, layer, part, site, call_value)


def _call(frame: Frame, layer: Object, part: Object, site: CallSite, call_value: CallValue) -> None:
    device = frame.state(layer).device
    everywhere = all(isinstance(leaf, Anywhere) for leaf in leaves(device))
    weight: Value = UNKNOWN if everywhere else Tensor(device, scalar=None)
    held = frame.state(layer).attributes.items()
    name = next((key.removeprefix(_PREFIX) for key, value in held if value == part), "weight")
    call_value(frame, part, CallSite(site.node, (Argument(weight, cst.Arg(cst.Name(name))),)))
