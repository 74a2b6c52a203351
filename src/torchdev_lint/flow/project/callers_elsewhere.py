"""Who calls a function, also in the other files of the project, and whether what they hand over is on the CPU.

What is on a device that is only assumed to be an accelerator is told, unless the callers show otherwise. They are looked at,
not executed: what an argument was made by, or brought to, last in the function that hands it over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal as Either

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.project.project_calls import (
    argument_at,
    argument_given,
    calls_of,
    definition_of,
    made_calls,
    position_of,
)
from torchdev_lint.flow.read_alone.host_functions import run_by_processes
from torchdev_lint.flow.syntax.naming import is_loader_name
from torchdev_lint.flow.syntax.trees import (
    SCOPES,
    all_parameters,
    dotted,
    names_bound,
    names_cpu,
    walk,
)
from torchdev_lint.torch_api.devices import DEVICE_NAME
from torchdev_lint.torch_api.distributions import MODULES as DISTRIBUTIONS
from torchdev_lint.torch_api.factories import FACTORIES
from torchdev_lint.torch_api.tensor_surface import TENSOR_NAMES

MAX_DEPTH = 3
"""Callers of callers."""

Place = Either["host", "elsewhere", "unknown"]

SAYS_HOST = re.compile(r"(?i)(?:^|_)(?:cpu|host)(?:_|$)")
"""Names that say where what they hold is: `scale_cpu`, `host`."""
_MAY_MOVE = re.compile(r"(?i)device|cuda|gpu|(?<!re)move|^prepare$|accelerat|prefetch|to_var|_to$")
"""Functions, by name, that may bring what they are given to an accelerator."""

_LIBRARIES = frozenset({"torch", "nn", "F", "np", "numpy"})
_ARRAYS = ("np.", "numpy.", "cv2.", "torchvision.models.")
_MAKES = re.compile(r"(?:^|\.)(?:from_numpy|Tensor|FloatTensor|LongTensor|IntTensor)$")


_MAKES_OF_PICTURE = re.compile(r"(?:^|\.)(?:ToTensor|PILToTensor|to_tensor|pil_to_tensor)$")
"""What makes a tensor of a picture or an array, on the CPU."""
_PICTURE_MODE = re.compile(r"^(?:1|A|L|P|LA|RGB|RGBA|RGBX|CMYK|YCbCr|LAB|HSV|I|F)$")
"""How pictures of PIL keep their colours (https://pillow.readthedocs.io/en/stable/handbook/concepts.html#concept-modes)."""


def _gives_picture(method: str, arguments: Sequence[cst.Arg]) -> bool:
    """Whether a method is that of a picture, and gives another one: `picture.convert("RGB")`, `picture.getchannel("A")`."""
    match arguments:
        case [cst.Arg(value=cst.SimpleString() as mode), *_]:
            return method in ("convert", "getchannel") and _PICTURE_MODE.match(mode.raw_value) is not None
        case _:
            return False


_TRANSFORM = re.compile(r"(?:^|\.)(?:Compose|ToTensor|PILToTensor)$")


def _is_transform(node: cst.BaseExpression) -> bool:
    """Whether something is a transform of pictures to tensors: `Compose([Resize(256), ToTensor()])`."""
    return (
        isinstance(node, cst.Call)
        and _TRANSFORM.search(dotted(node.func) or "") is not None
        and any(
            isinstance(part, cst.Call) and _MAKES_OF_PICTURE.search(dotted(part.func) or "")
            for part in walk(node)
        )
    )


def given_from_host(frame: Frame, key: Key) -> bool:
    """Whether the callers of a function give the parameter with this key tensors of the CPU, as far as that can be seen, and none others.

    Tests say nothing: they run on the CPU.
    """
    function = owner_of(frame, key)
    if function is None:
        return False
    return (
        _goes_along(function.node, str(key[2]))
        or _helps_to_build(frame, function, str(key[2]))
        or place_given(frame, key) == "host"
    )


def _helps_to_build(frame: Frame, function: Function, parameter: str) -> bool:
    """Whether constructors are all that gives a function this, and it is what they have built so far: that was not moved yet."""
    if function.name.startswith("__"):
        return False
    owner = "" if function.owner is None else function.owner.name
    given = [
        (argument_given(function.node, call, parameter), scope)
        for call, scope in calls_of(frame, function.name, owner)
        if scope is not function.node
    ]
    given = [(value, scope) for value, scope in given if value is not None]
    return bool(given) and all(
        scope is not None
        and scope.name.value == "__init__"
        and isinstance(value, cst.Attribute)
        and (dotted(value) or "").startswith("self.")
        for value, scope in given
    )


def is_only_for_building(frame: Frame) -> bool:
    """Whether constructors are all that calls a method of a module: `nn.Linear(self.body.feature_size(), 8)`. Somebody has to."""
    function = frame.function
    if (
        function is None
        or function.owner is None
        or function.name.startswith("__")
        or function.name == "forward"
    ):
        return False
    scopes = [
        scope
        for _, scope in calls_of(frame, function.name, function.owner.name)
        if scope is not function.node
    ]
    return bool(scopes) and all(scope is not None and scope.name.value == "__init__" for scope in scopes)


def place_given(frame: Frame, key: Key) -> Place:
    """Where what the callers give for the parameter with this key is, as far as that can be seen.

    A module's `forward` is called by the module's name; its other methods are called as any other's are (`Bins(5).fit(values)`).
    """
    function = owner_of(frame, key)
    if function is None:
        return "unknown"
    owner = function.owner
    if owner is not None and (
        (owner.is_module and function.name == "forward")
        or owner.is_autograd_function
        or (function.name.startswith("__") and (function.name != "__init__" or owner.is_module))
    ):
        return "unknown"
    known: dict[Key, Place] = frame.analysis.notes.setdefault("given from host", {})
    if key not in known:
        # what is found on the way is kept for this question alone: another may come when the callers have been edited
        frame.analysis.notes[_ON_THE_WAY] = {}, {}
        known[key] = _given(frame, function.node, str(key[2]), owner.name if owner is not None else "", 0)
    return known[key]


_ON_THE_WAY = "asked of callers"


def owner_of(frame: Frame, key: Key) -> Function | None:
    """The function of the checked file whose parameter has this key, on the way to here; or what made the instance that keeps it."""
    current = frame.taking(key)
    function = _initializer_of(frame, key) if current is None else current.function
    if function is None or not isinstance(function.node, cst.FunctionDef) or frame.source.foreign:
        return None
    return function


def _initializer_of(frame: Frame, key: Key) -> Function | None:
    outermost = frame.outermost()
    owner = None if outermost is None else outermost.owner
    node = None if owner is None or owner.is_module else owner.find("__init__")
    if owner is None or node is None or id(node) != key[1]:
        return None
    return owner.function(node, "__init__", None)


def _given(frame: Frame, node: cst.FunctionDef, parameter: str, owner: str, depth: int) -> Place:
    """Where what the callers give for a parameter is; asked once, as many ways through `forward` and `step` lead to the same callers."""
    known: dict[tuple[int, str, str, int], tuple[cst.CSTNode, Place]] = frame.analysis.notes[_ON_THE_WAY][0]
    key = id(node), parameter, owner, depth
    if key not in known:
        known[key] = node, "unknown"  # for those that lead back here
        known[key] = node, _given_by_callers(frame, node, parameter, owner, depth)
    return known[key][1]


def _given_by_callers(frame: Frame, node: cst.FunctionDef, parameter: str, owner: str, depth: int) -> Place:
    position = position_of(node, parameter)
    if position is None or depth >= MAX_DEPTH or (depth and _has_every_class(node.name.value)):
        return "unknown"
    if _goes_along(node, parameter) or node.name.value in run_by_processes(frame.analysis.module):
        return "host"
    places: set[Place] = set()
    # whoever makes an instance gives `__init__` what it is given
    name = owner if node.name.value == "__init__" else node.name.value
    for call, function, on_host, file in made_calls(frame, name, owner):
        if function is node:
            continue
        before = _assigned_in_program(frame, call, file) if function is None else _assigned(function, call)
        scope = _Scope(function, before, depth)
        argument = argument_at(call, position, parameter) or _held_for(call, parameter, scope.before)
        if argument is not None:
            place = _place(frame, argument, scope)
            if place == "unknown" and (
                on_host or (function is not None and _prepares(frame, function, depth))
            ):
                place = "host"
            places.add(place)
    return _of(places)


def is_moved_by_callers(frame: Frame, key: Key) -> bool:
    """Whether a caller hands over for the parameter with this key what it has just brought to an accelerator: a tensor, then.

    `labels = labels.to(device)` has to be the last that is done with the name before the call; and no caller may be one of the host.
    """
    function = owner_of(frame, key)
    if function is None or function.name.startswith("__"):
        return False
    node, parameter = function.node, str(key[2])
    position = position_of(node, parameter) if isinstance(node, cst.FunctionDef) else None
    if position is None or not isinstance(node, cst.FunctionDef):
        return False
    owner = "" if function.owner is None else function.owner.name
    moved = False
    for call, caller, on_host, file in made_calls(frame, function.name, owner):
        argument = argument_at(call, position, parameter)
        given = None if argument is None else dotted(argument)
        before = _assigned_in_program(frame, call, file) if caller is None else _assigned(caller, call)
        made = next((value for name, value in reversed(before) if name == given), None)
        match made:
            case cst.Call(
                func=cst.Attribute(attr=cst.Name(value="to" | "cuda" as method)), args=arguments
            ) if not on_host and caller is not node and moved_by(method, arguments) == "elsewhere":
                moved = True
            case _:
                return False
    return moved


def _held_for(call: cst.Call, parameter: str, before: _Assigned) -> cst.BaseExpression | None:
    """What a dict holds for a parameter that a call is given with `**`: `options = {"table": table}`, and then `f(**options)`."""
    given = [one.value for one in call.args if one.star == "**"]
    if len(given) != 1:
        return None
    held = given[0]
    if isinstance(held, cst.Name):
        name = held.value
        held = next((value for target, value in reversed(before) if target == name), held)
    if not isinstance(held, cst.Dict):
        return None
    for entry in held.elements:
        match entry:
            case cst.DictElement(key=cst.SimpleString() as key, value=value) if key.raw_value == parameter:
                return value
            case _:
                pass
    return None


_PICTURE = re.compile(r"(?:image|img|picture|pic|sample)s?$")


def _prepares(frame: Frame, function: cst.FunctionDef, depth: int) -> bool:
    """Whether a function gives out the items of a data set, or is only called by one that does, as far as any calls it."""
    known: dict[tuple[int, int], tuple[cst.CSTNode, bool]] = frame.analysis.notes[_ON_THE_WAY][1]
    key = id(function), depth
    if key not in known:
        known[key] = function, _is_of_items(frame, function, depth)
    return known[key][1]


def _is_of_items(frame: Frame, function: cst.FunctionDef, depth: int) -> bool:
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


_Assigned = list[tuple[str, cst.BaseExpression]]


def _assigned_in_program(frame: Frame, call: cst.Call, file: cst.Module) -> _Assigned:
    """What the program itself assigns before a call that stands in no function.

    What the checked file does when it is run alone tries it out; another one is the script then, `if __name__ == "__main__":` or not.
    """
    if file is not frame.analysis.module:
        return _assigned_in(file, call)
    for statement in file.body:
        if isinstance(statement, cst.If) and "__name__" in {
            part.value for part in walk(statement.test) if isinstance(part, cst.Name)
        }:
            continue
        if any(node is call for node in walk(statement, below=_DEFINITIONS)):
            return _assigned_in(file, call)
    return []


_DEFINITIONS = (cst.ClassDef, cst.FunctionDef, cst.Lambda)


def _assigned(function: cst.FunctionDef | None, call: cst.CSTNode) -> _Assigned:
    """What was assigned to names before a call, or a return, in the function that it stands in, in order."""
    return [] if function is None else _assigned_in(function.body, call)


def _assigned_in(whole: cst.Module | cst.BaseSuite, call: cst.CSTNode) -> _Assigned:
    found: _Assigned = []
    for node in walk(whole, below=_DEFINITIONS if isinstance(whole, cst.Module) else ()):
        match node:
            case cst.Assign(targets=targets, value=value):
                for target in targets:
                    found += [(name, value) for name in names_bound(target.target)]
                    if isinstance(target.target, cst.Subscript) and _is_moving(value):
                        found += [(name, value) for name in names_bound(target.target.value)]
            case cst.For(target=target, iter=value):
                found += [(name, value) for name in names_bound(target)]
            case cst.Expr(value=cst.Call(func=moving, args=given) as value) if _is_moving(value):
                receiver = moving.value if isinstance(moving, cst.Attribute) else moving
                for one in (receiver, *(argument.value for argument in given)):
                    found += [(name, value) for name in names_bound(one)]
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


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where an expression stands: in which function, after which assignments, and in which call of it, if that is known."""

    function: cst.FunctionDef | None
    before: _Assigned
    depth: int
    call: cst.Call | None = None
    outer: _Scope | None = None

    def has_parameter(self, name: str) -> bool:
        return self.function is not None and any(
            one.name.value == name for one in all_parameters(self.function.params)
        )

    def is_within(self, function: cst.FunctionDef) -> bool:
        return self.function is function or (self.outer is not None and self.outer.is_within(function))


def _place(frame: Frame, expression: cst.BaseExpression, scope: _Scope, steps: int = 12) -> Place:
    """Where what an expression gives is, by what makes or moves it."""
    if steps <= 0:
        return "unknown"
    match expression:
        case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=method)), args=arguments):
            if (
                method in ("cpu", "numpy")
                or _MAKES_OF_PICTURE.search(method)
                or _gives_picture(method, arguments)
            ):
                return "host"
            settled = _settled(arguments[0].value, scope) if method == "to" and arguments else None
            if settled is not None and _is_none(settled):
                return _place(frame, receiver, scope, steps - 1)  # `.to(None)` moves nothing
            if settled is not None and names_cpu(settled):
                return "host"
            if method == "to" and scope.call is not None and (beside := _beside(arguments)) is not None:
                return _place(frame, beside, scope, steps - 1)
            if method in ("cuda", "to") and (told := moved_by(method, arguments)) != "unknown":
                return told
            path = dotted(expression.func) or ""
            if path in FACTORIES or _MAKES.search(path) or path.startswith(_ARRAYS):
                return _made_by(arguments, scope)
            if path.startswith(DISTRIBUTIONS) and all(_is_number(one.value) for one in arguments):
                return "host"
            if method not in TENSOR_NAMES and path.partition(".")[0] not in _LIBRARIES:
                returned = _returned(frame, method, expression, scope, steps)
                if returned != "unknown":
                    return returned
            if method != "to" and _may_move(method, arguments):
                return "unknown"
            parts = [receiver, *(one.value for one in arguments if one.keyword is None)]
        case cst.Call(func=cst.Call(func=transform)) if _MAKES_OF_PICTURE.search(dotted(transform) or ""):
            return "host"
        case cst.Call(func=cst.Name(value=called), args=arguments):
            if _MAKES_OF_PICTURE.search(called) or any(
                name == called and _is_transform(value) for name, value in scope.before
            ):
                return "host"
            returned = _returned(frame, called, expression, scope, steps)
            if returned != "unknown":
                return returned
            if _may_move(called, arguments):
                return "unknown"
            parts = [one.value for one in arguments if one.keyword is None]
        case cst.Name(value=name):
            if SAYS_HOST.search(name):
                return "host"
            for index in range(len(scope.before) - 1, -1, -1):
                if scope.before[index][0] == name:
                    earlier = replace(scope, before=scope.before[:index])
                    return _place(frame, scope.before[index][1], earlier, steps - 1)
            if is_loader_name(name):  # batches are on the CPU until somebody moves them
                return "host"
            if scope.function is None or not scope.has_parameter(name):
                return "unknown"
            if scope.call is None or scope.outer is None:
                return _given(frame, scope.function, name, "", scope.depth + 1)
            given = argument_given(scope.function, scope.call, name)
            return "unknown" if given is None else _place(frame, given, scope.outer, steps - 1)
        case cst.Attribute(value=value) | cst.Subscript(value=value) | cst.UnaryOperation(expression=value):
            parts = [value]
        case cst.BinaryOperation(left=left, right=right):
            parts = [left, right]
        case cst.List(elements=elements) | cst.Tuple(elements=elements):
            parts = [element.value for element in elements]
        case cst.Dict(elements=entries):
            parts = [entry.value for entry in entries]
        case cst.ListComp(elt=element):
            parts = [element]
        case _:
            return "unknown"
    return _of({_place(frame, part, scope, steps - 1) for part in parts})


def _is_number(node: cst.BaseExpression) -> bool:
    while isinstance(node, cst.UnaryOperation):
        node = node.expression
    return isinstance(node, cst.BaseNumber)


def _beside(arguments: Sequence[cst.Arg]) -> cst.BaseExpression | None:
    """The tensor to whose device something is brought."""
    match arguments:
        case [cst.Arg(value=cst.Attribute(value=other, attr=cst.Name(value="device")))]:
            return other
        case _:
            return None


def _made_by(arguments: Sequence[cst.Arg], scope: _Scope) -> Place:
    """Where a factory makes a tensor: `device=device` is the CPU, too, where that is a default which the call leaves as it is."""
    told = next((a.value for a in arguments if a.keyword is not None and a.keyword.value == "device"), None)
    told = None if told is None else _settled(told, scope) or told
    return "host" if told is None or names_cpu(told) or _is_none(told) else "elsewhere"


def _settled(device: cst.BaseExpression, scope: _Scope) -> cst.BaseExpression | None:
    """What a parameter is in the call that is looked at, where it gives a device's name for it, or leaves it at its default."""
    match device:
        case cst.Name(value=name) if scope.function is not None and scope.call is not None:
            if any(one == name for one, _ in scope.before) or any(one.star for one in scope.call.args):
                return None
            given = argument_given(scope.function, scope.call, name)
            if given is not None:
                return given if isinstance(given, cst.SimpleString) else None
            parameters = all_parameters(scope.function.params)
            return next((one.default for one in parameters if one.name.value == name), None)
        case _:
            return None


def _is_none(node: cst.BaseExpression | None) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def _has_every_class(method: str) -> bool:
    """Whether a method is called alike in all classes, so that its name does not say whose it is."""
    return method == "forward" or method.startswith("__")


def _returned(frame: Frame, name: str, call: cst.Call, scope: _Scope, steps: int) -> Place:
    """Where what a function of the project returns for this call is; a place that is not known of any of its ways is not known."""
    if _has_every_class(name):
        return "unknown"
    node = definition_of(frame, name, method=isinstance(call.func, cst.Attribute))
    if node is None or scope.depth >= MAX_DEPTH or scope.is_within(node):
        return "unknown"
    ways = [
        (way, way.value)
        for way in walk(node.body, below=SCOPES)
        if isinstance(way, cst.Return) and way.value is not None
    ]
    places: set[Place] = set()
    for way, value in ways:
        inside = _Scope(node, _assigned(node, way), scope.depth + 1, call, scope)
        places.add(_place(frame, value, inside, steps - 1))
    return places.pop() if len(places) == 1 else "elsewhere" if "elsewhere" in places else "unknown"


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
        return "host" if names_cpu(given) else "elsewhere"
    if method == "cuda":
        return "elsewhere"
    name = "" if given is None else (dotted(given) or "").rpartition(".")[2]
    return "elsewhere" if isinstance(given, cst.Call) or DEVICE_NAME.search(name) else "unknown"
