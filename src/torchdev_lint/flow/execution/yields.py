"""What a generator gives at its `yield`s."""

from __future__ import annotations

from torchdev_lint.flow.activation.frame import Frame, Yielded
from torchdev_lint.flow.domain.conditions import negate
from torchdev_lint.flow.domain.values import NONE, UNKNOWN, Many, Value, join_all

MAX_PLACES = 4
"""A loop over a generator is run for each of so many places; of more, once for all of them together."""


def note(frame: Frame, value: Value) -> None:
    """A generator comes to one of its `yield`s."""
    frame.yields.append(Yielded(value, frame.env.path, frame.salt))


def given(frame: Frame) -> Many:
    """What a generator whose body was run is iterated over for."""
    # `x = yield None`: whoever sends something gets what comes later
    later = [one for one in frame.yields if frame.sent == UNKNOWN or one.value != NONE]
    values = [one.value for one in later]
    return Many(join_all(values), each=_each(later))


def _each(places: list[Yielded]) -> tuple[Value, ...]:
    """What is given at each place, where they differ and none of them keeps from coming to another."""
    found = tuple(dict.fromkeys(one.value for one in places))
    if not 1 < len(found) <= MAX_PLACES:
        return ()  # nearly always: the places need not be compared
    return () if any(_excludes(one, other) for one in places for other in places) else found


def _excludes(one: Yielded, other: Yielded) -> bool:
    """Whether two places belong to the two branches of one condition, in one round of a loop."""
    together = one.salt == other.salt[: len(one.salt)]
    return together and any(negate(fact) in other.path for fact in one.path)
