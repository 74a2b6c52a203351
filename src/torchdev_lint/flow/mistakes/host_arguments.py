"""Arguments that must be on the CPU: the lengths of packed sequences, the states of random generators."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.placement_events import HostArgument
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.lattice import CPU, Device, Level, Symbol, conflict, describe
from torchdev_lint.flow.domain.values import Either, Object, Tensor, Value, alternatives
from torchdev_lint.flow.mistakes import host_reads
from torchdev_lint.flow.nn_modules import model_calls
from torchdev_lint.flow.syntax.trees import dotted
from torchdev_lint.flow.torch_calls import operands
from torchdev_lint.torch_api.generators import HOST_ARGUMENTS


def check_call(frame: Frame, path: str, site: CallSite) -> None:
    """A function that takes one of its arguments from the host."""
    position, name = HOST_ARGUMENTS[path]
    argument = site.get(position, name)
    if argument is not None:
        check(frame, site, argument, name)


def check(frame: Frame, site: CallSite, argument: Argument, name: str) -> None:
    """An argument that must be on the CPU: publish a `HostArgument` if it is not."""
    device = _device(frame, argument.value)
    if device is None:
        return
    if isinstance(argument.node.value, cst.Name) and any(map(_is_guess, alternatives(argument.value))):
        return  # one of several things that an unknown model returns: lengths are as likely a list
    if host_reads.is_as_given(frame, argument.value):
        return  # `a.to(device) if torch.is_tensor(a) else a` for whatever a decorated function is given
    found = conflict(CPU, device, frame.env.path)
    if found is None or found.level == Level.NO:
        return
    if found.level == Level.POSSIBLE and not (name == "lengths" and _is_computed(frame, argument, device)):
        return  # the caller may well have left it on the CPU
    place = operands.place_of(frame, argument.node, argument.value)
    frame.analysis.publish(
        ("host-argument", id(argument.node)),
        HostArgument(
            node=argument.node,
            value_node=None if argument.star else argument.node.value,
            call=site.node,
            function=site.callee,
            parameter=name,
            device=found.right,
            device_name=describe(found.right),
            text=place.text,
            certain=found.level == Level.CERTAIN,
            needs_parentheses=place.needs_parentheses,
        ),
    )


def _is_guess(value: Value) -> bool:
    return isinstance(value, Tensor) and value.guess


def _device(frame: Frame, value: Value) -> Device | None:
    match value:
        case Tensor(device=device, batch=False):
            return device
        case Either():
            from torchdev_lint.flow.torch_calls.tensor_values import tensor_device

            return tensor_device(frame, value)
        case Object(key=key):
            while key[0] in ("item", "attr"):
                key = key[1]
            # part of a checkpoint that was loaded to a device
            return frame.analysis.located.get(key[1]) if key[0] == "call" else None
        case _:
            return None


def _is_computed(frame: Frame, argument: Argument, device: Device) -> bool:
    """Whether the value was computed from another tensor: from one that a function takes, or from what a module returns.

    Lengths that are counted in the very input of a module are where the module is; lengths that are handed in, and what
    is computed from them, may be on the CPU all the time.
    """
    if not isinstance(argument.value, Tensor) or not isinstance(device, Symbol) or device.key[0] != "device":
        return False
    given = argument.node.value
    match given:
        case cst.Subscript(
            value=cst.Name() as chosen_from,
            slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Name() | cst.Comparison()))],
        ):
            given = chosen_from  # `lengths[mask]` is where the lengths are
        case cst.Attribute() | cst.Subscript():
            return False
        case _:
            pass
    match device.key[1]:
        case ("parameter", _, str(name)):
            if frame.analysis.handed_from_host(device.key[1]):
                return False
            return model_calls.LENGTHS.search(name) is None and dotted(given) != name
        case ("self", *_):
            return True
        case _:
            return False
