"""Classes that the file builds on a default device only: `with torch.device(device): model = Net()`.

What their `__init__` makes without `device=` is where that block says, registered or not; so the class on its own shows
nothing of the CPU. Instances are judged by where they are built. And functions that the file calls in such blocks only.
The block may be one that a context manager of the program's own enters around a `yield`, and a device may decorate a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import libcst as cst

from torchdev_lint.flow.syntax.trees import SCOPES, remembered, walk
from torchdev_lint.torch_api.devices import DEVICE_NAME

_ELSEWHERE_STAYS = ("cpu", "meta")
"""Devices of such a block from which a plain attribute has to be brought to the model's by other means."""


def built_on_default_device(name: str, *modules: cst.Module) -> bool:
    """Whether the class of this name is called in these files, and only where a block has set the default device to what a device holds."""
    return _is_within(_places(modules), name, frozenset())


def called_on_default_device(name: str, method: bool, *modules: cst.Module) -> bool:
    """The same of a function, or of what goes by the name of a method, whoever's it is."""
    return _is_called_within(_places(modules), f".{name}" if method else name, frozenset())


def builders(name: str, module: cst.Module) -> frozenset[str]:
    """The outermost definitions of a file that build the class of this name, or build what does."""
    places, found, pending = _calls(module), set[str](), [name]
    while pending:
        for place in places.get(pending.pop(), []):
            if place.definition is not None and place.definition not in found | {name}:
                found.add(place.definition)
                pending.append(place.definition)
    return frozenset(found)


class _Place(NamedTuple):
    """A call: whether it stands in such a block, the outermost definition that it stands in, and the function, as that is called."""

    within: bool
    definition: str | None
    function: str | None


_Places = dict[str, list[_Place]]
"""The calls by the name that is called, with a dot before that of a method."""


def _places(modules: Sequence[cst.Module]) -> _Places:
    """The calls of all files, if one of them has such a block."""
    if not any(map(_has_blocks, modules)):
        return {}
    managers = frozenset[str]().union(*map(managers_of, modules))
    found: _Places = {}
    for module in modules:
        for name, places in _calls_given(module, managers).items():
            found.setdefault(name, []).extend(places)
    return found


@remembered(cst.Module)
def _has_blocks(module: cst.Module) -> bool:
    nodes = list(walk(module))
    entered = [item.item for node in nodes if isinstance(node, cst.With) for item in node.items]
    entered += [node.decorator for node in nodes if isinstance(node, cst.Decorator)]
    devices = _names_of_devices(module) if entered else frozenset()
    return bool(managers_of(module)) or any(_sets_device(one, devices) for one in entered)


def _calls_given(module: cst.Module, managers: frozenset[str]) -> _Places:
    """The calls of a file; `managers` are the context managers of all files."""
    return _calls(module) if managers <= managers_of(module) else _collected(module, managers)


@remembered(cst.Module)
def _calls(module: cst.Module) -> _Places:
    return _collected(module, managers_of(module))


def _collected(module: cst.Module, managers: frozenset[str]) -> _Places:
    found: _Places = {}
    here = _Place(within=False, definition=None, function=None)
    _collect(module.body, found, _names_of_devices(module) | {f"{name}()" for name in managers}, here)
    return found


@remembered(cst.Module)
def managers_of(module: cst.Module) -> frozenset[str]:
    """Functions and methods that are made into context managers, and have a `yield` in a block that sets the default device."""
    made = [
        node
        for node in walk(module, below=(cst.With,))
        if isinstance(node, cst.FunctionDef) and any(map(_makes_manager, node.decorators))
    ]
    devices = _names_of_devices(module) if made else frozenset()
    return frozenset(node.name.value for node in made if _yields_within(node.body, devices))


def _makes_manager(decorator: cst.Decorator) -> bool:
    match decorator.decorator:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name == "contextmanager"
        case _:
            return False


def _yields_within(body: Any, devices: frozenset[str]) -> bool:
    return any(
        isinstance(part, cst.Yield)
        for node in walk(body, below=SCOPES)
        if isinstance(node, cst.With) and any(_sets_device(one.item, devices) for one in node.items)
        for part in walk(node.body, below=SCOPES)
    )


def _collect(part: Any, found: _Places, devices: frozenset[str], here: _Place, owner: bool = False) -> None:
    for node in walk(part, below=(cst.FunctionDef, cst.ClassDef, cst.With)):
        if isinstance(node, cst.ClassDef):
            # a subclass runs the `__init__` of its base where it is built
            for base in node.bases:
                if isinstance(base.value, cst.Name):
                    inside = _Place(within=False, definition=node.name.value, function=None)
                    found.setdefault(base.value.value, []).append(inside)
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            # a method belongs to its class: whoever builds that runs it; what is defined in a block is not called there
            is_class = isinstance(node, cst.ClassDef)
            name = None if is_class else f".{node.name.value}" if owner else node.name.value
            within = any(_sets_device(one.decorator, devices) for one in node.decorators)
            inside = _Place(within, definition=here.definition or node.name.value, function=name)
            _collect(node.body, found, devices, inside, is_class)
        elif isinstance(node, cst.With):
            sets = any(_sets_device(item.item, devices) for item in node.items)
            _collect(node.items, found, devices, here)
            _collect(node.body, found, devices, here._replace(within=here.within or sets))
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Name):
            found.setdefault(node.func.value, []).append(here)
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            found.setdefault(f".{node.func.attr.value}", []).append(here)


@remembered(cst.Module)
def _names_of_devices(module: cst.Module) -> frozenset[str]:
    """Names and attributes that are given what `torch.device` makes, wherever they are given anything."""
    given: dict[str, bool] = {}
    for node in walk(module):
        if isinstance(node, cst.Assign):
            for target in node.targets:
                match target.target:
                    case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
                        given[name] = given.get(name, True) and _makes_device(node.value)
                    case _:
                        pass
    return frozenset(name for name, only in given.items() if only)


def _makes_device(value: cst.BaseExpression) -> bool:
    if isinstance(value, cst.IfExp):
        return _makes_device(value.body) or _makes_device(value.orelse)
    return isinstance(value, cst.Call) and _sets_device(value, frozenset())


def _sets_device(item: cst.BaseExpression, devices: frozenset[str]) -> bool:
    """Whether `with item:` sets the default device: `torch.device(...)`, or what a device is called."""
    match item:
        case cst.Call(
            func=cst.Attribute(value=cst.Name(value="torch"), attr=cst.Name(value="device")), args=args
        ):
            literals = [one.value for one in args if isinstance(one.value, cst.SimpleString)]
            return not any(one.raw_value.startswith(_ELSEWHERE_STAYS) for one in literals)
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name in devices or bool(DEVICE_NAME.search(name))
        case cst.Call(func=cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name))):
            return f"{name}()" in devices
        case _:
            return False


def _is_within(places: _Places, name: str, seen: frozenset[str]) -> bool:
    calls = [*places.get(name, []), *places.get(f".{name}", [])]  # `model.Net()`, of the module `model`
    return bool(calls) and all(
        place.within
        or (
            place.definition is not None
            and place.definition not in seen
            and place.definition != name
            and _is_within(places, place.definition, seen | {name})
        )
        for place in calls
    )


def _is_called_within(places: _Places, name: str, seen: frozenset[str]) -> bool:
    calls = [place for place in places.get(name, []) if place.function != name]
    return bool(calls) and all(
        place.within
        or (
            place.function is not None
            and place.function not in seen
            and _is_called_within(places, place.function, seen | {name})
        )
        for place in calls
    )
