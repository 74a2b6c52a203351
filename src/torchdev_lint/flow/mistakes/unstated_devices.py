"""Tensors that a factory makes on the CPU, told no device where one is at hand, and that go where nothing is known of them.

They meet a tensor that may be anywhere, are given to a function that cannot be read, or are returned. Whether anything fails is not
known then: it is told to those only who want each factory to say where.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from torchdev_lint.flow.activation.events import Event, Made
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.placement_events import DeviceNotForwarded, UnstatedDevice
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.lattice import (
    Accelerator,
    Choice,
    Conflict,
    Cpu,
    Device,
    Leaf,
    Level,
    Origin,
    Symbol,
    leaves,
)
from torchdev_lint.flow.domain.values import Items, Many, Object, Tensor, Value
from torchdev_lint.flow.mistakes.disagreeing_returns import STAYING
from torchdev_lint.flow.mistakes.forwarding import parameters, reads
from torchdev_lint.flow.mistakes.returned_factories import (
    COLLECTS,
    is_filled_one_by_one,
    moved_by_caller,
    works_on_host,
)
from torchdev_lint.flow.project import caller_results
from torchdev_lint.flow.read_alone.written_evidence import holds_nothing
from torchdev_lint.flow.syntax.naming import OWN_DEVICE
from torchdev_lint.flow.syntax.trees import dotted, takes_device, walk
from torchdev_lint.flow.telling.attribution import worth_telling
from torchdev_lint.flow.telling.cures import beside_self, moved_where_wanted
from torchdev_lint.flow.torch_calls import device_values
from torchdev_lint.torch_api.devices import DEVICE_NAME

KEPT_ON_HOST = re.compile(
    r"(?i)^(?:index_put|print|log|debug|info|warn|write|append|add|extend|save|dump|plot|assert|repr|str)|"
    r"(?:^|_)(?:save|log|plot|write|loader|dataset|sampler)|(?:dataset|loader|sampler)$"
)
"""Functions, by name, that keep or show what they are given."""


def note(frame: Frame, values: Iterable[Value], where: cst.CSTNode, how: str) -> None:
    """What a factory of this activation made goes to `where`, and nothing is known of it there."""
    analysis = frame.analysis
    if (
        not analysis.options.audits
        or analysis.muted
        or analysis.on_host
        or analysis.at_top
        or frame.function is None
        or frame.source.foreign
        or frame.building()
    ):
        return
    for origin in [made for value in values for made in _made_here(frame, value)]:
        if ("unstated", id(origin.node)) in analysis.events:
            continue
        near = _at_hand(frame, origin)
        if (
            near is None
            or not worth_telling(frame, Conflict(Level.POSSIBLE, near[2], Cpu(origin)))
            or moved_where_wanted(frame, origin.node, cst.Name("returned") if how == "returned" else where)
        ):
            continue
        target, text, _ = near
        made = Made(origin.node, target, takes_device(origin.node))
        analysis.publish(("unstated", id(origin.node)), UnstatedDevice(made, text, where, how))


def note_given(frame: Frame, name: str, site: CallSite) -> None:
    """What a function is given that cannot be read."""
    if not frame.analysis.options.audits:
        return
    made = [one.value for one in site.arguments if any(True for _ in _made_here(frame, one.value))]
    if any(one.keyword is not None and DEVICE_NAME.search(one.keyword) for one in site.arguments):
        return  # it is told where to bring what it is given
    match site.node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="copy_"))):
            return  # a tensor takes in what is anywhere
        case _:
            pass
    if made and not KEPT_ON_HOST.search(name.rpartition(".")[2]) and not _is_moved_at_once(frame, site.node):
        note(frame, made, site.node, "given")


def _is_moved_at_once(frame: Frame, call: cst.CSTNode) -> bool:
    """`f(torch.tensor(ids)).to(device)`: what is called works on the CPU."""
    return frame.function is not None and any(
        isinstance(node, cst.Attribute) and node.value is call and node.attr.value in ("to", "cuda", "cpu")
        for node in walk(frame.function.node)
    )


def note_returned(frame: Frame) -> None:
    """What a function that nobody called returns, if nobody in the file moves it then."""
    function = frame.function
    node = None if function is None else function.node
    analysis = frame.analysis
    if (
        function is None
        or not isinstance(node, cst.FunctionDef)
        or analysis.on_host
        or not analysis.options.audits
    ):
        return
    made = [
        value for value, _ in frame.returns if any(_at_hand(frame, one) for one in _made_here(frame, value))
    ]
    # who calls the function is asked last: whatever is learnt of that depends on all files of the project
    if not made or COLLECTS.search(function.name) or works_on_host(node):
        return
    learn = analysis.learn
    if learn(moved_by_caller, frame, function.name) or learn(
        caller_results.becomes_parameter, frame, function
    ):
        return
    for value in made:
        if not any(_stays(one) or is_filled_one_by_one(node, one) for one in _made_here(frame, value)):
            note(frame, [value], node, "returned")


def _stays(origin: Origin) -> bool:
    return (dotted(origin.node.func) or "").rpartition(".")[2] in STAYING


def without_known(events: Sequence[Event]) -> Iterator[Event]:
    """The events, less those of tensors that others speak of."""
    known: set[int] = set()
    for event in events:
        if isinstance(event, DeviceNotForwarded):
            known |= set(map(id, event.calls))
        elif not isinstance(event, UnstatedDevice):
            known |= set(_spoken_of(event))
    for event in events:
        if not isinstance(event, UnstatedDevice) or id(event.made.node) not in known:
            yield event


def _spoken_of(event: Event) -> Iterator[int]:
    made = getattr(event, "made", None)
    if isinstance(made, Made):
        yield id(made.node)
    for name in ("right", "given"):
        leaf = getattr(event, name, None)
        origin = getattr(leaf, "origin", None)
        if isinstance(origin, Origin):
            yield id(origin.root().node)


def _made_here(frame: Frame, value: Value) -> Iterator[Origin]:
    """Where this activation made a tensor, or those of a tuple or list, without saying where, as far as they are on the CPU."""
    match value:
        case Tensor(device=Cpu(origin=Origin(what="factory", frame=frame.uid) as origin), scalar=scalar):
            if scalar is not True and isinstance(origin.node, cst.Call) and not _says_where(origin.node):
                yield origin
        case Items(items):
            for item in items:
                if isinstance(item, Tensor):
                    yield from _made_here(frame, item)
        case Many(element) if isinstance(element, Tensor):
            yield from _made_here(frame, element)
        case _:
            pass


def _says_where(call: cst.Call) -> bool:
    if holds_nothing(call):
        return True
    return any(
        argument.star or (argument.keyword is not None and argument.keyword.value in ("device", "out"))
        for argument in call.args
    )


def _at_hand(frame: Frame, origin: Origin) -> tuple[str | None, str, Leaf] | None:
    """A device that is known where a tensor is made: an expression for it, what to call it, and where that is."""
    for name, device in device_values.device_names(frame, local=True):
        last = re.split(r"\W+", name.rstrip('"]'))[-1]
        known = _may_be_elsewhere(device)
        if (
            known is not None
            and DEVICE_NAME.search(last)
            and frame.bound_before(name, origin)
            and not _is_declared_only(frame, name)
        ):
            return name, f"`{name}`", known
    for name, value in frame.env.names.items():
        known = _may_be_elsewhere(value.device) if isinstance(value, Tensor) else None
        if known is not None and frame.bound_before(name, origin):
            text = device_values.device_of(frame, name)
            return text, f"`{text}`", known
    function = frame.function
    receiver = None if function is None else function.receiver
    if not isinstance(receiver, Object) or function is None or function.owner is None:
        return None
    there = frame.state(receiver).device
    if frame.state(receiver).kind == "module" and isinstance(there, Symbol):
        own = beside_self(frame, origin)
        return own, "the module's device" if own is None else f"`{own}`", there
    named = OWN_DEVICE.search(frame.analysis.text(function.owner.node))
    if named is None:
        return None
    text = named[0].replace(" ", "")
    return text, f"`{text}`", Accelerator("cuda")


def _is_declared_only(frame: Frame, name: str) -> bool:
    """Whether a parameter is there because others have it, and the function never reads it: what to say of it is TDV017's."""
    node = None if frame.function is None else frame.function.node
    return (
        isinstance(node, cst.FunctionDef)
        and name in parameters(node)
        and not any(True for _ in reads(node.body, name))
    )


def _may_be_elsewhere(device: Device) -> Leaf | None:
    if isinstance(device, Choice):
        return next((leaf for leaf in leaves(device) if isinstance(leaf, Accelerator)), None)
    return device if isinstance(device, (Symbol, Accelerator)) else None
