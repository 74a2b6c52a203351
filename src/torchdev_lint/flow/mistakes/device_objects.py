"""Devices taken for what they are not: objects compared with strings, names that PyTorch does not know, `get_device()` of a CPU tensor.

Only what certainly is a `torch.device` counts as one: a value that may be a string may be compared with a string.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.events import DeviceMisuse
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.conditions import Atom
from torchdev_lint.flow.domain.immutable import dataclass
from torchdev_lint.flow.domain.lattice import Cpu, Symbol, UnknownDevice, leaves
from torchdev_lint.flow.domain.values import (
    DeviceType,
    DeviceValue,
    Either,
    Items,
    Literal,
    Object,
    Tensor,
    Value,
)
from torchdev_lint.flow.mistakes import literals
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, walk
from torchdev_lint.torch_api import devices as api


def is_device_object(frame: Frame, value: Value) -> bool:
    """Whether the value is a `torch.device` for certain."""
    match value:
        case DeviceValue(is_object=is_object):
            return is_object
        case Either(_, then, otherwise):
            return is_device_object(frame, then) and is_device_object(frame, otherwise)
        case Object(key=key):
            fact = Atom("opaque", ("isinstance", key, ("torch.device",)))
            return fact in frame.env.path or _is_annotated(frame, value)
        case _:
            return False


def _is_annotated(frame: Frame, value: Object) -> bool:
    """Whether the value is a parameter annotated with `torch.device` and nothing else but None."""
    if value.key[0] != "parameter":
        return False
    owner: Frame | None = frame
    while owner is not None and (owner.function is None or id(owner.function.node) != value.key[1]):
        owner = owner.parent
    if owner is None or owner.function is None or not isinstance(owner.function.node, cst.FunctionDef):
        return False
    for parameter in _called(owner.function.node, value.key[2]):
        if parameter.annotation is not None:
            if isinstance(parameter.default, (cst.SimpleString, cst.Integer)):
                return False
            text = frame.analysis.text(parameter.annotation.annotation).replace(" ", "").strip("\"'")
            return text in _ANNOTATIONS
    return False


def _called(function: cst.FunctionDef, name: str) -> Iterator[cst.Param]:
    return (one for one in all_parameters(function.params) if one.name.value == name)


_ANNOTATIONS = frozenset(
    {
        "torch.device",
        "Optional[torch.device]",
        "torch.device|None",
        "None|torch.device",
        "Union[torch.device,None]",
    }
)


def check_chain(frame: Frame, node: cst.Comparison, values: list[Value]) -> None:
    """`a.device == b.device == "cuda"`: what stands side by side is compared."""
    nodes = [node.left, *(target.comparator for target in node.comparisons)]
    for index, target in enumerate(node.comparisons):
        sides = Sides(nodes[index], values[index], nodes[index + 1], values[index + 1])
        check_comparison(frame, node, sides, target.operator)


@dataclass(frozen=True, slots=True)
class Sides:
    """The two things that an operator compares."""

    left_node: cst.BaseExpression
    left: Value
    right_node: cst.BaseExpression
    right: Value


def check_comparison(frame: Frame, node: cst.Comparison, sides: Sides, operator: cst.BaseCompOp) -> None:
    """`device == "cpu"`, `device in ("cpu", "cuda")`, `"cuda" in device`."""
    kind = type(operator)
    if kind not in (cst.In, cst.NotIn, cst.Equal, cst.NotEqual):
        return
    left_node, left, right_node, right = sides.left_node, sides.left, sides.right_node, sides.right
    if kind is cst.In or kind is cst.NotIn:
        if is_device_object(frame, left):
            strings = [_string(item) for item in right.items] if isinstance(right, Items) else []
            if strings and None not in strings and isinstance(right_node, (cst.Tuple, cst.List, cst.Set)):
                plain = all(text is not None and ":" not in text for text in strings)
                _compared(
                    frame, node, left_node, right_node, plain=plain, always=isinstance(operator, cst.NotIn)
                )
        elif is_device_object(frame, right) and isinstance(left, Literal) and isinstance(left.value, str):
            _as_text(frame, right_node, node)
        return
    always = kind is cst.NotEqual
    for device, device_node, other, other_node in (
        (left, left_node, right, right_node),
        (right, right_node, left, left_node),
    ):
        text = _string(other)
        if text is not None and _is_misspelt(frame, device_node, text):
            _misspelt(frame, device_node, other_node)
        if text is not None and api.parse(text) is None and isinstance(device, Object):
            continue  # `"pinned"`: the annotation does not tell all that may be given
        if is_device_object(frame, device) and (text is not None or _is_string(other, other_node)):
            if always and frame.analysis.learn(_only_seeds, frame.source.module, node):
                continue
            if _is_given_a_device_elsewhere(frame, other_node):
                continue
            _compared(
                frame,
                node,
                device_node,
                other_node,
                plain=text is not None and ":" not in text,
                always=always,
            )


def _is_given_a_device_elsewhere(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether a parameter is a string by default only, and another call gives a device: `self.grids((nx, ny), x.device)`."""
    if frame.function is None or not isinstance(node, cst.Name):
        return False
    function = frame.function.node
    if not isinstance(function, cst.FunctionDef) or not any(_called(function, node.value)):
        return False
    return frame.analysis.learn(_is_called_with_a_device, frame.source.module, function.name.value)


