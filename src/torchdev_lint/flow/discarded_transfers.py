"""A tensor is moved and the result thrown away."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow import (
    attribution,
)
from torchdev_lint.flow.callsites import CallSite
from torchdev_lint.flow.events import DiscardedTogether, DiscardedTransfer
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.lattice import (
    Device,
    Level,
    Symbol,
    conflict,
    describe,
)
from torchdev_lint.flow.operands import dotted
from torchdev_lint.flow.trees import walk
from torchdev_lint.torch_api import tensor_methods


def discarded(frame: Frame, device: Device, site: CallSite, target: Device) -> None:
    """What is on `device` is moved and the result thrown away: it stays where it is."""
    certain = conflict(device, target, frame.env.path)
    if (certain is None or certain.level != Level.CERTAIN) and not _is_given(device, target):
        return  # it may be there already
    if site.receiver is None or not _used_later(frame, site):
        return
    frame.analysis.publish(
        ("discarded", id(site.node)),
        DiscardedTransfer(
            node=site.node,
            receiver=site.receiver,
            receiver_text=frame.analysis.text(site.receiver),
            device=describe(target),
            assignable=isinstance(site.receiver, (cst.Name, cst.Attribute, cst.Subscript))
            and not isinstance(frame.discarded_with, cst.Tuple),
            together=_discarded_together(frame),
        ),
    )


def _is_given(device: Device, target: Device) -> bool:
    """Whether a tensor is wherever a caller has it: whoever moves it does not know that it is there already."""
    if not isinstance(device, Symbol) or not device.assumed or device == target:
        return False
    origin = device.origin
    given = attribution.root_of(device.key)[:1] == ("parameter",)
    return given and (origin is None or origin.root().what == "argument")


def _discarded_together(frame: Frame) -> DiscardedTogether | None:
    """The tuple of transfers (`x.to(device), y.to(device)`) whose results are thrown away at once."""
    whole = frame.discarded_with
    if not isinstance(whole, cst.Tuple):
        return None
    names = []
    for element in whole.elements:
        match element.value:
            case cst.Call(
                func=cst.Attribute(value=receiver, attr=cst.Name(value="to" | "cuda" | "cpu" | "xpu"))
            ):
                names.append(dotted(receiver))
            case _:
                return None
    known = [name for name in names if name is not None]
    return DiscardedTogether(whole, ", ".join(known)) if len(known) == len(names) > 1 else None


_SIZES = frozenset(
    {"size", "dim", "ndimension", "numel", "nelement", "element_size", "stride", "is_contiguous"}
)


def _used_later(frame: Frame, site: CallSite) -> bool:
    """Whether the tensor is named again further down; moving it only to warm up or to time it is not a mistake."""
    name = dotted(site.receiver)
    if name is None:
        whole = site.receiver
        while isinstance(whole, cst.Subscript):
            whole = whole.value
        return whole is not site.receiver and dotted(whole) is not None
    if name.startswith("self."):
        return True
    root = frame.analysis.module if frame.function is None else frame.function.node
    skipped = {id(node) for node in walk(site.node)}
    passed = False
    for node in walk(root):
        if node is site.node:
            passed = True
        elif not passed or id(node) in skipped:
            continue
        elif isinstance(node, cst.Assign):
            if any(dotted(target.target) == name for target in node.targets):
                return any(dotted(part) == name for part in walk(node.value))
        elif isinstance(node, cst.Attribute) and dotted(node.value) == name:
            if node.attr.value not in tensor_methods.METADATA_ATTRIBUTES | _SIZES:
                return True
            skipped.add(id(node.value))
        elif dotted(node) == name:
            return True
    return False
