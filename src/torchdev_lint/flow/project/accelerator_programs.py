"""Programs for machines with an accelerator only: nothing in them runs without one, so that what else needs one is no fault.

That a program may run without an accelerator has to show somewhere: it asks whether there is one, has an option or a flag for it, names
the CPU as a device. Where nothing that leads to a file says so, and an accelerator is used there whatever the machine, a machine
without one is not meant. Two questions follow from it:

* of a file, by the texts of what leads to it (`is_for_accelerators`). They are searched for words, nothing is executed.
* of a place in it, by what certainly ran before (`comes_after_use`): a machine without an accelerator does not get there.

Only the first accelerator is meant: `cuda:1` may be absent from such a machine, too. Whether a single file, function or test is only
run where there is one, by what it imports or how it is marked, is `accelerator_needs`'s.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.project.accelerator_uses import uses_before
from torchdev_lint.flow.project.project_calls import calls_of
from torchdev_lint.flow.project.reach import imported_by, said
from torchdev_lint.flow.project.settled_flags import without_settled
from torchdev_lint.flow.syntax.trees import parents, walk

MAX_FILES = 24
"""That lead to a file; where there are more, it is not known what does."""
MAX_DEPTH = 3
"""Callers of callers."""

_INSISTS = re.compile(
    r"assert\s+torch\.cuda\.is_available\(\)|if\s+not\s+torch\.cuda\.is_available\(\)\s*:\s*(?:raise|(?:sys\.)?exit)\b"
)
"""That there is an accelerator is asked to stop where there is none."""

TAKES_TO_CURRENT = r"(?<!torch)\.cuda\(\s*(?:\)|non_blocking|async)|\.to\(\s*['\"]cuda['\"]"
"""Something is taken to the current GPU (a pattern)."""

_USES = re.compile(
    rf"{TAKES_TO_CURRENT}|\btorch\.cuda\.(?:\w*Tensor\b|set_device\()|"
    r"\bdevice\s*=\s*['\"]cuda['\"]|torch\.device\(\s*['\"]cuda['\"]\s*\)(?!\s*if\b)|['\"]nccl['\"]|"
    r"\baccelerator\s*=\s*['\"](?:gpu|cuda)['\"]|\bTrainer\((?:[^()]|\([^()]*\))*?\bgpus\s*=\s*(?:-1|[1-9]|\[)"
)
"""An accelerator is used, on the face of it whatever the machine."""

_NUMBERED = re.compile(r"(?<!torch)\.cuda\(\s*\w")
"""Something is taken to an accelerator of which the number is given."""

_DOES_WITHOUT = re.compile(
    r"is_available\(|_available\b|\.is_cuda\b|ccelerator\(|(?i:lightning|\bpl)\.Trainer\("
    r"(?!(?:[^()]|\((?:[^()]|\([^()]*\))*\))*?\b(?:accelerator\s*=\s*['\"](?:gpu|cuda)['\"]|gpus\s*=\s*(?:-1|[1-9]|\[)))|"
    r"(?<!\.to\()(?<!map_location=)(?<!map_location = )['\"]cpu['\"]|"
    r"\b(?:no|use|with|has)_?(?:cuda|gpu|cpu)\b|--(?:no-?|use-?)?(?:cuda|cpu)['\"]|['\"]--(?:no-?|use-?)gpu['\"]|['\"]--device|"
    r"(?:args?|opts?|cfg|config|hparams|params|self)\.(?:cuda|cpu)\b(?!\()|\bif\s+(?:not\s+)?(?:\w+\.)*(?:cuda|gpu)(?:_\w+)?\b(?![(.]|\s*==\s*['\"](?!cpu))|"
    r"gpu\w*\)?\s*(?:>=?\s*(?:0|-1)\b|is not None|!=\s*-1|<\s*0)"
)
"""Signs that a program may run on the CPU: it asks, has a flag or an option, names the CPU, or leaves it to a library that asks.

