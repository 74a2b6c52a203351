"""Functions whose ways of returning disagree: one gives what it makes on the CPU, another what is where an argument is.

`return torch.zeros(3)` where there is nothing to compute, or `loss = torch.tensor([1.0])` in the place of what was computed: what
the caller gets is on the CPU in this case only.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Atom, atoms
from torchdev_lint.flow.domain.lattice import (
    Choice,
    Cpu,
    Device,
    Origin,
    Symbol,
    device_atoms,
    leaves,
    may_tell_where,
)
from torchdev_lint.flow.domain.values import Either, Items, Tensor, Value
from torchdev_lint.flow.syntax.trees import dotted, says_device, walk
from torchdev_lint.flow.torch_calls.device_values import same_device

STAYING = frozenset("randperm arange randint as_tensor from_numpy".split())
"""What may well stay on the CPU: indices index everywhere, and data is where it comes from."""


def find(
    frame: Frame, node: cst.FunctionDef, given: dict[str, Symbol]
) -> Iterator[tuple[Origin, tuple[str, Symbol]]]:
    """What is made on one way, with the parameter that another way returns something beside, and where that is."""
    common = set.intersection(*(set(env.path) for _, env in frame.returns)) if frame.returns else set()
    ways: list[tuple[Value, ...]] = []
    telling: list[bool] = []
    absent: list[set[str]] = []
    for value, env in frame.returns:
        asked = any(may_tell_where(atom) for fact in env.path if fact not in common for atom in atoms(fact))
        for one in _alternatives(value):
            ways.append(one.items if isinstance(one, Items) else (one,))
            telling.append(asked)
            absent.append(
                {fact.key[2] for fact in env.path if isinstance(fact, Atom) and fact.kind == "absent"}
            )
    if len(ways) < 2 or _brings_to_host(node):
        return
    for way, asked, left_out in zip(ways, telling, absent, strict=True):
        if asked:
            continue  # where things are, or a degenerate case that may never be met
        there = {name: device for name, device in given.items() if name not in left_out}
        for index, part in enumerate(way):
            origin = _made_here(frame, part)
            if origin is None:
                continue
            others = [other[index] for other in ways if other is not way and len(other) == len(way)]
            beside = _beside(others, there)
            if beside is not None:
                yield origin, beside


def _alternatives(value: Value) -> Iterator[Value]:
    match value:
        case Either(_, then, otherwise):
            yield from _alternatives(then)
            yield from _alternatives(otherwise)
        case Tensor(device=Choice() as device) if not any(map(may_tell_where, device_atoms(device))):
            yield from (Tensor(leaf) for leaf in leaves(device))
        case _:
            yield value


def _brings_to_host(node: cst.FunctionDef) -> bool:
    return any(
        type(part) is cst.Attribute and part.attr.value in ("cpu", "numpy") for part in walk(node.body)
    )


def _made_here(frame: Frame, value: Value) -> Origin | None:
    origin = made_by(value.device, STAYING) if isinstance(value, Tensor) else None
    return origin if origin is not None and origin.frame == frame.uid else None


def made_by(device: Device, staying: frozenset[str]) -> Origin | None:
    """The factory call without `device=` that made what is on the CPU; None for the functions that are left out (`staying`)."""
    origin = device.origin if isinstance(device, Cpu) else None
    if origin is None or origin.what != "factory":
        return None
    if not isinstance(origin.node, cst.Call) or not origin.node.args:
        return None
    if (dotted(origin.node.func) or "").rpartition(".")[2] in staying:
        return None
    return None if says_device(origin.node.args) or holds_nothing(origin.node) else origin


def holds_nothing(node: cst.Call) -> bool:
    """Whether a factory's call makes a tensor without elements, `torch.empty(0)`: it stands for something that there is not."""
    sizes = [one.value for one in node.args if one.keyword is None]
    match sizes:
        case [cst.Integer(value="0")]:
            return (dotted(node.func) or "").rpartition(".")[2] in ("zeros", "ones", "empty", "Tensor")
        case [cst.List(elements=[])]:
            return True
        case _:
            return False


def _beside(others: list[Value], given: dict[str, Symbol]) -> tuple[str, Symbol] | None:
    for other in others:
        for name, device in given.items():
            if isinstance(other, Tensor) and same_device(other.device, device):
                return name, device
    return None
