"""Devices that may be any, given to what takes CUDA's only: `x.cuda(device)`, `torch.cuda.synchronize(device)`, `f"cuda:{device}"`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.placement_events import DoubtfulDevice
from torchdev_lint.flow.read_alone.device_spellings import (
    ANY,
    INDEXED,
    OBJECT,
    OTHER,
    PLAIN_OBJECT,
    TYPE,
    Scope,
    is_called_device,
    kinds,
    shown,
    spelled,
)
from torchdev_lint.flow.syntax.trees import dotted, walk
from torchdev_lint.torch_api import devices as api
from torchdev_lint.torch_api.factories import FACTORIES

_FACTORIES = frozenset(path.rpartition(".")[2] for path in FACTORIES)
_WITHOUT_DEVICE = frozenset(("torch.cuda.Event", "torch.cuda.current_device"))
_FLAG = re.compile(r"(?i)cuda|gpu")


def check_call(scope: Scope, node: cst.Call) -> Iterator[DoubtfulDevice]:
    """A device that may be the CPU, where no test asks about it."""
    path = dotted(node.func) or ""
    name = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
    yield from _made_like(scope, node, name)
    of_torch = path.startswith("torch.cuda.") and name in api.TAKES_CUDA_DEVICE
    itself = isinstance(scope.node, cst.FunctionDef) and scope.node.name.value == "cuda"
    if not of_torch and (name != "cuda" or path == "torch.cuda" or itself):
        return
    for index, argument in enumerate(node.args):
        first = index == 0 and argument.keyword is None
        if not first and (argument.keyword is None or argument.keyword.value != "device"):
            continue
        given = argument.value
        if not is_called_device(given) or _is_asked(scope, given) or _is_deferred(scope, node):
            continue
        found = kinds(scope, given)
        # one of several processes is given its device by a launcher, as a number or with an index
        of_process = name == "set_device" and not found & {TYPE, PLAIN_OBJECT}
        # what is written out is known to whoever wrote this
        in_sight = found <= {OTHER, INDEXED, TYPE, PLAIN_OBJECT} and name != "set_device"
        if found <= {OTHER, INDEXED} or in_sight or of_process or _is_number(shown(given)):
            continue
        replaced = replacement = None
        if not of_torch:
            assert isinstance(node.func, cst.Attribute)
            replaced, replacement = node.func.attr, "to"
        yield DoubtfulDevice(
            node, "cuda only", scope.analysis.text(given), f"{path or name}", replaced, replacement
        )


def _made_like(scope: Scope, node: cst.Call, name: str) -> Iterator[DoubtfulDevice]:
    """`torch.empty(n, dtype=x.dtype, device="cuda")`: made for an argument, which may be on another GPU than the current one."""
    if name not in _FACTORIES:
        return
    given = {one.keyword.value: one.value for one in node.args if one.keyword is not None}
    match given:
        case {
            "dtype": cst.Attribute(value=cst.Name(value=tensor), attr=cst.Name(value="dtype")),
            "device": cst.SimpleString() as device,
        } if device.evaluated_value == "cuda":
            pass
        case _:
            return
    if scope.parameter(tensor) is None or any(
        value is None or not _is_part(value) for value in scope.bound.get(tensor, ())
    ):
        return
    yield DoubtfulDevice(device, "current", tensor, replaced=device, replacement=f"{tensor}.device")


def _is_part(value: cst.BaseExpression) -> bool:
    """Whether what an argument's name is given again is the same tensor in another shape."""
    return isinstance(value, cst.Call) and (
        isinstance(value.func, cst.Attribute)
        and value.func.attr.value in ("contiguous", "view", "reshape", "flatten", "detach")
    )


def _is_number(name: str | None) -> bool:
    """Whether it is called what a GPU's number is: `dev`."""
    return name is not None and not name.rstrip("']").lower().endswith("device")


