"""Calls of models, and operations, that the program itself is seen to get through with something on an accelerator.

A function that is read on its own has a model that may be anywhere, and may want its inputs there. Where the file itself runs that very
call, with a model of its own on an accelerator, and nothing is wrong with it, what was only possible is refuted: lengths stay on the host
for `pack_padded_sequence`, the model brings its input, what a block builds at its first call was built before the move. So it is where
the scripts of the project (`driven`) have both operands of an operation on one accelerator, or both on the CPU, whenever they get there.
What comes of a model that cannot be read is taken to be where that is, unless the program itself has computed with it beside what is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.lattice import Accelerator, Cpu, Device, Leaf, Symbol, leaves
from torchdev_lint.flow.domain.values import Literal, Object, Tensor, Value

_SEEN = "seen to work"
_HOST = "seen to work on the host"
_MET = "met where a script runs"
_GIVEN = "given where a script runs"
_CAME = "come through where a script runs"
_FAILURES = "failures where a script runs"
DRIVEN = "a script is run"
"""A note that is there while the scripts that lead to the file are run."""


def told_before(frame: Frame) -> int:
    """How many events there are before the program itself makes a call."""
    return _told(frame.analysis) if frame.analysis.at_top or DRIVEN in frame.analysis.notes else 0


def _told(analysis: Analysis) -> int:
    """How many events there are, and how often a script failed: what it fails for may have been told before it was run."""
    failures: int = analysis.notes.get(_FAILURES, 0)
    return len(analysis.events) + failures


def note(frame: Frame, device: Device, site: CallSite, events: int) -> None:
    """The program came through a call of what is on a device; `events`: how many there were before it."""
    analysis = frame.analysis
    if DRIVEN in analysis.notes:
        came = _told(analysis) == events and analysis.elsewhere > 0
        before = analysis.notes.get((_CAME, id(site.node)), True)
        analysis.notes[_CAME, id(site.node)] = before and came and _is_accelerated(device) and _is_known(site)
    if not analysis.at_top or analysis.budget <= 0 or not _is_accelerated(device):
        return
    key = (_SEEN, id(site.node))
    if _told(analysis) != events:
        analysis.notes[key] = False
    elif key not in analysis.notes and _is_known(site):
        analysis.notes[key] = True


def is_noted(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether the program is seen to come through this call."""
    return bool(frame.analysis.notes.get((_SEEN, id(node))))


def comes_through(analysis: Analysis, node: object) -> bool:
    """Whether scripts make a call of something on an accelerator, with tensors of which all is known, and come through it each time."""
    return bool(analysis.notes.get((_CAME, id(node))))


def note_meeting(frame: Frame, node: cst.CSTNode, left: Device, right: Device) -> None:
    """Two operands of an operation met, while a script runs, and nothing was wrong."""
    notes = frame.analysis.notes
    known: bool | frozenset[str] = notes.get((_MET, id(node)), True)
    if DRIVEN not in notes or known is False:
        return
    if isinstance(left, Cpu) and isinstance(right, Cpu) and frame.function is not None:
        known = _running(frame) if isinstance(known, bool) else known | _running(frame)
    elif not (left == right and _is_accelerated(left) and _is_settled(left)):
        known = False
    notes[_MET, id(node)] = known


def _running(frame: Frame) -> frozenset[str]:
    """The functions of the checked file that are being called."""
    found: set[str] = set()
    inner: Frame | None = frame
    while inner is not None:
        if inner.function is not None and inner.source.path == frame.analysis.source.path:
            found.add(inner.function.name)
        inner = inner.caller
    return frozenset(found)


def met(analysis: Analysis, node: object) -> bool | frozenset[str]:
    """Whether the operands of an operation were on one accelerator wherever a script had them meet.

    The names of the functions that were called where they were on the CPU as well, or only: if these have no other callers.
    """
    found: bool | frozenset[str] = analysis.notes.get((_MET, id(node)), False)
    return found


def note_given(frame: Frame, function: str, given: Mapping[str, Value]) -> None:
    """A function gets its arguments, by parameter, while a script runs."""
    notes = frame.analysis.notes
    if DRIVEN not in notes:
        return
    for parameter, value in given.items():
        if notes.get((_GIVEN, function, parameter), True):
            notes[_GIVEN, function, parameter] = isinstance(value, Tensor) and isinstance(value.device, Cpu)


def is_given_on_host(analysis: Analysis, function: str, parameter: str) -> bool:
    """Whether scripts call a function, and always with a tensor on the CPU as this argument."""
    return bool(analysis.notes.get((_GIVEN, function, parameter)))


def note_operation(frame: Frame, node: cst.CSTNode, devices: Sequence[Device]) -> None:
    """The program came through an operation on tensors, in a function that works with something on an accelerator.

    Where all of them are on the CPU it is enough that the functions which call it do: they keep a part of their work on the host.
    """
    analysis = frame.analysis
    if not analysis.at_top or analysis.budget <= 0 or frame.function is None or len(devices) < 2:
        return
    if not all(map(_is_settled, devices)):
        return
    analysis.notes[_HOST, id(node)] = (
        analysis.notes.get((_HOST, id(node)), True)
        and all(isinstance(leaf, Cpu) for device in devices for leaf in leaves(device))
        and any(map(_has_accelerated, _callers(frame)))
    )
    key = (_SEEN, id(node))
    if key not in analysis.notes and (any(map(_is_accelerated, devices)) or _has_accelerated(frame)):
        analysis.notes[key] = True


def stays_on_host(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether the program is seen to come through this operation with tensors of the CPU only, beside work on an accelerator."""
    return bool(frame.analysis.notes.get((_HOST, id(node))))


def note_failure(frame: Frame, node: cst.CSTNode) -> None:
    """The program, or a script, does not come through an operation, at least once."""
    notes = frame.analysis.notes
    if frame.analysis.at_top:
        notes[_SEEN, id(node)] = False
    if DRIVEN in notes:
        notes[_MET, id(node)] = False
        notes[_FAILURES] = notes.get(_FAILURES, 0) + 1


def _callers(frame: Frame) -> Iterator[Frame]:
    """The function that is executed, and those of which one calls the next."""
    current: Frame | None = frame
    while current is not None and current.function is not None:
        yield current
        current = current.caller


def _has_accelerated(frame: Frame) -> bool:
    """Whether the function was given something on an accelerator, or its instance holds that."""
    function = frame.function
    held = list(frame.env.names.values())
    if function is not None and isinstance(function.receiver, Object):
        held += frame.state(function.receiver).attributes.values()
    return any(
        _is_accelerated(one.device if isinstance(one, Tensor) else frame.state(one).device)
        for one in held
        if isinstance(one, (Tensor, Object))
    )


def _is_settled(device: Device) -> bool:
    return all(isinstance(leaf, Cpu) or _is_told(leaf) for leaf in leaves(device))


def _is_known(site: CallSite) -> bool:
    """Whether it is known where all is that the call hands over, and that some of it are tensors."""
    given = [argument.value for argument in site.arguments if not isinstance(argument.value, Literal)]
    return bool(given) and all(isinstance(one, Tensor) and _is_settled(one.device) for one in given)


def _is_accelerated(device: Device) -> bool:
    """Whether something was moved to what is an accelerator, or may be one by what the program is told."""
    return any(map(_is_told, leaves(device)))


def _is_told(leaf: Leaf) -> bool:
    return isinstance(leaf, Accelerator) or (isinstance(leaf, Symbol) and not leaf.assumed)
