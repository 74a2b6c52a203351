"""Writing down what the interpretation knows: at a line, or at the end of the module and of each function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.descriptions import describe_formula, describe_value, shown_device
from torchdev_lint.flow.domain.environment import Environment
from torchdev_lint.flow.domain.lattice import CPU, Device, describe, leaves, story
from torchdev_lint.flow.domain.values import (
    Api,
    Class,
    Function,
    Import,
    Namespace,
    Object,
    Value,
)

_OUR_OWN = re.compile(r"\[(?!True\b|False\b|None\b)[A-Za-z_]\w*[^'\"]*\]$")
"""What the inference notes of an object for itself (`[modules]` of an optimizer), unlike items, whose keys are written as literals."""
_SINCE = re.compile(r" since \d+\]$")
"""Behind a key that is only a name: since which assignment of it (`patterns.item_name`)."""

PlaceOf = Callable[[cst.CSTNode], "str | None"]

_DID = {
    "moved": "moved",
    "factory": "made",
    "made": "made",
    "loaded": "loaded",
    "left": "unpacked",
}


@dataclass(frozen=True, slots=True)
class Section:
    """What was known at one point of one activation: a title, and (name, description) pairs."""

    title: str
    rows: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Recorder:
    """Told of every statement that was executed and of every activation that ended.

    `at` is the statement after which to write down what is known; without one, the ends of the module and of the functions
    read alone are written down. `place_of` says where a node stands: `line 12`, `line 3 of cell 2`.
    """

    place_of: PlaceOf
    at: cst.CSTNode | None = None
    sections: dict[Section, None] = field(default_factory=dict)

    def executed(self, frame: Frame, node: cst.CSTNode) -> None:
        """A statement was executed in an activation."""
        if node is self.at:
            title = f"after {self.place_of(node)}, {self._where(frame)}"
            self._add(title, frame, frame.env)

    def ended(self, frame: Frame, value: Value | None, env: Environment | None) -> None:
        """An activation that nobody called (the module, or a function read alone) came to its end."""
        if self.at is None:
            end = env if env is not None else frame.env
            frame.env = end
            self._add(self._where(frame), frame, end, value)

    def evaluated(self, frame: Frame, node: cst.CSTNode, value: Value) -> None:
        """An expression was evaluated."""

    def assigned(self, frame: Frame, target: cst.CSTNode, value: Value) -> None:
        """A name or an attribute was given a value."""

    def _where(self, frame: Frame) -> str:
        if frame.function is None:
            return "the module"
        name = frame.function.name
        if frame.function.owner is not None:
            name = f"{frame.function.owner.name}.{name}"
        if frame.caller is None:
            return f"`{name}` read alone ({self.place_of(frame.function.node)})"
        return f"`{name}` called from {self.place_of(frame.call)}"

    def _add(self, title: str, frame: Frame, env: Environment, value: Value | None = None) -> None:
        rows: list[tuple[str, str]] = []
        for name, held in env.names.items():
            if frame.function is None and isinstance(held, (Api, Import, Namespace, Function, Class)):
                continue
            rows.append((name, self._described(env, held)))
            if isinstance(held, Object):
                rows += self._attributes(env, name, held)
        if value is not None:
            rows.append(("returns", self._described(env, value)))
        rows += [("given that", describe_formula(fact)) for fact in env.path]
        if env.default_device != CPU:
            rows.append(("default device", describe(env.default_device)))
        self.sections.setdefault(Section(title, tuple(rows)))

    def _attributes(self, env: Environment, name: str, thing: Object) -> Iterator[tuple[str, str]]:
        state = env.state(thing)
        for attribute, held in state.attributes.items():
            if _OUR_OWN.match(attribute) and not _SINCE.search(attribute):
                continue
            moves = " (moves with it)" if attribute in state.registered else ""
            item = "[...]" if attribute.startswith("[+") else _SINCE.sub("]", attribute)
            text = f"{name}{item}" if item.startswith("[") else f"{name}.{attribute}"
            yield text, f"{self._described(env, held)}{moves}"

    def _described(self, env: Environment, value: Value) -> str:
        return describe_value(env, value) + self._origin(shown_device(env, value))

    def _origin(self, device: Device | None) -> str:
        if device is None:
            return ""
        steps = [
            f"{_DID.get(step.what, step.what)} on {self.place_of(step.node)}"
            for leaf in leaves(device)
            for step in story(leaf)
            if self.place_of(step.node) is not None
        ]
        return f", {', '.join(dict.fromkeys(steps))}" if steps else ""
