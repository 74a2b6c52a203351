"""Programs that split a model over devices and let forward pre-hooks bring each part what it is given.

`for name, part in model.named_children(): part.register_forward_pre_hook(bring)`: which parts have such a hook is not said where their
class is written, so that what a `forward` that is read alone hands to one of them may be anywhere. Nor is it known of the modules of a
program once one of which nothing is known has such a hook: `model.get_submodule(name)`.
"""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.imports import Imports
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

_MAKES = re.compile(r"\b([A-Z]\w*)\(")
_HOOK_CLASS = re.compile(r"(?m)^class (\w+)\b(?:(?!^class ).*\n)*?[ \t]+def __call__\(self, *\w+, *\w+")
_MOVES_TEXT = re.compile(r"\.(?:to|cuda)\(|\b\w*to_(?:device|cuda|gpu)\(|\bmove_?\w*\(")

_ELSEWHERE = "pre-hooks of other files bring inputs"

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
    """Whether another file of the program registers pre-hooks that move something: its functions, or objects of a class of any file."""
    known: bool | None = frame.analysis.notes.get(_ELSEWHERE)
    if known is None:
        known = frame.analysis.notes[_ELSEWHERE] = _hooks_bring(frame.analysis.imports)
    return known


def _hooks_bring(imports: Imports) -> bool:
    texts = [text for _, text in imports.mentioning(BEFORE) or ()] if imports.in_program() else []
    if not texts:
        return False
    made = frozenset().union(*(_made(text) for text in texts))
    hooks = [text for _, text in imports.mentioning("__call__") or ()] if made else []
    return any(map(_registers_what_moves, texts)) or any(not made.isdisjoint(_moving(text)) for text in hooks)


@remembered_of_text
def _registers_what_moves(text: str) -> bool:
    try:
        return _brings_inputs(cst.parse_module(text))
    except cst.ParserSyntaxError:
        return False


@remembered_of_text
def _made(text: str) -> frozenset[str]:
    """The classes of which a file that registers pre-hooks makes objects."""
    return frozenset(_MAKES.findall(text)) if f".{BEFORE}(" in text else frozenset()


@remembered_of_text
def _moving(text: str) -> frozenset[str]:
    """The classes of a file whose objects are called with a module and its inputs, if it moves something."""
    return frozenset(_HOOK_CLASS.findall(text)) if _MOVES_TEXT.search(text) else frozenset()


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
