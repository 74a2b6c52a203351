"""Classes beside the one that is read: what the same method of those does with its arguments says where they come.

`class Snatcher(AllInOne)` takes `support_features.to(self.device)` in its `__call__`, or another one reads `support_features.numpy()`:
whoever calls them all has it on the CPU, and `class OpenMax(AllInOne)`, which computes with it as it comes, does so there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.project.callers_elsewhere import owner_of
from torchdev_lint.flow.syntax.trees import all_parameters, last_name, names_cpu, remembered, transfers, walk
from torchdev_lint.torch_api.devices import DEVICE_NAME


def bring(frame: Frame, key: Key) -> bool:
    """Whether a class with the same base, of the project's own, brings the parameter with this key there, or reads it on the host."""
    function = owner_of(frame, key)
    if function is None or function.owner is None or not isinstance(function.node, cst.FunctionDef):
        return False
    own, method, parameter = function.owner.node, function.node.name.value, str(key[2])
    bases = {last_name(base.value) for base in own.bases} - {""}
    for base in bases:
        for module in _files(frame, base, method):
            for node in _classes(module):
                if (
                    node is not own
                    and base in {last_name(one.value) for one in node.bases}
                    and _brings(node, method, parameter)
                ):
                    return True
    return False


def _files(frame: Frame, base: str, method: str) -> Iterator[cst.Module]:
    """The files in which classes derive from `base` and have the method, if it is the project that defines it."""
    imports = frame.analysis.imports
    said = re.compile(rf"\bclass\s+{re.escape(base)}\b")
    known = imports.mentioning(base) or []
    own = frame.analysis.written
    if said.search(own) is None and not any(said.search(text) for _, text in known):
        return
    derives = re.compile(rf"\bclass\s+\w+\([^)]*\b{re.escape(base)}\b")
    yield frame.analysis.module
    for path, text in known:
        if derives.search(text) and f"def {method}(" in text and _MAY_BRING.search(text):
            module = imports.parsed(path)
            if module is not None:
                yield module


_MAY_BRING = re.compile(r"\.(?:to|cuda|numpy)\(")


@remembered(cst.Module)
def _classes(module: cst.Module) -> list[cst.ClassDef]:
    return [node for node in walk(module) if isinstance(node, cst.ClassDef)]


def _brings(owner: cst.ClassDef, method: str, parameter: str) -> bool:
    for node in owner.body.body:
        if isinstance(node, cst.FunctionDef) and node.name.value == method:
            if all(one.name.value != parameter for one in all_parameters(node.params)):
                return False
            moved = any(_is(one, parameter) and _to_device(call) for call, one in transfers(node.body))
            return moved or any(_is(one, parameter) for one in _read_on_host(node.body))
    return False


def _to_device(call: cst.Call) -> bool:
    """`x.cuda()`, `x.to(self.device)`: not to where another tensor is, nor to a dtype."""
    match call:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="cuda"))):
            return True
        case cst.Call(args=[cst.Arg(value=cst.Name(value=name)), *_]):
            return DEVICE_NAME.search(name) is not None
        case cst.Call(
            args=[cst.Arg(value=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name))), *_]
        ):
            return DEVICE_NAME.search(name) is not None
        case cst.Call(args=[cst.Arg(value=cst.SimpleString() as told), *_]):
            return not names_cpu(told)
        case _:
            return False


def _read_on_host(body: cst.BaseSuite) -> Iterator[cst.BaseExpression]:
    """What is read by `x.numpy()`, without having been brought to the CPU."""
    for node in walk(body):
        match node:
            case cst.Call(func=cst.Attribute(value=read, attr=cst.Name(value="numpy")), args=[]):
                yield read
            case _:
                pass


def _is(node: cst.BaseExpression, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name
