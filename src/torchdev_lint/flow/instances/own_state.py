"""Which attributes of `self` still hold, when a method runs, what `__init__` left in them.

What other methods set or move is not known as a rule: nobody says when they run. Three idioms are understood. `__init__` may leave it to
a setter (`self.reset()`), which makes the same whenever it runs. And a recurrent module carries its state on from call to call
(`self.mem = self.mem * beta + x`): its first call meets what `__init__` made. So does that of the one method by which an agent does
(`action, self.mem = self.model(seen, self.mem)`). Both are believed of tensors that were made on the CPU
without a word about a device, as nothing else would show where they are. And what methods only write into stays where it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

import libcst as cst

from torchdev_lint.flow.domain.lattice import Cpu
from torchdev_lint.flow.domain.values import NONE, Either, Object, Tensor, Value
from torchdev_lint.flow.syntax.trees import dotted, remembered, walk
from torchdev_lint.torch_api.callables import CONTAINER_CHANGES
from torchdev_lint.torch_api.modules import IN_PLACE_MOVES

if TYPE_CHECKING:
    from torchdev_lint.flow.instances.classes import ClassModel

RUNS_FIRST = frozenset({"forward", "__call__"})
"""Methods that a module's first call runs."""


def unstable(
    model: ClassModel,
    initializer: cst.FunctionDef | None,
    held: Mapping[str, Value],
    arrays: Collection[str] = (),
) -> set[str]:
    """Names of attributes of `self` that methods other than `__init__` assign or move in place; `arrays` are NumPy's."""
    writers = _writers(model, initializer)
    setters = {} if initializer is None else _setters(model, initializer)
    return (
        _set_by_any_name(model, initializer, held)
        | _handed_to_base(model, initializer, held)
        | {
            name
            for name, methods in writers.items()
            if not (made_on_host(held.get(name)) and all(id(method) in setters for method in methods))
            and not _stays_parameter(held.get(name), name, methods)
            and not (
                initializer is not None
                and _holds_instances(initializer, name)
                and all(_asks_items_only(one, name) for one in methods)
            )
            and not (
                (_is_tensor(held.get(name)) or name in arrays)
                and all(_changes_in_place(one, name) for one in methods)
            )
        }
    )


def _holds_instances(initializer: cst.FunctionDef, name: str) -> bool:
    """Whether an attribute is a dict or list of instances, as it is written: `self.metrics = {"train": Accuracy(), "test": Accuracy()}`."""
    for _, value in _values_set(initializer, name):
        match value:
            case cst.Dict(elements=elements) | cst.List(elements=elements) if elements:
                made = [element.value for element in elements]
            case _:
                return False
        if not all(isinstance(one, cst.Call) and _CLASS.search(dotted(one.func) or "") for one in made):
            return False
    return True


_CLASS = re.compile(r"(?:^|\.)(?!(?:Counter|OrderedDict|ChainMap)$)[A-Z]\w*$")
"""A class, by name, that is no container of Python's."""


def _asks_items_only(method: cst.FunctionDef, name: str) -> bool:
    """Whether all that a method does to such a container is to call methods of what it holds: `self.metrics["train"].update(x, y)`."""
    for node in walk(method.body, below=(cst.ClassDef,)):
        match node:
            case cst.Call(func=cst.Attribute(value=cst.Subscript(), attr=cst.Name(value="update" | "clear"))):
                pass
            case cst.Call() if name in _called_writes(node):
                return False
            case (
                cst.AssignTarget()
                | cst.AnnAssign()
                | cst.AugAssign()
                | cst.For()
                | cst.NamedExpr()
                | cst.Del()
            ):
                if name in _targets(node.target):
                    return False
            case _:
                pass
    return True


def is_only_asked(
    model: ClassModel, initializer: cst.FunctionDef | None, name: str, held: ClassModel
) -> bool:
    """Whether an attribute that is `unstable` holds one and the same instance: what is called there is a method of its class.

    `self.memory.update(i, error)` would change a dict, and is whatever `class Memory` says.
    """
    return all(_only_asks(method, name, held) for method in _writers(model, initializer).get(name, ()))


