"""Random generators that say no device where one is at hand, as far as the text of a function, or of a class, shows.

`torch_calls.generators` follows values: it tells of a draw whose tensor certainly is elsewhere than its generator. Here nobody sees where
the tensor is; but a generator of the CPU draws for a tensor that was given, is kept by what keeps a device, or goes to whom a model is
given, too. Or, the other way round, a draw on the CPU is taken to a device, and made with a generator that the caller chooses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.events import Event
from torchdev_lint.flow.activation.placement_events import GeneratorMismatch, UnstatedGenerator
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.instances.classes import ClassModel
from torchdev_lint.flow.project.project_calls import argument_given, calls_of
from torchdev_lint.flow.read_alone.evidence import TESTING, has_tests
from torchdev_lint.flow.read_alone.generator_uses import (
    Reading,
    Use,
    draws_with,
    is_keyword,
    kept_uses,
    makers_in,
)
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, holds, walk

_SPEAKS = re.compile(r"\bGenerator\b|generator *=")
_PREPARES = re.compile(r"(?i)data_?set|datamodule|loader|collat|transform(?!er)|augment|splitter")
"""Classes, by name, that prepare data on the host."""
_SAMPLER = re.compile(r"(?:^|\.)(?:Batch|Random|Distributed|Weighted\w*|Subset\w*)?Sampler$")
"""What samplers of data are derived from."""

_OWN_DEVICE = re.compile(r"\bself *\. *(?:\w+ *\. *)*_?device\b(?! *\()")
_CPU = re.compile(r"(?i)\bcpu\b")
_SAYS_HOST = re.compile(r"(?i)#.*\bcpu\b|Generator\((?:device *= *)?(?:torch\.device\()?[\"']cpu")
"""A comment that speaks of the CPU, or a generator that is made there and says so."""
_MAKES_ON_HOST = re.compile(rf"{_SAYS_HOST.pattern}|\bGenerator\(\s*\)|= *torch\.manual_seed\(")


def settle(analysis: Analysis, known: Sequence[Event], met: Sequence[Function]) -> list[UnstatedGenerator]:
    """The generators and draws of a file that are to be told, less those of which more is known."""
    if (
        not analysis.options.audits
        or _SPEAKS.search(analysis.written) is None
        or analysis.sets_default_device
        or not TESTING.isdisjoint(analysis.imported)
        or has_tests(analysis.module)
    ):
        return []
    told = [node for event in known if isinstance(event, GeneratorMismatch) for node in _told_of(event)]
    found: dict[int, UnstatedGenerator] = {}
    for function in met:
        node, owner = function.node, function.owner
        if not isinstance(node, cst.FunctionDef) or function.frame.source.foreign:
            continue
        if owner is not None and _prepares_data(owner):
            continue
        for one in (*_made(function, node), *_given(function, node)):
            parts = (one.node, one.goes)
            if not any(holds(part, other) or holds(other, part) for part in parts for other in told):
                found.setdefault(id(one.node), one)
    return list(found.values())


def _prepares_data(owner: ClassModel) -> bool:
    bases = [dotted(base.value) or "" for base in owner.node.bases]
    return (
        any(map(_PREPARES.search, (owner.name, *bases)))
        or any(map(_SAMPLER.search, bases))
        or ("Sampler" in owner.name and owner.find("__iter__") is not None)
    )


def _told_of(event: GeneratorMismatch) -> Iterator[cst.CSTNode]:
    yield from (node for node in (event.call, event.constructor) if node is not None)
    if event.generator.origin is not None:
        yield event.generator.origin.root().node


# -- made on the CPU --------------------------------------------------------------------------------------------------------


def _made(function: Function, node: cst.FunctionDef) -> Iterator[UnstatedGenerator]:
    makers = list(makers_in(function.frame, node))
    if not makers:
        return
    reading = Reading(function, node)
    for maker in makers:
        uses = list(reading.uses_of_maker(maker))
        kept = next((use for use in uses if use.kind == "kept"), None)
        if kept is not None:
            yield from _kept(function, reading, maker, kept)
            continue
        way = _decisive(uses)
        if way is not None and way.near:
            yield _event(
                function, reading, maker, way, "draws" if way.kind != "handed" else "handed", way.node
            )


def _decisive(uses: Sequence[Use]) -> Use | None:
    """The use that is to be told: a draw that is told a device, whatever else is done; any other if nothing draws on the host."""
    there = next((use for use in uses if use.kind == "there"), None)
    if there is not None and not any(use.kind == "asked" for use in uses):
        return there
    if any(use.kind in ("host", "asked", "other", "kept") for use in uses):
        return None
    return next((use for use in uses if use.kind in ("follows", "handed")), None)


def _kept(
    function: Function, reading: Reading, maker: cst.BaseExpression, kept: Use
) -> Iterator[UnstatedGenerator]:
    """A generator that a class keeps which keeps a device, too: told by what the class draws with it."""
    owner = function.owner
    if owner is None or _OWN_DEVICE.search(function.frame.analysis.text(owner.node)) is None:
        return
    uses = list(kept_uses(function, kept.near))
    way = _decisive(uses)
    if way is not None and not any(use.kind == "kept" for use in uses):
        named = _OWN_DEVICE.search(function.frame.analysis.text(owner.node))
        assert named is not None
        near = way.near if way.near.startswith("self.") else named[0].replace(" ", "")
        yield _event(function, reading, maker, Use("kept", way.node, near), "kept", way.node)


def _event(
    function: Function, reading: Reading, maker: cst.BaseExpression, use: Use, how: str, goes: cst.CSTNode
) -> UnstatedGenerator:
    constructor = maker if isinstance(maker, cst.Call) else None
    is_device = constructor is not None and use.near.endswith("device")
    target = use.near if is_device and reading.is_bound_before(use.near, maker) else None
    text = function.frame.analysis.text
    return UnstatedGenerator(
        node=maker,
        how=how,
        near=use.near,
        goes=goes,
        function=text(goes.func) if isinstance(goes, cst.Call) else "",
        target=target,
        constructor_function="" if constructor is None else text(constructor.func),
    )


# -- given by the caller ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Given:
    """A parameter that holds a generator: of the function that draws, or of the `__init__` whose class keeps it."""

    name: str
    definition: cst.FunctionDef
    called: str
    owner: str
    scope: cst.CSTNode
    text: str


def _given(function: Function, node: cst.FunctionDef) -> Iterator[UnstatedGenerator]:
    """Draws without `device=`, with a generator that the caller gives, which are taken to a device then."""
    text = function.frame.analysis.text
    reading: Reading | None = None
    for call in walk(node.body, below=(cst.FunctionDef, cst.ClassDef)):
        given = _given_to(function, node, call) if isinstance(call, cst.Call) else None
        if given is None or not isinstance(call, cst.Call) or _means_the_host(function, node, given):
            continue
        reading = reading or Reading(function, node)
        moved = reading.moved_to(call)
        if moved is not None and not function.frame.analysis.learn(_is_given_on_host, function, given):
            place, goes = moved
            target = place if reading.is_bound_before(place, call) else None
            yield UnstatedGenerator(call, "given", place, goes, text(call.func), target)


def _given_to(function: Function, node: cst.FunctionDef, call: cst.Call) -> _Given | None:
    """The parameter, if a factory draws with it and is told no device. Indices are another matter."""
    drawn = draws_with(function.frame, call)
    if drawn is None or drawn[1] is not None:
        return None
    if drawn[0].name == "randperm" or (drawn[0].result != "m" and drawn[0].name != "normal"):
        return None
    if any(one.star or is_keyword(one, "device") or is_keyword(one, "out") for one in call.args):
        return None
    given = next((one.value for one in call.args if is_keyword(one, "generator")), None)
    owner = function.owner
    if isinstance(given, cst.Name) and _has_parameter(node, given.value):
        return _Given(
            given.value, node, node.name.value, "" if owner is None else owner.name, node, given.value
        )
    initializer = None if owner is None else owner.methods.get("__init__")
    text = None if given is None else dotted(given)
    if owner is None or initializer is None or text is None or not text.startswith("self."):
        return None
    held = [
        one.value
        for one in walk(owner.node)
        if isinstance(one, cst.Assign) and dotted(one.targets[0].target) == text
    ]
    match held:
        case [cst.Name(value=name)] if _has_parameter(initializer, name):
            return _Given(name, initializer, owner.name, "", owner.node, text)
        case _:
            return None


def _has_parameter(node: cst.FunctionDef, name: str) -> bool:
    return any(one.name.value == name for one in all_parameters(node.params))


def _means_the_host(function: Function, node: cst.FunctionDef, given: _Given) -> bool:
    """Whether it is asked where the generator is, one of the CPU is made where none is given, or it is said to be the CPU's."""
    text = function.frame.analysis.text
    said = [(one.get_docstring() or "") for one in (node, given.definition)]
    asks = rf"\b{re.escape(given.text)}\s*(?:\[\w+\]\s*)?\.\s*device\b"
    return (
        any(_CPU.search(one) is not None for one in said)
        or any(_SAYS_HOST.search(text(one)) is not None for one in (node, given.definition))
        or re.search(asks, text(given.scope)) is not None
        or any(any(True for _ in makers_in(function.frame, one)) for one in (node, given.definition))
    )


def _is_given_on_host(function: Function, given: _Given) -> bool:
    """Whether somebody calls the function with a generator of the CPU."""
    frame = function.frame
    for call, scope in calls_of(frame, given.called, given.owner):
        handed = argument_given(given.definition, call, given.name)
        if (
            handed is not None
            and scope is not None
            and _MAKES_ON_HOST.search(frame.analysis.text(scope)) is not None
        ):
            return True
    return False
