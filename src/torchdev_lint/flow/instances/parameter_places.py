"""Where the parameters and buffers of a module are, going by what is registered in it."""

from __future__ import annotations

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE, Anywhere, Device, leaves
from torchdev_lint.flow.domain.values import AnyOf, Either, Object, State, Tensor, Value


def parameters_device(frame: Frame, state: State) -> Device:
    """Where the registered tensors of a module are: one device, unknown when they differ, anywhere when there are none."""
    found: list[Device] = []
    for name in state.registered:
        held = state.attributes.get(name)
        if held is not None:
            found += _devices(frame, held)
    found = [device for device in found if not all(isinstance(leaf, Anywhere) for leaf in leaves(device))]
    if not found:
        return Anywhere()
    return found[0] if all(device == found[0] for device in found) else UNKNOWN_DEVICE


def _devices(frame: Frame, value: Value) -> list[Device]:
    match value:
        case Tensor(device=device):
            return [device]
        case Object():
            state = frame.state(value)
            return [state.device] if state.kind == "module" else [UNKNOWN_DEVICE]
        case AnyOf(things=things):
            return [device for thing in things for device in _devices(frame, thing)]
        case Either(_, then, otherwise):
            return [*_devices(frame, then), *_devices(frame, otherwise)]
        case _:
            return []