def _only_asks(method: cst.FunctionDef, name: str, held: ClassModel) -> bool:
    for node in walk(method.body, below=(cst.ClassDef,)):
        if type(node) is cst.Call:
            if name in _called_writes(node) and not (
                isinstance(node.func, cst.Attribute)
                and dotted(node.func.value) == f"self.{name}"
                and held.find(node.func.attr.value) is not None
            ):
                return False
        elif type(node) in _WITH_TARGET and name in _targets(node.target):  # type: ignore[attr-defined]
            return False
    return True


def _is_tensor(value: Value | None) -> bool:
    """Whether it is a tensor, or None on one way."""
    match value:
        case Either(_, then, otherwise):
            ways = (then, otherwise)
            return any(map(_is_tensor, ways)) and all(way == NONE or _is_tensor(way) for way in ways)
        case _:
            return isinstance(value, Tensor)


def _handed_to_base(
    model: ClassModel, initializer: cst.FunctionDef | None, held: Mapping[str, Value]
) -> set[str]:
    """What the `__init__` of a base keeps of what it is handed: whoever made that may move it as well."""
    return {
        name
        for method in _methods(model)
        if method is not initializer and method.name.value == "__init__"
        for name in attributes_written(method)
        if isinstance(value := held.get(name), Object) and value.key[:1] == ("parameter",)
    }


def _set_by_any_name(
    model: ClassModel, initializer: cst.FunctionDef | None, held: Mapping[str, Value]
) -> set[str]:
    """The tensors among the attributes, where a method moves what it finds: `setattr(self, name, value.to(device))`."""
    others = (method for method in _methods(model) if method is not initializer)
    if not any(_sets_any_name(method) for method in others):
        return set()
    return {name for name, value in held.items() if isinstance(value, Tensor)}


@remembered(cst.FunctionDef)
def _sets_any_name(method: cst.FunctionDef) -> bool:
    """Whether a method sets attributes of `self` whose names it computes, to something that it moves."""
    for node in walk(method.body):
        match node:
            case cst.Call(
                func=cst.Name(value="setattr"),
                args=[cst.Arg(value=cst.Name(value="self")), cst.Arg(value=name), cst.Arg(value=value)],
            ) if not isinstance(name, cst.SimpleString):
                given = value
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Subscript(value=cst.Attribute() | cst.Call() as held))],
                value=value,
            ) if _is_own_dict(held):
                given = value
            case _:
                continue
        if any(isinstance(part, cst.Attribute) and part.attr.value in _MOVES for part in walk(given)):
            return True
    return False


_MOVES = frozenset({"to", "cuda", "cpu"})


def _is_own_dict(held: cst.BaseExpression) -> bool:
    match held:
        case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value="__dict__")):
            return True
        case cst.Call(func=cst.Name(value="vars"), args=[cst.Arg(value=cst.Name(value="self"))]):
            return True
        case _:
            return False


def _changes_in_place(method: cst.FunctionDef, name: str) -> bool:
    """Whether a method writes into a tensor, wherever that is, rather than setting another: `self.queue[i] = x`, `self.count += 1`."""
    if name in _set_once_moved(method):
        return False
    for node in walk(method.body, below=(cst.ClassDef,)):
        match node:
            case cst.Call() if name in _called_writes(node):
                # `self.table[t].to(x.device)` gives another tensor
                if not isinstance(node.func, cst.Attribute) or node.func.attr.value not in _MOVES:
                    return False
            case cst.AssignTarget() | cst.AnnAssign() | cst.For() | cst.NamedExpr() | cst.Del():
                if _sets(node.target, name):
                    return False
            case _:
                pass
    return True


