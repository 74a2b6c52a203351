"""The identity of a container, and what a function that is given one may do to it in place."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.values import (
    DeviceValue,
    Entries,
    Items,
    Many,
    Value,
    somewhere,
)
from torchdev_lint.torch_api.devices import DEVICE_NAME


def with_cell(frame: Frame, node: cst.CSTNode, value: Items | Many | Entries) -> Items | Many | Entries:
    """The container with an identity of its own, made now by `node`."""
    key = ("cell", id(node), frame.uid, frame.salt, frame.round)
    frame.env.heap.pop(key, None)
    return replace(value, cell=key)


def with_identities(frame: Frame, site: CallSite) -> CallSite:
    """A dict that was one or another, by a condition, gets an identity before a function is given it that may change it in place."""
    arguments, named_now = list(site.arguments), False
    for index, argument in enumerate(arguments):
        match argument.value, argument.node.value:
            case Entries(cell=None) as held, cst.Name(value=name) if _is_unnamed(frame.env.names.get(name)):
                named = with_cell(frame, argument.node, held)
                frame.env.names[name] = named
                arguments[index] = replace(argument, value=named)
                named_now = True
            case _:
                pass
    return replace(site, arguments=tuple(arguments)) if named_now else site


def _is_unnamed(value: Value | None) -> bool:
    return isinstance(value, Entries) and value.cell is None


def forget_moved(frame: Frame, site: CallSite) -> None:
    """A dict or list is given to code that cannot be read, with a device, and the result is thrown away: what it holds may be there now."""
    if not any(
        isinstance(argument.value, DeviceValue)
        or (isinstance(argument.node.value, (cst.Name, cst.Attribute)) and _is_named_device(argument.node))
        for argument in site.arguments
    ):
        return
    from torchdev_lint.flow.execution.patterns import change

    for argument in site.arguments:
        held, node = argument.value, argument.node.value
        if isinstance(held, (Entries, Many, Items)) and isinstance(node, (cst.Name, cst.Attribute)):
            forgotten = somewhere(held)
            assert isinstance(forgotten, (Entries, Many, Items))
            change(frame, held, forgotten, node)


def _is_named_device(node: cst.Arg) -> bool:
    match node.value:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return DEVICE_NAME.search(name) is not None
        case _:
            return False
