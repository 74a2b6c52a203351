"""Ways through a function that no caller takes: `if mode == "conv":` where everybody says "avg".

What stands on such a way fails for nobody, as long as all callers are in sight. They are looked at, not executed; only
what they write out as a constant is known, and that something is not None.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Atom, Formula, Key, atoms, truth
from torchdev_lint.flow.domain.lattice import Conflict, Cpu
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.project.project_calls import argument_given, calls_of, module_name
from torchdev_lint.flow.project.reach import may_import, without_imports
from torchdev_lint.flow.read_alone.evidence import tested_for_none
from torchdev_lint.flow.syntax.trees import all_parameters, walk

_UNKNOWN = object()
_GIVEN = object()
"""Something that is not None."""


def is_untaken(frame: Frame, found: Conflict) -> bool:
    """Whether a condition on the way here holds for no call of the function that is read, or for no instance of its class that is made.

    So does what stands in for a parameter that everybody gives.
    """
    outermost = frame
    while outermost.caller is not None:
        outermost = outermost.caller
    function = outermost.function
    if function is None or frame.source.foreign:
        return False
    standing_in = (
        fact
        for leaf in (found.left, found.right)
        if isinstance(leaf, Cpu) and leaf.origin is not None
        for fact in _absences(function.node, leaf.origin.root().node)
    )
    return any(_fails(frame, function, fact) for fact in (*frame.env.path, *standing_in))


def nobody_gets_to(frame: Frame, path: tuple[Formula, ...]) -> bool:
    """Whether a condition on one of the ways to the end of the function that is read holds for none of its calls."""
    function = frame.function
    return (
        function is not None
        and frame.caller is None
        and not frame.source.foreign
        and any(_fails(frame, function, fact) for fact in path)
    )


def stands_on_untaken_way(function: Function, place: cst.CSTNode) -> bool:
    """Whether a place in a function is under a flag, `if early_stopping:`, that every call leaves, or gives, as false."""
    node = function.node
    if not isinstance(node, cst.FunctionDef):
        return False
    given = {one.name.value for one in all_parameters(node.params)}
    for line in walk(node.body):
        if (
            not isinstance(line, cst.If)
            or not isinstance(line.test, cst.Name)
            or line.test.value not in given
        ):
            continue
        if any(part is place for part in walk(line.body)):
            values = _values(function.frame, function, node, line.test.value)
            if values and all(
                value is not _UNKNOWN and value is not _GIVEN and not value for value in values
            ):
                return True
    return False


def _absences(function: cst.FunctionDef | cst.Lambda, made: object) -> Iterator[Atom]:
    """That a parameter is None, or true, for each that is asked for around the place where something is made."""
    if isinstance(function, cst.Lambda):
        return
    given = {one.name.value for one in all_parameters(function.params)}
    for node in walk(function.body):
        if isinstance(node, cst.If):
            names = tested_for_none(node.test)
            flag = node.test.value if isinstance(node.test, cst.Name) else ""
            if (names or flag in given) and any(part is made for part in walk(node.body)):
                yield from (Atom("absent", ("parameter", id(function), name)) for name in names)
                if flag in given:
                    yield Atom("opaque", ("truth", ("parameter", id(function), flag)))


def _fails(frame: Frame, function: Function, fact: Formula) -> bool:
    parameters = {_parameter(atom) for atom in atoms(fact)}
    if len(parameters) != 1 or None in parameters:
        return False
    key = parameters.pop()
    assert key is not None
    node = _function_with(function, key)
    if node is None:
        return False
    values = _values(frame, function, node, str(key[2]))
    return bool(values) and all(
        truth(fact, {atom: told for atom in atoms(fact) if (told := _told(atom, value)) is not None}) is False
        for value in values
    )


def _parameter(atom: Atom) -> Key | None:
    """The parameter that a condition is about."""
    key = atom.key
    if atom.kind == "opaque" and key[0] in ("equal", "truth", "none") and isinstance(key[1], tuple):
        key = key[1]
    return key if key[:1] == ("parameter",) and len(key) == 3 else None


def _told(atom: Atom, value: Any) -> bool | None:
    """Whether a condition holds for what a caller gives; None when that is not known."""
    if value is _UNKNOWN:
        return None
    if atom.kind == "absent" or atom.key[0] == "none":
        return value is None
    if value is _GIVEN:
        return None
    return repr(value) == atom.key[2] if atom.key[0] == "equal" else bool(value)


def _function_with(function: Function, key: Key) -> cst.FunctionDef | None:
    """The function that is read, or the `__init__` of its class, if the parameter is one of its."""
    made = None if function.owner is None else function.owner.find("__init__")
    for node in (function.node, made):
        if node is not None and id(node) == key[1]:
            return node if isinstance(node, cst.FunctionDef) else None
    return None


def _values(frame: Frame, function: Function, node: cst.FunctionDef, parameter: str) -> list[Any]:
    """What the callers give for a parameter; empty where not all of them are in sight."""
    owner = "" if function.owner is None else function.owner.name
    name = owner if node.name.value == "__init__" else node.name.value
    if not name or name.startswith("__") or name == "forward":
        return []
    key = ("only called", name)
    known: bool | None = frame.analysis.notes.get(key)
    if known is None:
        known = frame.analysis.notes[key] = is_only_called(frame.analysis, name)
    return list(_given(frame, name, owner, node, parameter)) if known else []


def _given(frame: Frame, name: str, owner: str, node: cst.FunctionDef, parameter: str) -> Iterator[Any]:
    """What each call gives; nothing is known of a parameter that those who use a library may leave out."""
    default = next(one.default for one in all_parameters(node.params) if one.name.value == parameter)
    if default is not None and not frame.analysis.imports.in_program():
        return
    for call, scope in calls_of(frame, name, owner):
        if scope is node:
            continue
        given = argument_given(node, call, parameter)
        if any(one.star for one in call.args):
            yield _UNKNOWN
        else:
            yield _constant(default if given is None else given)


def _constant(node: cst.BaseExpression | None) -> Any:
    match node:
        case cst.SimpleString():
            return node.evaluated_value
        case cst.Integer() | cst.Float():
            return node.evaluated_value
        case cst.Name(value="None" | "True" | "False" as name):
            return {"None": None, "True": True, "False": False}[name]
        case cst.BinaryOperation() | cst.List() | cst.Tuple() | cst.Dict() | cst.Comparison() | cst.Lambda():
            return _GIVEN
        case _:
            return _UNKNOWN


_STRINGS = re.compile(r"(?s)\"\"\".*?\"\"\"|'''.*?'''|#[^\n]*|__all__\s*=\s*[\[(][^\])]*[\])]")


_WORDS = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")


def is_only_called(analysis: Analysis, name: str, *, spelt: bool = True, plain: bool = False) -> bool:
    """Whether nothing in the project does anything with a name but to define, import, annotate with it and call it.

    `spelt`: strings count as well, and so does what is asked of a class. `plain`: it is a function at the top of the file, which
    attributes of other things than that file have nothing to do with (`args.train` beside `def train`).
    """
    # nobody imports from a notebook
    others = [] if analysis.options.in_cells else analysis.imports.mentioning(name)
    cells = [] if analysis.options.in_cells else analysis.imports.notebooks(name)
    if others is None or cells is None:
        return False
    others = [(file, text) for file, text in others if may_import(text, file, analysis.source.path)]
    asked = "" if spelt else r"|\s*\.\w+\("
    start = rf"(?:(?<![.\w])|(?<=\b{re.escape(module_name(analysis))}\.))" if plain else r"\b"
    word = re.compile(
        rf"{start}{re.escape(name)}\b(?!\s*\(|\s*=(?!=){asked})|\bclass\s+\w+\([^)]*\b{re.escape(name)}\b"
    )
    own = (
        rf"\b(?:class|def)\s+{re.escape(name)}\b|super\(\s*{re.escape(name)}\b|"
        rf"->\s*{re.escape(name)}\b|\b(?!lambda\b|else\b)[a-z_]\w*\s*:\s*{re.escape(name)}(?=\s*[,)=|\n])|isinstance\([^()]*\)"
    )
    texts = (
        _STRINGS.sub("", without_imports(text))
        for text in (analysis.written, *(text for _, text in (*others, *cells)))
    )
    return not any(word.search(re.sub(own, "", text if spelt else _WORDS.sub("", text))) for text in texts)