def _sets(target: cst.CSTNode, name: str) -> bool:
    """Whether a target of an assignment gives the attribute another value: to an item of it nothing else is bound."""
    match target:
        case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=own)):
            return own == name
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            return any(_sets(element.value, name) for element in elements)
        case _:
            return False


def _stays_parameter(value: Value | None, name: str, methods: list[cst.FunctionDef]) -> bool:
    """Whether a parameter of a module is only ever replaced by another: it is where the module is, or that method is at fault."""
    if not isinstance(value, Tensor) or not value.parameter:
        return False
    return all(
        isinstance(given, cst.Call) and (dotted(given.func) or "").rpartition(".")[2] == "Parameter"
        for method in methods
        for _, given in _values_set(method, name)
    )


def sets_device(model: ClassModel) -> bool:
    """Whether the class's own `__init__` keeps a device on `self`: then it is the class that places what it builds."""
    initializer = model.methods.get("__init__")
    return initializer is not None and any(
        name.endswith("device") for name in attributes_written(initializer)
    )


def held_at_first(
    model: ClassModel, initializer: cst.FunctionDef | None, held: Mapping[str, Value]
) -> dict[str, dict[str, Value]]:
    """By method: the attributes among `held` that its first call finds as `__init__` left them, although the method sets them.

    Of a module these are the methods that its first call runs. Of any other class it is the one method that carries the attribute on:
    nothing else sets it.
    """
    if initializer is None or model.moves_itself():
        return {}
    setters = _setters(model, initializer)
    found: dict[str, dict[str, Value]] = {}
    for name, methods in _writers(model, initializer).items():
        value = held.get(name)
        if value is None or _is_set_from_outside(model, name):
            continue
        if not (made_on_host(value) if model.is_module else _is_made_on_host(value)):
            continue
        first = [
            method
            for method in methods
            if id(method) not in setters and (method.name.value in RUNS_FIRST or not model.is_module)
        ]
        if not model.is_module:
            first = [method for method in first if not _keeps_place(method, name)]
            if len(first) != 1 or model.has_unseen_base() or first[0].decorators or _moves_it(first[0], name):
                continue
        if all(
            id(method) in setters
            or (
                _carries_on(method, name)
                if any(method is one for one in first)
                else _keeps_place(method, name)
            )
            for method in methods
        ):
            for called in RUNS_FIRST if model.is_module else [first[0].name.value]:
                found.setdefault(called, {})[name] = value
    return found


def _moves_it(method: cst.FunctionDef, name: str) -> bool:
    """Whether a method brings the attribute somewhere, where it finds that it is not there (`if self.mem.type() != x.type():`)."""
    return any(
        isinstance(part, cst.Attribute) and part.attr.value in _PLACES
        for _, value in _values_set(method, name)
        if value is not None
        for part in walk(value)
    )


_PLACES = frozenset({"to", "type", "type_as"}) | IN_PLACE_MOVES


def _is_made_on_host(value: Value) -> bool:
    """Whether it is such a tensor, or is one if it is set at all: `if self.recurrent: self.memory = torch.zeros(1, 8)`."""
    match value:
        case Either(_, then, otherwise):
            made = [made_on_host(one) for one in (then, otherwise)]
            return any(made) and not any(
                isinstance(one, Tensor) and not good
                for one, good in zip((then, otherwise), made, strict=True)
            )
        case _:
            return made_on_host(value)


def _is_set_from_outside(model: ClassModel, name: str) -> bool:
    """Whether anything in the file sets an attribute of this name of something else than `self`, to a thing that is elsewhere."""
    analysis = model.frame.analysis
    key = ("set from outside", id(model.frame.source.module))
    if key not in analysis.notes:
        analysis.notes[key] = _set_from_outside(model.frame.source.module)
    return name in analysis.notes[key]


@remembered(cst.Module)
def _set_from_outside(module: cst.Module) -> frozenset[str]:
    return frozenset(_other_attributes_set(module))


