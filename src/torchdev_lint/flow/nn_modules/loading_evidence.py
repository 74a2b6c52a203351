"""What a project has to show before a load without `map_location` is spoken of: that it makes such files, and a program for the CPU.

A load fails where the file was saved from an accelerator and the program that loads it has none. Both are facts of the whole project.
Nothing is said in a project that trains nothing, nor of what nobody calls, of files that nothing in the project writes under that name
or with those keys, of modules that fill themselves when they are made (from weights of others, as a rule), and of programs that put
things on an accelerator without asking whether there is one. Of a file on its own nothing of this is known, and it is judged by what
it says itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.nn_modules import loading_scopes
from torchdev_lint.flow.nn_modules.saved_files import SAVING
from torchdev_lint.flow.nn_modules.savers import is_of_host_programs, says_saving
from torchdev_lint.flow.project import reach
from torchdev_lint.flow.project.accelerator_programs import (
    does_without,
    numbers_accelerator,
    uses_accelerator,
)
from torchdev_lint.flow.project.compiled_kernels import imports_what_needs_one, runs_on_gpus_only
from torchdev_lint.flow.project.dead_helpers import less_its_own
from torchdev_lint.flow.project.project_calls import module_name
from torchdev_lint.flow.project.reach import said
from torchdev_lint.flow.syntax.trees import dotted, walk

_PLAIN_BASE = re.compile(r"(?:(?:torch\.)?nn\.)?Module$|object$|(?:abc\.)?ABC$")
_BY_NAME = re.compile(r"\bFire\(|@hydra\.|\bLightningCLI\(")
"""What calls functions of a file by a name that somebody types."""
_READS = re.compile(r"\b(?:isfile|is_file|exists|lexists|load)\(")
_FILE_NAME = re.compile(r"[\w.-]{2,}\.[A-Za-z]\w{0,7}$")
_SAVES = re.compile(r"(?m)(?<!#)\btorch\.save\(")
_BY_LIBRARIES = re.compile(r"(?i)ckpt|checkpoint|best|last|model|optimizer|scheduler|\.pth$")
"""What libraries that train models call the files that they save."""
_TRAINING_WORDS = (
    ".backward(",
    "autograd.grad(",
    ".fit(",
    ".step()",
    "rainer",
    "earner",
    "train_step",
    "lightning",
    "fastai",
    "deepspeed",
    "keras",
)
"""What stands in programs that train a model, or have a library train it."""
_MAIN = re.compile(r"(?m)^if __name__\b")
_SIGNATURE = re.compile(r"\bdef \w+\((?:[^()]|\([^()]*\))*\)")


def is_missing(frame: Frame, call: cst.Call) -> bool:
    """Whether the project of a file shows that what is loaded fails for nobody, or shows nothing that it would fail for."""
    analysis = frame.analysis
    if not analysis.imports.is_known():
        return False
    top, method = _definition_around(analysis, call)
    if _fills_itself(frame) or _insists(analysis, as_program=top is None):
        return True
    if top is not None and _is_of_networks(analysis):
        return True  # what loads at its top is a script
    if not analysis.imports.is_searched():
        return False  # there are too many files to look
    name = "" if top is None else top.name.value
    keys = _keys_read(frame, call)
    return (
        analysis.learn(_trains_nothing, analysis)
        or analysis.learn(_needs_accelerator, analysis, name)
        or (top is not None and analysis.learn(_is_unused, analysis, top, method))
        or (bool(keys) and analysis.learn(_are_never_saved, analysis, keys))
        or any(
            analysis.learn(_is_never_saved, analysis, file)
            or analysis.learn(is_of_host_programs, analysis, file)
            for file in _file_names(frame, call)
        )
    )


def needs_accelerator(frame: Frame, call: cst.Call) -> bool:
    """Whether whoever gets to a load has an accelerator: the file, or those who use it, put things there without asking."""
    top, _ = _definition_around(frame.analysis, call)
    if _insists(frame.analysis, as_program=top is None):
        return True
    if not frame.analysis.imports.is_searched():
        return False
    name = "" if top is None else top.name.value
    return frame.analysis.learn(_needs_accelerator, frame.analysis, name)


# -- who runs it


def _definition_around(
    analysis: Analysis, call: cst.Call
) -> tuple[cst.ClassDef | cst.FunctionDef | None, cst.FunctionDef | None]:
    """The definition at the top of the file in which a call stands, and the method of it."""
    for line in analysis.module.body:
        if isinstance(line, (cst.ClassDef, cst.FunctionDef)) and any(node is call for node in walk(line)):
            methods = line.body.body if isinstance(line, cst.ClassDef) else ()
            for method in methods:
                if isinstance(method, cst.FunctionDef) and any(node is call for node in walk(method)):
                    return line, method
            return line, None
    return None, None


def _is_unused(
    analysis: Analysis, top: cst.ClassDef | cst.FunctionDef, method: cst.FunctionDef | None
) -> bool:
    """Whether nobody in a program calls the function that loads, nor is anybody told to."""
    if not analysis.imports.in_program() or analysis.says(_BY_NAME):
        return False
    inner = method if method is not None and not method.name.value.startswith("__") else top
    if top.decorators or inner.decorators:
        return False
    if isinstance(top, cst.ClassDef) and not all(
        _PLAIN_BASE.match(dotted(base.value) or "") for base in top.bases
    ):
        return False
    name = inner.name.value
    own = analysis.written.replace(analysis.text(inner), "", 1)
    if isinstance(top, cst.ClassDef) and _saves_as_it_works(analysis, top):
        return False
    others = analysis.imports.mentioning(name) or ()
    used = re.compile(rf"(?<!def )(?<!class )\b{re.escape(name)}\b")
    if isinstance(top, cst.ClassDef):
        words = [said(own), *(less_its_own(text, name, top.name.value) for _, text in others)]
    else:
        words = [
            _less_attributes(text, name, module_name(analysis))
            for text in (own, *(text for _, text in others))
        ]
    if any(map(used.search, words)):
        return False
    script = re.sub(r"^.*[/\\]", "", analysis.source.path)
    return not analysis.imports.in_notebooks(name) and not analysis.imports.documents((name, script))


def _less_attributes(text: str, name: str, module: str) -> str:
    """What a file says, less the attributes of this name, `model.load_state_dict(...)`, unless it imports the module of the function."""
    words = said(text)
    if re.search(rf"(?m)^[ \t]*(?:from|import)\b[^\n]*\b{re.escape(module)}\b", words):
        return words
    return re.sub(rf"\.\s*{re.escape(name)}\b", "", words)


def _saves_as_it_works(analysis: Analysis, owner: cst.ClassDef) -> bool:
    """Whether a class has a method that saves, and calls it itself: what loads beside it reads that again, whoever asks for it."""
    text = analysis.text(owner)
    return any(
        isinstance(method, cst.FunctionDef)
        and f"self.{method.name.value}(" in text
        and SAVING.search(analysis.text(method)) is not None
        for method in owner.body.body
    )


def _insists(analysis: Analysis, *, as_program: bool) -> bool:
    """Whether the file puts things on an accelerator and never asks for one.

    What it does as a program is not done for those who import it.
    """
    text = analysis.written
    return not does_without(text) and _insists_on_one(text if as_program else _MAIN.split(text)[0])


def _insists_on_one(text: str) -> bool:
    """The same of a text; what a parameter defaults to, others may decide."""
    if does_without(text):
        return False
    words = _SIGNATURE.sub("", said(text))
    return uses_accelerator(words) or numbers_accelerator(words)


def _needs_accelerator(analysis: Analysis, name: str) -> bool:
    """Whether the program that loads needs an accelerator: an import does, or all that get to the file use one without asking."""
    own = analysis.written
    files = {analysis.source.path: own}
    if imports_what_needs_one(analysis, files):
        return True
    if does_without(own) or not analysis.imports.in_program():
        return False
    users = reach.users(analysis, name)
    if users is None:
        return False
    others = {path: text for path, text in users.items() if path not in files}
    if others and all(
        _insists_on_one(text) or runs_on_gpus_only(text) or imports_what_needs_one(analysis, {path: text})
        for path, text in others.items()
    ):
        return True
    around = reach.with_imported(analysis, users)
    if around is not None and name:
        around[analysis.source.path] = _MAIN.split(own)[0]
    return (
        around is not None
        and any(map(uses_accelerator, around.values()))
        and not any(
            does_without(text) or reach.RUNS_MODELS.search(text) is not None for text in around.values()
        )
    )


# -- who made the file


def _trains_nothing(analysis: Analysis) -> bool:
    """Whether nothing in the project trains a model: what is loaded are weights of others, as they are or converted.

    Those are published so that everybody can load them, and converters read them on the CPU.
    """
    known = analysis.notes.get("trains nothing")
    if known is None:
        known = not any(
            word in analysis.written
            or analysis.imports.mentioning(word)
            or analysis.imports.in_notebooks(word)
            for word in _TRAINING_WORDS
        )
        analysis.notes["trains nothing"] = known
    return bool(known)


def _fills_itself(frame: Frame) -> bool:
    """Whether a module loads its weights when it is made, in a file that saves none: from there it is to start."""
    function = frame.function
    return (
        function is not None
        and function.name == "__init__"
        and function.owner is not None
        and function.owner.is_module
        and not frame.analysis.says(SAVING)
    )


def only_defines(text: str) -> bool:
    """Whether a file defines networks, and neither trains, saves, runs, nor asks for an accelerator: what it loads, others publish.

    Of the findings in such files of six batches of public code 1 of 15 was right, of the others 249 of 419 (docs/precision.md).
    """
    return _DEFINES.search(text) is not None and _WORKS.search(text) is None


def _is_of_networks(analysis: Analysis) -> bool:
    """The same of the file that is checked; a notebook is a program, whatever it defines."""
    return not analysis.source.path.endswith(".ipynb") and only_defines(analysis.written)


_DEFINES = re.compile(r"(?m)^class \w+\((?:\w+\.)*\w*Module\)\s*:")
_WORKS = re.compile(r"optim|\bis_available\(|(?m:^if __name__\b)|\.backward\(|\bsave\w*\(")


def _keys_read(frame: Frame, call: cst.Call) -> tuple[str, ...]:
    """The keys that the scope reads of what it loads; not the names of parameters (`conv1.weight`), which nobody writes out."""
    scope = loading_scopes.scope_of(frame)
    around = loading_scopes.calls_around(frame, scope, call)
    names: set[str] = set()
    keys: dict[str, None] = {}
    for node in loading_scopes.telling_nodes(frame, scope):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value) if value is call:
                names.add(dotted(target) or "")
            case cst.Assign(targets=[cst.AssignTarget(target=target)]) if id(node.value) not in around:
                names.discard(dotted(target) or "")
            case cst.Subscript(
                value=held, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]
            ) if (held is call or (dotted(held) or "-") in names) and "." not in key.value:
                keys[str(key.raw_value)] = None
            case _:
                pass
    return tuple(keys)


def _are_never_saved(analysis: Analysis, keys: Sequence[str]) -> bool:
    """Whether nothing that saves anything in the project writes one of these keys."""
    saved = any(SAVING.search(text) for text in _texts(analysis, "torch.save("))
    if not saved or _has_library_save(analysis):
        return False  # something else saves
    return not any(
        _writes_key(text, key)
        for key in keys
        for text in _texts(analysis, key)
        if says_saving(text) or "state_dict()" in text
    )


def _writes_key(text: str, key: str) -> bool:
    escaped = re.escape(key)
    return (
        re.search(
            rf"""['"]{escaped}['"]\s*:|\b{escaped}\s*=(?!=)|\[\s*['"]{escaped}['"]\s*\]\s*=(?!=)""", text
        )
        is not None
    )


