"""Programs that split a model over devices and let forward pre-hooks bring each part what it is given.

`for name, part in model.named_children(): part.register_forward_pre_hook(bring)`: which parts have such a hook is not said where their
class is written, so that what a `forward` that is read alone hands to one of them may be anywhere. Nor is it known of the modules of a
program once one of which nothing is known has such a hook: `model.get_submodule(name)`.
"""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import Cpu, Symbol, leaves
from torchdev_lint.flow.domain.values import UNKNOWN, Either, Object, Tensor, Value
from torchdev_lint.flow.nn_modules import attached_parts
from torchdev_lint.flow.project.text_facts import remembered_of_text
from torchdev_lint.flow.syntax.trees import remembered, walk

BEFORE = "register_forward_pre_hook"
"""The method that registers a hook which is given the inputs of a module, and may give others."""

_MOVES = re.compile(r"^(?:to|cuda)$|(?:^|_)to_(?:device|cuda|gpu)$|^move(?:_|$)")
"""Functions and methods that bring what they are given to a device, by their names."""

_MOVES_TEXT = re.compile(r"\.(?:to|cuda)\(|\b\w*to_(?:device|cuda|gpu)\(|\bmove_?\w*\(")

_MAX_DEPTH = 3
"""Calls from a hook to functions of its file are followed this far."""


_UNKNOWN = "a part of which nothing is known has a pre-hook"


def note_unknown(frame: Frame, thing: Object) -> None:
    """A pre-hook is registered in a thing of which nothing is known: a part of the model that it was taken from, or of any."""
    whole = attached_parts.whole_of(frame, thing)
    known: tuple[Object | None, ...] = frame.analysis.notes.get(_UNKNOWN, ())
    if whole not in known:
        frame.analysis.notes[_UNKNOWN] = (*known, whole)


def without_brought(frame: Frame, thing: Object, site: CallSite) -> CallSite:
    """The call of a module that may have such a hook, without the inputs that were left on the CPU."""
    alone = not frame.analysis.at_top and all(
        isinstance(leaf, Symbol) for leaf in leaves(frame.state(thing).device)
    )
    if not alone and not any(
        whole in (None, thing) or attached_parts.is_within(frame, thing, whole)
        for whole in frame.analysis.notes.get(_UNKNOWN, ())
    ):
        return site
    if not any(_is_on_host(one.value) for one in site.arguments):
        return site
    if not frame.analysis.learn(_brings_inputs, frame.source.module) and not _others_bring(frame):
        return site
    arguments = (replace(one, value=UNKNOWN) if _is_on_host(one.value) else one for one in site.arguments)
    return replace(site, arguments=tuple(arguments))


def _is_on_host(value: Value) -> bool:
    match value:
        case Tensor(device=device):
            return any(isinstance(leaf, Cpu) for leaf in leaves(device))
        case Either(_, then, otherwise):
            return _is_on_host(then) or _is_on_host(otherwise)
        case _:
            return False


def _others_bring(frame: Frame) -> bool:
    """Whether another file of the project registers pre-hooks, and one that it may take them from moves something."""
    texts = [text for _, text in frame.analysis.imports.mentioning(BEFORE) or ()]
    return any(map(_registers, texts)) and (
        any(map(_moves, texts))
        or any(_moves(text) for _, text in frame.analysis.imports.mentioning("__call__") or ())
    )


@remembered_of_text
def _registers(text: str) -> bool:
    return f".{BEFORE}(" in text


@remembered_of_text
def _moves(text: str) -> bool:
    return _MOVES_TEXT.search(text) is not None


@remembered(cst.Module)
def _brings_inputs(module: cst.Module) -> bool:
    """Whether the file registers pre-hooks that move something."""
    hooks = [
        node.args[0].value
        for node in walk(module)
        if isinstance(node, cst.Call)
        and node.args
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value == BEFORE
    ]
    if not hooks:
        return False
    functions: dict[str, list[cst.FunctionDef]] = {}
    for node in walk(module):
        if isinstance(node, cst.FunctionDef):
            functions.setdefault(node.name.value, []).append(node)
    pending: list[tuple[cst.CSTNode, int]] = [(hook, 0) for hook in hooks]
    seen: set[str] = set()
    while pending:
        part, depth = pending.pop()
        for node in walk(part):
            if isinstance(node, cst.Call) and _MOVES.search(_called(node)):
                return True
            if isinstance(node, cst.Name) and node.value not in seen and depth < _MAX_DEPTH:
                seen.add(node.value)
                pending += [(one.body, depth + 1) for one in functions.get(node.value, ())]
    return False


def _called(node: cst.Call) -> str:
    func = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    return func.value if isinstance(func, cst.Name) else ""
