"""Comparisons of devices that miss some of those they mean: `device == "cuda"`, `x.device == torch.device("cuda")`.

A string with an index equals no type's name, a `torch.device` equals no string, and a tensor's own device always has an index.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.placement_events import DoubtfulDevice
from torchdev_lint.flow.mistakes import doubtful_numbers
from torchdev_lint.flow.read_alone.device_spellings import (
    ANY,
    INDEXED,
    OBJECT,
    OF_THING,
    OTHER,
    PLAIN_OBJECT,
    SHOWN,
    TEXT,
    TYPE,
    Scope,
    is_called_device,
    kinds,
    makes_device,
    shown,
    type_of,
)
from torchdev_lint.flow.syntax.trees import dotted, walk
from torchdev_lint.torch_api import devices as api

_WITHOUT_INDEX = frozenset(("cpu", "meta"))
_ASKS = frozenset("startswith split partition find type index".split())
_SETTINGS = frozenset("self cls args opt opts cfg config torch".split())
_TELLS = re.compile(r"(?:^|[._])(?:warn|warning|error|exception)$")


def check(scope: Scope, node: cst.Comparison | cst.Match) -> Iterator[DoubtfulDevice]:
    """The comparisons of a device with the name of a type, and of two devices."""
    match node:
        case cst.Match(subject=subject, cases=cases):
            for case in cases:
                if isinstance(case.pattern, cst.MatchValue):
                    yield from _with_name(scope, subject, subject, case.pattern.value)
        case cst.Comparison(
            left=left,
            comparisons=[cst.ComparisonTarget(operator=cst.Equal() | cst.NotEqual(), comparator=right)],
        ):
            if isinstance(right, cst.SimpleString):
                yield from _with_name(scope, node, left, right)
            elif isinstance(left, cst.SimpleString):
                yield from _with_name(scope, node, right, left)
            else:
                yield from _of_two(scope, node, left, right)
        case cst.Comparison(
            left=left,
            comparisons=[
                cst.ComparisonTarget(
                    operator=cst.In() | cst.NotIn(),
                    comparator=cst.Tuple(elements=elements)
                    | cst.List(elements=elements)
                    | cst.Set(elements=elements),
                )
            ],
        ):
            for element in elements:
                yield from _with_name(scope, node, left, element.value)
        case _:
            pass


# -- with the name of a type


def _with_name(
    scope: Scope, node: cst.CSTNode, device: cst.BaseExpression, literal: cst.BaseExpression
) -> Iterator[DoubtfulDevice]:
    if not isinstance(literal, cst.SimpleString) or not is_called_device(device):
        return
    word = str(literal.evaluated_value)
    parsed = api.parse(word)
    if parsed is None or parsed[1] is not None:
        return
    apart = doubtful_numbers.told_apart(scope.node)
    if apart is not None and dotted(device) == apart[0]:
        return
    found = kinds(scope, device)
    missed = {OBJECT, PLAIN_OBJECT}
    # else the thing may be one of the file's own, which keep a string
    if "self.device" not in scope.root.assigned:
        missed.add(OF_THING)
    if word not in _WITHOUT_INDEX:
        missed |= {INDEXED, SHOWN}
        if word != "mps":  # there is one, and only a tensor's own device gives it an index
            missed |= {TEXT, ANY}
    if not found & missed or _reckons_with_more(scope, device) or _refuses_others(scope, device):
        return
    single = isinstance(node, cst.Comparison) and isinstance(
        node.comparisons[0].operator, (cst.Equal, cst.NotEqual)
    )
    replacement = type_of(scope, device) if single else None
    yield DoubtfulDevice(
        node,
        "literal",
        scope.analysis.text(device),
        word,
        replaced=None if replacement is None else device,
        replacement=replacement,
    )


def _reckons_with_more(scope: Scope, device: cst.BaseExpression) -> bool:
    """Whether the scope asks the same device in another way, too: `device.startswith("cuda")`, `isinstance(device, str)`."""
    name = shown(device)
    for node in scope.nodes:
        match node:
            case cst.Comparison(
                comparisons=[cst.ComparisonTarget(operator=cst.In() | cst.NotIn(), comparator=asked)]
            ):
                pass
            case cst.Attribute(value=asked, attr=cst.Name(value=how)) if how in _ASKS:
                pass
            case cst.Call(func=cst.Name(value="isinstance"), args=[cst.Arg(value=asked), *_]):
                pass
            case cst.Call(func=cst.Name(value="str"), args=[cst.Arg(value=asked)]) if node is not device:
                pass
            case cst.Call(func=function, args=[_, cst.Arg(value=asked), *_]) if (
                dotted(function) or ""
            ).startswith("re."):
                pass
            case _:
                continue
        if shown(asked) == name:
            return True
    return False


def _refuses_others(scope: Scope, device: cst.BaseExpression) -> bool:
    """Whether the scope raises for all but the words that it knows."""
    name = shown(device)
    for node in scope.nodes:
        match node:
            case cst.Assert(
                test=cst.Comparison(
                    left=asked, comparisons=[cst.ComparisonTarget(operator=cst.In() | cst.Equal())]
                )
            ):
                refuses = True
            case cst.If(
                test=cst.Comparison(
                    left=asked, comparisons=[cst.ComparisonTarget(operator=cst.NotIn() | cst.NotEqual())]
                ),
                body=body,
            ):
                refuses = _raises(body)
            case cst.If(
                test=cst.Comparison(left=asked, comparisons=[cst.ComparisonTarget(operator=cst.Equal())])
            ):
                last: cst.If | cst.Else | None = node
                while isinstance(last, cst.If):
                    last = last.orelse
                refuses = last is not None and _raises(last.body)
            case _:
                continue
        if refuses and shown(asked) == name:
            return True
    return False


def _raises(body: cst.CSTNode) -> bool:
    return any(isinstance(part, cst.Raise) for part in walk(body))


# -- of two devices


def _of_two(
    scope: Scope, node: cst.Comparison, left: cst.BaseExpression, right: cst.BaseExpression
) -> Iterator[DoubtfulDevice]:
    for placed, other in ((left, right), (right, left)):
        if not _is_placed(placed) or _is_placed(other) or _says_host(other):
            continue
        if not (is_called_device(other) or makes_device(other)):
            continue
        found = kinds(scope, other)
        as_text = isinstance(placed, cst.Call)
        if found <= {TYPE, OTHER} and not as_text:
            continue
        if found == {PLAIN_OBJECT} or _decides(scope, node):
            yield DoubtfulDevice(node, "equal", scope.analysis.text(placed), scope.analysis.text(other))
            return


def _is_placed(node: cst.BaseExpression) -> bool:
    """Whether it asks a thing, no collection of settings, where it is: `x.device`, `str(x.device)`."""
    match node:
        case cst.Attribute(value=base, attr=cst.Name(value="device")):
            return dotted(base) not in _SETTINGS
        case cst.Call(func=cst.Name(value="str"), args=[cst.Arg(value=inner)]):
            return _is_placed(inner)
        case _:
            return False


def _says_host(node: cst.BaseExpression) -> bool:
    return any(
        isinstance(part, cst.SimpleString) and part.evaluated_value in ("cpu", "meta", "disk")
        for part in walk(node)
    )


def _decides(scope: Scope, node: cst.Comparison) -> bool:
    """Whether more hangs on a comparison than a copy that need not be."""
    equal = isinstance(node.comparisons[0].operator, cst.Equal)
    for part in scope.nodes:
        match part:
            case cst.Assert(test=test) if _has(test, node):
                return True
            case cst.If(test=test, body=body, orelse=orelse) if _has(test, node):
                if not equal:
                    return any(isinstance(inner, cst.Raise) or _warns(inner) for inner in walk(body))
                return _only_returns(body) or (orelse is not None and _raises(orelse))
            case _:
                pass
    return False


def _warns(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and _TELLS.search(dotted(node.func) or "") is not None


def _only_returns(body: cst.BaseSuite) -> bool:
    """Whether nothing more is done: `return`, without a value."""
    last = body.body[-1]
    if not isinstance(last, cst.SimpleStatementLine) or not isinstance(last.body[-1], cst.Return):
        return False
    return last.body[-1].value is None


def _has(tree: cst.CSTNode, node: cst.CSTNode) -> bool:
    return any(part is node for part in walk(tree))
