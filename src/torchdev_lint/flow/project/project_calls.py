"""The calls of a function in its own file and in the others of its project, what they give, and the function that a name stands for.

They are looked at, not executed. Tests do not count.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import Import
from torchdev_lint.flow.read_alone.host_functions import HOST_CLASS, HOST_FILE, collators
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, receiver_name, remembered, walk
from torchdev_lint.torch_api.tensor_surface import TENSOR_NAMES

Made = tuple[cst.Call, "cst.FunctionDef | None", bool, cst.Module]
"""A call, the outermost function that it stands in, whether that is a method of what works on the host, as data sets do, and the file."""


@remembered(cst.Module)
def _all_calls(module: cst.Module) -> dict[str, list[Made]]:
    """The calls of a file by the last name of what is called; `cls(...)` in a class is a call of that."""
    found: dict[str, list[Made]] = {}

    def collect(root: cst.CSTNode, function: cst.FunctionDef | None, on_host: bool, owner: str = "") -> None:
        below = () if function is not None else (cst.FunctionDef, cst.ClassDef)
        for node in walk(root, below=below):
            if isinstance(node, cst.ClassDef) and function is None:
                names = (node.name.value, *(dotted(base.value) or "" for base in node.bases))
                prepares = node.name.value in collators(module) or any(map(HOST_CLASS.search, names))
                collect(node.body, None, prepares, node.name.value)
            elif isinstance(node, cst.FunctionDef) and function is None:
                collect(node.body, node, on_host or node.name.value in collators(module), owner)
            elif isinstance(node, cst.Call):
                called = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
                name = called.value if isinstance(called, cst.Name) else ""
                if name == "cls" and owner:
                    name = owner
                found.setdefault(name, []).append((node, function, on_host, module))

    collect(module, None, False)
    return found


def calls_of(
    frame: Frame, name: str, owner: str, *, elsewhere: bool = True
) -> Iterator[tuple[cst.Call, cst.FunctionDef | None]]:
    """The calls of what has this name, with the outermost functions they stand in: here, and in files that name where it comes from."""
    for call, function, _, _ in made_calls(frame, name, owner, elsewhere=elsewhere):
        yield call, function


def calls_by_others(
    frame: Frame, node: cst.FunctionDef, owner: str, *, elsewhere: bool = True
) -> Iterator[tuple[cst.Call, cst.FunctionDef | None]]:
    """The calls of a function elsewhere than in itself; of one that Python calls none are looked for."""
    for call, scope, _, _ in made_by_others(frame, node, owner, elsewhere=elsewhere):
        yield call, scope


def made_by_others(
    frame: Frame, node: cst.FunctionDef, owner: str, *, elsewhere: bool = True
) -> Iterator[Made]:
    """As `calls_by_others`, with the file that each stands in."""
    if frame.source.foreign or node.name.value.startswith("__"):
        return
    yield from (
        made for made in made_calls(frame, node.name.value, owner, elsewhere=elsewhere) if made[1] is not node
    )


def made_calls(frame: Frame, name: str, owner: str, *, elsewhere: bool = True) -> Iterator[Made]:
    """As `calls_of`, and whether each stands in what works on the host, as data sets do."""
    yield from _all_calls(frame.analysis.module).get(name, ())
    if not elsewhere:
        return
    told = owner or module_name(frame.analysis)
    others = frame.analysis.imports.callers(name, told)
    if owner and not others and _is_named_here_only(frame, name):
        others = frame.analysis.imports.callers(name, name)
    by_word = "" if not owner or others else _word_for(owner)
    if by_word:
        others = frame.analysis.imports.callers(name, rf"{by_word}\.{name}")
    for path, module in others:
        if _has_its_own(frame, module, name, owner):
            continue
        prepares = HOST_FILE.search(path) is not None
        for call, function, on_host, _ in _all_calls(module).get(name, ()):
            if by_word and receiver_name(call) != by_word:
                continue
            yield call, function, prepares or on_host, module


_KIND = re.compile(r"(?:Meter|Metric|Evaluator|Trainer)$")


def _word_for(owner: str) -> str:
    """What instances of a class are called where nobody names it: `meter` for `PrecisionAtKMeter`, which a registry makes."""
    kind = _KIND.search(owner)
    return "" if kind is None else kind[0].lower()


def module_name(analysis: Analysis) -> str:
    """What other files import the checked one by: the name of its file."""
    return os.path.splitext(os.path.basename(analysis.source.path))[0]


def _is_named_here_only(frame: Frame, name: str) -> bool:
    """Whether a method has a name of its own in the project, so that who calls it is known without naming its class."""
    if "_" not in name.strip("_") or name in TENSOR_NAMES:
        return False
    return frame.analysis.imports.mentioning(f"def {name}(") == []


def _has_its_own(frame: Frame, module: cst.Module, name: str, owner: str) -> bool:
    """Whether a file has a function, or a class, of this name itself, as the checked one has: it calls that one."""
    if owner:
        return any(isinstance(line, cst.ClassDef) and line.name.value == owner for line in module.body)
    return bool(_functions(frame.analysis.module, name)) and bool(_functions(module, name))


def position_of(node: cst.FunctionDef, parameter: str) -> int | None:
    """Where a parameter stands among those that a call gives by position; -1 when it is only given by keyword."""
    names = [one.name.value for one in (*node.params.posonly_params, *node.params.params)]
    if parameter not in names:
        return -1 if any(one.name.value == parameter for one in all_parameters(node.params)) else None
    return names.index(parameter) - (names[0] in ("self", "cls"))


def argument_given(node: cst.FunctionDef, call: cst.Call, parameter: str) -> cst.BaseExpression | None:
    """What a call of a function gives for a parameter; None where it leaves it out, or hands over what it has in a list."""
    position = position_of(node, parameter)
    return None if position is None else argument_at(call, position, parameter)


def argument_at(call: cst.Call, position: int, parameter: str) -> cst.BaseExpression | None:
    for one in call.args:
        if one.keyword is not None and one.keyword.value == parameter:
            return one.value
    # what stands before a star is given as it stands
    given = list(itertools.takewhile(lambda one: one.keyword is None and not one.star, call.args))
    return given[position].value if 0 <= position < len(given) else None


def definition_of(frame: Frame, name: str, *, method: bool = False) -> cst.FunctionDef | None:
    """The one function of this name at the top of the checked file, or of another one of the project; or the one `method`."""
    known: dict[tuple[str, bool], cst.FunctionDef | None]
    known = frame.analysis.notes.setdefault("defined as", {})
    if (name, method) not in known:
        functions = methods_named if method else _functions
        own = functions(frame.analysis.module, name) or ([] if method else _imported(frame, name))
        others = [] if own else [module for _, module in frame.analysis.imports.callers(name, name)]
        found = own or [node for module in others for node in functions(module, name)]
        known[name, method] = found[0] if len(found) == 1 else None
    return known[name, method]


def _imported(frame: Frame, name: str) -> list[cst.FunctionDef]:
    """The function that a name stands for which the file imports, whatever it is called there."""
    value = frame.module_frame.env.names.get(name)
    module = frame.analysis.imports.tree(value) if isinstance(value, Import) else None
    return _functions(module, value.name) if isinstance(value, Import) and module is not None else []


def _functions(module: cst.Module, name: str) -> list[cst.FunctionDef]:
    return functions_named(module.body, name)


def functions_named(lines: Iterable[cst.CSTNode], name: str) -> list[cst.FunctionDef]:
    """The functions of this name among the lines of a file or of a class."""
    return [line for line in lines if isinstance(line, cst.FunctionDef) and line.name.value == name]


def methods_named(module: cst.Module, name: str) -> list[cst.FunctionDef]:
    """The functions of this name at the top of a file, and the methods of its classes."""
    return _all_methods(module).get(name, [])


@remembered(cst.Module)
def _all_methods(module: cst.Module) -> dict[str, list[cst.FunctionDef]]:
    """The methods of a file's classes by name; a function at the top counts, too, which a module's name stands before."""
    found: dict[str, list[cst.FunctionDef]] = {}
    for line in module.body:
        body = line.body.body if isinstance(line, cst.ClassDef) else [line]
        for node in body:
            if isinstance(node, cst.FunctionDef):
                found.setdefault(node.name.value, []).append(node)
    return found
