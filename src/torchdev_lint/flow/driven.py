"""Running the scripts of the project that lead to a file: what is only possible in it is certain where one of them brings it about.

A function that is read on its own meets what it makes with an argument, or with its module, which may be anywhere. In
`train.py`, say, the module is moved. Only what was found already is asked for; nothing is reported that only a script shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchdev_lint.flow.accelerator_programs import leading_here
from torchdev_lint.flow.analysis import Analysis
from torchdev_lint.flow.events import Event, MixedOperation

MAX_SCRIPTS = 3
"""Of more, nobody says which is meant."""


def confirmed(analysis: Analysis, told: Iterable[Event]) -> Iterator[Event]:
    """The events; one that was only possible as a script has it, where one of them brings it about."""
    events = list(told)
    if not any(map(_is_open, events)) or not analysis.imports.in_program():
        yield from events
        return
    before = dict(analysis.events)
    analysis.on_host = False
    for path in _scripts(analysis):
        analysis.imports.run(path)
    better = {
        id(event): analysis.events[key]
        for key, event in before.items()
        if key in analysis.events and analysis.events[key] is not event
    }
    for event in events:
        yield better.get(id(event), event)


def _is_open(event: Event) -> bool:
    """Whether it is not known that anybody is on an accelerator: such is told only when asked for."""
    return isinstance(event, MixedOperation) and not event.certain and event.made is None


def _scripts(analysis: Analysis) -> list[str]:
    own = analysis.source.path
    leading = leading_here(analysis) or {}
    found = [path for path, (_, is_last) in leading.items() if is_last and path != own]
    return found if len(found) <= MAX_SCRIPTS else []
