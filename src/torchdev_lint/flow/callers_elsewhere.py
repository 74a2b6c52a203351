"""Who calls a function, also in the other files of the project, and whether what they hand over is on the CPU.

What is on a device that is only assumed to be an accelerator is told, unless the callers show otherwise. They are looked at,
not executed: what an argument was made by, or brought to, last in the function that hands it over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Literal as Either

import libcst as cst

from torchdev_lint.flow.conditions import Key
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.host_functions import HOST_CLASS, HOST_FILE
from torchdev_lint.flow.operands import dotted
from torchdev_lint.flow.trees import all_parameters, remembered, walk
from torchdev_lint.flow.values import Function
from torchdev_lint.torch_api.devices import DEVICE_NAME
from torchdev_lint.torch_api.factories import FACTORIES

MAX_DEPTH = 3
"""Callers of callers."""

Place = Either["host", "elsewhere", "unknown"]

_LOADER = re.compile(r"(?i)(?:^|_)(?:data_?)?loader$|^(?:train|val|valid|test)_?(?:iter|dl)$")
"""Names of what gives batches, which are on the CPU until somebody moves them."""
_MAY_MOVE = re.compile(r"(?i)device|cuda|gpu|(?<!re)move|^prepare$|accelerat|prefetch|to_var|_to$")
"""Functions, by name, that may bring what they are given to an accelerator."""

_ARRAYS = ("np.", "numpy.", "cv2.", "torchvision.models.")
_MAKES = re.compile(r"(?:^|\.)(?:from_numpy|Tensor|FloatTensor|LongTensor|IntTensor)$")


def given_from_host(frame: Frame, key: Key) -> bool:
    """Whether the callers of a function give the parameter with this key tensors of the CPU, as far as that can be seen, and none others.

    Tests say nothing: they run on the CPU.
    """
    function = owner_of(frame, key)
    if function is None:
        return False
    return _goes_along(function.node, str(key[2])) or place_given(frame, key) == "host"


def place_given(frame: Frame, key: Key) -> Place:
    """Where what the callers give for the parameter with this key is, as far as that can be seen."""
    function = owner_of(frame, key)
    if function is None:
        return "unknown"
    owner = function.owner
    if owner is not None and (
        owner.is_module or owner.is_autograd_function or function.name.startswith("__")
    ):
        return "unknown"
    known: dict[Key, Place] = frame.analysis.notes.setdefault("given from host", {})
    if key not in known:
        known[key] = _given(frame, function.node, str(key[2]), owner.name if owner is not None else "", 0)
    return known[key]


def owner_of(frame: Frame, key: Key) -> Function | None:
    """The function of the checked file whose parameter has this key, on the way to here."""
    current: Frame | None = frame
    while current is not None and (current.function is None or id(current.function.node) != key[1]):
        current = current.caller
    function = None if current is None else current.function
    if function is None or not isinstance(function.node, cst.FunctionDef) or frame.source.foreign:
        return None
    return function


def _given(frame: Frame, node: cst.FunctionDef, parameter: str, owner: str, depth: int) -> Place:
    position = _position(node, parameter)
    if position is None or depth >= MAX_DEPTH:
        return "unknown"
    if _goes_along(node, parameter):
        return "host"
    places: set[Place] = set()
    for call, function, on_host in _calls(frame, node.name.value, owner):
        argument = None if function is node else _argument(call, position, parameter)
        if argument is not None:
            place = _place(frame, argument, _assigned(function, call), function, depth)
            if place == "unknown" and (
                on_host or (function is not None and _prepares(frame, function, depth))
            ):
                place = "host"
            places.add(place)
    return _of(places)


_PICTURE = re.compile(r"(?:image|img|picture|pic|sample)s?$")


def _prepares(frame: Frame, function: cst.FunctionDef, depth: int) -> bool:
    """Whether a function gives out the items of a data set, or is only called by one that does, as far as any calls it."""
    names = [one.name.value for one in function.params.params[:2]]
    if function.name.value == "__getitem__" or (
        function.name.value == "__call__" and len(names) == 2 and _PICTURE.match(names[1])
    ):
        return True  # of a data set, or of a transform of its items
    if depth >= MAX_DEPTH or function.name.value.startswith("__"):
        return False
    callers = [caller for _, caller in calls_of(frame, function.name.value, "") if caller is not function]
    return bool(callers) and all(
        caller is not None and _prepares(frame, caller, depth + 1) for caller in callers
    )


def _goes_along(node: cst.FunctionDef, parameter: str) -> bool:
    """Whether the function brings a copy of the parameter to another thing's device, for one use: `mask(lengths.to(x.device))`.

    Who writes that knows that it is not there by itself.
    """
    return any(
        isinstance(part, cst.Call)
        and any(_is_brought_along(argument.value, parameter) for argument in part.args)
        for part in walk(node.body)
    )


def _is_brought_along(node: cst.BaseExpression, parameter: str) -> bool:
    match node:
        case cst.Call(
            func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="to")),
            args=[cst.Arg(value=cst.Attribute(attr=cst.Name(value="device")))],
        ):
            return name == parameter
        case _:
            return False


def _of(places: set[Place]) -> Place:
    return "elsewhere" if "elsewhere" in places else "host" if "host" in places else "unknown"


_Made = tuple[cst.Call, "cst.FunctionDef | None", bool]
"""A call, the outermost function that it stands in, and whether that is a method of what works on the host, as data sets do."""


def _all_calls(module: cst.Module) -> dict[str, list[_Made]]:
    """The calls of a file by the last name of what is called."""
    found: dict[str, list[_Made]] = {}

    def collect(root: cst.CSTNode, function: cst.FunctionDef | None, on_host: bool) -> None:
        below = () if function is not None else (cst.FunctionDef, cst.ClassDef)
        for node in walk(root, below=below):
            if isinstance(node, cst.ClassDef) and function is None:
                names = (node.name.value, *(dotted(base.value) or "" for base in node.bases))
                collect(node.body, None, any(map(HOST_CLASS.search, names)))
            elif isinstance(node, cst.FunctionDef) and function is None:
                collect(node.body, node, on_host)
            elif isinstance(node, cst.Call):
                called = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
                name = called.value if isinstance(called, cst.Name) else ""
                found.setdefault(name, []).append((node, function, on_host))

    collect(module, None, False)
    return found


_calls_of_another = remembered(cst.Module)(_all_calls)


def calls_of(
    frame: Frame, name: str, owner: str, *, elsewhere: bool = True
) -> Iterator[tuple[cst.Call, cst.FunctionDef | None]]:
    """The calls of what has this name, with the outermost functions they stand in: here, and in files that name where it comes from."""
    for call, function, _ in _calls(frame, name, owner, elsewhere=elsewhere):
        yield call, function


def calls_by_others(
    frame: Frame, node: cst.FunctionDef, owner: str, *, elsewhere: bool = True
) -> Iterator[tuple[cst.Call, cst.FunctionDef | None]]:
    """The calls of a function elsewhere than in itself; of one that Python calls none are looked for."""
    if frame.source.foreign or node.name.value.startswith("__"):
        return
    for call, scope in calls_of(frame, node.name.value, owner, elsewhere=elsewhere):
        if scope is not node:
            yield call, scope


def _calls(frame: Frame, name: str, owner: str, *, elsewhere: bool = True) -> Iterator[_Made]:
    yield from _all_calls(frame.analysis.module).get(name, ())
    if not elsewhere:
        return
    told = owner or os.path.splitext(os.path.basename(frame.analysis.source.path))[0]
    for path, module in frame.analysis.imports.callers(name, told):
        if not owner and _defines(frame.analysis.module, name) and _defines(module, name):
            continue
        prepares = HOST_FILE.search(path) is not None
        for call, function, on_host in _calls_of_another(module).get(name, ()):
            yield call, function, prepares or on_host


def _defines(module: cst.Module, name: str) -> bool:
    """Whether a file has a function of this name itself: it calls that one."""
    return any(isinstance(line, cst.FunctionDef) and line.name.value == name for line in module.body)


def _position(node: cst.FunctionDef, parameter: str) -> int | None:
    """Where a parameter stands among those that a call gives by position; -1 when it is only given by keyword."""
    names = [one.name.value for one in (*node.params.posonly_params, *node.params.params)]
    if parameter not in names:
        return -1 if any(one.name.value == parameter for one in all_parameters(node.params)) else None
    return names.index(parameter) - (names[0] in ("self", "cls"))


def argument_given(node: cst.FunctionDef, call: cst.Call, parameter: str) -> cst.BaseExpression | None:
    """What a call of a function gives for a parameter; None where it leaves it out, or hands over what it has in a list."""
    position = _position(node, parameter)
    return None if position is None else _argument(call, position, parameter)


def _argument(call: cst.Call, position: int, parameter: str) -> cst.BaseExpression | None:
    given = [one for one in call.args if one.keyword is None]
    if any(one.star for one in call.args):
        return None
    for one in call.args:
        if one.keyword is not None and one.keyword.value == parameter:
            return one.value
    return given[position].value if 0 <= position < len(given) else None


_Assigned = list[tuple[str, cst.BaseExpression]]


def _assigned(function: cst.FunctionDef | None, call: cst.Call) -> _Assigned:
    """What was assigned to names before a call, in the function that makes it, in order."""
    found: _Assigned = []
    if function is None:
        return found
    for node in walk(function.body):
        match node:
            case cst.Assign(targets=targets, value=value):
                for target in targets:
                    found += [(name, value) for name in _targets(target.target)]
                    if isinstance(target.target, cst.Subscript) and _is_moving(value):
                        found += [(name, value) for name in _targets(target.target.value)]
            case cst.For(target=target, iter=value):
                found += [(name, value) for name in _targets(target)]
            case cst.Expr(value=cst.Call(func=moving, args=given) as value) if _is_moving(value):
                receiver = moving.value if isinstance(moving, cst.Attribute) else moving
                for one in (receiver, *(argument.value for argument in given)):
                    found += [(name, value) for name in _targets(one)]
            case _ if node is call:
                # an assignment is met before what it assigns: it has not happened yet
                while found and any(part is call for part in walk(found[-1][1])):
                    found.pop()
                return found
            case _:
                pass
    return found


def _is_moving(node: cst.BaseExpression) -> bool:
    """Whether an expression is a call that may bring something to an accelerator."""
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="to" | "cuda" as method)), args=arguments):
            return moved_by(method, arguments) != "host"
        case cst.Call(func=function, args=arguments):
            return _may_move(dotted(function) or "", arguments)
        case _:
            return False


def _targets(target: cst.BaseExpression) -> Iterator[str]:
    match target:
        case cst.Name(value=name):
            yield name
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                yield from _targets(element.value)
        case _:
            pass


def _place(
    frame: Frame,
    expression: cst.BaseExpression,
    before: _Assigned,
    function: cst.FunctionDef | None,
    depth: int,
    steps: int = 12,
) -> Place:
    """Where what an expression gives is, by what makes or moves it."""
    if steps <= 0:
        return "unknown"
    match expression:
        case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=method)), args=arguments):
            if method in ("cpu", "numpy"):
                return "host"
            if method in ("cuda", "to") and (told := moved_by(method, arguments)) != "unknown":
                return told
            path = dotted(expression.func) or ""
            if path in FACTORIES or _MAKES.search(path) or path.startswith(_ARRAYS):
                return (
                    "elsewhere"
                    if any(a.keyword is not None and a.keyword.value == "device" for a in arguments)
                    else "host"
                )
            if method != "to" and _may_move(method, arguments):
                return "unknown"
            parts = [receiver, *(one.value for one in arguments if one.keyword is None)]
        case cst.Call(func=function_called, args=arguments):
            if _may_move(dotted(function_called) or "", arguments):
                return "unknown"
            parts = [one.value for one in arguments if one.keyword is None]
        case cst.Name(value=name):
            for index in range(len(before) - 1, -1, -1):
                if before[index][0] == name:
                    return _place(frame, before[index][1], before[:index], function, depth, steps - 1)
            if _LOADER.search(name):
                return "host"
            if function is not None and any(
                one.name.value == name for one in all_parameters(function.params)
            ):
                return _given(frame, function, name, "", depth + 1)
            return "unknown"
        case cst.Attribute(value=value) | cst.Subscript(value=value) | cst.UnaryOperation(expression=value):
            parts = [value]
        case cst.BinaryOperation(left=left, right=right):
            parts = [left, right]
        case cst.List(elements=elements) | cst.Tuple(elements=elements):
            parts = [element.value for element in elements]
        case cst.ListComp(elt=element):
            parts = [element]
        case _:
            return "unknown"
    return _of({_place(frame, part, before, function, depth, steps - 1) for part in parts})


def _may_move(called: str, arguments: Sequence[cst.Arg]) -> bool:
    """Whether a call may bring what it is given to an accelerator, by its name, or as it is told a device."""
    return _MAY_MOVE.search(called.rpartition(".")[2]) is not None or any(
        DEVICE_NAME.search((dotted(one.value) or "").rpartition(".")[2])
        or (one.keyword is not None and DEVICE_NAME.search(one.keyword.value))
        for one in arguments
    )


def moved_by(method: str, arguments: Sequence[cst.Arg]) -> Place:
    """Where a call of `to` or `cuda` takes what it is called on."""
    given = next(
        (one.value for one in arguments if one.keyword is None or one.keyword.value == "device"), None
    )
    if isinstance(given, cst.SimpleString):
        return "host" if given.raw_value == "cpu" else "elsewhere"
    if method == "cuda":
        return "elsewhere"
    name = "" if given is None else (dotted(given) or "").rpartition(".")[2]
    return "elsewhere" if isinstance(given, cst.Call) or DEVICE_NAME.search(name) else "unknown"
