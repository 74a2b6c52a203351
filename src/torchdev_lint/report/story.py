"""The story of a finding as a picture has it: where each device comes from, where they meet, what happens then."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torchdev_lint.diagnostics import Diagnostic, Range

_DEVICE = re.compile(r"\b(?:on|to) (?:(?P<cpu>the CPU)|`(?P<name>[^`]+)`(?: \((?P<device>[^)]+)\))?)")
_MEETING = "they meet"
"""How a note begins that is the place where two devices meet, when the finding is where one of them comes from."""


@dataclass(frozen=True, slots=True)
class Step:
    """One place: `device` is what arrives there or is put there, "" where nothing is said of it."""

    path: str
    cell: int | None
    range: Range
    message: str
    device: str
    on_cpu: bool = False
    reported: bool = False
    """Whether the finding is reported here."""


@dataclass(frozen=True, slots=True)
class Story:
    """`origins` lead to `meeting`; `then` follows."""

    origins: tuple[Step, ...]
    meeting: Step
    then: tuple[Step, ...]


def story_of(one: Diagnostic) -> Story | None:
    """The story of a diagnostic; None for one without notes."""
    if not one.related:
        return None
    reported = _step(one.path, one.cell, one.range, one.message, reported=True)
    notes = [
        _step(related.path or one.path, related.cell, related.range, related.message)
        for related in one.related
    ]
    meeting = next((step for step in notes if step.message.startswith(_MEETING)), None)
    origins = tuple(step for step in notes if step.device)
    then = tuple(step for step in notes if not step.device and step is not meeting)
    if meeting is not None:
        return Story((*origins, reported), meeting, then)
    return Story(origins, reported, then)


def _step(path: str, cell: int | None, place: Range, message: str, *, reported: bool = False) -> Step:
    match = _DEVICE.search(message)
    if match is None:
        return Step(path, cell, place, message, "", reported=reported)
    if match["cpu"]:
        return Step(path, cell, place, message, "CPU", on_cpu=True, reported=reported)
    device = match["device"] or match["name"]
    return Step(path, cell, place, message, device, on_cpu=device == "cpu", reported=reported)
