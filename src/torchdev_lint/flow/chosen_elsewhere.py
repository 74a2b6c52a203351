"""What a program chooses its device by, beside a literal that asks nobody: a `device` that may be the CPU, or a flag."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchdev_lint.flow import accelerator_programs, device_values
from torchdev_lint.flow.conditions import atoms
from torchdev_lint.flow.lattice import Accelerator, Choice, Cpu, leaves
from torchdev_lint.flow.operands import dotted
from torchdev_lint.flow.settled_flags import is_among, settled_in
from torchdev_lint.flow.trees import remembered, walk

if TYPE_CHECKING:
    from torchdev_lint.flow.analysis import Analysis
    from torchdev_lint.flow.frame import Frame

_ASKS = re.compile(r"(?i)(?:^|[._])(?:(?:use|has|is|on|with|train_on)_?)?(?:cuda|gpu)(?:_available)?$")
"""Flags that ask for an accelerator: `use_cuda`, `args.cuda`, `train_on_gpu`. A number of GPUs is none."""

_MATTERS = re.compile(
    r"(?i)cuda|gpu|device|accelerat|fp16|float16|half|amp\b|ddp|fsdp|distributed|nccl|rank|parallel"
)
"""Tests that may guard a transfer, though their value is known here (`USE_CUDA = True`), and what runs on accelerators only."""

_MOVES = frozenset({"cuda", "to"})


def choice(frame: Frame, node: cst.BaseExpression, kind: str) -> tuple[str, str] | None:
    """The name, and as an expression the device, that decides elsewhere where `node` names an accelerator; None if nothing shows.

    Either a device in scope that is the CPU where there is no accelerator, or the flag under which the same function moves other
    things. Nothing is said below a test that may be such a flag, in a function called so, or in the handler of an exception.
    """
    body = frame.analysis.module if frame.function is None else frame.function.node
    device = _device_with_a_fallback(frame, kind)
    found = device
    if found is None:
        flag = _flag_of_moves(body)
        found = None if flag is None else (flag, f'"{kind}" if {flag} else "cpu"')
    if (
        found is None
        or is_among(found[0], frame.analysis.learn(settled_in, frame.analysis))
        or frame.analysis.learn(_is_under_a_test, frame.analysis, body, node)
    ):
        return None
    if _follows_a_tensor(frame, found[0]) and _is_only_run_with_one(frame.analysis):
        return None
    # beside a device that the file chooses, what its other functions use bypasses the choice as well
    if accelerator_programs.comes_after_use(frame, node, own=False, in_file=device is None):
        return None
    return found


def _follows_a_tensor(frame: Frame, name: str) -> bool:
    """Whether what decides is where some tensor is: `if x.is_cuda:`, `device = "cuda" if x.is_cuda else "cpu"`."""
    if name.endswith(".is_cuda"):
        return True
    return any(
        held == name
        and isinstance(device, Choice)
        and all(atom.kind == "device-type" for atom in atoms(device.guard))
        for held, device in device_values.device_names(frame)
    )


_IS_CUDA = re.compile(r"""\.is_cuda\b(?:\s*else\s+(?:torch\.device\(\s*)?['"]cpu['"])?""")
"""A tensor is asked, and where the CPU is taken, as it is there."""


def _is_only_run_with_one(analysis: Analysis) -> bool:
    """Whether all that runs the file uses an accelerator, and nothing there has any other sign of doing without than to ask a tensor.

    Where a tensor is decides nothing in a program that takes all of them to a GPU.
    """
    key = ("only run with one", analysis.written)
    known: bool | None = analysis.notes.get(key)
    if known is None:
        files = accelerator_programs.leading_here(analysis) if analysis.imports.is_known() else None
        known = analysis.notes[key] = (
            files is not None
            and not any(
                accelerator_programs.does_without(_IS_CUDA.sub("", text)) for text, _ in files.values()
            )
            and any(
                is_run and path != analysis.source.path and accelerator_programs.uses_accelerator(text)
                for path, (text, is_run) in files.items()
            )
        )
    return known


def _device_with_a_fallback(frame: Frame, kind: str) -> tuple[str, str] | None:
    for name, device in device_values.device_names(frame):
        if isinstance(device, Choice):
            found = list(leaves(device))
            if any(isinstance(one, Cpu) for one in found) and any(
                isinstance(one, Accelerator) and one.type == kind for one in found
            ):
                return (name, name) if _places(frame.analysis, name) else None
    return None


def _places(analysis: Analysis, name: str) -> bool:
    """Whether a device is used at all: one that is chosen, told, and forgotten decides nothing, but where a flag decides beside it."""
    key = ("places", name, analysis.written)
    known = analysis.notes.get(key)
    if known is None:
        used = re.compile(rf"(?<![\w.]){re.escape(name)}\b(?!\s*=(?!=))")
        known = analysis.notes[key] = (
            "." in name or analysis.says(_DECIDES) or used.search(_SAYS.sub("", analysis.written)) is not None
        )
    return bool(known)


_DECIDES = re.compile(r"(?m)^[ \t]*if\s+(?:\w+\.)*\w*(?:cuda|gpu)\w*\s*:")
"""A flag that is asked, on a line of its own."""
_SAYS = re.compile(r"\bprint\([^()\n]*\)|#[^\n]*|\bglobal\s[^\n]*")


def _flag_of_moves(body: cst.CSTNode) -> str | None:
    match body:
        case cst.Module():
            return _flag_of_module(body)
        case cst.FunctionDef():
            return _flag_of_function(body)
        case _:
            return _first_flag(body)


@remembered(cst.Module)
def _flag_of_module(body: cst.Module) -> str | None:
    return _first_flag(body)


@remembered(cst.FunctionDef)
def _flag_of_function(body: cst.FunctionDef) -> str | None:
    return _first_flag(body)


def _first_flag(body: cst.CSTNode) -> str | None:
    for node in walk(body):
        if type(node) is cst.If and node.orelse is None and any(map(_is_move, walk(node.body))):
            flag = dotted(node.test)
            if flag is not None and _ASKS.search(flag):
                return flag
    return None


def _is_move(node: cst.CSTNode) -> bool:
    return type(node) is cst.Call and isinstance(node.func, cst.Attribute) and node.func.attr.value in _MOVES


def _is_under_a_test(analysis: Analysis, body: cst.CSTNode, literal: cst.CSTNode) -> bool:
    return any(
        any(inner is literal for inner in walk(part))
        for node in walk(body)
        for part in _guarded_parts(analysis, node)
    )


def _guarded_parts(analysis: Analysis, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    match node:
        case cst.If(test=test) | cst.IfExp(test=test) if _MATTERS.search(analysis.text(test)):
            yield node
        case cst.FunctionDef(name=cst.Name(value=name)) if _MATTERS.search(name):
            yield node
        case cst.ExceptHandler():
            yield node
        case _:
            pass