def _has_library_save(analysis: Analysis) -> bool:
    """Whether a library trains the models of the project, and saves them in its own way."""
    return analysis.says(reach.RUNS_MODELS) or any(
        analysis.imports.mentioning(word)
        for word in (
            "lightning",
            "catalyst",
            "Trainer",
            "fastai",
            "ignite",
            "skorch",
            "ccelerator",
            "deepspeed",
        )
    )


def _file_names(frame: Frame, call: cst.Call) -> Iterator[str]:
    """The name of the file that is loaded, as far as the scope writes it out: all of it, or the longest part of it."""
    scope = loading_scopes.scope_of(frame)
    paths = [call.args[0].value]
    if isinstance(paths[0], (cst.Name, cst.Attribute)):
        held = dotted(paths[0])
        paths = [
            node.value
            for node in loading_scopes.telling_nodes(frame, scope)
            if isinstance(node, cst.Assign) and [dotted(one.target) for one in node.targets] == [held]
        ]
        if len(paths) != 1:
            return
    last = _last_string(paths[0])
    if last is not None:
        name = last.rpartition("/")[2]
        parts = [part for part in name.split("\0") if len(part) >= 4]
        if parts and _FILE_NAME.search(name.replace("\0", "__")):
            yield max(parts, key=len)


def _last_string(path: cst.BaseExpression) -> str | None:
    """The end of a path, with a zero for each part that is filled in; None where it does not end with a string."""
    match path:
        case cst.SimpleString():
            return str(path.raw_value)
        case cst.FormattedString(parts=parts):
            return "".join(
                part.value if isinstance(part, cst.FormattedStringText) else "\0" for part in parts
            )
        case cst.BinaryOperation(operator=cst.Add() | cst.Divide(), right=right):
            end = _last_string(right)
            return None if end is None else f"\0{end}" if isinstance(path.operator, cst.Add) else end
        case cst.Call(func=function, args=[*_, cst.Arg(value=last)]) if (dotted(function) or "").endswith(
            ("join", "Path", "str")
        ):
            return _last_string(last)
        case _:
            return None


