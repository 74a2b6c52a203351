"""`reveal_device(x)` in the code that is read: what was inferred of `x`, as an event."""

from __future__ import annotations

from torchdev_lint.flow.activation.events import Revealed
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.descriptions import describe_value, shown_device
from torchdev_lint.flow.domain.lattice import leaves
from torchdev_lint.flow.domain.values import UNKNOWN, Api, Object, Value

REVEAL = "reveal_device"


def is_reveal(callee: Value) -> bool:
    """Whether the callee is `reveal_device`: a name that nothing defines, or one that was imported."""
    match callee:
        case Object(key=("global", name)):
            return bool(name == REVEAL)
        case Api(path=path):
            return path.rpartition(".")[2] == REVEAL
        case _:
            return False


def reveal(frame: Frame, site: CallSite) -> Value:
    """Publish what is known of the first argument; it is also the call's value."""
    if not site.positional():
        return UNKNOWN
    argument = site.positional()[0]
    value = argument.value
    text = describe_value(frame.env, value)
    within = "" if frame.caller is None or frame.function is None else frame.function.name
    device = shown_device(frame.env, value)
    frame.analysis.publish(
        ("revealed", id(site.node), text, within),
        Revealed(
            node=site.node,
            expression=frame.analysis.text(argument.node.value),
            text=text,
            within=within,
            leaves=() if device is None else tuple(leaves(device)),
        ),
    )
    return value
