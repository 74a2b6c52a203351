"""What is given to an operation or a call: the tensors in it, where each stands in the text."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.events import Place
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, Batches, Implied, ImpliedItem
from torchdev_lint.flow.domain.immutable import dataclass
from torchdev_lint.flow.domain.lattice import (
    Device,
)
from torchdev_lint.flow.domain.values import (
    Api,
    Class,
    DeviceType,
    DeviceValue,
    Dtype,
    Either,
    Entries,
    Function,
    Generator,
    Items,
    Literal,
    Many,
    Method,
    Object,
    Partial,
    Tensor,
    Truth,
    Value,
    alternatives,
)
from torchdev_lint.flow.syntax.trees import all_parameters

_ATOMS = (
    cst.Name,
    cst.Attribute,
    cst.Call,
    cst.Subscript,
    cst.List,
    cst.Dict,
    cst.ListComp,
    cst.DictComp,
    cst.SimpleString,
)


def needs_parentheses(node: cst.BaseExpression) -> bool:
    """Whether a method cannot be called on the text of an expression as it stands."""
    return not isinstance(node, _ATOMS) and not node.lpar


def place_of(frame: Frame, node: cst.Arg | cst.BaseExpression, value: Value) -> Place:
    """The place of an argument or operand."""
    inner = node.value if isinstance(node, cst.Arg) else node
    star = str(node.star) if isinstance(node, cst.Arg) else ""
    container = ""
    if (
        star == "*"
        or isinstance(node, ImpliedItem)
        or any(isinstance(part, (Items, Many)) for part in alternatives(value))
    ):
        container = "list"
    elif isinstance(value, Entries) or (star == "**" and not (isinstance(value, Tensor) and value.mapping)):
        container = "dict"
    # of what two stars take apart, `value` is the one entry that is told of
    whole = frame.lookup(inner.value) if star == "**" and isinstance(inner, cst.Name) else value
    item = inner.elt if container == "list" and isinstance(inner, (cst.ListComp, cst.GeneratorExp)) else None
    return Place(
        node=inner if isinstance(node, Implied) else node,
        value_node=inner,
        text=frame.analysis.text(inner),
        keyword="" if not isinstance(node, cst.Arg) or node.keyword is None else node.keyword.value,
        star=star,
        container=container,
        needs_parentheses=needs_parentheses(inner if item is None else item),
        unsure=not all(isinstance(part, Tensor) and not part.batch for part in alternatives(value)),
        mixed=bool(container)
        and (_is_handed_over(frame, inner) or any(_holds_others(part) for part in alternatives(whole))),
        item_node=item,
        taken_by=node.call if isinstance(node, Batches) else None,
    )


def _is_handed_over(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether a name is what a call gives for a parameter: another call may hand over a list of numbers."""
    function = frame.function
    if frame.caller is None or function is None or not isinstance(node, cst.Name):
        return False
    return any(one.name.value == node.value for one in all_parameters(function.node.params))


def _holds_others(value: Value) -> bool:
    """Whether a list or dict certainly holds more than tensors: numbers, or other lists and dicts, which have no `.to`."""
    held = (
        value.items
        if isinstance(value, Items)
        else value.values()
        if isinstance(value, Entries)
        else (value.element,)
        if isinstance(value, Many)
        else ()
    )
    return any(_has_no_transfer(item) for item in held)


def _has_no_transfer(value: Value) -> bool:
    """Whether it has no `.to`, in one case at least: a number, a function, a class, None, or another list or dict."""
    return any(isinstance(part, _WITHOUT_TRANSFER) for part in alternatives(value))


_WITHOUT_TRANSFER = (
    Api,
    Class,
    DeviceType,
    DeviceValue,
    Dtype,
    Entries,
    Function,
    Generator,
    Items,
    Literal,
    Many,
    Method,
    Partial,
    Truth,
)


@dataclass(frozen=True, slots=True)
class Given:
    """A value given to an operation at a node; `inside`: the node is a container that holds it; `changed`: changed in place."""

    value: Value
    node: cst.BaseExpression
    inside: bool = False
    changed: bool = False


def given_by(argument: Argument) -> list[Given]:
    """What an argument gives to an operation: its value, or each element of a tuple or list."""
    value, node = argument.value, argument.node.value
    if isinstance(value, Many):
        return [Given(value.element, node, inside=True)]
    if isinstance(argument.node, ImpliedItem) or argument.star:
        return [Given(value, node, inside=True)]
    if not isinstance(value, Items):
        return [Given(value, node)]
    written = _written_items(node, len(value.items))
    if written is not None:
        return [Given(item, element) for item, element in zip(value.items, written, strict=True)]
    return [Given(item, node, inside=True) for item in value.items]


def _written_items(node: cst.BaseExpression, count: int) -> list[cst.BaseExpression] | None:
    """The expressions of the `count` items of a display; None where each item has not its own."""
    if type(node) is not cst.Tuple and type(node) is not cst.List:
        return None
    if len(node.elements) != count or any(isinstance(one, cst.StarredElement) for one in node.elements):
        return None
    return [one.value for one in node.elements]


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor (or a mapping of tensors) given to a call: its value, its device, the node that gives it.

    `changed`: the call changes it in place, so that it cannot be moved on the spot.
    """

    value: Value
    device: Device
    node: cst.Arg | cst.BaseExpression
    changed: bool = False


def operands_of(frame: Frame, argument: Argument) -> Iterator[Operand]:
    """The tensors in an argument: itself, or the elements of a tuple, list or dict that is written out or known."""
    from torchdev_lint.flow.torch_calls.tensor_values import tensor_device

    value, node = argument.value, argument.node
    match value:
        case Items(items):
            written = _written_items(node.value, len(items))
            for index, item in enumerate(items):
                device = tensor_device(frame, item)
                if isinstance(item, (Tensor, Either)) and device is not None:
                    yield (
                        Operand(value, device, node)
                        if written is None
                        else Operand(item, device, written[index])
                    )
        case Entries(entries=entries):
            for _, item in entries:
                device = tensor_device(frame, item)
                if isinstance(item, (Tensor, Either)) and device is not None:
                    yield Operand(value, device, node)
        case Object():
            state = frame.state(value)
            if state.kind == "unknown" and state.moved:
                yield Operand(value, state.device, node)
        case Tensor() | Either() | Many():
            device = tensor_device(frame, value)
            if device is not None:
                yield Operand(value, device, node)
        case _:
            pass