Bringing something back (`.to("cpu")`), or loading to the CPU, is none.
"""

_TELLS = re.compile(
    r"(?m)^[ \t]*(?:print|log(?:ger|ging)?\.info)\((?![^\n]*\bif\b)[^\n]*|"
    r"\bmap_location\s*=\s*torch\.device\(\s*['\"]cpu['\"]\s*\)|\btorch\.load\([^\n]*,\s*['\"]cpu['\"]\)|\bdist(?:ributed)?\.is_available\(\)"
)
"""What only says whether there is an accelerator, what is only loaded to the CPU, and what asks for something else."""

_MAY_USE = re.compile(
    rf"{_USES.pattern}|torch\.cuda\.(?:current_device|get_device_\w+|mem_get_info|nvtx\.\w+)\(|emit_nvtx\(|\.type\("
)


def uses_accelerator(text: str) -> bool:
    """Whether a text uses an accelerator that it does not number, on the face of it whatever the machine."""
    words = said(text)
    return _USES.search(words) is not None or _INSISTS.search(words) is not None


def numbers_accelerator(text: str) -> bool:
    """Whether a text takes something to an accelerator that it numbers, `x.cuda(args.gpu)`, on the face of it whatever the machine."""
    return _NUMBERED.search(said(text)) is not None


def does_without(text: str) -> bool:
    """Whether a text has a sign that its program may run without an accelerator.

    An option for the device is none where the current one is set whatever it says: `torch.cuda.set_device` takes no CPU.
    """
    words = _TELLS.sub("", _INSISTS.sub("", without_settled(said(text))))
    if sets_current(words):
        words = _OPTION.sub("", words)
    return _DOES_WITHOUT.search(_ANSWER.sub(lambda match: _kept(match, words), words)) is not None


_SETS_CURRENT = re.compile(r"(?m)^([ \t]+)torch\.cuda\.set_device\(")
_OPTION = re.compile(r"['\"]--devices?['\"]")


def sets_current(text: str) -> bool:
    """Whether a text makes an accelerator the current one in a function whatever is so."""
    return any(_is_always(match, text) for match in _SETS_CURRENT.finditer(text))


def _is_always(statement: re.Match[str], words: str) -> bool:
    """Whether a function does something whatever is so: the line that it is indented below begins the function."""
    above = [line for line in words[: statement.start()].splitlines() if line.strip()]
    outer = (line for line in reversed(above) if len(line) - len(line.lstrip()) < len(statement[1]))
    return next(outer, "").lstrip().startswith(("def ", ") ->", "):"))


_ANSWER = re.compile(r"(?m)^[ \t]*(\w+)[ \t]*=[ \t]*torch\.cuda\.is_available\(\)[ \t\r]*$")
"""Whether there is an accelerator, under a name."""


def _kept(answer: re.Match[str], words: str) -> str:
    """An answer, unless it is only printed: nothing else in the text, less what it prints, has the name."""
    return answer[0] if len(re.findall(rf"\b{answer[1]}\b", words)) > 1 else ""


def is_for_accelerators(analysis: Analysis) -> bool:
    """Whether the checked file is part of programs for machines with an accelerator only.

    It uses one itself, or all that is run and leads to it does, and nothing that leads to it has a sign of doing without one.
    """
    key = ("for accelerators", analysis.written)
    known = analysis.notes.get(key)
    if known is None:
        known = analysis.notes[key] = _is_for_accelerators(analysis)
    return bool(known)


def _is_for_accelerators(analysis: Analysis) -> bool:
    if _begins_with_one(analysis):
        return True
    if does_without(analysis.written):
        return False
    files = leading_here(analysis)
    if files is None or any(does_without(text) for text, _ in files.values()):
        return False
    return uses_accelerator(analysis.written) or all(
        uses_accelerator(text) for text, is_run in files.values() if is_run
    )


_TAKES_ONE = re.compile(r"(?m)^torch\.cuda\.set_device\(")


def _begins_with_one(analysis: Analysis) -> bool:
    """Whether all scripts of the program set the current GPU whatever is so, which raises where there is none."""
    word = "torch.cuda.set_device("
    if word not in analysis.written and not analysis.imports.mentioning(word):
        return False  # most programs: nobody has to look for who imports whom
    scripts = [text for text, is_run in (leading_here(analysis) or {}).values() if is_run]
    return bool(scripts) and all(_TAKES_ONE.search(said(text)) for text in scripts)


def leading_here(analysis: Analysis) -> dict[str, tuple[str, bool]] | None:
    """The files of the project that run the checked one: itself, what imports it, what imports that. Tests do not count.

    By path, with the text, and whether no other file imports it; None where there are more than `MAX_FILES`.
    """
    return leading_to(analysis, {analysis.source.path: analysis.written})


def leading_to(analysis: Analysis, pending: dict[str, str]) -> dict[str, tuple[str, bool]] | None:
    """The same for other files, which are given with their texts."""
    found: dict[str, tuple[str, bool]] = {}
    while pending:
        file, text = pending.popitem()
        users = [one for one in importing(analysis, file) if one[0] != file]
        found[file] = text, not users
        pending.update(one for one in users if one[0] not in found)
        if len(found) + len(pending) > MAX_FILES:
            return None
    return found


def importing(analysis: Analysis, file: str) -> Iterator[tuple[str, str]]:
    """The files of the project that import from one, with their texts."""
    directory, base = os.path.split(file)
    name, ending = os.path.splitext(base)
    if ending != ".py":
        return
    word = os.path.basename(directory) if name == "__init__" else name
    said = "" if name == "__init__" else name  # `from . import x` does not name its package
    for path, text in analysis.imports.mentioning(word) or ():
        if any(one == file for one, _ in imported_by(analysis, path, text, said)):
            yield path, text


# -- of a place


def parts_for_accelerators_only(analysis: Analysis) -> frozenset[int]:
    """What stands, by `id`, in functions of a file that is for accelerators only.

    What runs at the top of a file is in order: there `comes_after_use` tells whether an accelerator was used before.
    """
    if not is_for_accelerators(analysis):
        return frozenset()
    functions = (
        node for node in walk(analysis.module, below=(cst.FunctionDef,)) if isinstance(node, cst.FunctionDef)
    )
    return frozenset(id(part) for function in functions for part in walk(function))


def comes_after_use(frame: Frame, node: cst.CSTNode, *, own: bool = True, in_file: bool = True) -> bool:
    """Whether an accelerator that is not numbered is certain to have been used before a place in the checked file is reached.

    In the function that it stands in, or in the `__init__` of its class, or before each call of that function. `own`: the function itself
    counts, not only those who call it. `in_file`: so do those who call it in the same file, and its class.
    """
    return _is_used(frame, node, own=own, in_file=in_file, along=False)


def goes_along_with_use(frame: Frame, node: cst.CSTNode) -> bool:
    """The same, or such a use is certain to follow: what asks for the first accelerator asks for no more than the program does anyway."""
    return _is_used(frame, node, own=True, in_file=True, along=True)


def _is_used(frame: Frame, node: cst.CSTNode, *, own: bool, in_file: bool, along: bool) -> bool:
    if frame.source.foreign:
        return False
    key = ("after use", id(node), own, in_file, along, frame.analysis.written)
    known = frame.analysis.notes.get(key)
    if known is None:
        known = frame.analysis.notes[key] = _comes_after_use(frame, node, own, in_file, along)
    return bool(known)


def _comes_after_use(frame: Frame, node: cst.CSTNode, own: bool, in_file: bool, along: bool) -> bool:
    scope: cst.FunctionDef | cst.Module = frame.analysis.module
    owner: cst.ClassDef | None = None
    current: Frame | None = frame
    while current is not None:
        function = current.function
        if function is not None and isinstance(function.node, cst.FunctionDef):
            scope, owner = function.node, None if function.owner is None else function.owner.node
        current = current.parent
    own = own and frame.analysis.says(_MAY_USE)
    return _is_after(frame, scope, owner, node, own, in_file, along, 0)


def _is_after(
    frame: Frame,
    scope: cst.FunctionDef | cst.Module,
    owner: cst.ClassDef | None,
    node: cst.CSTNode,
    own: bool,
    in_file: bool,
    along: bool,
    depth: int,
) -> bool:
    if own and uses_before(scope, node, along=along):
        return True
    if isinstance(scope, cst.Module) or depth == MAX_DEPTH:
        return False
    name, told = scope.name.value, "" if owner is None else owner.name.value
    if in_file and owner is not None and name != "__init__":
        made = next((one for one in _methods(owner) if one.name.value == "__init__"), None)
        if made is not None and uses_before(made, None):
            return True
    if name == "__init__":
        name = told
    elif name.startswith("__"):
        return False
    calls = [(call, caller) for call, caller in calls_of(frame, name, told) if caller is not scope]
    file: Collection[int] = () if in_file else parents(frame.analysis.module)
    return bool(calls) and all(
        in_file and _used_before_at_top(frame.analysis.module, call, along=along)
        if caller is None
        else _is_after(frame, caller, None, call, in_file or id(call) not in file, in_file, along, depth + 1)
        for call, caller in calls
    )


def _used_before_at_top(module: cst.Module, call: cst.Call, *, along: bool) -> bool:
    """The same of a call at the top of a file; of another file's nothing is known."""
    return id(call) in parents(module) and uses_before(module, call, along=along)


def _methods(owner: cst.ClassDef) -> Iterator[cst.FunctionDef]:
    return (line for line in owner.body.body if isinstance(line, cst.FunctionDef))
