"""Records: named tuples, dataclasses, `SimpleNamespace` and `__dict__`."""

from __future__ import annotations

import re
from functools import partial, reduce

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.conditions import Formula
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    AnyOf,
    Api,
    Class,
    Either,
    Entries,
    Items,
    Literal,
    Many,
    Object,
    Partial,
    State,
    Value,
    join,
)
from torchdev_lint.flow.instances.classes import FIELD, FIELDS, ClassModel
from torchdev_lint.flow.syntax.trees import all_parameters

NAMESPACES = frozenset({"types.SimpleNamespace", "argparse.Namespace"})
"""Their keyword arguments become attributes."""

NAMED_TUPLES = frozenset({"collections.namedtuple"})
"""Make a class out of the names of its fields."""


def call(frame: Frame, path: str, site: CallSite) -> Value | None:
    """The result of a function that makes or reads records; None when the name is none of them."""
    given = [argument.value for argument in site.positional()]
    if path in NAMESPACES:
        return namespace(frame, site, path)
    if path in NAMED_TUPLES and len(given) > 1:
        return _named_tuple(frame, site, given)
    if path in FIELDS and not site.has_star():
        keywords = tuple((one.keyword, one.value) for one in site.arguments if one.keyword)
        return Partial(Api(FIELD), tuple(given), keywords)
    if _STORES_ARGUMENTS.match(path):
        _store_arguments(frame, given)
        return NONE
    if not path.startswith("dataclasses.") or not given:
        return None
    thing = given[0]
    match path.removeprefix("dataclasses."):
        case "replace" if isinstance(thing, (Object, AnyOf, Either)):
            return replaced(frame, thing, site)
        case "fields":
            return _fields(frame, thing, site)
        case "asdict" if isinstance(thing, Object):
            return attributes_of(frame, thing) or UNKNOWN
        case "astuple" if isinstance(thing, Object):
            held = attributes_of(frame, thing)
            return UNKNOWN if held is None else Items(tuple(value for _, value in held.entries))
        case _:
            return None


_STORES_ARGUMENTS = re.compile(r"^fast(?:core|ai)\b.*\.store_attr$")
"""Makes attributes of the arguments of the function that calls it (https://fastcore.fast.ai/basics.html#store_attr)."""


def _store_arguments(frame: Frame, given: list[Value]) -> None:
    """The effect of `store_attr()` in `__init__`, or of `store_attr("model,lr")`."""
    from torchdev_lint.flow.instances.objects import set_attribute

    function = frame.function
    if function is None or not isinstance(function.receiver, Object):
        return
    told = given[0].value if given and isinstance(given[0], Literal) else ""
    named = {name.strip() for name in str(told).split(",") if name.strip()}
    for parameter in all_parameters(function.node.params):
        name = parameter.name.value
        if name not in ("self", "cls") and (name in named or not named):
            set_attribute(frame, function.receiver, name, frame.lookup(name))


METHODS = frozenset({"_replace", "_asdict"})
"""Methods that every named tuple has."""


def call_method(frame: Frame, thing: Object, name: str, site: CallSite) -> Value:
    """The result of one of `METHODS`."""
    if name == "_replace":
        return replaced(frame, thing, site)
    return attributes_of(frame, thing) or UNKNOWN


def namespace(frame: Frame, site: CallSite, path: str) -> Value:
    """`SimpleNamespace(x=..., **more)`."""
    attributes: dict[str, Value] = {}
    for argument in site.arguments:
        if argument.keyword is not None:
            attributes[argument.keyword] = argument.value
        elif isinstance(argument.value, Entries):
            attributes |= {str(name): value for name, value in argument.value.entries}
    if site.has_unknown_star():
        return frame.result_of(site.node)
    state = State("instance", UNKNOWN_DEVICE, path, attributes=attributes)
    return frame.fresh(site.node, state, "namespace")


def _named_tuple(frame: Frame, site: CallSite, given: list[Value]) -> Value:
    names: list[str] = []
    match given[1]:
        case Literal(value=str(text)):
            names = text.replace(",", " ").split()
        case Items(items) if all(isinstance(item, Literal) for item in items):
            names = [str(item.value) for item in items if isinstance(item, Literal)]
        case _:
            return frame.result_of(site.node)
    title = str(given[0].value) if isinstance(given[0], Literal) else "record"
    key = ("named tuple", id(site.node))
    model = frame.analysis.notes.get(key)
    if not isinstance(model, ClassModel):
        body = cst.IndentedBlock([cst.SimpleStatementLine([cst.Pass()])])
        node = cst.ClassDef(cst.Name(title if title.isidentifier() else "record"), body)
        model = ClassModel(title, node, frame.module_frame, (Api("typing.NamedTuple"),), fields=tuple(names))
        model.attributes = frame.analysis.table({})
        frame.analysis.notes[key] = model
    return Class(model)


def attributes_of(frame: Frame, thing: Object) -> Entries | None:
    """`vars(thing)`; None where there may be attributes that were not seen."""
    state = frame.state(thing)
    if state.kind != "instance":
        return None
    if state.model is not None and state.model.is_record and state.model.fields:
        entries = [(name, state.attributes.get(name, UNKNOWN)) for name in state.model.fields]
        return Entries(tuple(entries))
    if thing.key[0] == "self" or (state.model is not None and state.model.has_unseen_base()):
        return None
    return Entries(tuple(state.attributes.items()))


def replaced(frame: Frame, thing: Object | AnyOf | Either, site: CallSite) -> Value:
    """`dataclasses.replace(thing, x=...)` and `thing._replace(x=...)`: a copy with other attributes."""
    state = _instance(frame, thing)
    if state is None:
        return frame.result_of(site.node)
    attributes = dict(state.attributes)
    for argument in site.arguments:
        if argument.keyword is not None:
            attributes[argument.keyword] = argument.value
        elif argument.star == "**" and isinstance(argument.value, Entries):
            attributes |= {str(name): value for name, value in argument.value.entries}
    if site.has_unknown_star():
        attributes = {}
    text = thing.text if isinstance(thing, Object) else ""
    return frame.fresh(site.node, replace(state, attributes=attributes), text)


def _instance(frame: Frame, thing: Value) -> State | None:
    """What is known of an instance, or of either of two of one class: what a generator yields in one turn of its loop or the next."""
    match thing:
        case Object():
            state = frame.state(thing)
            return state if state.kind == "instance" else None
        case AnyOf(things=things):
            return reduce(partial(_either_instance, None), (_instance(frame, one) for one in things))
        case Either(guard, then, otherwise):
            return _either_instance(guard, _instance(frame, then), _instance(frame, otherwise))
        case _:
            return None


def _either_instance(guard: Formula | None, one: State | None, other: State | None) -> State | None:
    if one is None or other is None or one.model is None or one.model is not other.model:
        return None
    both = {
        name: join(guard, value, other.attributes[name])
        for name, value in one.attributes.items()
        if name in other.attributes
    }
    return replace(one, attributes=both)


def _fields(frame: Frame, thing: Value, site: CallSite) -> Value:
    model = thing.model if isinstance(thing, Class) else None
    if isinstance(thing, Object):
        model = frame.state(thing).model
    if model is None or not model.fields:
        return Many(frame.result_of(site.node))
    found = []
    for name in model.fields:
        field = Object(("field", id(model.node), name), "")
        frame.set_state(field, State("instance", UNKNOWN_DEVICE, attributes={"name": Literal(name)}))
        found.append(field)
    return Items(tuple(found))
