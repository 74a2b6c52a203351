"""What a cell of a notebook loads that a cell before it has saved: the file of the same run, as in a script from top to bottom.

Whoever opens the notebook another day and runs it from the middle loads a file of another run; that a lesson is meant for that is in
nothing that it says. What is loaded under a condition that the saving does not share (`if os.path.exists(path)`) is not taken for
the same run's: so do programs go on with what an earlier run has left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import UNKNOWN, Literal, Value
from torchdev_lint.flow.nn_modules import loading_scopes
from torchdev_lint.flow.project.project_calls import argument_given, calls_of, position_of
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, standing_alone, walk
from torchdev_lint.torch_api.checkpoints import SAVES

_KEEPS = re.compile(r"(?i)early_?stop|check_?point|saver")
"""What is made to save the best of a training: `EarlyStopping(path="best.pt")`."""

_OWN = "a name of its own"

_Strings = Mapping[str, str]
"""The strings, quoted, that names stand for; an empty one: anything."""


def has_saved(frame: Frame, call: cst.BaseExpression, path: cst.BaseExpression, value: Value) -> bool:
    """Whether the file that a cell loads is saved by what stands before it in the notebook.

    Of what a function loads that is given the path, each call is asked, `net.load("best.pt")`; of one that no cell calls it holds.
    """
    if not frame.analysis.options.in_cells:
        return False
    if frame.function is None:
        return _is_saved_before(frame, call, path, value)
    node = frame.function.node
    if not isinstance(node, cst.FunctionDef) or not isinstance(path, cst.Name) or node.decorators:
        return False
    calls = _calls_of(frame, node)
    if calls is None or position_of(node, path.value) is None:
        return False
    return all(
        (given := argument_given(node, made, path.value)) is not None
        and _is_saved_before(frame, made, given, UNKNOWN)
        for made in calls
    )


def _calls_of(frame: Frame, node: cst.FunctionDef) -> list[cst.Call] | None:
    """The calls of a function, as cells make them; None where it is called by others, or handed to somebody."""
    name = node.name.value
    found: list[cst.Call] = []
    if any((dotted(one) or "").rpartition(".")[2] == name for one in standing_alone(frame.analysis.module)):
        return None
    imported = {
        alias.evaluated_alias or alias.evaluated_name
        for part in walk(frame.analysis.module)
        if isinstance(part, cst.Import)
        for alias in part.names
    }
    for made, scope in calls_of(frame, name, "", elsewhere=False):
        receiver = dotted(made.func.value) if isinstance(made.func, cst.Attribute) else None
        if receiver in imported or scope is node:
            continue  # `pickle.load`
        if scope is not None:
            return None
        found.append(made)
    return found


def _is_saved_before(frame: Frame, call: cst.BaseExpression, path: cst.BaseExpression, value: Value) -> bool:
    """Whether something that stands before a call, outside of functions, saves to the path that it is given."""
    module = frame.analysis.module
    around = loading_scopes.calls_around(frame, module, call)
    conditions = loading_scopes.conditions_of(frame, module, around)
    strings = _assigned(module)
    wanted = {_spelled(frame, path, strings, {})}
    if isinstance(value, Literal) and isinstance(value.value, str):
        wanted.add(_quoted(value.value))
    for statement in module.body:
        for made, local in _calls(statement, {}):
            if made is call:
                return False
            if (
                _saves(frame, made, path)
                or _saves_in_parts(made, value)
                or any(_spelled(frame, argument.value, strings, local) in wanted for argument in _given(made))
            ):
                there = loading_scopes.calls_around(frame, module, made)
                if conditions <= there:
                    return True
        if id(statement) in around:
            return False
    return False


def has_run_training(frame: Frame, call: cst.BaseExpression) -> bool:
    """Whether a cell before one that loads, outside of functions, runs a program that trains: what is loaded is what that has left.

    `get_ipython()` stands for `!python train.py` (source/magics.py).
    """
    if not frame.analysis.options.in_cells or frame.function is not None:
        return False
    for node in walk(frame.analysis.module, below=(cst.FunctionDef, cst.ClassDef)):
        match node:
            case cst.Expr(value=cst.Call(func=cst.Name(value="get_ipython"))):
                return True
            case _ if node is call:
                return False
            case _:
                pass
    return False


def _calls(node: cst.CSTNode, local: _Strings) -> Iterator[tuple[cst.Call, _Strings]]:
    """The calls in a statement, in the order of the text, with the names of the functions that they stand in."""
    body: cst.CSTNode = node
    if isinstance(node, cst.FunctionDef):
        local, body = {**local, **_parameters(node), **_assigned(node.body)}, node.body
    for part in walk(body, below=(cst.FunctionDef,)):
        if isinstance(part, cst.FunctionDef):
            yield from _calls(part, local)
        elif isinstance(part, cst.Call):
            yield part, local


def _parameters(function: cst.FunctionDef) -> _Strings:
    return {one.name.value: _string(one.default) for one in all_parameters(function.params)}


def _assigned(scope: cst.CSTNode) -> _Strings:
    """The names that are assigned to; with a string where it is the only one."""
    found: dict[str, str] = {}
    for node in walk(scope, below=(cst.FunctionDef, cst.ClassDef)):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                text = _string(value)
                found[name] = text if found.get(name, text) == text else ""
            case _:
                pass
    return found


def _string(node: cst.BaseExpression | None) -> str:
    return _quoted(str(node.raw_value)) if isinstance(node, cst.SimpleString) else ""


def _quoted(text: str) -> str:
    return f'"{text}"'


def _given(call: cst.Call) -> Iterator[cst.Arg]:
    """What a call that saves something, or trains, is given."""
    name = loading_scopes.name_of_call(call)
    made = (
        name if not name[:1].isupper() else dotted(call.func) or name
    )  # `checkpointers.Best(filepath="best.pt")`
    if SAVES.search(name) is not None or _KEEPS.search(made) is not None:
        yield from call.args


def _saves(frame: Frame, call: cst.Call, path: cst.BaseExpression) -> bool:
    """Whether a model is trained with a path that it keeps: `model.fit(data, ckpt_path="best")`, where `model.ckpt_path` is loaded."""
    return (
        isinstance(path, cst.Attribute)
        and isinstance(call.func, cst.Attribute)
        and dotted(call.func.value) == dotted(path.value)
        and any(one.keyword is not None and one.keyword.value == path.attr.value for one in _given(call))
    )


def _saves_in_parts(call: cst.Call, value: Value) -> bool:
    """Whether what saves is given the folder and the name of the file: `trainer.save(path="models/", filename="best.pt")`."""
    if not isinstance(value, Literal) or not isinstance(value.value, str):
        return False
    folder, _, name = value.value.rpartition("/")
    parts = {
        str(one.value.raw_value).rstrip("/")
        for one in _given(call)
        if isinstance(one.value, cst.SimpleString)
    }
    return bool(folder) and {folder.rstrip("/"), name} <= parts


def _spelled(frame: Frame, node: cst.BaseExpression, strings: _Strings, local: _Strings) -> str:
    """An expression for a file as it is compared; where it is made of a function's own names, nothing outside is equal to it."""
    match node:
        case cst.SimpleString():
            return _string(node)
        case cst.Name(value=name) if name not in local:
            return strings.get(name) or name
        case cst.Name(value=name):
            return local[name] or _OWN
        case _:
            holders = {
                id(inner)
                for part in walk(node)
                if isinstance(part, (cst.Attribute, cst.Subscript))
                for inner in ((part.value, part.attr) if isinstance(part, cst.Attribute) else (part.value,))
            }
            own = any(
                isinstance(part, cst.Name) and part.value in local and id(part) not in holders
                for part in walk(node)
            )
            return _OWN if own else "".join(frame.analysis.text(node).replace("'", '"').split())
