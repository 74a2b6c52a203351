"""Settings that are the same in all of a program: `GPU_COUNT = 1` in each class of its configuration, and assigned nowhere else.

What hangs on such a setting is decided, as if the value stood there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Atom, Formula, Key, atoms, negate, truth
from torchdev_lint.flow.domain.lattice import Conflict, Device, Level, conflict, device_atoms, settled_by
from torchdev_lint.flow.project.defaults_elsewhere import is_set_elsewhere
from torchdev_lint.flow.project.reach import without_imports

_NAME = re.compile(r"^[A-Z][A-Z0-9]*_[A-Z0-9_]+$")
"""Settings, by name: in capitals, of more than one word."""


def meeting(frame: Frame, left: Device, right: Device) -> Conflict | None:
    """As `conflict`, where the program's settings are what they always are, and its default device what other files set."""
    found = conflict(left, right, frame.env.path)
    if found is None or found.level == Level.NO:
        return _by_default(frame, left, right) or found
    facts = [fact for atom in device_atoms(left) | device_atoms(right) for fact in _settled(frame, atom)]
    if facts:
        found = conflict(left, right, (*frame.env.path, *facts))
    if found is not None and found.level != Level.NO and is_set_elsewhere(frame, found):
        return None
    return found


def _by_default(frame: Frame, left: Device, right: Device) -> Conflict | None:
    """What goes wrong where the program is run without options: `if args.loss == "mse": y = y.to(device)`, and the default is another.

    Not where it takes an option to get here.
    """
    defaults = frame.analysis.option_defaults
    if not defaults:
        return None
    told = _told_by_default(defaults, device_atoms(left) | device_atoms(right))
    if not told:
        return None
    around = _told_by_default(defaults, (atom for fact in frame.env.path for atom in atoms(fact)))
    if any(truth(fact, around) is False for fact in frame.env.path):
        return None
    found = conflict(settled_by(left, told), settled_by(right, told), frame.env.path)
    if found is None or found.level == Level.NO or is_set_elsewhere(frame, found):
        return None
    return found


def _told_by_default(defaults: Mapping[Key, object], asked: Iterable[Atom]) -> dict[Atom, bool]:
    """The questions that the defaults of options answer."""
    return {atom: said for atom in asked if (said := _answer(defaults, atom)) is not None}


def _answer(defaults: Mapping[Key, object], atom: Atom) -> bool | None:
    """What the default of an option says of a question for it; not of one that chooses a device."""
    match atom:
        case Atom(kind="opaque", key=("equal", ("attr", _, str(name)) as key, str(said))) if key in defaults:
            return None if _PLACES.search(name) or _PLACES.search(said) else repr(defaults[key]) == said
        case Atom(kind="opaque", key=("truth", ("attr", _, str(name)) as key)) if key in defaults:
            return None if _PLACES.search(name) else bool(defaults[key])
        case _:
            return None


_PLACES = re.compile(
    r"(?i)cuda|gpu|cpu|tpu|xla|device|accel|mps|rank|distribut|ddp|parallel|backend|platform|hardware|machine"
)
"""Options, and what they are asked for, that say where a program runs: without them it may well be one for the CPU."""


def _settled(frame: Frame, atom: Atom) -> list[Formula]:
    """What is known of a question for the truth of a setting: `if config.GPU_COUNT:`."""
    match atom:
        case Atom(kind="opaque", key=("truth", ("attr", _, str(name)))) if _NAME.match(name):
            value = frame.analysis.learn(_truth, frame, name)
            return [] if value is None else [atom if value else negate(atom)]
        case _:
            return []


def _truth(frame: Frame, name: str) -> bool | None:
    """Whether a setting always counts as true, or always as false; None where it is not always the same, or not all is in sight."""
    imports = frame.analysis.imports
    others = imports.mentioning(name) if imports.in_program() and not imports.in_notebooks(name) else None
    if others is None:
        return None
    assigned = re.compile(rf"\b{name}\b(?:\s*:[^=\n]+)?\s*=(?!=)\s*([^\n#;]+)")
    truths: set[bool | None] = set()
    for text in (frame.analysis.written, *(text for _, text in others)):
        plain = re.sub(r"(?m)^\s*#.*$", "", without_imports(text))
        if re.search(rf"['\"]{name}['\"]|\b{name}\b\s*[-+*/|]=", plain):
            return None
        truths |= {_constant(value) for value in assigned.findall(plain)}
    return truths.pop() if len(truths) == 1 else None


def _constant(text: str) -> bool | None:
    """Whether what is assigned counts as true; None for what is no constant."""
    try:
        return bool(ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError):
        return None
