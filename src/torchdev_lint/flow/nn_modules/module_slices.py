"""Slices of `nn.Sequential` and `nn.ModuleList`: `features[:4]` is a container of its own, of some of the same parts.

(torch/nn/modules/container.py, `__getitem__`.) Who moves the one moves parts of the other: a slice is where its parts are, and nothing is
known any more of a container of which only a slice was moved.
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE, Anywhere, Device, leaves
from torchdev_lint.flow.domain.values import Object, State, Value, each_of

SLICED = frozenset(("torch.nn.Sequential", "torch.nn.ModuleList"))
_SLICE = "<slice of>"
"""The attribute of a slice that holds what it was taken from; the note that there are slices."""


def made(
    frame: Frame, whole: Object, parts: list[tuple[str, Value]], registered: frozenset[str], node: cst.CSTNode
) -> Object:
    """A new container of some parts of another one."""
    frame.analysis.notes[_SLICE] = True
    origin = frame.state(whole)
    held = {**dict(parts), _SLICE: whole}
    state = State("module", UNKNOWN_DEVICE, origin.api, attributes=held, registered=registered)
    place = _place(frame, state)
    state = replace(state, device=origin.device if place == origin.device else place, moved=origin.moved)
    return frame.fresh(node, state, whole.text)


def follow(frame: Frame) -> None:
    """Something was moved: slices are where their parts are now, and what was moved in part is not known to be anywhere."""
    if _SLICE not in frame.analysis.notes:
        return
    for key, state in list(frame.env.heap.items()):
        whole = state.attributes.get(_SLICE)
        if not isinstance(whole, Object):
            continue
        place = _place(frame, state)
        if place != state.device:
            frame.set_state(Object(key), replace(state, device=place))
        rest = frame.state(whole)
        if place != rest.device and not isinstance(place, Anywhere):
            frame.set_state(whole, replace(rest, device=UNKNOWN_DEVICE))


def _place(frame: Frame, state: State) -> Device:
    """Where the parts of a slice are: not known if that is not one place."""
    found: Device = Anywhere()
    for name, held in state.attributes.items():
        if name == _SLICE:
            continue
        for part in each_of(held):
            if not isinstance(part, Object) or name not in state.registered:
                return UNKNOWN_DEVICE
            device = frame.state(part).device
            if all(isinstance(leaf, Anywhere) for leaf in leaves(device)):
                continue
            if not isinstance(found, Anywhere) and device != found:
                return UNKNOWN_DEVICE
            found = device
    return found
