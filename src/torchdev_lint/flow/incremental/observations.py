"""Writing down where things are: what every name, attribute and call was, each time that it was evaluated or assigned.

For those who show it next to the code (an editor); `recording` writes down what is known at one point of a program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.descriptions import describe_value
from torchdev_lint.flow.domain.environment import Environment
from torchdev_lint.flow.domain.lattice import Accelerator, Cpu, Device, Origin, Symbol, leaves, story
from torchdev_lint.flow.domain.values import (
    DeviceValue,
    Either,
    Entries,
    Generator,
    Items,
    Many,
    Object,
    Tensor,
    Value,
)

MAX_SEEN = 6
"""So many different observations of one node are kept."""
MAX_DEPTH = 3
"""Containers are searched this deep for what has a device."""


_SHOWN = frozenset({cst.Name, cst.Attribute, cst.Call})
_COMPREHENSIONS = frozenset({cst.DictComp, cst.GeneratorExp, cst.ListComp, cst.SetComp})
_MAY_HAVE_DEVICE = frozenset({Tensor, DeviceValue, Generator, Object, Items, Many, Entries, Either})


class InterruptedReadingError(Exception):
    """Nobody wants to know any more."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What an expression was on one of the ways that lead to it.

    `device`: where it is, of a tensor or a module; None of other things. `text`: the thing in words. `ran`: the file's own
    top level led there, not a function that is read alone. `steps`: what put it there.
    """

    text: str
    device: Device | None
    ran: bool
    steps: tuple[Origin, ...] = field(default=(), compare=False)


_NOTHING = {ran: Observation("", None, ran) for ran in (False, True)}
"""What has no device."""


@dataclass(slots=True)
class Observer:
    """Told of all that is evaluated in the file that is checked.

    `goes_on` is asked at every statement; when it says no, `InterruptedReadingError` is raised.
    """

    goes_on: Callable[[], bool] = lambda: True
    module: cst.Module | None = None
    nodes: dict[int, cst.CSTNode] = field(default_factory=dict)
    """By id, as in the other tables: the nodes themselves, which stay alive that way."""
    evaluations: dict[int, list[Observation]] = field(default_factory=dict)
    assignments: dict[int, list[Observation]] = field(default_factory=dict)
    """By the node of the target: a name or an attribute."""
    parts: list[Observer] = field(default_factory=list)
    """Who saw what `gather` is to add."""
    _latest: dict[int, tuple[object, object, bool]] = field(default_factory=dict)

    def gather(self) -> None:
        """Add what the parts saw, as if it had been seen here."""
        parts, self.parts = self.parts, []
        for part in parts:
            self.nodes |= part.nodes
            for mine, its in ((self.evaluations, part.evaluations), (self.assignments, part.assignments)):
                for key, observations in its.items():
                    seen = mine.get(key)
                    if seen is None:
                        mine[key] = list(observations)
                    else:
                        for one in observations:
                            _add(seen, one)

    def executed(self, frame: Frame, node: cst.CSTNode) -> None:
        """A statement was executed."""
        if not self.goes_on():
            raise InterruptedReadingError

    def ended(self, frame: Frame, value: Value | None, env: Environment | None) -> None:
        """An activation that nobody called came to its end."""

    def evaluated(self, frame: Frame, node: cst.CSTNode, value: Value) -> None:
        """An expression was evaluated."""
        kind = type(node)
        if kind in _SHOWN:
            if type(value) in _MAY_HAVE_DEVICE and not frame.source.foreign:
                self._note(self.evaluations, frame, node, value)
        elif kind in _COMPREHENSIONS:
            assert isinstance(node, cst.BaseComp)
            self._forget_targets(node)

    def assigned(self, frame: Frame, target: cst.CSTNode, value: Value) -> None:
        """A name or an attribute was given a value."""
        if not frame.source.foreign:
            self._note(self.assignments, frame, target, value)

    def _note(
        self, table: dict[int, list[Observation]], frame: Frame, node: cst.CSTNode, value: Value
    ) -> None:
        env, key, ran = frame.env, id(node), frame.analysis.at_top
        # Most visits find what the last one found.
        state = env.found(value.key) if isinstance(value, Object) else None
        before = self._latest.get(key)
        if before is not None and before[0] is value and before[1] is state and before[2] == ran:
            return
        self._latest[key] = (value, state, ran)
        self.nodes[key] = node
        self.module = frame.analysis.module
        seen = table.setdefault(key, [])
        device = device_of(env, value)
        if not _is_new(seen, device, ran=ran):
            return
        held = has_device(env, value)
        made = Observation(describe_value(env, value), device, ran, _steps(device)) if held else _NOTHING[ran]
        if made not in seen:
            seen.append(made)

    def _forget_targets(self, node: cst.BaseComp) -> None:
        """What a comprehension's own names held is not shown: it is many things, one after the other."""
        part: cst.CompFor | None = node.for_in if isinstance(node.for_in, cst.CompFor) else None
        while part is not None:
            targets: list[cst.CSTNode] = [part.target]
            while targets:
                target = targets.pop()
                if isinstance(target, (cst.Tuple, cst.List)):
                    targets += [element.value for element in target.elements]
                self.assignments.pop(id(target), None)
                self._latest.pop(id(target), None)
            part = part.inner_for_in


