"""What libraries hand to the hooks that their users define: batches, models and scores that they have brought somewhere."""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.functions import parameter_key
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import Device, Symbol
from torchdev_lint.flow.domain.values import Function, Object, Tensor
from torchdev_lint.flow.libraries import library_facts
from torchdev_lint.flow.project import reach
from torchdev_lint.flow.read_alone.evidence import TESTING
from torchdev_lint.stubs.facts import Handed


def handed_to(frame: Frame, function: Function) -> Handed | None:
    """What a method is given that overrides a hook of a library's class, where the library brings it; None when it is no such method.

    A batch of Lightning's `training_step` is where `self` is; the model and the inputs of a Trainer's `compute_loss` are on one device,
    as are the ids and scores of a logits processor.
    """
    owner = function.owner
    if owner is None or not isinstance(function.receiver, Object):
        return None
    if not TESTING.isdisjoint(frame.analysis.imported):
        return None  # a test has the machine that it is run on
    for path in owner.imported_bases():
        handed = library_facts.handed_to_hook(frame.analysis.options.shelf, path, function.name)
        if handed is not None:
            return handed if handed.own or not _runs_on_host(frame, owner.name) else None
    return None


def _runs_on_host(frame: Frame, name: str) -> bool:
    """Whether the program tells its library to stay on the CPU, or uses the class where nothing is ever moved."""
    analysis = frame.analysis
    return analysis.says(_ON_HOST) or analysis.learn(reach.stays_on_host, analysis, name)


_ON_HOST = re.compile(r"\b(?:no_cuda|use_cpu)\s*=\s*True\b")
"""What is said to `TrainingArguments` of a machine whose accelerator is not to be used."""


def hand_over(frame: Frame, function: Function, handed: Handed) -> None:
    """Before such a method is read alone: its arguments are there."""
    receiver = function.receiver
    assert isinstance(receiver, Object)
    model = _name(function, handed.model)
    placed = None if model is None else _module(frame, function, model)
    batch = _name(function, handed.batch)
    if batch is not None:
        # what a library brings there by itself it brings to an accelerator
        there = Symbol(("device", receiver.key), "self.device") if handed.own else placed
        if there is not None:
            frame.env.names[batch] = Tensor(there, batch=True, guess=True)
    names = [name for position in handed.tensors if (name := _name(function, position)) is not None]
    for name in names:
        key = parameter_key(function.node, names[-1])
        frame.env.names[name] = Tensor(placed or _brought(key, names[-1]))


def _name(function: Function, position: int) -> str | None:
    """What the hook calls the argument at the position; `self` is at 0, which stands for none."""
    if not isinstance(function.node, cst.FunctionDef):
        return None
    parameters = function.node.params.params
    return parameters[position].name.value if 0 < position < len(parameters) else None


def _module(frame: Frame, function: Function, name: str) -> Device:
    """Makes a parameter a module that was brought somewhere: there, which it gives."""
    thing = Object(parameter_key(function.node, name), name)
    there = _brought(thing.key, name)
    frame.set_state(thing, replace(frame.state(thing), kind="module", device=there, moved=True))
    return there


def _brought(key: Key, name: str) -> Symbol:
    """Where a library has put what it hands over: on the accelerator, if there is one."""
    return Symbol(("device", key), f"{name}.device")
