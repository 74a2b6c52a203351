"""Random generators that say no device where one is at hand, as far as the text of a function, or of a class, shows.

`torch_calls.generators` follows values: it tells of a draw whose tensor certainly is elsewhere than its generator. Here nobody sees where
the tensor is; but a generator of the CPU draws for a tensor that was given, is kept by what keeps a device, or goes to whom a model is
given, too. Or, the other way round, a draw on the CPU is taken to a device, and made with a generator that the caller chooses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.events import Event
from torchdev_lint.flow.activation.placement_events import GeneratorMismatch, UnstatedGenerator
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.instances.classes import ClassModel
from torchdev_lint.flow.project.project_calls import argument_given, calls_of
from torchdev_lint.flow.read_alone.evidence import TESTING, has_tests
from torchdev_lint.flow.read_alone.generator_uses import Reading, Use, is_keyword, kept_uses, makers_in
from torchdev_lint.flow.syntax.naming import OWN_DEVICE
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, holds, remembered, walk

_SPEAKS = re.compile(r"\bGenerator\b|generator *=")
_PREPARES = re.compile(r"(?i)data_?set|datamodule|loader|collat|transform(?!er)|augment|splitter")
"""Classes, by name, that prepare data on the host."""
_SAMPLER = re.compile(r"(?:^|\.)(?:Batch|Random|Distributed|Weighted\w*|Subset\w*)?Sampler$")
"""What samplers of data are derived from."""

_CPU = re.compile(r"(?i)\bcpu\b")
_SAYS_HOST = re.compile(r"(?i)#.*\bcpu\b|Generator\((?:device *= *)?(?:torch\.device\()?[\"']cpu")
"""A comment that speaks of the CPU, or a generator that is made there and says so."""
_MAKES_ON_HOST = re.compile(rf"{_SAYS_HOST.pattern}|\bGenerator\(\s*\)|= *torch\.manual_seed\(")


def settle(analysis: Analysis, known: Sequence[Event], met: Sequence[Function]) -> list[UnstatedGenerator]:
    """The generators and draws of a file that are to be told, less those of which more is known."""
    if (
        _SPEAKS.search(analysis.written) is None
        or analysis.sets_default_device
        or not TESTING.isdisjoint(analysis.imported)
        or has_tests(analysis.module)
    ):
        return []
    told = [node for event in known if isinstance(event, GeneratorMismatch) for node in _told_of(event)]
    on_host = _wanted_on_host(met)
    found: dict[int, UnstatedGenerator] = {}
    for function in met:
        node, owner = function.node, function.owner
        if not isinstance(node, cst.FunctionDef) or function.frame.source.foreign:
            continue
        if owner is not None and _prepares_data(owner):
            continue
        for one in (*_made(function, node), *_given(function, node, on_host)):
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
    if any(use.kind in ("host", "moved", "asked", "other", "kept") for use in uses):
        return None
    return next((use for use in uses if use.kind in ("follows", "handed")), None)


def _kept(
    function: Function, reading: Reading, maker: cst.BaseExpression, kept: Use
) -> Iterator[UnstatedGenerator]:
    """A generator that a module keeps, or a class that keeps a device, too: told by what it draws with it."""
    owner = function.owner
    named = None if owner is None else OWN_DEVICE.search(function.frame.analysis.text(owner.node))
    if owner is None or (named is None and not owner.is_module) or _is_unpacked(owner, kept.near):
        return
    uses = list(kept_uses(function, kept.near))
    way = _decisive(uses)
    if way is None or any(use.kind == "kept" for use in uses):
        return
    near = way.near if named is None or way.near.startswith("self.") else named[0].replace(" ", "")
    if near:
        yield _event(function, reading, maker, Use("kept", way.node, near), "kept", way.node)


def _is_unpacked(owner: ClassModel, attribute: str) -> bool:
    """Whether something else gives the class its generator, too, along with other things: `self.rng, self.state = restored()`."""
    return any(
        isinstance(part, cst.Tuple) and any(dotted(one.value) == f"self.{attribute}" for one in part.elements)
        for target in walk(owner.node)
        if isinstance(target, cst.AssignTarget)
        for part in (target.target,)
    )


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
    """A parameter that holds a generator: of the function that draws, or of the `__init__` whose class keeps it under an attribute."""

    name: str
    definition: cst.FunctionDef
    called: str
    owner: str = ""
    attribute: str = ""


def _given(function: Function, node: cst.FunctionDef, on_host: Set[str]) -> Iterator[UnstatedGenerator]:
    """Draws without `device=`, with a generator that the caller gives, which are taken to a device then."""
    drawn_with = _drawn_with(node)
    if not drawn_with:
        return
    text = function.frame.analysis.text
    reading = Reading(function, node)
    for given in _generators_given(function, node, drawn_with):
        uses = list(
            reading.uses_of_attribute(given.attribute)
            if given.attribute
            else reading.uses_of_name(given.name)
        )
        moved = [use for use in uses if use.kind == "moved" and not _is_a_way_apart(node, given, use.node)]
        if (
            not moved
            or given.name in on_host
            or any(use.kind in ("host", "asked") for use in uses)
            or (
                given.attribute
                and any(use.kind in ("host", "asked") for use in kept_uses(function, given.attribute))
            )
            or any(_means_the_host(function, one) for one in (node, given.definition))
            or function.frame.analysis.learn(_is_given_on_host, function, given)
        ):
            continue
        for use in moved:
            assert isinstance(use.node, cst.Call)
            target = use.near if reading.is_bound_before(use.near, use.node) else None
            yield UnstatedGenerator(use.node, "given", use.near, use.goes, text(use.node.func), target)


def _is_a_way_apart(node: cst.FunctionDef, given: _Given, draw: cst.CSTNode) -> bool:
    """Whether a draw is what is done with a generator, and something else is done without: `if generator is None: randn_like(x)`."""
    return any(
        isinstance(part, (cst.If, cst.IfExp))
        and part.orelse is not None
        and any(
            isinstance(one, cst.Name) and one.value in (given.name, given.attribute)
            for one in walk(part.test)
        )
        and (holds(part.body, draw) or holds(part.orelse, draw))
        for part in walk(node)
    )


@remembered(cst.FunctionDef)
def _drawn_with(node: cst.FunctionDef) -> frozenset[str]:
    """What a function gives for `generator=`: names, and attributes of `self`."""
    return frozenset(
        text
        for part in walk(node.body)
        if isinstance(part, cst.Arg)
        and is_keyword(part, "generator")
        and (text := dotted(part.value)) is not None
    )


def _generators_given(function: Function, node: cst.FunctionDef, drawn_with: Set[str]) -> Iterator[_Given]:
    owner = function.owner
    for one in all_parameters(node.params):
        if one.name.value in drawn_with:
            yield _Given(one.name.value, node, node.name.value, "" if owner is None else owner.name)
    initializer = None if owner is None else owner.methods.get("__init__")
    kept = [one for one in drawn_with if one.startswith("self.")]
    if owner is None or initializer is None or node is initializer or not kept:
        return
    held: dict[str, list[cst.BaseExpression]] = {}
    for part in walk(owner.node):
        if isinstance(part, cst.Assign):
            held.setdefault(dotted(part.targets[0].target) or "", []).append(part.value)
    names = {one.name.value for one in all_parameters(initializer.params)}
    for target in kept:
        match held.get(target):
            case [cst.Name(value=name)] if name in names:
                yield _Given(name, initializer, owner.name, attribute=target.removeprefix("self."))
            case _:
                pass


def _wanted_on_host(met: Sequence[Function]) -> set[str]:
    """The parameters with which a function of the file draws on the CPU, and leaves it there: its callers give generators of the CPU."""
    found: set[str] = set()
    for function in met:
        node = function.node
        if not isinstance(node, cst.FunctionDef):
            continue
        names = _drawn_with(node) & {one.name.value for one in all_parameters(node.params)}
        reading = Reading(function, node) if names else None
        for name in names:
            if reading is not None and any(use.kind == "host" for use in reading.uses_of_name(name)):
                found.add(name)
    return found


def _means_the_host(function: Function, node: cst.FunctionDef) -> bool:
    """Whether a function makes a generator of the CPU where none is given, or says that it is the CPU's."""
    return (
        _CPU.search(node.get_docstring() or "") is not None
        or _SAYS_HOST.search(function.frame.analysis.text(node)) is not None
        or any(True for _ in makers_in(function.frame, node))
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