def _is_called_with_a_device(module: cst.Module, name: str) -> bool:
    return any(
        isinstance(part, cst.Call)
        and (dotted(part.func) or "").rpartition(".")[2] == name
        and any(
            isinstance(one.value, cst.Attribute) and one.value.attr.value == "device" for one in part.args
        )
        for part in walk(module)
    )


_SEEDS = frozenset("manual_seed manual_seed_all seed seed_all empty_cache".split())
"""Functions of `torch.cuda` that do nothing where there is no GPU (torch/cuda/random.py: `_lazy_call`; torch/cuda/memory.py)."""


def _only_seeds(module: cst.Module, test: cst.Comparison) -> bool:
    """Whether all that depends on a test does nothing where there is no GPU: it does not matter that it is always true."""
    for node in walk(module):
        if isinstance(node, cst.If) and node.test is test:
            return node.orelse is None and all(map(_seeds, node.body.body))
    return False


def _seeds(line: cst.CSTNode) -> bool:
    statements = line.body if isinstance(line, cst.SimpleStatementLine) else (line,)
    return all(
        isinstance(one, cst.Expr)
        and isinstance(one.value, cst.Call)
        and (dotted(one.value.func) or "").rpartition(".")[0] == "torch.cuda"
        and (dotted(one.value.func) or "").rpartition(".")[2] in _SEEDS
        for one in statements
    )


def _may_be_type(node: cst.SimpleString) -> bool:
    return str(node.evaluated_value).partition(":")[0] in api.ACCELERATOR_TYPES | {"cpu", "meta"} | set(
        api.MISSPELT
    )


def _string(value: Value) -> str | None:
    return value.value if isinstance(value, Literal) and isinstance(value.value, str) else None


def _is_string(value: Value, node: cst.BaseExpression) -> bool:
    """Whether a value whose text is not known is a string: a device's type, `str(...)`, an f-string."""
    return isinstance(value, DeviceType) or _is_text_of(node)


def _is_text_of(node: cst.BaseExpression) -> bool:
    match node:
        case cst.Call(func=cst.Name(value="str")) | cst.FormattedString():
            return True
        case _:
            return False


def _compared(
    frame: Frame,
    node: cst.Comparison,
    device_node: cst.BaseExpression,
    other_node: cst.BaseExpression,
    *,
    plain: bool,
    always: bool,
) -> None:
    if _handles_both(frame, node, device_node) or _is_assigned(frame, device_node):
        return
    if _takes_text_too(frame, device_node):
        return
    text = frame.analysis.text(device_node)
    if plain and isinstance(other_node, cst.SimpleString) and not _may_be_type(other_node):
        return  # a word of the program's own (`"pinned"`, `"auto"`): the annotation does not tell all
    of_type = plain or (not _is_text_of(other_node) and _names_a_type(other_node))
    replacement = _of_type(frame, device_node) if of_type else f"str({text})"
    chained = len(node.comparisons) > 1  # the other side of it may be compared with the object
    frame.analysis.publish(
        ("device-comparison", id(node)),
        DeviceMisuse(
            node,
            "comparison",
            text,
            frame.analysis.text(other_node),
            replaced=device_node,
            replacement=None if chained else replacement,
            always=always,
        ),
    )