def _is_new(seen: list[Observation], device: Device | None, *, ran: bool) -> bool:
    """Whether something on a device may be worth adding to what was seen."""
    if len(seen) >= MAX_SEEN:
        return False
    if device is not None:
        for one in seen:
            if one.ran == ran and one.device is not None and one.device == device:
                return False
    return True


def _add(seen: list[Observation], one: Observation) -> None:
    if _is_new(seen, one.device, ran=one.ran) and one not in seen:
        seen.append(one)


def device_of(env: Environment, value: Value) -> Device | None:
    """Where a tensor or a module is; None for other things."""
    match value:
        case Tensor(device=device):
            return device
        case Object():
            state = env.found(value.key)
            return state.device if state is not None and (state.kind == "module" or state.moved) else None
        case Either(guard=_, then=then, otherwise=otherwise):
            left, right = device_of(env, then), device_of(env, otherwise)
            return left if left == right else None
        case _:
            return None


def has_device(env: Environment, value: Value, depth: int = 0) -> bool:
    """Whether a value is, or holds, something that is on a device, or is a device."""
    if depth > MAX_DEPTH:
        return False
    match value:
        case Tensor() | DeviceValue() | Generator():
            return True
        case Object():
            state = env.found(value.key)
            return state is not None and (state.kind in ("module", "loader") or state.moved)
        case Items(items=items):
            return any(has_device(env, item, depth + 1) for item in items)
        case Many(element=element):
            return has_device(env, element, depth + 1)
        case Entries(entries=entries):
            return any(has_device(env, entry, depth + 1) for _, entry in entries)
        case Either(then=then, otherwise=otherwise):
            return has_device(env, then, depth + 1) or has_device(env, otherwise, depth + 1)
        case _:
            return False


def short_name(device: Device) -> str:
    """A device as it is written in code, `cuda:0` or `device`; several, when a condition decides; "" for an unknown one."""
    names: list[str] = []
    for leaf in leaves(device):
        match leaf:
            case Cpu():
                name = "cpu"
            case Accelerator(type=kind, index=index):
                name = kind if index is None else f"{kind}:{index}"
            case Symbol(text=text) if text and not text.startswith("the "):
                name = text
            case _:
                return ""
        if name not in names:
            names.append(name)
    return " | ".join(names)


def _steps(device: Device | None) -> tuple[Origin, ...]:
    if device is None:
        return ()
    return tuple(step for leaf in leaves(device) for step in story(leaf))
