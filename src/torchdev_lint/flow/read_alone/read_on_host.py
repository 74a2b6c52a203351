"""What is loaded and read on the host as it is: `{name: value.numpy() for name, value in torch.load(path).items()}`.

Programs that hand weights on to another framework are run where the file holds CPU tensors: `.numpy()` fails for any other, on every
machine (https://pytorch.org/docs/stable/generated/torch.Tensor.numpy.html).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from torchdev_lint.flow.syntax.trees import dotted, walk

_KEEPS_DEVICE = frozenset("detach data float half t contiguous squeeze transpose permute".split())
"""Methods and attributes between a tensor and its `.numpy()` that do not bring it anywhere."""


def is_read(scope: cst.CSTNode, nodes: Iterable[cst.CSTNode], held: set[str]) -> bool:
    """Whether what has one of the names `held`, or its items, is given to NumPy without being brought to the CPU; `nodes`: of the scope."""
    read = {_origin(node) for node in nodes if isinstance(node, cst.Call)} - {None}
    return bool(read) and not read.isdisjoint((*held, *_items(scope, held)))


def _items(scope: cst.CSTNode, held: set[str]) -> Iterator[str]:
    """The names that loops give the values of a dict: `value` of `for name, value in held.items()`."""
    for part in walk(scope):
        match part:
            case (
                cst.For(
                    target=target, iter=cst.Call(func=cst.Attribute(value=whole, attr=cst.Name(value=kind)))
                )
                | cst.CompFor(
                    target=target, iter=cst.Call(func=cst.Attribute(value=whole, attr=cst.Name(value=kind)))
                )
            ) if dotted(whole) in held:
                pair = target.elements if isinstance(target, cst.Tuple) else ()
                value = pair[1].value if kind == "items" and len(pair) == 2 else target
                name = dotted(value) if kind in ("items", "values") else None
                if name is not None:
                    yield name
            case _:
                pass


def _origin(call: cst.Call) -> str | None:
    """The name of what `.numpy()` is asked of, where nothing in between may bring it to the CPU."""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "numpy" or call.args:
        return None
    current: cst.BaseExpression = call.func.value
    while not isinstance(current, cst.Name):
        match current:
            case cst.Call(func=cst.Attribute() as method):
                current = method
            case cst.Attribute(value=inner, attr=cst.Name(value=name)) if name in _KEEPS_DEVICE:
                current = inner
            case cst.Subscript(value=inner):
                current = inner
            case _:
                return None
    return current.value