def _is_misspelt(frame: Frame, device: cst.BaseExpression, text: str) -> bool:
    """Whether `lib.device == "gpu"` is asked of what the file hands to PyTorch as a device, and so cannot be called that.

    An attribute that the file assigns may be translated before it is used, and a name of its own is the program's affair.
    """
    name = dotted(device) if isinstance(device, cst.Attribute) else None
    if text not in api.MISSPELT or name is None:
        return False
    used = False
    for part in walk(frame.source.module):
        match part:
            case cst.AssignTarget(target=cst.Attribute() as target) if dotted(target) == name:
                return False
            case cst.Call(func=cst.Attribute(attr=cst.Name(value=method)), args=arguments):
                for index, argument in enumerate(arguments):
                    moved = argument.keyword is None and method == "to" and index == 0
                    told = argument.keyword is not None and argument.keyword.value == "device"
                    used = used or ((moved or told) and dotted(argument.value) == name)
            case _:
                pass
    return used


def _misspelt(frame: Frame, device: cst.BaseExpression, literal: cst.BaseExpression) -> None:
    if isinstance(literal, cst.SimpleString):
        frame.analysis.publish(
            ("device-name", id(literal)),
            DeviceMisuse(literal, "name", str(literal.raw_value), frame.analysis.text(device)),
        )


def _names_a_type(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == "type"


def _of_type(frame: Frame, node: cst.BaseExpression) -> str:
    """`device.type` for the device that `node` gives."""
    text = frame.analysis.text(node)
    return (
        f"{text}.type"
        if isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))
        else f"({text}).type"
    )


def _takes_text_too(frame: Frame, device: cst.BaseExpression) -> bool:
    """Whether it is a parameter of this function annotated with both kinds, whatever one caller gives: `str | torch.device`."""
    node = None if frame.function is None else frame.function.node
    if not isinstance(node, cst.FunctionDef) or not isinstance(device, cst.Name):
        return False
    said = [one.annotation for one in _called(node, device.value) if one.annotation is not None]
    return any(
        {"str", "device"} <= set(re.findall(r"\w+", frame.analysis.text(one.annotation))) for one in said
    )


def _is_assigned(frame: Frame, device: cst.BaseExpression) -> bool:
    """Whether the program assigns to this `x.device` of what was taken for a tensor: then `x` is none."""
    if not isinstance(device, cst.Attribute):
        return False
    with frame.quietly():
        if not isinstance(frame.evaluate(device.value), Tensor):
            return False
    name = dotted(device)
    root: cst.CSTNode = frame.analysis.module if frame.function is None else frame.function.node
    return name is not None and any(
        isinstance(part, cst.AssignTarget) and dotted(part.target) == name for part in walk(root)
    )


def _handles_both(frame: Frame, node: cst.Comparison, device: cst.BaseExpression) -> bool:
    """Whether another operand of the same `or` asks the same thing in another way: the program expects both kinds."""
    name = dotted(device)
    if name is None:
        return False
    root: cst.CSTNode = frame.analysis.module if frame.function is None else frame.function.node
    for outer in walk(root):
        if isinstance(outer, cst.BooleanOperation) and node in (outer.left, outer.right):
            for part in walk(outer):
                asks = isinstance(part, (cst.Comparison, cst.Call)) and part is not node
                if asks and any(dotted(inner) == name for inner in walk(part) if inner is not device):
                    return True
    return False


def check_method(frame: Frame, receiver: Value, name: str, site: CallSite) -> None:
    """`x.is_cuda()`, `x.device()` and `device.startswith("cuda")`."""
    assert isinstance(site.node, cst.Call)
    assert site.receiver is not None
    if (
        isinstance(receiver, Tensor)
        and not (receiver.batch or receiver.mapping)
        and (name in api.TYPE_FLAGS or (name == "device" and not receiver.guess))
    ):
        text = frame.analysis.text(site.node.func)
        frame.analysis.publish(
            ("called-flag", id(site.node)),
            DeviceMisuse(site.node, "call", text, replaced=site.node, replacement=text),
        )
    elif name in _STRING_METHODS and is_device_object(frame, receiver):
        _as_text(frame, site.receiver, site.node)


_STRING_METHODS = frozenset("startswith endswith split lower upper find partition replace strip".split())


