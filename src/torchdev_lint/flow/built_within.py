"""Classes that the file builds on a default device only: `with torch.device(device): model = Net()`.

What their `__init__` makes without `device=` is where that block says, registered or not; so the class on its own shows
nothing of the CPU. Instances are judged by where they are built.
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from torchdev_lint.flow.trees import remembered, walk
from torchdev_lint.torch_api.devices import DEVICE_NAME

_ELSEWHERE_STAYS = ("cpu", "meta")
"""Devices of such a block from which a plain attribute has to be brought to the model's by other means."""


def built_on_default_device(module: cst.Module, name: str) -> bool:
    """Whether the class of this name is called, and only where a block has set the default device to what a device holds."""
    return _is_within(_places(module), name, frozenset())


_Places = dict[str, list[tuple[bool, str | None]]]
"""By the name that is called: for each call, whether it stands in such a block, and the definition that it stands in."""


@remembered(cst.Module)
def _places(module: cst.Module) -> _Places:
    found: _Places = {}
    blocks = (node for node in walk(module) if isinstance(node, cst.With))
    if any(_sets_device(item.item) for block in blocks for item in block.items):
        _collect(module.body, found, within=False, definition=None)
    return found


def _collect(part: Any, found: _Places, *, within: bool, definition: str | None) -> None:
    for node in walk(part, below=(cst.FunctionDef, cst.ClassDef, cst.With)):
        if isinstance(node, cst.ClassDef):
            # a subclass runs the `__init__` of its base where it is built
            for base in node.bases:
                if isinstance(base.value, cst.Name):
                    found.setdefault(base.value.value, []).append((False, node.name.value))
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            # a method belongs to its class: whoever builds that runs it; what is defined in a block is not called there
            _collect(node.body, found, within=False, definition=definition or node.name.value)
        elif isinstance(node, cst.With):
            sets = any(_sets_device(item.item) for item in node.items)
            _collect(node.items, found, within=within, definition=definition)
            _collect(node.body, found, within=within or sets, definition=definition)
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Name):
            found.setdefault(node.func.value, []).append((within, definition))


def _sets_device(item: cst.BaseExpression) -> bool:
    """Whether `with item:` sets the default device: `torch.device(...)`, or what a device is called."""
    match item:
        case cst.Call(
            func=cst.Attribute(value=cst.Name(value="torch"), attr=cst.Name(value="device")), args=args
        ):
            literals = [one.value for one in args if isinstance(one.value, cst.SimpleString)]
            return not any(one.raw_value.startswith(_ELSEWHERE_STAYS) for one in literals)
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return bool(DEVICE_NAME.search(name))
        case _:
            return False


def _is_within(places: _Places, name: str, seen: frozenset[str]) -> bool:
    calls = places.get(name, [])
    return bool(calls) and all(
        within
        or (
            definition is not None
            and definition not in seen
            and definition != name
            and _is_within(places, definition, seen | {name})
        )
        for within, definition in calls
    )
