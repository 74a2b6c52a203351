"""The patterns of `match`: under which condition one matches, and what it binds."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import FALSE, TRUE, Formula, conjunction, disjunction
from torchdev_lint.flow.domain.values import (
    UNKNOWN,
    Api,
    Entries,
    Items,
    Literal,
    Many,
    Object,
    Tensor,
    Value,
    element_of,
)
from torchdev_lint.flow.execution import truths
from torchdev_lint.flow.execution.patterns import part_of
from torchdev_lint.flow.instances.objects import get_attribute


def matches(frame: Frame, pattern: cst.MatchPattern, value: Value) -> Formula:
    """The condition under which the pattern matches the value; names that it captures are bound."""
    match pattern:
        case cst.MatchAs(pattern=inner, name=name):
            found = TRUE if inner is None else matches(frame, inner, value)
            if name is not None:
                frame.bind(name.value, value)
            return found
        case cst.MatchValue(value=node):
            with frame.quietly():
                wanted = frame.evaluate(node)
            return truths.equality(frame, pattern, value, wanted)
        case cst.MatchSingleton(value=node):
            return truths.identity(frame, pattern, value, frame.evaluate(node))
        case cst.MatchOr(patterns=alternatives):
            return disjunction(*(matches(frame, one.pattern, value) for one in alternatives))
        case cst.MatchSequence(patterns=parts):
            return _sequence(frame, pattern, list(parts), value)
        case cst.MatchMapping():
            return _mapping(frame, pattern, value)
        case cst.MatchClass():
            return _class(frame, pattern, value)
        case _:
            return truths.opaque(frame, pattern)


def _sequence(
    frame: Frame,
    pattern: cst.MatchSequence,
    parts: list[cst.MatchSequenceElement | cst.MatchStar],
    value: Value,
) -> Formula:
    starred = next((i for i, part in enumerate(parts) if isinstance(part, cst.MatchStar)), None)
    least = len(parts) - (starred is not None)
    found: Formula = truths.opaque(frame, pattern)
    items: list[Value] | None = None
    if isinstance(value, (Entries, Tensor, Literal)):
        found = FALSE
    elif isinstance(value, Items):
        fits = len(value.items) == least if starred is None else len(value.items) >= least
        found = TRUE if fits else FALSE
        items = list(value.items) if fits else None
    for index, part in enumerate(parts):
        if isinstance(part, cst.MatchStar):
            if part.name is not None:
                rest: Value = Many(element_of(value))
                if items is not None:
                    rest = Items(tuple(items[index : len(items) - (len(parts) - index - 1)]))
                frame.bind(part.name.value, rest)
            continue
        if items is not None:
            after_star = starred is not None and index > starred
            item = items[index - len(parts)] if after_star else items[index]
        else:
            item = part_of(value, index, None if starred is not None else len(parts))
        found = conjunction(found, matches(frame, part.value, item))
    return found


def _mapping(frame: Frame, pattern: cst.MatchMapping, value: Value) -> Formula:
    found: Formula = truths.opaque(frame, pattern)
    held: dict[object, Value] = {}
    if isinstance(value, Entries):
        held = dict(value.entries)
        found = TRUE if not value.open else found
    elif isinstance(value, (Items, Many, Literal)) or (isinstance(value, Tensor) and not value.mapping):
        found = FALSE
    for element in pattern.elements:
        with frame.quietly():
            key = frame.evaluate(element.key)
        name = key.value if isinstance(key, Literal) else None
        if isinstance(value, Entries) and not value.open and name not in held:
            found = FALSE
        item = value.get(name) if isinstance(value, Entries) else UNKNOWN
        found = conjunction(found, matches(frame, element.pattern, item))
    if pattern.rest is not None:
        frame.bind(pattern.rest.value, value if isinstance(value, Entries) else UNKNOWN)
    return found


def _class(frame: Frame, pattern: cst.MatchClass, value: Value) -> Formula:
    wanted = frame.evaluate(pattern.cls)
    found = truths.is_instance(frame, pattern, value, wanted)
    for index, element in enumerate(pattern.patterns):
        inner: Value = UNKNOWN
        if isinstance(wanted, Api) and wanted.path.startswith("builtins.") and index == 0:
            inner = value
        elif isinstance(value, Object):
            model = frame.state(value).model
            if model is not None and index < len(model.fields):
                inner = get_attribute(frame, value, model.fields[index], pattern)
        found = conjunction(found, matches(frame, element.value, inner))
    for keyword in pattern.kwds:
        inner = get_attribute(frame, value, keyword.key.value, pattern)
        found = conjunction(found, matches(frame, keyword.pattern, inner))
    return found
