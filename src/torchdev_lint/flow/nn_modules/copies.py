"""Copies of modules: `copy.deepcopy`, and `functional_call`, which runs a module with other parameters, wherever those are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite, Implied, implied_items
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE, Device
from torchdev_lint.flow.domain.values import NONE, Either, Entries, Items, Many, Object, Value
from torchdev_lint.flow.instances.objects import escape, move
from torchdev_lint.flow.nn_modules import placements
from torchdev_lint.flow.syntax.trees import dotted
from torchdev_lint.flow.torch_calls.device_values import as_device
from torchdev_lint.flow.torch_calls.tensor_values import tensor_device

FUNCTIONAL_CALLS = frozenset(
    {
        "torch.func.functional_call",
        "torch.nn.utils.stateless.functional_call",
        "torch.nn.utils.functional_call",
    }
)
"""The module, its parameters and buffers by name (or several such dicts), `args` and `kwargs`."""


def copy(frame: Frame, site: CallSite) -> Value:
    """The result of `copy.deepcopy(value)`; a model that has not been moved yet is built again by it, and has to be moved by itself."""
    value = site.positional()[0].value
    if isinstance(value, Either):
        return _either_copied(frame, site, value, {})
    if not isinstance(value, Object):
        return value
    made = _deep_copy(frame, site, value, {})
    if frame.state(made).kind == "module" and isinstance(site.node, cst.Call):
        placements.note_built(frame, site.node)
        placements.built_with(frame, made, site.node)
    return made


def average(frame: Frame, site: CallSite) -> Value:
    """`AveragedModel(model)`: a copy of the model, on a device if it is given one (torch/optim/swa_utils.py)."""
    if not site.positional():
        return frame.result_of(site.node)
    made = copy(frame, site)
    told = site.get(1, "device")
    if told is not None and told.value != NONE and isinstance(made, Object):
        move(frame, made, as_device(told.value))
    return made


def _either_copied(frame: Frame, site: CallSite, value: Value, copies: dict[Object, Object]) -> Value:
    if isinstance(value, Either):
        then, otherwise = (_either_copied(frame, site, one, copies) for one in (value.then, value.otherwise))
        return replace(value, then=then, otherwise=otherwise)
    return _deep_copy(frame, site, value, copies) if isinstance(value, Object) else value


def _deep_copy(frame: Frame, site: CallSite, thing: Object, copies: dict[Object, Object]) -> Object:
    """A copy of an object with copies of the modules in it: moving one leaves the other."""
    if thing in copies:
        return copies[thing]
    made = Object(("copy", id(site.node), frame.uid, frame.round, thing.key), thing.text)
    copies[thing] = made
    state = frame.state(thing)
    attributes = {
        name: _deep_copy(frame, site, held, copies)
        if isinstance(held, Object) and frame.env.knows(held)
        else held
        for name, held in state.attributes.items()
    }
    frame.set_state(made, replace(state, attributes=attributes))
    return made


def call_with_parameters(
    frame: Frame, site: CallSite, call_value: Callable[[Frame, Value, CallSite], Value]
) -> Value:
    """The result of `functional_call(module, parameters, args, kwargs)`: that of the module as if it were where the parameters are.

    What the module does not register is no parameter, and stays where it is.
    """
    module, given = site.get(0, "module"), site.get(1, "parameter_and_buffer_dicts")
    arguments = _unpacked(site)
    if module is None or given is None or arguments is None or not isinstance(module.value, Object):
        for argument in site.arguments:
            escape(frame, argument.value)
        return frame.result_of(site.node)
    thing = module.value
    if frame.state(thing).kind == "module":
        there = _common_device(frame, given.value)
        if there != frame.state(thing).device:
            thing = _deep_copy(frame, site, thing, {})
            move(frame, thing, there)
    # what is run is the module, not `functional_call`
    return call_value(frame, thing, CallSite(site.node, arguments, dotted(module.node.value) or site.callee))


def _common_device(frame: Frame, given: Value) -> Device:
    """Where all the parameters are; unknown where they are in several places."""
    devices = [tensor_device(frame, value) for value in _parameters(given)]
    first = devices[0] if devices else None
    return UNKNOWN_DEVICE if first is None or any(other != first for other in devices) else first


def _parameters(given: Value) -> Iterator[Value]:
    match given:
        case Entries():
            yield from given.values()
        case Items(items):
            for item in items:
                yield from _parameters(item)
        case Many(element):
            yield from _parameters(element)
        case _:
            yield given


def _unpacked(site: CallSite) -> tuple[Argument, ...] | None:
    """The arguments that the module is called with, as far as they are written out; None where they are not known."""
    found: list[Argument] = []
    args, kwargs = site.get(2, "args"), site.get(3, "kwargs")
    if args is not None and args.value != NONE:
        if isinstance(args.value, Items):
            nodes = implied_items(args, len(args.value.items))
            found += [Argument(value, node) for value, node in zip(args.value.items, nodes, strict=True)]
        elif isinstance(args.value, Many):
            return None
        else:
            found.append(Argument(args.value, Implied(args.node.value)))
    if kwargs is not None and kwargs.value != NONE:
        found.append(Argument(kwargs.value, cst.Arg(kwargs.node.value, star="**")))
    return tuple(found)