def _other_attributes_set(module: cst.Module) -> Iterator[str]:
    for node in walk(module):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute() as target)], value=value):
                own = isinstance(target.value, cst.Name) and target.value.value == "self"
                if not own and not any(
                    part.deep_equals(target) for part in walk(value) if isinstance(part, cst.Attribute)
                ):
                    yield target.attr.value
            case _:
                pass


def made_on_host(value: Value | None) -> bool:
    """Whether it is a tensor that was made on the CPU, and nobody said that it should be there."""
    device = value.device if isinstance(value, Tensor) and not value.parameter else None
    root = device.origin.root() if isinstance(device, Cpu) and device.origin is not None else None
    if root is None or root.what != "factory" or not isinstance(root.node, cst.Call):
        return False
    return all(argument.keyword is None or argument.keyword.value != "device" for argument in root.node.args)


def _methods(model: ClassModel) -> Iterator[cst.FunctionDef]:
    for owner in (model, *model.bases_in_file()):
        yield from owner.methods.values()


def _writers(model: ClassModel, initializer: cst.FunctionDef | None) -> dict[str, list[cst.FunctionDef]]:
    """The methods other than `__init__`, of the class or of a base, that set each attribute."""
    found: dict[str, list[cst.FunctionDef]] = {}
    for method in _methods(model):
        # that of a base has run when the class's own did, or never
        if method is not initializer and method.name.value != "__init__":
            for name in attributes_written(method):
                found.setdefault(name, []).append(method)
    return found


def _setters(model: ClassModel, initializer: cst.FunctionDef) -> set[int]:
    """The methods (by id) without arguments that `__init__` has run on `self`, itself or through each other."""
    found: set[int] = set()
    waiting = [initializer]
    while waiting:
        for name in _called_without_arguments(waiting.pop()):
            method = model.find(name)
            if method is not None and id(method) not in found and len(method.params.params) == 1:
                found.add(id(method))
                waiting.append(method)
    return found


@remembered(cst.FunctionDef)
def _called_without_arguments(method: cst.FunctionDef) -> tuple[str, ...]:
    """The methods that are called as `self.name()`, in order."""
    names = []
    for node in walk(method.body, below=(cst.ClassDef, cst.FunctionDef, cst.Lambda)):
        if type(node) is cst.Call and not node.args and type(node.func) is cst.Attribute:
            called = node.func
            if type(called.value) is cst.Name and called.value.value == "self":
                names.append(called.attr.value)
    return tuple(names)


def _values_set(
    method: cst.FunctionDef, name: str
) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression | None]]:
    """Each statement of a method that sets the attribute, with its value if it is a plain assignment."""
    known: set[int] = set()
    for node in walk(method.body):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value) if (
                dotted(target) == f"self.{name}"
            ):
                known.add(id(node.targets[0]))
                yield node, value
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple() as target)], value=value) if _sets(
                target, name
            ):
                known.add(id(node.targets[0]))
                yield node, value
            case cst.AssignTarget() if id(node) in known:
                pass
            case cst.AugAssign(target=target) if dotted(target) == f"self.{name}":
                yield node, target
            case cst.AssignTarget() | cst.AnnAssign() | cst.For() | cst.NamedExpr() | cst.Del():
                if name in _targets(node.target):
                    yield node, None
            case cst.Call() if name in _called_writes(node):
                yield node, None
            case _:
                pass


def _targets(node: cst.CSTNode) -> set[str]:
    """The attributes of `self` that a target of an assignment sets."""
    match node:
        case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)):
            return {name}
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            return {name for element in elements for name in _targets(element.value)}
        case cst.Subscript(value=value):
            return _targets(value)
        case _:
            return set()


def _carries_on(method: cst.FunctionDef, name: str) -> bool:
    """Whether a method sets the attribute always, from what it was, or from an argument that may be left out.

    What it sets under another condition may well be what the first call sets.
    """
    always = {id(part) for line in method.body.body for part in _simple(line)}
    handed = {id(part) for node in walk(method.body) for part in _when_given(node, method)}
    return all(
        id(node) in always or id(node) in handed or (value is not None and _mentions(value, name))
        for node, value in _values_set(method, name)
    )


