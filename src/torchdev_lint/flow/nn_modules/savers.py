"""Who saves what a program loads: the file itself under the same name, the files beside it, or nobody in the project.

What a project never saves was made by others, and published so that everybody can load it; where its files are to be had is said in
the file or beside it. What it saves without the state of anything holds numbers. Source: torch/serialization.py (`save`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.project.reach import places_things, with_imported
from torchdev_lint.flow.syntax.trees import dotted, walk
from torchdev_lint.torch_api.checkpoints import FILE_ADDRESS, SAVING_WORDS

_SAVERS = ("torch.save", "torch.serialization.save")
_FILE_NAME = re.compile(r"\w\.\w+$")
_HOLDS_STATE = re.compile(
    r"(?i)state|model|net(?:$|_)|optim|weights?|param|module|checkpoint|ckpt|policy|agent|buffer|memory"
)
"""Names of what is saved that may hold tensors."""
_ASKS = re.compile(r"\b(?:isfile|is_file|exists|lexists)\(")
_MOVES = re.compile(r"\.to\(")
"""What may put something on a device that is named elsewhere: `net.to(where())`."""
_TRAINING = (".backward(", ".step(", "autograd.grad(")
_READS = re.compile(r"\b(?:isfile|is_file|exists|lexists|load)\(")


def is_of_others(analysis: Analysis) -> bool:
    """Whether the file, or one beside it, says where weights are to be had, and none of them saves any; or nobody in the project does."""
    known = analysis.notes.get("checkpoints of others")
    if known is None:
        known = not says_saving(analysis.written) and (
            _is_offered_beside(analysis) or _is_never_saved(analysis)
        )
        analysis.notes["checkpoints of others"] = known
    return bool(known)


def is_of_host_programs(analysis: Analysis, name: str) -> bool:
    """Whether all that name a file, whoever of them saves it, are programs on the CPU, one of which trains: `"burgers_pinn.pth"`.

    A notebook says itself where it puts things; a script may leave that to what it imports.
    """
    notebooks = analysis.imports.notebooks(name)
    if notebooks is None:
        return False
    scripts = analysis.imports.mentioning(name) or ()
    if not analysis.options.in_cells:
        scripts = [(analysis.source.path, analysis.written), *scripts]
    around = with_imported(analysis, dict(scripts))
    texts = [analysis.written, *(text for _, text in notebooks), *(around or {}).values()]
    return (
        around is not None
        and any(word in text for text in texts for word in _TRAINING)
        and not any(places_things(text) or _MOVES.search(text) is not None for text in texts)
    )


def says_saving(text: str) -> bool:
    """Whether a text has a word that saves tensors."""
    return any(word in text for word in SAVING_WORDS)


def _is_offered_beside(analysis: Analysis) -> bool:
    around = analysis.imports.mentioning("http")
    if around is None:
        return False
    texts = [text for path, text in around if _is_beside(analysis, path)]
    if not any(map(FILE_ADDRESS.search, (analysis.written, *texts))):
        return False
    return not any(
        _is_beside(analysis, path)
        for word in SAVING_WORDS
        for path, _ in analysis.imports.mentioning(word) or ()
    )


def _is_never_saved(analysis: Analysis) -> bool:
    found = [analysis.imports.mentioning(word) for word in SAVING_WORDS]
    return all(one is not None and not one for one in found)


def _is_beside(analysis: Analysis, path: str) -> bool:
    return os.path.dirname(path) == os.path.dirname(os.path.abspath(analysis.source.path))


def saved_numbers(analysis: Analysis, words: list[str]) -> bool:
    """Whether the file saves what holds the state of nothing under the name that is loaded: `torch.save(self.step, "step.pt")`."""
    names = {word for word in words if _FILE_NAME.search(word)}
    if not names:
        return False
    saved = [
        given
        for node in walk(analysis.module)
        if isinstance(node, cst.Call) and dotted(node.func) in _SAVERS and len(node.args) > 1
        for given in (node.args[0].value,)
        if not names.isdisjoint(_literals(node.args[1].value))
    ]
    return bool(saved) and not any(_may_hold_state(analysis, given) for given in saved)


def asked_for(tests: Iterable[str], path: cst.BaseExpression) -> list[str]:
    """The names of files in a path that the program asks for before it loads them: `if os.path.isfile(join(folder, "optimizer.pt"))`."""
    named = [
        str(part.raw_value)
        for part in walk(path)
        if isinstance(part, cst.SimpleString) and _FILE_NAME.search(str(part.raw_value))
    ]
    return [name for name in named if any(name in text and _ASKS.search(text) for text in tests)]


def is_never_written(analysis: Analysis, name: str) -> bool:
    """Whether no file of the project says the name of a file but where it asks for it or loads it: what is not there is not loaded."""
    key = ("never written", name)
    known = analysis.notes.get(key)
    if known is None:
        others = analysis.imports.mentioning(name)
        texts = [analysis.written, *(text for _, text in others or ())]
        known = analysis.notes[key] = others is not None and not any(
            "Trainer(" in text or _speaks_otherwise(text, name) for text in texts
        )
    return bool(known)


def _speaks_otherwise(text: str, name: str) -> bool:
    return any(
        name in line and not line.lstrip().startswith("#") and _READS.search(line) is None
        for line in text.splitlines()
    )


def _literals(node: cst.BaseExpression) -> Iterator[str]:
    for part in walk(node):
        if isinstance(part, cst.SimpleString):
            yield str(part.raw_value)
        elif isinstance(part, cst.FormattedStringText):
            yield part.value


def _may_hold_state(analysis: Analysis, node: cst.BaseExpression) -> bool:
    """Whether what is saved may hold tensors: something that is called, or by its name."""
    if isinstance(node, cst.Attribute) and any(_counts(part, dotted(node)) for part in walk(analysis.module)):
        return False
    return any(
        isinstance(part, cst.Call)
        or (isinstance(part, cst.Name) and _HOLDS_STATE.search(part.value) is not None)
        for part in walk(node)
    )


def _counts(node: cst.CSTNode, name: str | None) -> bool:
    """Whether a statement makes a number of what has a name: `self.steps = 0`, `self.steps += 1`."""
    match node:
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=cst.Integer() | cst.Float()):
            return dotted(target) == name
        case cst.AugAssign(target=target, value=cst.Integer() | cst.Float()):
            return dotted(target) == name
        case _:
            return False
