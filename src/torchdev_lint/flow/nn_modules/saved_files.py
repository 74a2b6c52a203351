"""What a program saves and loads again: `torch.load` of its own file gives what `torch.save` was given.

Without `map_location` every tensor goes back to the device that it was saved from (torch/serialization.py, `load`). Only tensors, and
numbers, in lists and dicts are followed; a model's `state_dict` goes into a model, which stays where it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import LOADED, UNKNOWN_DEVICE, Device, Origin, leaves, with_origin
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    Entries,
    Items,
    Literal,
    Many,
    Object,
    State,
    Tensor,
    Value,
)
from torchdev_lint.flow.nn_modules.loaded_parts import told_place
from torchdev_lint.flow.project.reach import said
from torchdev_lint.flow.syntax.trees import dotted, goes_to_cpu, receiver_name, remembered, walk
from torchdev_lint.torch_api.checkpoints import BROUGHT_TOGETHER, CHECKPOINT_NAME, LOADERS, ON_HOST, SAVED

SAVING = re.compile(r"\b(?:torch|th)\.save\(")
SAVERS = ("torch.save", "torch.serialization.save")


def save(frame: Frame, site: CallSite) -> Value:
    """`torch.save(value, file)`: remember what the file holds."""
    value, file = site.get(0, "obj"), site.get(1, "f")
    identity = None if file is None else _identity(file.value)
    if value is not None and identity is not None:
        notes, key = frame.analysis.notes, identity.key
        # who is read again after an edit, and loads it, has to know of all that was saved under this name (`top_level.has_changed`)
        notes[key] = (*notes.get(key, ()), value.value)
        frame.set_state(identity, State("unknown", UNKNOWN_DEVICE, attributes={"held": value.value}))
    return NONE


def load(frame: Frame, path: str, site: CallSite) -> Value | None:
    """What a file holds that the program saved before; None where that is not known, or holds no tensor."""
    file = site.get(0, "f")
    identity = None if file is None else _identity(file.value)
    if identity is None or site.has_star():
        return None
    frame.analysis.notes.get(identity.key)
    if not frame.env.knows(identity):
        return None
    held = frame.state(identity).attributes.get("held", UNKNOWN)
    if not _holds_tensor(held):
        return None
    told = site.get(LOADERS[path], "map_location")
    place: Device | None = None
    if told is not None and told.value != NONE:
        place = told_place(told.value)
        if place != UNKNOWN_DEVICE:
            place = with_origin(place, Origin(site.node, "moved", frame.uid, name=LOADED))
    return _loaded(held, place, frame.result_of(site.node), site.node)


def _identity(file: Value) -> Object | None:
    match file:
        case Literal(value=str(name)):
            key: Key = ("saved", name)
        case Object(key=held):
            key = ("saved", held)
        case _:
            return None
    return Object(key)


def _holds_tensor(value: Value) -> bool:
    match value:
        case Tensor(device=device):
            return UNKNOWN_DEVICE not in leaves(device)
        case Items(items=items):
            return any(map(_holds_tensor, items))
        case Many(element=element):
            return _holds_tensor(element)
        case Entries(entries=entries, default=default):
            return any(_holds_tensor(held) for _, held in entries) or _holds_tensor(default)
        case _:
            return False


def _loaded(value: Value, place: Device | None, what: Object, node: cst.CSTNode) -> Value:
    """`what` is the same as something of which nothing is known but that it was loaded by `node`."""

    def part(held: Value, name: object) -> Value:
        return _loaded(held, place, Object(("item", what.key, name)), node)

    match value:
        case Tensor(device=device):
            # by whom it was made does not matter any more: from here on it is there again
            there = with_origin(device, Origin(node, "loaded", name=LOADED)) if place is None else place
            return replace(value, device=there)
        case Literal():
            return value
        case Items(items=items):
            return Items(tuple(part(item, repr(index)) for index, item in enumerate(items)))
        case Many(element=element):
            return Many(part(element, "some"))
        case Entries(entries=entries, default=default):
            held = tuple((name, part(entry, name)) for name, entry in entries)
            return replace(value, entries=held, default=part(default, "some"), cell=None)
        case _:
            return what


def saved_from_host(analysis: Analysis) -> bool:
    """Whether what the program saves was brought to the CPU for that: in the file, else in the scripts beside it and in what it imports."""
    known = analysis.notes.get("saved from host")
    if known is None and analysis.says(SAVING):
        known = analysis.notes["saved from host"] = (
            analysis.says(BROUGHT_TOGETHER)
            or _brings_what_it_saves(analysis)
            or _come_from_host([analysis.written])
            or _takes_states_on_host(analysis.written)
        )
    if known is None:
        around = [text for text in analysis.imports.texts_around(analysis) if SAVING.search(text)]
        known = (bool(around) and all(map(BROUGHT_TOGETHER.search, around))) or _come_from_host(around)
        analysis.notes["saved from host"] = known
    return bool(known)


_STATE = re.compile(r"(?<![\w.])([\w.]+)\.state_dict\(\)")
_JUST_BEFORE = 3
"""Lines."""


def _takes_states_on_host(text: str) -> bool:
    """Whether a program takes the state of each module right after it has brought that to the CPU: `net.cpu()`, then `net.state_dict()`."""
    lines = said(text).splitlines()
    found = False
    for number, line in enumerate(lines):
        for name in _STATE.findall(line):
            before = "\n".join(lines[max(0, number - _JUST_BEFORE) : number])
            brought = (
                rf"(?m)^\s*(?:{re.escape(name)}\s*=\s*)?{re.escape(name)}\.(?:cpu\(\)|to\(['\"]cpu['\"]\))"
            )
            if re.search(brought, before) is None:
                return False
            found = True
    return found


def _come_from_host(texts: Iterable[str]) -> bool:
    """Whether programs save something of the CPU, and no weights of anywhere else: `torch.save(net.cpu().state_dict(), path)`."""
    saved = [(given, _is_from_host(given, text)) for text in texts for given in SAVED.findall(text)]
    return any(brought for _, brought in saved) and not any(
        CHECKPOINT_NAME.search(given) for given, brought in saved if not brought
    )


def _is_from_host(given: str, text: str) -> bool:
    """Whether what is saved is brought to the CPU there, or is a module's that a line before has put there: `net.eval().cpu()`."""
    if ON_HOST.search(given) is not None:
        return True
    named = re.match(r"([\w.]+)\.state_dict\(\)$", given.strip())
    return (
        named is not None
        and re.search(rf"(?m)^[ \t]*{re.escape(named[1])}(?:\.\w+\(\))*\.cpu\(\)[ \t]*$", text) is not None
    )


