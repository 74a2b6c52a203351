"""Parts of a module that were put into it, or are reached, under names that are not known: `setattr(parent, name, part)`.

Which part of the whole it is does not matter while it stays where it was made; it is not known any more once anything that may be that
part, or hold it, is moved.
"""

from __future__ import annotations

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import UNKNOWN, Object, Value, each_of

_PART_OF = "part of"
ATTACHED = "attached somewhere"
"""Notes that a part was put somewhere at all."""
SOMEWHERE = "<somewhere>"
"""The attribute of a module that stands for a part which was put into it, or into one of its parts, under a name that is not known."""


def part_of(frame: Frame, owner: Value, part: Object) -> Object:
    """`part` as what a module has under a name that is not known: `getattr(model, name)`, `model.get_submodule(path)`."""
    whole = whole_of(frame, owner)
    if whole is not None and part != whole:
        frame.analysis.notes[_PART_OF, part.key] = whole
    return part


def whole_of(frame: Frame, thing: Value) -> Object | None:
    """The module of which a thing is a part under a name that is not known, else the thing if it is a module."""
    if not isinstance(thing, Object):
        return None
    found = frame.analysis.notes.get((_PART_OF, thing.key))
    if isinstance(found, Object):
        return found
    return thing if frame.state(thing).kind == "module" else None


def forget(frame: Frame, moved: Object) -> None:
    """A module is moved, or given another tensor: what was put somewhere into a module that may hold it may be, too."""
    if ATTACHED not in frame.analysis.notes:
        return
    for key, state in list(frame.env.heap.items()):
        if SOMEWHERE in state.attributes and key != moved.key and _may_be_within(frame, moved, Object(key)):
            frame.set_state(Object(key), state.with_attribute(SOMEWHERE, UNKNOWN))


def _may_be_within(frame: Frame, part: Object, whole: Object) -> bool:
    """Whether a module may be a part of another one: all but what was made apart from it, and those that hold it."""
    if part.key[0] in ("made", "self") and frame.analysis.notes.get((_PART_OF, part.key)) is None:
        return _holds(frame, whole, part, set())
    return not _holds(frame, part, whole, set())


def is_within(frame: Frame, part: Object, whole: Object) -> bool:
    """Whether a module is known to hold another one, at any depth."""
    return frame.state(whole).kind == "module" and _holds(frame, whole, part, set())


def _holds(frame: Frame, whole: Object, part: Object, seen: set[object]) -> bool:
    seen.add(whole.key)
    state = frame.state(whole)
    for name in state.registered:
        for one in each_of(state.attributes[name]) if name in state.attributes else ():
            if one == part:
                return True
            if isinstance(one, Object) and one.key not in seen and _holds(frame, one, part, seen):
                return True
    return False
