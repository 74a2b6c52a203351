"""Running the scripts of the project that lead to a file: what goes wrong in it, or only may, is certain where one of them brings it about.

A function that is read on its own meets what it makes with an argument, or with its module, which may be anywhere: in
`train.py` the module is moved, and what reaches the function was made. What lies in the script itself is told where that is checked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.events import (
    DiscardedTransfer,
    Event,
    HostRead,
    LateSubmodule,
    MixedOperation,
    ModelCall,
    ReturnedFactory,
    UnregisteredModule,
    UnregisteredTensor,
)
from torchdev_lint.flow.activation.placement_events import GeneratorMismatch, HostArgument, StateBeforeMove
from torchdev_lint.flow.domain.lattice import Leaf
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.nn_modules.seen_to_work import DRIVEN, comes_through, is_given_on_host, met
from torchdev_lint.flow.project.absent_arguments import is_only_called
from torchdev_lint.flow.project.accelerator_programs import leading_here, leading_to
from torchdev_lint.flow.project.reach import imported_by
from torchdev_lint.flow.syntax.trees import all_parameters

_COMPUTES = re.compile(
    r"\b(?:torch|nn|F)\.|(?m:^\s*import torch(?:$| as )|^\s*from torch\b)|\.numpy\(|\.detach\(\)|\.(?:named_parameters|state_dict)\("
)
"""What says that a file computes with tensors, or reads them; some only call their methods, and import torch for their looks."""

MAX_SCRIPTS = 3
"""Of more, nobody says which is meant."""


def with_scripts(analysis: Analysis, told: Iterable[Event], met: Iterable[Function]) -> Iterator[Event]:
    """The events, and those that running a script adds. One that was only possible is as the script has it: certain, or none at all.

    Not of what others install: their scripts are not in sight. `met`: the functions of the file.
    """
    events = list(told)
    # who asks for the project's files depends on all of them: not for a file that computes nothing, or that nobody can give anything
    takes = any(all_parameters(function.node.params) for function in met)
    asks = takes and analysis.says(_COMPUTES) and analysis.imports.in_program()
    scripts = _scripts(analysis) if asks else []
    if not scripts:
        yield from events
        return
    before = dict(analysis.events)
    analysis.on_host, analysis.recorder = False, None
    analysis.notes[DRIVEN] = True
    for path in scripts:
        analysis.imports.run(path)
    del analysis.notes[DRIVEN]
    better = {
        id(event): analysis.events[key]
        for key, event in before.items()
        if key in analysis.events and analysis.events[key] is not event
    }
    told_anyway = [
        better.get(id(event), event)
        for event in events
        if not _is_refuted(analysis, event) or _is_proved(better.get(id(event)))
    ]
    blamed = {root for event in told_anyway if _is_certain(event) and (root := _fault(event)) is not None}
    added = [
        event
        for key, event in analysis.events.items()
        if key not in before and _is_certain(event) and _fault(event) not in blamed
    ]
    proved = {root for event in added if (root := _fault(event)) is not None}
    for event in told_anyway:
        if _is_certain(event) or _fault(event) not in proved:
            yield event
    yield from added


def _scripts(analysis: Analysis) -> list[str]:
    own = analysis.source.path
    leading = leading_here(analysis) or {}
    found = [path for path, (_, is_last) in leading.items() if is_last and path != own]
    if any(os.path.basename(path) == "__init__.py" for path in found):
        found = list(dict.fromkeys(script for path in found for script in _of_package(analysis, path)))
    return found if len(found) <= MAX_SCRIPTS else []


def _of_package(analysis: Analysis, file: str) -> list[str]:
    """The scripts that run a package's `__init__.py`, which fills a registry: they import from the package, by whatever file."""
    directory, base = os.path.split(file)
    if base != "__init__.py":
        return [file]
    inside = directory + os.sep
    users = {
        path: text
        for path, text in analysis.imports.mentioning(os.path.basename(directory)) or ()
        if not path.startswith(inside)
        and any(one.startswith(inside) for one, _ in imported_by(analysis, path, text))
    }
    return [path for path, (_, is_last) in (leading_to(analysis, users) or {}).items() if is_last]


def _is_refuted(analysis: Analysis, event: Event) -> bool:
    """Whether it was only possible, and all is well where the scripts bring it about."""
    match event:
        case MixedOperation(certain=False, node=node) | UnregisteredTensor(certain=False, meets=node):
            there = met(analysis, node)
            return there if isinstance(there, bool) else all(is_only_called(analysis, one) for one in there)
        case ModelCall(call=call, inner=None):
            return comes_through(analysis, call)
        case ReturnedFactory(function=name, beside=parameter):
            return is_given_on_host(analysis, name, parameter) and is_only_called(analysis, name)
        case _:
            return False


def _is_proved(event: Event | None) -> bool:
    """Whether what was only possible is certain at another place: `self.mean` is on the CPU until `update` has replaced it."""
    return isinstance(event, (MixedOperation, UnregisteredTensor)) and event.certain


def _is_certain(event: Event) -> bool:
    match event:
        case (
            MixedOperation(certain=certain)
            | UnregisteredTensor(certain=certain)
            | HostRead(certain=certain)
            | HostArgument(certain=certain)
        ):
            return certain
        case (
            ModelCall()
            | UnregisteredModule()
            | LateSubmodule(own=True)
            | GeneratorMismatch()
            | StateBeforeMove()
            | DiscardedTransfer()
        ):
            return True
        case _:
            return False


def _fault(event: Event) -> int | None:
    """The node, by `id`, that put what is at fault where it is."""
    leaf: Leaf | None = None
    match event:
        case MixedOperation(right=found) | ModelCall(given=found):
            leaf = found
        case _:
            pass
    root = None if leaf is None or leaf.origin is None else leaf.origin.root()
    return None if root is None else id(root.node)
