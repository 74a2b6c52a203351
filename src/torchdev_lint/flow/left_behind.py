"""Parts of a batch that are not moved though others of it are: `for x, y in loader: x = x.to(device)`, and then `loss(net(x), y)`.

Nothing is known of what the loader gives, but the one who wrote the function knows: what is taken to the device is not there yet, and
what comes with it comes from the same place. A part counts only if the function uses it as a tensor is used, not as a number or a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from torchdev_lint.flow.evidence import ONLY_TENSORS, resolved_path, takes_tensors
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.lattice import Cpu, Origin
from torchdev_lint.flow.operands import dotted
from torchdev_lint.flow.trees import walk
from torchdev_lint.flow.values import Object, Tensor
from torchdev_lint.torch_api.devices import DEVICE_NAME

_NO_TENSOR = re.compile(
    r"(?i)len|idx|ind(?:ex|ices)|^i$|id(?:s)?$|name|path|text|meta|info|file|size|shape|epoch|num|count|key|str|word|sent|caption|prompt"
)
"""Words in the names of what is no tensor, or stays on the CPU on purpose."""
_NETWORK = re.compile(r"(?i)model|net(?:work)?$|encoder|decoder|backbone|classifier|generator|discriminator")
"""Words in the names of what is called with tensors, and perhaps with something else."""
_LOSS = re.compile(r"(?i)(?:^|_)(?:loss|criterion|crit)(?:_f(?:n|unc\w*))?$")
"""Names of losses, whose two first arguments are tensors."""


def parts(frame: Frame, elements: Sequence[cst.BaseElement], value: Object) -> dict[str, Tensor]:
    """What the names are bound to that `value` is unpacked to, as far as they are left where they come from."""
    names = [one.value.value for one in elements if isinstance(one.value, cst.Name)]
    if len(names) != len(elements) or len(names) < 2 or frame.state(value).kind != "unknown":
        return {}
    left = frame.analysis.learn(_left, frame, tuple(names))
    places = {one.value.value: one.value for one in elements if isinstance(one.value, cst.Name)}
    return {name: Tensor(Cpu(Origin(places[name], "left")), guess=not sure) for name, sure in left.items()}


def _left(frame: Frame, names: tuple[str, ...]) -> dict[str, bool]:
    """The names that are not moved and are used as tensors, if another is moved: each with whether only tensors are used so."""
    body = frame.source.module if frame.function is None else frame.function.node.body
    wanted = frozenset(names)
    moved: set[str] = set()
    other: set[str] = set()
    used: dict[str, bool] = {}
    unpacked = 0
    for node in walk(body):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=given):
                unpacked += _is_unpacked(target, names)
                for name, part in _pairs(target, given):
                    if name in wanted and not _is_unpacked(target, names):
                        (moved if _is_move(frame, part, name) else other).add(name)
                if isinstance(target, (cst.Subscript, cst.Attribute)) and isinstance(target.value, cst.Name):
                    other.add(target.value.value)  # a list, whose items may be moved one by one
            case cst.For(target=target, iter=source) | cst.CompFor(target=target, iter=source):
                unpacked += any(_is_unpacked(part, names) for part in walk(target))
                other |= {part.value for part in walk(source) if isinstance(part, cst.Name)}
            case cst.AugAssign(target=cst.Name(value=name)) | cst.AnnAssign(target=cst.Name(value=name)):
                other.add(name)
            case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=attribute)) if name in wanted:
                if attribute in ("to", "cuda", "cpu", "numpy", "tolist", "device"):
                    other.add(name)
                elif attribute in ONLY_TENSORS:
                    used[name] = True
            case cst.Call(func=called, args=arguments):
                for name, sure in _given_as_tensors(frame, called, arguments):
                    used[name] = sure or used.get(name, False)
            case _:
                pass
    if unpacked != 1 or not moved:
        return {}
    kept = wanted - moved - other
    return {name: sure for name, sure in used.items() if name in kept and not _NO_TENSOR.search(name)}


def _is_unpacked(target: cst.CSTNode, names: tuple[str, ...]) -> bool:
    return isinstance(target, (cst.Tuple, cst.List)) and names == tuple(
        one.value.value if isinstance(one.value, cst.Name) else "" for one in target.elements
    )


def _pairs(target: cst.BaseExpression, value: cst.BaseExpression) -> Iterator[tuple[str, cst.BaseExpression]]:
    """The names that an assignment binds, each with what it is given."""
    match target, value:
        case cst.Name(value=name), _:
            yield name, value
        case ((cst.Tuple() | cst.List()), (cst.Tuple() | cst.List())) if len(target.elements) == len(
            value.elements
        ):
            for one, given in zip(target.elements, value.elements, strict=True):
                yield from _pairs(one.value, given.value)
        case ((cst.Tuple() | cst.List()), _):
            for one in target.elements:
                yield from _pairs(one.value, value)
        case _:
            pass


def _is_move(frame: Frame, node: cst.BaseExpression, name: str) -> bool:
    """Whether the expression takes what the name holds to a device: `x.to(device)`, `Variable(x.cuda())`, `x.float().to(device)`."""
    inside, there = False, False
    for part in walk(node):
        match part:
            case cst.Name(value=held) if held == name:
                inside = True
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="cuda"))):
                there = True
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="to")), args=[cst.Arg(value=given), *_]):
                there = there or _names_device(given)
            case _:
                pass
    return inside and there


def _names_device(node: cst.BaseExpression) -> bool:
    """Whether an argument is a chosen device, not where another value is (`y.device`)."""
    text = dotted(node) or ""
    owner, _, last = text.rpartition(".")
    return DEVICE_NAME.search(last) is not None and (
        not owner or last != "device" or owner in ("self", "args")
    )


def _given_as_tensors(
    frame: Frame, called: cst.BaseExpression, arguments: Sequence[cst.Arg]
) -> Iterator[tuple[str, bool]]:
    """The names that a call is given as tensors, and whether it is sure that they are."""
    path = resolved_path(frame, called)
    name = (dotted(called) or "").rpartition(".")[2]
    for index, argument in enumerate(arguments):
        if not isinstance(argument.value, cst.Name) or argument.keyword is not None or argument.star:
            continue
        if path is not None:
            if takes_tensors(path, index):
                yield argument.value.value, True
        elif _LOSS.search(name) is not None and index < 2:
            yield argument.value.value, True
        elif _NETWORK.search(name) is not None:
            yield argument.value.value, False