def _brings_what_it_saves(analysis: Analysis) -> bool:
    """Whether each function of the file that saves weights brings every tensor of it to the CPU, itself or by a helper."""
    helpers = {
        function.name.value
        for function in walk(analysis.module)
        if isinstance(function, cst.FunctionDef) and _gives_from_host(function)
    }
    brought = [
        _brings(function, call.args[0].value) or _hands_to(helpers, function)
        for function in walk(analysis.module)
        if isinstance(function, cst.FunctionDef)
        for call in _saving(function.body)
        if not _is_of_training(call)
    ]
    saved = [call for call in _saving(analysis.module, all_of_it=True) if not _is_of_training(call)]
    return bool(brought) and all(brought) and len(brought) == len(saved)


def _is_of_training(call: cst.Call) -> bool:
    """Whether what is saved is no weights, but `optimizer.state_dict()` or that of a schedule."""
    match call.args[0].value:
        case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value="state_dict"))):
            return re.search("(?i)optim|sched", dotted(receiver) or "") is not None
        case _:
            return False


def _saving(root: cst.CSTNode, *, all_of_it: bool = False) -> Iterator[cst.Call]:
    """The calls that save something; those of functions within have their own function."""
    for node in walk(root, below=() if all_of_it else (cst.FunctionDef,)):
        if isinstance(node, cst.Call) and node.args and dotted(node.func) in SAVERS:
            yield node


def _brings(function: cst.FunctionDef, saved: cst.BaseExpression) -> bool:
    """Whether what is saved is brought to the CPU, `net.cpu().state_dict()`, or a loop brings its items: `held[key] = value.cpu()`."""
    if any(map(goes_to_cpu, walk(saved))) or receiver_name(saved) in _left_on_host(function):
        return True
    return any(
        isinstance(loop, cst.For)
        and any(isinstance(part, cst.Name) and dotted(part) == dotted(saved) for part in walk(loop.iter))
        and any(map(goes_to_cpu, walk(loop.body)))
        for loop in walk(function.body)
    )


@remembered(cst.FunctionDef)
def _left_on_host(function: cst.FunctionDef) -> frozenset[str]:
    """What a function brings to the CPU for good, as modules are: `net.cpu()`, and nothing is done with the result."""
    return frozenset(
        receiver_name(node.value)
        for node in walk(function.body)
        if isinstance(node, cst.Expr) and goes_to_cpu(node.value)
    )


def _gives_from_host(function: cst.FunctionDef) -> bool:
    """Whether a function returns what it was given as it is on the CPU: `return obj.detach().cpu()`."""
    return any(
        isinstance(part, cst.Return) and part.value is not None and goes_to_cpu(part.value)
        for part in walk(function.body)
    )


def _hands_to(helpers: Set[str], function: cst.FunctionDef) -> bool:
    """Whether a function hands a state to one of these: `to_host(model.state_dict())`."""
    return any(
        isinstance(call, cst.Call)
        and isinstance(call.func, cst.Name)
        and call.func.value in helpers
        and any("state" in (dotted(part) or "") for one in call.args for part in walk(one.value))
        for call in walk(function.body)
    )