def _is_never_saved(analysis: Analysis, name: str) -> bool:
    """Whether nothing in the project that saves anything says the name of a file but where it loads it.

    Everything that saves has to say how it calls its files.
    """
    if analysis.imports.in_notebooks(name) or (_BY_LIBRARIES.search(name) and _has_library_save(analysis)):
        return False
    return all(map(_names_its_files, _texts(analysis, "torch.save("))) and not any(
        _says_otherwise(text, name) for text in _texts(analysis, name) if says_saving(text)
    )


def _names_its_files(text: str) -> bool:
    """Whether each file that a text saves to has a name there: a string in the path, or in what is assigned to it."""
    for match in _SAVES.finditer(text):
        path = _last_argument(text, match.end())
        if "'" not in path and '"' not in path:
            held = path.partition("=")[2] if path.lstrip().startswith("f=") else path
            assigned = re.findall(rf"(?m)^[ \t]*{re.escape(held.strip())}[ \t]*=(?!=)(.*)", text)
            if not assigned or not all("'" in value or '"' in value for value in assigned):
                return False
    return True


def _last_argument(text: str, start: int) -> str:
    """The last of the arguments of a call whose bracket is open at a place of a text; not those that have a keyword."""
    depth, begun, found = 1, start, ""
    for place in range(start, min(len(text), start + 2000)):
        character = text[place]
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 or (depth == 1 and character == ","):
            given = text[begun:place].strip()
            found = given if given and not re.match(r"[a-eg-z]\w*\s*=(?!=)", given) else found
            begun = place + 1
        if depth == 0:
            break
    return found


def _says_otherwise(text: str, name: str) -> bool:
    return any(
        name in line and not line.lstrip().startswith("#") and _READS.search(line) is None
        for line in text.splitlines()
    )


def _texts(analysis: Analysis, word: str) -> Iterable[str]:
    yield analysis.written
    for _, text in analysis.imports.mentioning(word) or ():
        yield text
