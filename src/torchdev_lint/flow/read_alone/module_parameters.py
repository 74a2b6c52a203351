"""Parameters that a function's annotations call modules: each is one, wherever its caller put it.

Without an annotation a parameter is a module from where a method of modules is called on it (`modules.note_evidence`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.functions import parameter_key
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.values import Function, Object, Value
from torchdev_lint.flow.instances.classes import ClassModel
from torchdev_lint.flow.read_alone.evidence import resolved_path
from torchdev_lint.flow.syntax.trees import all_parameters

_MODULE = re.compile(r"(?:torch\.)?nn\.Module|Module")
_MAY_HOLD_NOTHING = re.compile(
    r"(?i)loss|crit|metric|act(?:ivation)?(?:_|$)|nonlin|pool|drop|pad|resiz|up_?sample|flatten|transform|^fn$|_fn$|func"
)
"""Parameters, by name, whose modules have no parameters as a rule, so that they work with inputs from anywhere."""


def note_given(frame: Frame, function: Function) -> None:
    """Before a function is read alone: what it is given as a module is on a device of its own."""
    if not isinstance(function.node, cst.FunctionDef):
        return
    for name in _annotated(frame, function.node):
        held = frame.env.names.get(name)
        if isinstance(held, Object) and held.key == parameter_key(function.node, name):
            frame.set_state(held, replace(frame.state(held), kind="module"))


def note_held(frame: Frame, owner: ClassModel) -> None:
    """Before a method is read alone: what an instance was given as a module, and holds, is on a device of its own."""
    initializer = owner.find("__init__")
    receiver = None if frame.function is None else frame.function.receiver
    if owner.is_module or initializer is None or not isinstance(receiver, Object):
        return
    held = set(map(_key_of, frame.state(receiver).attributes.values()))
    for name in _annotated(frame, initializer):
        key = parameter_key(initializer, name)
        if key in held:
            thing = Object(key, name)
            state = frame.state(thing)
            if state.kind == "unknown" and not state.moved:
                frame.set_state(thing, replace(state, kind="module"))


def _key_of(value: Value) -> Key:
    return value.key if isinstance(value, Object) else ()


def _annotated(frame: Frame, node: cst.FunctionDef) -> Iterator[str]:
    for parameter in all_parameters(node.params):
        name = parameter.name.value
        if parameter.annotation is None or parameter.default is not None or _MAY_HOLD_NOTHING.search(name):
            continue
        annotation = parameter.annotation.annotation
        text = frame.analysis.text(annotation).strip("\"'")
        if _MODULE.fullmatch(text) is None:
            continue
        written = cst.parse_expression(text) if isinstance(annotation, cst.SimpleString) else annotation
        if resolved_path(frame, written) == "torch.nn.Module":
            yield name