def _is_deferred(scope: Scope, node: cst.Call) -> bool:
    """Whether it stands in a lambda: that of a `map_location`, as a rule."""
    return any(
        isinstance(part, cst.Lambda) and any(inner is node for inner in walk(part)) for part in scope.nodes
    )


def _is_asked(scope: Scope, device: cst.BaseExpression) -> bool:
    """Whether a test in the scope asks about this device, or a flag for CUDA."""
    name = shown(device)
    for node in scope.nodes:
        if isinstance(node, (cst.If, cst.IfExp)):
            for part in walk(node.test):
                if name is not None and spelled(part) == name:
                    return True
                if isinstance(part, cst.Name) and part.value != "cuda" and _FLAG.search(part.value):
                    return True
                if isinstance(part, (cst.Name, cst.Attribute)) and _is_answer(scope, part):
                    return True
    return False


def _is_answer(scope: Scope, node: cst.Name | cst.Attribute) -> bool:
    """Whether a name, or an attribute of the class, is what a test for CUDA says: `self.stream = Stream() if ... else None`."""
    text = dotted(node)
    places = [scope]
    if text is not None and text.startswith("self."):
        around = scope.outer
        places = [] if around is None else [one for one in around.inner if one.owner is scope.owner]
    bound = [value for place in places for value in place.bound.get(text or "", ())]
    return bool(bound) and all(value is not None and _asks_for_cuda(value) for value in bound)


def _asks_for_cuda(value: cst.BaseExpression) -> bool:
    """`device.type == "cuda"`, `torch.cuda.is_available()`; of a conditional expression, its test."""
    test = value.test if isinstance(value, cst.IfExp) else value
    match test:
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.Equal(), comparator=compared)]):
            return isinstance(compared, cst.SimpleString) and compared.evaluated_value == "cuda"
        case cst.Call(func=function):
            return (dotted(function) or "").endswith("cuda.is_available")
        case _:
            return False


def check_choice(scope: Scope, node: cst.IfExp | cst.If) -> Iterator[DoubtfulDevice]:
    """`if device.type != "cpu": torch.cuda.synchronize()`: what is not the CPU is taken for CUDA."""
    match node.test:
        case cst.Comparison(
            left=asked,
            comparisons=[
                cst.ComparisonTarget(operator=cst.NotEqual(), comparator=cst.SimpleString() as word)
            ],
        ) if word.evaluated_value == "cpu":
            inner = asked.value if isinstance(asked, cst.Attribute) and asked.attr.value == "type" else asked
        case _:
            return
    if not is_called_device(inner) or not isinstance(scope.node, cst.FunctionDef):
        return
    for part in walk(node.body):
        match part:
            case cst.Call(func=cst.Attribute(attr=cst.Name(value=name)) as function, args=arguments):
                path = dotted(function) or ""
                moves = name == "cuda" and path != "torch.cuda" and not arguments
                if moves or (
                    path.startswith("torch.cuda.")
                    and (name in api.TAKES_CUDA_DEVICE or path in _WITHOUT_DEVICE)
                ):
                    yield DoubtfulDevice(part, "not the host", scope.analysis.text(inner))
                    return
            case _:
                pass


def check_text(scope: Scope, node: cst.FormattedString | cst.BinaryOperation) -> Iterator[DoubtfulDevice]:
    """`f"cuda:{device}"` of what may be `"cpu"` or `"cuda:0"` already."""
    match node:
        case cst.FormattedString(
            parts=[
                cst.FormattedStringText(value="cuda:"),
                cst.FormattedStringExpression(expression=given),
            ]
        ):
            pass
        case cst.BinaryOperation(
            left=cst.SimpleString() as left,
            operator=cst.Add(),
            right=right,
        ) if left.evaluated_value == "cuda:":
            given = right.args[0].value if isinstance(right, cst.Call) and right.args else right
        case _:
            return
    found = kinds(scope, given) if is_called_device(given) else frozenset()
    if found & {INDEXED, OBJECT, PLAIN_OBJECT, TYPE} and ANY not in found:
        yield DoubtfulDevice(node, "twice", scope.analysis.text(given))