def _simple(line: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The small statements of a line, and the targets of its assignments."""
    if isinstance(line, cst.SimpleStatementLine):
        for part in line.body:
            yield part
            if isinstance(part, cst.Assign):
                yield from part.targets


def _when_given(node: cst.CSTNode, method: cst.FunctionDef) -> Iterator[cst.CSTNode]:
    """What is set to a parameter under `if parameter is not None:`."""
    match node:
        case cst.If(test=test, body=cst.IndentedBlock(body=lines)):
            optional = {
                parameter.name.value
                for parameter in (*method.params.params, *method.params.kwonly_params)
                if isinstance(parameter.default, cst.Name) and parameter.default.value == "None"
            }
            tested = {part.value for part in walk(test) if isinstance(part, cst.Name)} - {"None"}
            if tested and tested <= optional:
                for line in lines:
                    for part in _simple(line):
                        if isinstance(part, cst.Assign) and dotted(part.value) in tested:
                            yield part
        case _:
            pass


def _mentions(value: cst.BaseExpression, name: str) -> bool:
    return any(isinstance(part, cst.Attribute) and dotted(part) == f"self.{name}" for part in walk(value))


def _keeps_place(method: cst.FunctionDef, name: str) -> bool:
    """Whether a method makes the attribute of nothing but itself, and so where it was (`torch.zeros_like(self.mem)`)."""
    for _, value in _values_set(method, name):
        if value is None or not _mentions(value, name):
            return False
        for part in walk(value):
            match part:
                case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=other)) if other != name:
                    return False
                case cst.Attribute(attr=cst.Name(value="to" | "type_as")):
                    return False
                case cst.Attribute(attr=cst.Name(value=called)) if called in IN_PLACE_MOVES:
                    return False
                case cst.Call(func=cst.Name()):
                    return False
                case _:
                    pass
    return True


@remembered(cst.FunctionDef)
def attributes_written(method: cst.FunctionDef) -> frozenset[str]:
    """The attributes of `self` that a method assigns, registers, deletes or moves in place."""
    names: set[str] = set()

    for node in walk(method.body, below=(cst.ClassDef,)):
        if type(node) is cst.Call:
            names |= _called_writes(node)
        elif type(node) in _WITH_TARGET:  # asking LibCST's abstract classes takes several times as long
            target: cst.CSTNode = node.target  # type: ignore[attr-defined]
            names |= _targets(target)
    return frozenset(names | _set_once_moved(method))


def _set_once_moved(method: cst.FunctionDef) -> set[str]:
    """What is set on what the base's move gives, which is `self`: `moved = super().to(device)`, then `moved.table = ...`."""
    moved: set[str] = set()
    names: set[str] = set()
    for node in walk(method.body) if method.name.value in IN_PLACE_MOVES else ():
        match node:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name(value=name))],
                value=cst.Call(func=cst.Attribute(value=cst.Call(func=cst.Name(value="super")))),
            ):
                moved.add(name)
            case cst.AssignTarget(
                target=cst.Attribute(value=cst.Name(value=holder), attr=cst.Name(value=name))
            ) if holder in moved:
                names.add(name)
            case _:
                pass
    return names


_WITH_TARGET = frozenset((cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr, cst.Del))


def _called_writes(node: cst.Call) -> set[str]:
    match node:
        case cst.Call(
            func=cst.Attribute(
                value=cst.Name(value="self"),
                attr=cst.Name(value="register_buffer" | "register_parameter" | "add_module"),
            ),
            args=[cst.Arg(value=cst.SimpleString() as key), *_],
        ):
            return {str(key.evaluated_value)}
        case cst.Call(func=cst.Attribute(value=value, attr=cst.Name(value=name))) if (
            name in IN_PLACE_MOVES or name in CONTAINER_CHANGES
        ):
            return _targets(value)
        case _:
            return set()
