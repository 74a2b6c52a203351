"""Lists that are begun with a tensor made here and go on with others that are elsewhere: `outs = [torch.zeros(3)]`, `outs.append(x)`.

A loop leaves of such a list only what its items have in common, which is nothing where their devices differ. So what was appended to what
is remembered, until the list loses an item, and told where an operation takes the whole list (`torch.cat(outs)`).
"""

from __future__ import annotations

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.lattice import Level, conflict
from torchdev_lint.flow.domain.values import Items, Many, Tensor, Value

_KEY = "mixed list"


def note(frame: Frame, receiver: Items | Many, added: Value) -> None:
    """Something is appended to a list of which each item is known, or was filled with what is alike, in a loop."""
    if receiver.cell is None or not isinstance(added, Tensor):
        return
    for held in receiver.items if isinstance(receiver, Items) else (receiver.element,):
        found = conflict(added.device, held.device, frame.env.path) if isinstance(held, Tensor) else None
        if found is not None and found.level != Level.NO:
            frame.analysis.notes[_KEY, receiver.cell] = held, added
            return


def forget(frame: Frame, receiver: Value) -> None:
    """The list changes in another way: which items are left is not known."""
    if isinstance(receiver, (Items, Many)) and (_KEY, receiver.cell) in frame.analysis.notes:
        frame.analysis.notes[_KEY, receiver.cell] = None


def begun_with(frame: Frame, value: Value) -> tuple[Tensor, Tensor] | None:
    """An item of a list, and one that was appended to it, which are on two devices; None where nothing is known of any."""
    if not isinstance(value, Many) or value.cell is None:
        return None
    known: tuple[Tensor, Tensor] | None = frame.analysis.notes.get((_KEY, value.cell))
    return known
