"""Uses of a device that are right for some of the devices that the same code takes, and wrong for others.

A name that stands for `"cuda"` today may be `"cuda:0"`, or a `torch.device`, tomorrow: what compares it with `"cuda"`, hands it on as the
type of a device, or asks a tensor for less than its device, then takes another way, or raises. What is certain is `device_objects`'.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.events import DeviceLiteral, DeviceMisuse, Event, LostIndex
from torchdev_lint.flow.activation.placement_events import DoubtfulDevice
from torchdev_lint.flow.mistakes import (
    doubtful_comparisons,
    doubtful_cuda,
    doubtful_given,
    doubtful_indices,
    doubtful_methods,
    doubtful_numbers,
    doubtful_uses,
)
from torchdev_lint.flow.mistakes.missing_devices import missing
from torchdev_lint.flow.read_alone.device_spellings import Scope, read
from torchdev_lint.flow.read_alone.evidence import TESTING, has_tests
from torchdev_lint.flow.syntax.trees import walk


def settle(analysis: Analysis, known: Sequence[Event]) -> list[DoubtfulDevice]:
    """The doubtful uses of devices in a file, less those of which more is known."""
    if (
        not (analysis.speaks_of_devices or ".type()" in analysis.written)
        or not TESTING.isdisjoint(analysis.imported)
        or has_tests(analysis.module)
    ):
        return []
    told = [node for event in known if (node := _told_of(event)) is not None]
    covered = {id(part) for node in told for part in walk(node)}
    exact = set(map(id, told))
    found: dict[int, DoubtfulDevice] = {}
    for scope in read(analysis):
        met: set[tuple[str, str]] = set()
        for one in _doubts(scope, every=analysis.options.audits):
            same = (one.form, one.text)
            if one.form in _ONCE and same in met:
                continue
            if id(one.node) in covered or any(id(part) in exact for part in walk(one.node)):
                continue
            met.add(same)
            found.setdefault(id(one.node), one)
    return list(found.values())


def _told_of(event: Event) -> cst.CSTNode | None:
    """What a rule that is on by default tells of how a device is named."""
    match event:
        case DeviceMisuse(node=node) | LostIndex(node=node):
            pass
        case DeviceLiteral(node=node, guarded=False, index=index, chosen=chosen) if (
            index is not None or chosen is not None
        ):
            pass
        case _:
            return None
    return node if isinstance(node, cst.CSTNode) else None


_ONCE = frozenset(("literal",))
"""What is told once of a device in a function: a program asks for it in turn."""


def _doubts(scope: Scope, *, every: bool) -> Iterator[DoubtfulDevice]:
    """The doubtful uses in a scope; not `every` one: those that read as mistakes whoever calls, of which rules tell that are on."""
    for node in scope.nodes:
        match node:
            case cst.Call():
                yield from doubtful_uses.check_call(scope, node, indices_only=not every)
                yield from doubtful_methods.check_load(scope, node)
                if every:
                    yield from doubtful_cuda.check_call(scope, node)
            case cst.IfExp() | cst.If():
                if every:
                    yield from doubtful_cuda.check_choice(scope, node)
                yield from doubtful_given.check_choice(scope, node)
                if isinstance(node, cst.IfExp):
                    yield from doubtful_methods.check_choice(scope, node)
            case cst.Assign(value=value):
                yield from doubtful_methods.check_value(scope, value)
            case cst.BooleanOperation():
                yield from doubtful_given.check_either(scope, node)
            case cst.Comparison() | cst.Match() if every:
                yield from doubtful_comparisons.check(scope, node)
            case cst.FormattedString() | cst.BinaryOperation() if every:
                yield from doubtful_cuda.check_text(scope, node)
            case cst.Subscript() if every:
                yield from doubtful_uses.check_part(scope, node)
            case _:
                pass
    if isinstance(scope.node, cst.FunctionDef):
        if every:
            yield from doubtful_uses.check_function(scope, scope.node)
        yield from doubtful_methods.check_function(scope, scope.node)
        yield from doubtful_numbers.check_function(scope, scope.node)
        yield from doubtful_indices.check_function(scope, scope.node)
    yield from _missing(scope)


def _missing(scope: Scope) -> Iterator[DoubtfulDevice]:
    for one in missing(scope):
        if one.none:
            yield DoubtfulDevice(one.node, "none", one.name)
        elif one.bound is not None:
            yield DoubtfulDevice(one.bound, "unbound", one.name, goes=one.node)
