"""Fixes that several rules write."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from torchdev_lint.diagnostics import Applicability
from torchdev_lint.rules.base import NodeEdit, NodeFix

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.events import DeviceLiteral, Made, Place


_BROUGHT = re.compile(r"\.to\([^()]*\.device\)$")


def moved(node: Any, move: str, *, parenthesize: bool) -> tuple[NodeEdit, ...]:
    """The edits that put the call of a method (`.to(device)`) behind an expression, in parentheses where it needs them."""
    if parenthesize:
        return (NodeEdit(node, "before", "("), NodeEdit(node, "after", f"){move}"))
    return (NodeEdit(node, "after", move),)


def is_brought_along(place: Place) -> bool:
    """Whether something is taken to another thing's device already, `x.to(y.device)`: two that are brought to each other never meet."""
    return _BROUGHT.search(place.text) is not None


def each_moved(place: Place, move: str) -> tuple[NodeEdit, ...]:
    """The same for all that a list holds: where each is made if that is written out (`[f(x) for x in xs]`), else one by one."""
    if place.item_node is not None:
        return moved(place.item_node, move, parenthesize=place.needs_parentheses)
    return (NodeEdit(place.value_node, "replace", f"[t{move} for t in {wrapped(place)}]"),)


def wrapped(place: Place) -> str:
    """The text of a place, in parentheses where something follows that belongs to all of it."""
    return f"({place.text})" if place.needs_parentheses else place.text


def made_elsewhere(made: Made, target: str) -> NodeFix:
    """The call makes its tensor on `target`: by `device=` where it takes that, else by `.to()`; `**options` may hold a `device` already."""
    sure = Applicability.SAFE if made.only_use else Applicability.UNSAFE
    if made.keyword and all(argument.star != "**" for argument in made.node.args):
        edit = NodeEdit(made.node.args[-1], "after", f", device={target}")
        return NodeFix((edit,), sure, f"Make it with `device={target}`")
    return NodeFix((NodeEdit(made.node, "after", f".to({target})"),), sure, f"Move it with `.to({target})`")


def generator_made_on(constructor: Any, function: str, target: str) -> NodeFix | None:
    """The call (of `function`) that made a random generator on the CPU makes it on `target`; None where that cannot be written."""
    module, _, name = function.rpartition(".")
    if name == "Generator":
        edit = NodeEdit(constructor, "replace", f"{function}(device={target})")
    elif name == "manual_seed" and module:
        edit = NodeEdit(constructor.func, "replace", f"{module}.Generator(device={target}).manual_seed")
    else:
        return None
    return NodeFix((edit,), Applicability.UNSAFE, f"Make the generator with `device={target}`")


def put_on(event: DeviceLiteral, device: str) -> tuple[NodeEdit, ...]:
    """What is put on a literal accelerator is put on `device`, an expression, instead.

    The default tensor type stays that of the accelerator where there is one.
    """
    if event.form == "default-type":
        host = event.text.replace(".cuda.", ".")
        torch = event.torch_name or "torch"
        return (
            NodeEdit(event.node, "replace", f'"{event.text}" if {torch}.cuda.is_available() else "{host}"'),
        )
    if event.form == "string":
        is_conditional = " if " in device
        return (
            NodeEdit(
                event.node, "replace", f"({device})" if is_conditional and event.parenthesize else device
            ),
        )
    if not event.call.args:
        return (NodeEdit(event.node, "replace", f"{event.text}.to({device})"),)
    return (
        NodeEdit(event.call.func.attr, "replace", "to"),
        NodeEdit(event.call.args[0], "before", f"{device}, "),
    )
