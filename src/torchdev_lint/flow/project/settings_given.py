"""The settings that a program's functions are given, as the run of their file's own top level shows them: `main(SETTINGS)`.

A dict that is written out decides what it holds, `"eval_device": "cpu"`, as a constant does; whoever changes it has another program.
"""

from __future__ import annotations

from collections.abc import Mapping

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import Entries, Function, Items, Literal, Value

_GIVEN = "given settings"


def note(frame: Frame, function: Function, given: Mapping[str, Value]) -> None:
    """A function is called while the top level of the file runs."""
    if function.owner is not None or function.frame.function is not None:
        return
    notes, key = frame.analysis.notes, (_GIVEN, id(function.node))
    settings = {name: value for name, value in given.items() if _are_settings(value)}
    before = notes.get(key)
    if before is not None:
        settings = {name: value for name, value in before.items() if settings.get(name) == value}
    notes[key] = settings


def given_to(analysis: Analysis, function: Function) -> Mapping[str, Value]:
    """The parameters that every such call gives the same dict of settings."""
    settings: Mapping[str, Value] = analysis.notes.get((_GIVEN, id(function.node)), {})
    return settings


def _are_settings(value: Value) -> bool:
    return (
        isinstance(value, Entries)
        and not value.open
        and any(isinstance(held, Literal) and isinstance(held.value, str) for _, held in value.entries)
        and all(_is_plain(held) for _, held in value.entries)
    )


def _is_plain(value: Value) -> bool:
    match value:
        case Items(items=held):
            return all(map(_is_plain, held))
        case Entries(entries=entries):
            return all(_is_plain(held) for _, held in entries)
        case _:
            return isinstance(value, Literal)
