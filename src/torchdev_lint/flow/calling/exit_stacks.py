"""`contextlib.ExitStack`: what its `with` block hands it to be called when the block ends, last things first.

https://docs.python.org/3/library/contextlib.html#contextlib.ExitStack
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE
from torchdev_lint.flow.domain.values import UNKNOWN, Items, Object, Partial, Value
from torchdev_lint.flow.torch_calls.device_values import as_device

STACKS = frozenset({"contextlib.ExitStack", "contextlib.AsyncExitStack"})
_CALLBACKS = "[callbacks]"


def enter(frame: Frame, thing: Object) -> bool:
    """Whether a `with` enters a stack of callbacks; it has none yet."""
    state = frame.state(thing)
    if state.api not in STACKS:
        return False
    frame.set_state(thing, state.with_attribute(_CALLBACKS, Items(())))
    return True


def is_entered(frame: Frame, thing: Object) -> bool:
    """Whether a thing is the stack of a `with` block that is being run."""
    return _CALLBACKS in frame.state(thing).attributes


def enter_device(frame: Frame, thing: Object, site: CallSite) -> None:
    """`stack.enter_context(torch.device(...))`: what is made from here on to the end of the block is made there."""
    given = site.positional()
    known = is_entered(frame, thing) and len(given) == 1
    frame.env.default_device = as_device(given[0].value) if known else UNKNOWN_DEVICE


def note(frame: Frame, thing: Object, site: CallSite) -> Value:
    """`stack.callback(function, ...)`."""
    state, given = frame.state(thing), site.positional()
    known = state.attributes[_CALLBACKS]
    if not given or site.has_star() or not isinstance(known, Items):
        return UNKNOWN
    rest = given[1:]
    named = [one for one in site.arguments if one.keyword is not None]
    later = Partial(
        given[0].value,
        tuple(one.value for one in rest),
        tuple((one.keyword or "", one.value) for one in named),
        tuple(one.node for one in (*rest, *named)),
        frame.uid,
    )
    frame.set_state(thing, state.with_attribute(_CALLBACKS, Items((*known.items, later))))
    return given[0].value


def leave(
    frame: Frame,
    thing: Object,
    node: cst.BaseExpression,
    call_value: Callable[[Frame, Value, CallSite], Value],
) -> None:
    """The block ends: what was handed over is called."""
    state = frame.state(thing)
    held = state.attributes.get(_CALLBACKS)
    if isinstance(held, Items):
        for later in reversed(held.items):
            call_value(frame, later, CallSite(node))
            frame.alive = True