def _as_text(frame: Frame, device_node: cst.BaseExpression, node: cst.BaseExpression) -> None:
    text = frame.analysis.text(device_node)
    frame.analysis.publish(
        ("device-text", id(node)),
        DeviceMisuse(
            node,
            "text",
            text,
            replaced=device_node,
            replacement=f"str({text})",
        ),
    )


def check_name(frame: Frame, argument: Argument) -> None:
    """A string given as a device: `gpu` is no type of PyTorch's, and types are written in small letters."""
    node = argument.node.value
    if isinstance(argument.value, Object) and argument.value.key[0] == CONTEXT:
        _not_a_device(frame, node)
        return
    literal = node.left if isinstance(node, cst.BinaryOperation) else node
    if isinstance(literal, cst.FormattedString) and literal.parts:
        first = literal.parts[0]
        given = first.value if isinstance(first, cst.FormattedStringText) else ""
    elif isinstance(literal, cst.SimpleString):
        given = str(literal.raw_value)
    else:
        return
    kind, colon, _ = given.partition(":")
    meant = api.MISSPELT.get(kind)
    if meant is None:
        return
    old = frame.analysis.text(literal)
    frame.analysis.publish(
        ("device-name", id(literal)),
        DeviceMisuse(
            literal,
            "name",
            kind,
            replaced=literal,
            replacement=old.replace(kind + colon, meant + colon, 1),
        ),
    )


CONTEXT = "cuda-device-context"
"""The identity of what `torch.cuda.device(...)` gives: a context manager, which `.to` and `device=` do not take."""


def _not_a_device(frame: Frame, node: cst.BaseExpression) -> None:
    made = node.func if isinstance(node, cst.Call) else None
    replaced = made if isinstance(made, cst.Attribute) and made.attr.value == "device" else None
    frame.analysis.publish(
        ("device-context", id(node)),
        DeviceMisuse(
            node,
            "context",
            frame.analysis.text(node),
            replaced=replaced,
            replacement=None if replaced is None else "torch.device",
        ),
    )


def _asks_for_accelerators(analysis: Analysis) -> bool:
    """Whether the file speaks of machines without an accelerator: one that never does may well be for the others only."""
    return _ASKED.search(analysis.text(analysis.module)) is not None


_ASKED = re.compile(r"\bis_available\(|\bdevice\(\s*[\"']cpu\b")


def _is_told_from_host(frame: Frame, index: cst.BaseExpression) -> bool:
    """Whether the function asks whether an index is one: `"cpu" if index == -1 else torch.device(index)`, `if index >= 0:`."""
    name = dotted(index)
    if name is None or frame.function is None:
        return False
    asked = re.compile(rf"(?<![\w.]){re.escape(name)}\s*(?:[=!]=|[<>]=?)\s*(?:-\s*1|0)\b")
    return asked.search(frame.analysis.text(frame.function.node)) is not None


def has_its_own_get_device(analysis: Analysis) -> bool:
    """Whether a class of the project has a method `get_device`, which may give a device."""
    word = "def get_device("
    return word in analysis.written or bool(analysis.imports.mentioning(word))


def check_index(frame: Frame, argument: Argument) -> None:
    """`get_device()` as a device: a tensor on the CPU gives -1."""
    value = argument.value
    if not (isinstance(value, DeviceValue) and value.is_index):
        return
    node = value.node  # the call, wherever its result was kept
    if not (isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)):
        return
    found = list(leaves(value.device))
    on_host = all(isinstance(leaf, Cpu) for leaf in found)
    anywhere = (
        frame.caller is None
        and all(isinstance(leaf, (Symbol, UnknownDevice)) for leaf in found)
        and frame.analysis.learn(_asks_for_accelerators, frame.analysis)
    )
    if not (on_host or anywhere) or literals.is_guarded(frame, "cuda", 0):
        return  # nothing is known of the tensor, or it cannot be on the CPU here
    if not on_host and (
        _is_told_from_host(frame, argument.node.value)
        or frame.analysis.learn(has_its_own_get_device, frame.analysis)
    ):
        return
    text = frame.analysis.text(node.func.value)
    frame.analysis.publish(
        ("negative-index", id(node)),
        DeviceMisuse(
            node,
            "negative-index",
            frame.analysis.text(node),
            text,
            replaced=node,
            replacement=f"{text}.device",
        ),
    )
