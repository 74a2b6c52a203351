"""Default devices that other files of the project set: for the whole program, or in blocks that build a class of this one.

What a file makes without `device=` is then where those say, which its own text does not show: `torch.set_default_device("cuda")`,
`torch.set_default_tensor_type(torch.cuda.FloatTensor)` (torch/__init__.py), `with torch.device("cuda"): net = Net()`.
"""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.lattice import ATTRIBUTE, Conflict, Cpu, Leaf
from torchdev_lint.flow.instances.built_within import (
    builders,
    built_on_default_device,
    called_on_default_device,
    managers_of,
)
from torchdev_lint.flow.project.accelerator_programs import leading_here
from torchdev_lint.flow.project.project_calls import module_name
from torchdev_lint.flow.project.reach import MAX_NAMES, blocks, said, with_imported
from torchdev_lint.flow.project.text_facts import remembered_of_text
from torchdev_lint.flow.syntax.trees import says_device

_SETS = re.compile(
    r"\bset_default_device\(\s*(?!['\"](?:cpu|meta)|None\b|\))|\bset_default_tensor_type\([^)\n]*cuda"
)
"""A call that lets what is made without `device=` be on something else than the CPU, or wherever a name says."""

_BLOCK = re.compile(
    r"(?m)^[ \t]*(?:with[ \t(]|[^\n#]*,)[ \t]*(?:torch\.device\(|(?:\w+\.)*\w*device\b[ \t]*[:,)])"
)
"""`with torch.device(...)`, `with self.device:`, among others that a line enters."""


def is_set_elsewhere(frame: Frame, found: Conflict) -> bool:
    """Whether what is on the CPU here, as far as its own file shows, was made where another file lets the default device be another."""
    analysis = frame.analysis
    return (
        not analysis.at_top
        and any(map(_is_by_default, (found.left, found.right)))
        and (
            analysis.learn(_is_set_for_all, analysis)
            or (not frame.source.foreign and _is_in_blocks(frame, found))
        )
    )


def builds_elsewhere(analysis: Analysis, name: str) -> bool:
    """Whether the class of this name is built where another file, or this one, lets the default device be another than the CPU."""
    return (
        analysis.sets_default_device
        or analysis.learn(_is_set_for_all, analysis)
        or analysis.learn(built_on_default_device, name, analysis.module)
        or (
            bool(analysis.learn(_files_with_blocks, analysis))
            and analysis.learn(_is_only_in_blocks, analysis, name, True, True)
        )
    )


def _is_by_default(leaf: Leaf) -> bool:
    """Whether something is on the CPU because a call that made it was not told where to."""
    root = None if leaf.origin is None else leaf.origin.root()
    return (
        isinstance(leaf, Cpu)
        and root is not None
        and root.what in ("factory", "made")
        and isinstance(root.node, cst.Call)
        and not says_device(root.node.args)
    )


def _is_set_for_all(analysis: Analysis) -> bool:
    """Whether a script of the program, or a file that it imports this one by, sets the default device to what may be an accelerator.

    Or has it set by a function of another file, `from utils import setup`. Of what others install only a file of its own that imports
    this one counts: one of its examples says nothing of their programs.
    """
    known: bool | None = analysis.notes.get("default set elsewhere")
    if known is None:
        setting = {
            path: text
            for word in ("set_default_device", "set_default_tensor_type")
            for path, text in analysis.imports.mentioning(word) or ()
            if _SETS.search(said(text))
        }
        if not setting:
            known = False
        elif analysis.imports.is_for_others():
            known = _is_imported_by(analysis, setting)
        else:
            leading = leading_here(analysis)
            known = leading is not None and (
                not leading.keys().isdisjoint(setting)
                or _is_called({path: text for path, (text, _) in leading.items()}, setting, analysis)
            )
        analysis.notes["default set elsewhere"] = known
    return known


_BESIDE = re.compile(
    r"(?i)(?:^|[/\\])(?:examples?|tutorials?|demos?|notebooks?|docs?|tests?|bench\w*|scripts?)[/\\]|(?:^|[/\\])test_[^/\\]*$"
)
"""Files of a library that are no part of it."""


