"""What a program chooses its device by, beside a literal that asks nobody: a `device` that may be the CPU, or a flag."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchdev_lint.flow.domain.conditions import Key, atoms
from torchdev_lint.flow.domain.lattice import Accelerator, Choice, Cpu, Symbol, leaves
from torchdev_lint.flow.domain.values import Object
from torchdev_lint.flow.project import accelerator_programs
from torchdev_lint.flow.project.settled_flags import is_among, settled_in
from torchdev_lint.flow.syntax.trees import dotted, remembered, walk
from torchdev_lint.flow.torch_calls import device_values

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.analysis import Analysis
    from torchdev_lint.flow.activation.frame import Frame

_ASKS = re.compile(
    r"(?i)(?:^|[._])(?:(?:use|has|is|on|with|train_on)_?)?(?:cuda|gpu)(?:_available)?$(?<!\.is_cuda)"
)
"""Flags that ask for an accelerator: `use_cuda`, `args.cuda`, `train_on_gpu`. Neither a number of GPUs is one, nor `x.is_cuda`."""

_MATTERS = re.compile(
    r"(?i)cuda|gpu|device|accelerat|fp16|float16|half|amp\b|ddp|fsdp|distributed|nccl|rank|parallel"
)
"""Tests that may guard a transfer, though their value is known here (`USE_CUDA = True`), and what runs on accelerators only."""

_OF_KINDS = re.compile(r"(?i)cuda|gpu|device|fp16|float16|half|amp\b|nccl")
"""Those that say which kind of accelerator there is, where Accelerate runs several processes on any kind."""

_MOVES = frozenset({"cuda", "to"})


def choice(frame: Frame, node: cst.BaseExpression, kind: str) -> tuple[str, str] | None:
    """The name, and as an expression the device, that decides elsewhere where `node` names an accelerator; None if nothing shows.

    A device in scope that is the CPU where there is no accelerator, that of Accelerate, or the flag under which the same function moves
    other things. Nothing is said below a test that may be such a flag, in a function called so, or in the handler of an exception.
    """
    body = frame.analysis.module if frame.function is None else frame.function.node
    device = _device_with_a_fallback(frame, kind)
    by_library = None if device is not None else _by_accelerate(frame, body)
    found = device or by_library
    if found is None:
        flag = _flag_of_moves(body)
        found = None if flag is None else (flag, f'"{kind}" if {flag} else "cpu"')
    if (
        found is None
        or not (by_library is not None or _asks(frame, found[0]))
        or _OF_TESTS.search(frame.source.path) is not None
        or is_among(found[0], frame.analysis.learn(settled_in, frame.analysis))
        or frame.analysis.learn(
            _is_under_a_test, frame.analysis, body, node, _MATTERS if by_library is None else _OF_KINDS
        )
    ):
        return None
    # beside a device that the file chooses, what its other functions use bypasses the choice as well
    if accelerator_programs.comes_after_use(
        frame, node, own=False, in_file=device is None and by_library is None
    ):
        return None
    return found


_OF_TESTS = re.compile(r"(?:^|[/\\])tests?[/\\](?:[^/\\]+[/\\])*test_?\w*\.py$")
"""What a helper of a test is told is no choice that somebody makes."""


def _asks(frame: Frame, name: str) -> bool:
    """Whether somebody is asked: the machine (`is_available()`), or who starts the program.

    A parameter that nothing of the file ties to either, a constant, and where some tensor is, are no choice of the program's: of the
    findings in six batches of public code 71 of 87 were right where the file asks `is_available()`, 2 of 24 where it
    does not (docs/precision.md).
    """
    return frame.analysis.says(_ASKING) or any(
        held == name
        and isinstance(device, Choice)
        and any(a.kind == "available" for a in atoms(device.guard))
        for held, device in device_values.device_names(frame)
    )


_ASKING = re.compile(
    r"\b(?:is_available|device_count|add_argument)\(|@\w+\.option\("
    r"|(?i:\b_?(?:args?|opts?|options|hparams|flags|conf|config|cfg)\.\w*(?:cuda|gpu|cpu|device))"
)
"""The machine is asked, or what the program was started with."""


def _device_with_a_fallback(frame: Frame, kind: str) -> tuple[str, str] | None:
    for name, device in device_values.device_names(frame):
        if isinstance(device, Choice) and not _OF_ANOTHER.match(name):
            found = list(leaves(device))
            if any(isinstance(one, Cpu) for one in found) and any(
                isinstance(one, Accelerator) and one.type == kind for one in found
            ):
                return (name, name) if _places(frame.analysis, name) else None
        if isinstance(device, Symbol) and _is_host_by_default(frame.analysis, device):
            return (name, name) if _places(frame.analysis, name) else None
    for name, value in frame.visible_names() if frame.analysis.option_defaults else ():
        if isinstance(value, Object) and _is_host_by_default(frame.analysis, Symbol(("device", value.key))):
            told = f"{name}.device"
            return (told, told) if frame.analysis.says(re.compile(rf"{re.escape(told)}\s*[,)]")) else None
    return None


_OF_ACCELERATE = re.compile(
    r"(?<![\w.])(?P<name>(?:self\.)?_?accelerator)\.(?:device|prepare\w*|unwrap_model|backward|accumulate|gather\w*|is_main_process|"
    r"is_local_main_process|wait_for_everyone|process_index|num_processes)\b"
)
"""What is asked of an `Accelerator`, and of nothing else that is called so (accelerate/accelerator.py)."""


def _by_accelerate(frame: Frame, body: cst.CSTNode) -> tuple[str, str] | None:
    """The device of the `Accelerator` that the function works with: the CPU where the machine, or who launches the program, says so."""
    if "accelerator." not in frame.analysis.written:
        return None
    found = _OF_ACCELERATE.search(frame.analysis.text(body))
    if found is None:
        return None
    device = f"{found['name']}.device"
    return device, device


def _is_host_by_default(analysis: Analysis, device: Symbol) -> bool:
    """Whether an option names the device, and the CPU where nobody says another: `add_argument("--device", default="cpu")`."""
    match device.key:
        case ("device", tuple(options)):
            key: Key = ("attr", options, "device")
        case key:
            pass
    return analysis.option_defaults.get(key) == "cpu"


_OF_ANOTHER = re.compile(r"(?!self\.|cls\.)\w+\.(?:\w+\.)*_")
"""What another object keeps for itself, as `model._device`: by that it chooses, and the program does not."""


def _places(analysis: Analysis, name: str) -> bool:
    """Whether a device is used at all: one that is chosen, told, and forgotten decides nothing, but where a flag decides beside it.

    Nor does an attribute that a base class in another file sets, and the checked one never names.
    """
    key = ("places", name, analysis.written)
    known = analysis.notes.get(key)
    if known is None:
        used = re.compile(rf"(?<![\w.]){re.escape(name)}\b(?!\s*=(?!=))")
        known = analysis.notes[key] = (
            ("." in name and name in analysis.written)
            or analysis.says(_DECIDES)
            or used.search(_SAYS.sub("", analysis.written)) is not None
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


def _leaves(body: cst.BaseSuite) -> bool:
    last = body.body[-1] if body.body else None
    return isinstance(last, cst.SimpleStatementLine) and isinstance(
        last.body[-1], (cst.Return, cst.Raise, cst.Continue)
    )


def _is_move(node: cst.CSTNode) -> bool:
    return type(node) is cst.Call and isinstance(node.func, cst.Attribute) and node.func.attr.value in _MOVES


def _is_under_a_test(
    analysis: Analysis, body: cst.CSTNode, literal: cst.CSTNode, matters: re.Pattern[str]
) -> bool:
    return any(
        any(inner is literal for inner in walk(part))
        for node in walk(body)
        for part in _guarded_parts(analysis, node, matters)
    )


def _guarded_parts(analysis: Analysis, node: cst.CSTNode, matters: re.Pattern[str]) -> Iterator[cst.CSTNode]:
    match node:
        case cst.If(test=test) | cst.IfExp(test=test) if matters.search(analysis.text(test)):
            yield node
        case cst.FunctionDef(name=cst.Name(value=name)) if matters.search(name):
            yield node
        case cst.ExceptHandler():
            yield node
        case cst.IndentedBlock(body=lines):
            # `if not GPU: return x`, and what comes behind it
            left = [
                index
                for index, line in enumerate(lines)
                if isinstance(line, cst.If)
                and matters.search(analysis.text(line.test))
                and _leaves(line.body)
            ]
            yield from lines[left[0] + 1 :] if left else ()
        case _:
            pass
