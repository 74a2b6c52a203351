"""What shows that a name holds a tensor, or something of the host: what is done with it anywhere in a function.

Names count, and attributes of names (`data.pos`), but for `self`: what an instance holds its class says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import Api
from torchdev_lint.flow.read_alone.evidence import ONLY_TENSORS
from torchdev_lint.flow.syntax.trees import dotted, walk
from torchdev_lint.flow.torch_calls.device_values import is_configuration
from torchdev_lint.torch_api.factories import (
    FACTORIES,
    HOST_FACTORIES,
    LEGACY_DEFAULT_TYPE,
    LEGACY_HOST_TYPES,
    TAKES_DATA,
)

GENERATOR = "torch.Generator"

MAKES = FACTORIES | TAKES_DATA | HOST_FACTORIES | LEGACY_HOST_TYPES | {LEGACY_DEFAULT_TYPE, GENERATOR}

_NO_OPERATION = re.compile(
    r"^torch\.(?:save|load|device|is_\w+|set_\w+|get_\w+|manual_seed|no_grad|enable_grad|compile|Size|typename|finfo|iinfo|"
    r"(?:cuda|distributed|distributions|utils|jit|nn|optim|autograd|backends|onnx|random|profiler|hub|multiprocessing|_\w+)\..*)$"
)
_OPERATION = re.compile(r"^torch\.nn\.(?:functional\.|utils\.rnn\.)")

DISTRIBUTION = re.compile(r"^(?:torch|pyro)\.distributions\.[A-Z]\w+$")
"""Classes of distributions: Pyro's are PyTorch's, or like them (https://docs.pyro.ai/en/stable/distributions.html)."""

PYRO_SAMPLE = "pyro.sample"
"""`pyro.sample(name, distribution)` draws from the distribution (https://docs.pyro.ai/en/stable/primitives.html)."""


def is_operation(path: str) -> bool:
    """Whether a function of PyTorch computes something of tensors."""
    return path.startswith("torch.") and (
        _OPERATION.search(path) is not None or _NO_OPERATION.search(path) is None
    )


def path_of(frame: Frame, function: cst.BaseExpression) -> str | None:
    """What an imported name, or an attribute of one, is called by whoever exports it."""
    text = dotted(function)
    if text is None:
        return None
    first, _, rest = text.partition(".")
    value = frame.lookup(first)
    if not isinstance(value, Api):
        return None
    return f"{value.path}.{rest}" if rest else value.path


def shown(frame: Frame, node: cst.FunctionDef) -> Iterator[str]:
    """The names, and attributes of names, with which the function does what only tensors allow."""
    called = {id(part.func) for part in walk(node.body) if isinstance(part, cst.Call)}
    for part in walk(node.body):
        match part:
            case cst.Attribute(value=base, attr=cst.Name(value=attribute)):
                text = dotted(_whole(base))
                if text is None or text.partition(".")[0] in ("self", "cls"):
                    continue
                if (attribute == "device" and not is_configuration(text) and "model" not in text) or (
                    attribute in ONLY_TENSORS
                    and (attribute not in ("dim", "size", "numel") or id(part) in called)
                ):
                    yield text
            case cst.Call(func=function, args=[cst.Arg(value=first, keyword=None), *_] as given):
                path = path_of(frame, function)
                if path in MAKES:
                    for one in given:
                        if one.keyword is not None and one.keyword.value == "dtype":
                            yield from typed(one.value)
                if path is None or path in MAKES or not is_operation(path):
                    continue
                listed = (
                    [one.value for one in first.elements]
                    if isinstance(first, (cst.List, cst.Tuple))
                    else [first]
                )
                for operand in listed:
                    text = dotted(_whole(operand))
                    if text is not None and text.partition(".")[0] not in ("self", "cls"):
                        yield text
            case _:
                pass


def _whole(node: cst.BaseExpression) -> cst.BaseExpression:
    """What a part is taken from: `x` of `x[0][:-1]`."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return node


def typed(node: cst.BaseExpression) -> Iterator[str]:
    """The tensor whose type something is made with: `dtype=x.dtype`. An array's is none of PyTorch's."""
    if isinstance(node, cst.Attribute) and node.attr.value == "dtype":
        base = node.value
        text = dotted(_whole(base))
        if (
            text is not None
            and text.partition(".")[0] not in ("self", "cls")
            and not is_configuration(text)
            and "model" not in text
        ):
            yield text


def keyed(node: cst.FunctionDef) -> Iterator[str]:
    """The names of what is asked for a part by a string."""
    for part in walk(node.body):
        match part:
            case cst.Subscript(
                value=base,
                slice=[
                    cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() | cst.FormattedString()))
                ],
            ):
                text = dotted(base)
                if text is not None:
                    yield text
            case _:
                pass


def shaped(node: cst.FunctionDef) -> Iterator[str]:
    """The names that are asked for a shape: in a layer, those of tensors."""
    for part in walk(node.body):
        if (
            isinstance(part, cst.Attribute)
            and part.attr.value == "shape"
            and isinstance(part.value, cst.Name)
        ):
            yield part.value.value


def read_on_host(node: cst.FunctionDef) -> Iterator[str]:
    """The names whose tensors the function reads as NumPy's where they are: they are on the CPU."""
    for part in walk(node.body):
        if isinstance(part, cst.Attribute) and part.attr.value == "numpy":
            base = part.value
            while (
                isinstance(base, cst.Call)
                and isinstance(base.func, cst.Attribute)
                and base.func.attr.value
                in ("detach", "data", "clone", "squeeze", "view", "reshape", "flatten")
            ):
                base = base.func.value
            text = dotted(base)
            if text is not None and text != "torch":
                yield text.removesuffix(".data")


def holds_nothing(call: cst.Call) -> bool:
    """Whether a factory makes a tensor without elements: a placeholder for what is not given, `torch.empty(0)`, `torch.tensor([])`."""
    if len(call.args) != 1:
        return False
    given, name = call.args[0].value, (dotted(call.func) or "").rpartition(".")[2]
    if isinstance(given, cst.List) and not given.elements:
        return True
    if name in ("empty", "zeros", "ones"):
        sizes = [one.value for one in given.elements] if isinstance(given, (cst.List, cst.Tuple)) else [given]
        return any(isinstance(size, cst.Integer) and size.value == "0" for size in sizes)
    return False
