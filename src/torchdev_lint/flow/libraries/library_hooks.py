"""What libraries hand to the hooks that their users define: batches, models and scores that they have brought somewhere."""

from __future__ import annotations

import re
from collections.abc import Callable

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite, Unwritten
from torchdev_lint.flow.calling.functions import parameter_key
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE, Device, Symbol
from torchdev_lint.flow.domain.values import UNKNOWN, Function, Object, State, Tensor, Value
from torchdev_lint.flow.instances.objects import move
from torchdev_lint.flow.libraries import library_facts
from torchdev_lint.flow.project import reach
from torchdev_lint.flow.read_alone.evidence import TESTING
from torchdev_lint.flow.torch_calls import device_values
from torchdev_lint.stubs.facts import Fact, Handed


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


_ON_HOST = re.compile(r"\b(?:no_cuda|use_cpu)\s*=\s*True\b|\baccelerator\s*=\s*[\"']cpu[\"']")
"""What is said to trainers (`TrainingArguments`, Lightning's `Trainer`) of a machine whose accelerator is not to be used."""


def is_never_called(function: Function) -> bool:
    """Whether a library calls a hook in the course of another one only, which the class does not define.

    Without a `validation_step` Lightning validates nothing.
    """
    owner = function.owner
    if owner is None or len(owner.imported_bases()) != 1 or owner.has_unseen_base(owner.imported_bases()):
        return False
    facts = function.frame.analysis.options.shelf.classes(owner.imported_bases()[0])[:1]
    needed = dict(facts[0].needs).get(function.name) if facts else None
    return needed is not None and owner.find(needed) is None


def drive(frame: Frame, thing: Object, name: str, site: CallSite, call: Call) -> None:
    """A method of a library's class is called, in the course of which hooks of the program are: they are run with what it hands over.

    `trainer.train()` of a class that inherits from a Trainer calls its `compute_loss`; `Trainer().fit(model)` moves the model, and calls
    its `training_step`.
    """
    state = frame.state(thing)
    shelf = frame.analysis.options.shelf
    if state.model is not None:
        for path in state.model.imported_bases():
            for fact in shelf.classes(path)[:1]:
                if name in fact.runs and not _is_on_host(frame):
                    there = Symbol(("device", ("attr", thing.key, "args")), "self.args.device")
                    _run_hooks(frame, thing, fact, there, site, call)
        return
    made_by = library_facts.made_by_library(frame, thing)
    driven = library_facts.first(shelf.methods(made_by, name), site) if made_by else None
    if driven is None or driven.drives is None:
        return
    given = site.get(*driven.drives)
    model = None if given is None else given.value
    own = frame.state(model).model if isinstance(model, Object) else None
    if not isinstance(model, Object) or own is None:
        return
    there = Symbol(("device", model.key), "self.device")
    for path in own.imported_bases():
        for fact in shelf.classes(path)[:1]:
            if fact.hooks and not _is_on_host(frame):
                move(frame, model, device_values.moved_to(frame, there, site.node))
                _run_hooks(frame, model, fact, there, site, call)
                # it is taken back to the CPU in the end, by those versions that do (strategies/strategy.py, `teardown`)
                move(frame, model, UNKNOWN_DEVICE)


def _is_on_host(frame: Frame) -> bool:
    """Whether the program tells its library to stay on the CPU; a test has the machine that it is run on."""
    return frame.analysis.says(_ON_HOST) or not TESTING.isdisjoint(frame.analysis.imported)


Call = Callable[[Frame, Function, CallSite], Value]


def _run_hooks(frame: Frame, thing: Object, fact: Fact, there: Device, site: CallSite, call: Call) -> None:
    model = frame.state(thing).model
    assert model is not None
    for name, handed in fact.hooks:
        node = model.find(name)
        if node is None:
            continue
        count = max(handed.batch, handed.model, *handed.tensors, 0)
        values: list[Value] = [UNKNOWN] * count
        if handed.model:
            values[handed.model - 1] = frame.fresh(site.node, State("module", there, moved=True), "model")
        if handed.batch:
            values[handed.batch - 1] = Tensor(there, batch=True, guess=True)
        for position in handed.tensors:
            values[position - 1] = Tensor(there)
        arguments = tuple(Argument(value, Unwritten(cst.Name("_"))) for value in values)
        call(frame, model.function(node, name, thing), CallSite(site.node, arguments, site.callee))


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
