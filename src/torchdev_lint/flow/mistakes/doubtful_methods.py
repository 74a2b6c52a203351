"""What is written of a device is something else: a method that is not called, a name where a storage is wanted, a type for the device."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.placement_events import DoubtfulDevice
from torchdev_lint.flow.read_alone.device_spellings import Scope
from torchdev_lint.flow.syntax.trees import dotted, last_name, names_cpu, walk
from torchdev_lint.torch_api import devices as api
from torchdev_lint.torch_api.tensor_surface import TENSOR_NAMES

_TRANSFERS = frozenset(("cuda", "cpu"))
_PLACES = re.compile(r"\.to\(\s*self\.device\s*[,)]|\bdevice\s*=\s*self\.device\b")


def check_choice(scope: Scope, node: cst.IfExp) -> Iterator[DoubtfulDevice]:
    """`x.float().cuda if use_cuda else x.float()`: one way gives the method, the other the tensor."""
    for one, other in ((node.body, node.orelse), (node.orelse, node.body)):
        if not (isinstance(other, cst.Attribute) and other.attr.value in _TRANSFERS):
            yield from check_value(scope, one)


def check_value(scope: Scope, node: cst.BaseExpression) -> Iterator[DoubtfulDevice]:
    """`x = torch.zeros(3).cuda`: the method itself, which nobody calls."""
    match node:
        case cst.Attribute(value=cst.Call(func=made), attr=cst.Name(value=name)) if name in _TRANSFERS:
            of_torch = (dotted(made) or "").startswith("torch.")
            if of_torch or (isinstance(made, cst.Attribute) and last_name(made) in TENSOR_NAMES):
                text = scope.analysis.text(node)
                yield DoubtfulDevice(
                    node, "not called", text, f".{name}", replaced=node, replacement=f"{text}()"
                )
        case _:
            pass


def check_load(scope: Scope, node: cst.Call) -> Iterator[DoubtfulDevice]:
    """`map_location=lambda storage, location: "cpu"`: what is wanted is a storage (torch/serialization.py, `_get_restore_location`)."""
    for one in node.args:
        match one:
            case cst.Arg(
                keyword=cst.Name(value="map_location"), value=cst.Lambda(body=given) as function
            ) if names_cpu(given) or (
                isinstance(given, cst.SimpleString) and api.parse(str(given.raw_value)) is not None
            ):
                text = scope.analysis.text(given)
                yield DoubtfulDevice(function, "no storage", text, replaced=function, replacement=text)
            case _:
                pass


def check_function(scope: Scope, node: cst.FunctionDef) -> Iterator[DoubtfulDevice]:
    """A property `device` that gives `x.device.type`, where the class puts things on its device: `cuda` of `cuda:1`."""
    if node.name.value != "device" or len(node.params.params) != 1 or not scope.analysis.says(_PLACES):
        return
    if not any(last_name(one.decorator) in ("property", "cached_property") for one in node.decorators):
        return
    for part in walk(node.body):
        match part:
            case cst.Return(
                value=cst.Attribute(
                    value=cst.Attribute(attr=cst.Name(value="device")) as whole, attr=cst.Name(value="type")
                ) as given
            ):
                text = scope.analysis.text(whole)
                yield DoubtfulDevice(given, "type given", text, replaced=given, replacement=text)
            case _:
                pass