def _is_imported_by(analysis: Analysis, setting: dict[str, str]) -> bool:
    """Whether a file of a library that sets the default device imports this one: what it builds of it is there."""
    return any(
        analysis.source.path in (with_imported(analysis, {path: text}) or ())
        for path, text in setting.items()
        if path != analysis.source.path
        and _BESIDE.search(path) is None
        and analysis.imports.stands_in_package(path)
        and any(name and _SETS.search(said(body)) for name, body in blocks(text))
    )


def _is_called(leading: dict[str, str], setting: dict[str, str], analysis: Analysis) -> bool:
    """Whether what leads to the file imports another one that sets it as soon as it is read, or calls a definition that does."""
    files = with_imported(analysis, leading)
    if files is None:
        return False
    pending = [
        name
        for path in setting
        if path in files
        for name, body in blocks(files[path])
        if _SETS.search(said(body))
    ]
    parts = [(path in leading, name, said(body)) for path in files for name, body in blocks(files[path])]
    done: set[str] = set()
    while pending and len(done) < MAX_NAMES:
        current = pending.pop()
        if not current:
            return True
        if current in done:
            continue
        done.add(current)
        calls = re.compile(rf"(?<!def )\b{re.escape(current)}\(")
        for leads, name, body in parts:
            if name != current and calls.search(body):
                if leads:
                    return True
                pending.append(name)
    return False


def _is_in_blocks(frame: Frame, found: Conflict) -> bool:
    """Whether it was made while the function that is read was called, or its class was built, and that is done in blocks only."""
    function = frame.outermost()
    if function is None or not frame.analysis.learn(_files_with_blocks, frame.analysis):
        return False
    kept = any(one.origin is not None and one.origin.passed(ATTRIBUTE) for one in (found.left, found.right))
    name = function.owner.name if kept and function.owner is not None else function.name
    return frame.analysis.learn(_is_only_in_blocks, frame.analysis, name, kept, function.owner is not None)


def _is_only_in_blocks(analysis: Analysis, name: str, built: bool, method: bool) -> bool:
    # a class may be imported from wherever its package names it again
    told = name if built else module_name(analysis)
    callers = dict(analysis.imports.callers(name, told))
    for outer in builders(name, analysis.module) if built else ():
        callers |= analysis.imports.callers(outer, outer)
    entered = analysis.learn(_files_with_managers, analysis)
    if not entered and _files_with_blocks(analysis).isdisjoint(callers):
        return False
    modules = analysis.module, *({**entered, **callers}.values() if callers else ())
    if built:
        return built_on_default_device(name, *modules)
    return called_on_default_device(name, method, *modules)


def managers(analysis: Analysis) -> frozenset[str]:
    """What functions and methods are called that are made into context managers and set the default device, in the file or another."""
    known: frozenset[str] | None = analysis.notes.get("managers")
    if known is None:
        trees = [analysis.module, *_files_with_managers(analysis).values()]
        known = analysis.notes["managers"] = frozenset().union(*map(managers_of, trees))
    return known


def _files_with_managers(analysis: Analysis) -> dict[str, cst.Module]:
    """The files with such blocks in context managers of their own: what enters those names no device."""
    known: dict[str, cst.Module] | None = analysis.notes.get("files with managers")
    if known is None:
        known = analysis.notes["files with managers"] = {
            path: tree
            for path, text in analysis.imports.mentioning("contextmanager") or ()
            if _has_block(text) and (tree := analysis.imports.parsed(path)) is not None
        }
    return known


def _files_with_blocks(analysis: Analysis) -> frozenset[str]:
    known: frozenset[str] | None = analysis.notes.get("files with blocks")
    if known is None:
        known = analysis.notes["files with blocks"] = frozenset(
            path for path, text in analysis.imports.mentioning("with ") or () if _has_block(text)
        )
    return known


@remembered_of_text
def _has_block(text: str) -> bool:
    return _BLOCK.search(text) is not None
