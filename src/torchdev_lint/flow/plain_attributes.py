"""Tensors that a class which `Module.to` moves keeps as plain attributes, where the use that fails is not in sight.

Who uses them together with what moves is told on is known to `registration`, which executes the class. Here its text is read: what
`__init__` keeps, what the methods meet with it, and whether any of them moves it. Nobody has to have moved the module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from torchdev_lint.flow.analysis import Analysis
from torchdev_lint.flow.attribute_uses import Reading, Use, own_attributes, uses_in
from torchdev_lint.flow.classes import ClassModel
from torchdev_lint.flow.events import DeviceLiteral, Event
from torchdev_lint.flow.evidence import has_tests
from torchdev_lint.flow.evident_tensors import Scope, Source, assigned_values, moves, source_of
from torchdev_lint.flow.host_functions import HOST_CLASS, HOST_FILE
from torchdev_lint.flow.lattice import Origin
from torchdev_lint.flow.operands import dotted
from torchdev_lint.flow.own_state import setters_of
from torchdev_lint.flow.placement_events import LayerWithoutDevice, PlainAttribute, UnmovedModule
from torchdev_lint.flow.tensor_caches import caches
from torchdev_lint.flow.trees import remembered, walk
from torchdev_lint.torch_api.modules import IN_PLACE_MOVES

_RUNS_OTHERS = re.compile(r"(?:Trainer|Agent|Callback|Dataset|DataModule|Policy)$")
"""Classes, by name, that hold modules and are none."""

_TESTS = re.compile(r"^(?:Test|Mock|Dummy|Fake)|(?:Test|TestCase|Mock)$")
_ON_HOST = re.compile(
    r"(?i)plot|draw|visuali[sz]e|save|export|dump|print|__repr__|(?:^|_)log(?:_|$)|to_numpy|collate"
)
"""Methods of modules, by name, that show or keep what they have."""

_ALL_ATTRIBUTES = re.compile(
    r"__dict__|\bvars\(|\bsetattr\(|named_buffers|\bgetattr\(\s*self\s*,\s*\w+\s*[,)]"
)


@dataclass(frozen=True, slots=True)
class _Kept:
    """An assignment of `__init__`'s that keeps a tensor."""

    node: cst.Assign | cst.AnnAssign
    name: str
    value: cst.BaseExpression
    source: Source
    method: cst.FunctionDef
    cache: bool = False
    """It is left empty, and methods fill it."""


def check_class(
    analysis: Analysis, model: ClassModel, models: Sequence[ClassModel], reading: Reading
) -> Iterator[PlainAttribute]:
    """The tensors that a module of the file keeps and never moves."""
    initializer = model.methods.get("__init__")
    if initializer is None or not _is_moved_by_others(model, reading) or _is_for_host(model):
        return
    family = [one for one in models if model in one.lineage()] or [model]
    if any(_ALL_ATTRIBUTES.search(analysis.text(one.node)) for one in family if one.moves_itself()):
        return
    methods = list(
        {
            id(m): (owner, m) for one in family for owner in one.lineage() for m in owner.methods.values()
        }.values()
    )
    kept = [*_kept(model, initializer), *_cached(reading, model, initializer, methods)]
    if not kept:
        return
    plain = frozenset(one.name for one in kept)
    for one in kept:
        others = [site for site in kept if site.name == one.name]
        if others[0] is not one:
            continue
        if _is_registered(model, one.name, methods, cache=one.cache) or _is_set_elsewhere(analysis, one.name):
            continue
        if (
            one.source == "given"
            and isinstance(one.value, cst.Name)
            and analysis.says(_parameter_for(one.value.value))
        ):
            continue
        shown = _that_meets(reading, model, methods, initializer, one, plain)
        if shown is None:
            continue
        mover = next((m for _, m in methods if m.name.value in ("to", "cuda", "_apply")), None)
        node: cst.CSTNode = one.node
        late = False
        if mover is not None:
            if f"self.{one.name}" in analysis.text(mover) or one.name in own_attributes(mover):
                continue
            if any(True for _ in _moved_by(mover)):
                last = mover.body.body[-1]
                node, late = (last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last), True
        single = one.cache or len([m for _, m in methods for n in _assignments(m) if n == one.name]) == 1
        fixable = (
            single
            and not late
            and isinstance(one.node, cst.Assign)
            and not isinstance(one.value, (cst.Lambda, cst.Dict))
            and _is_after_super(initializer, one)
        )
        yield PlainAttribute(
            node=node,
            attribute=one.name,
            source=one.source,
            value=one.value if fixable else None,
            value_text=analysis.text(one.value),
            assigned=one.node,
            meets=shown.node,
            met=shown.met,
            mover="" if not late or mover is None else mover.name.value,
        )


def _parameter_for(name: str) -> re.Pattern[str]:
    """A call of the file that hands over a parameter under this name, which registers itself."""
    return re.compile(rf"\b{name}\s*=\s*(?:\w+\.)*Parameter\(")


def _is_moved_by_others(model: ClassModel, reading: Reading) -> bool:
    """Whether it is a module: by its base, or evidently, by what it builds and calls."""
    if model.is_module:
        return True
    if not model.has_unseen_base() or any(_RUNS_OTHERS.search(one.name) for one in model.lineage()):
        return False
    return bool(reading.submodules(model)) and not _moves_parts(model)


def _moves_parts(model: ClassModel) -> bool:
    """Whether the class moves itself, or what it holds: who does is not moved as a part of something."""
    for method in model.methods.values():
        for node in walk(method.body):
            match node:
                case cst.Call(
                    func=cst.Attribute(
                        value=cst.Name(value="self") | cst.Attribute(value=cst.Name(value="self")),
                        attr=cst.Name(value="to" | "cuda"),
                    )
                ) if moves(node):
                    return True
                case _:
                    pass
    return False


def _is_for_host(model: ClassModel) -> bool:
    """Whether the class works on the host: it prepares data, or is a part of a test."""
    names = [one.name for one in model.lineage()] + [
        path.rpartition(".")[2] for path in model.imported_bases()
    ]
    source = model.frame.source
    return (
        any(HOST_CLASS.search(name) for name in names)
        or _TESTS.search(model.name) is not None
        or HOST_FILE.search(source.path) is not None
        or has_tests(source.module)
    )


def _kept(model: ClassModel, initializer: cst.FunctionDef) -> Iterator[_Kept]:
    setters = setters_of(model, initializer)
    for method in model.methods.values():
        if method is not initializer and id(method) not in setters:
            continue
        scope = Scope(model.frame, method, model)
        for node in walk(method.body, below=(cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            match node:
                case (
                    cst.Assign(
                        targets=[
                            cst.AssignTarget(
                                target=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name))
                            )
                        ],
                        value=value,
                    )
                    | cst.AnnAssign(
                        target=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)),
                        value=value,
                    )
                ) if value is not None:
                    if source := _source(scope, model, value):
                        yield _Kept(node, name, value, source, method)
                case _:
                    pass


def _cached(
    reading: Reading,
    model: ClassModel,
    initializer: cst.FunctionDef,
    methods: Sequence[tuple[ClassModel, cst.FunctionDef]],
) -> Iterator[_Kept]:
    for node, name in caches(reading, model, initializer, methods):
        assert node.value is not None
        yield _Kept(node, name, node.value, "some", initializer, cache=True)


def _source(scope: Scope, model: ClassModel, value: cst.BaseExpression) -> Source | None:
    if isinstance(value, cst.Lambda):
        return "made" if _captures(scope, value) else None
    return source_of(scope, value)


def _captures(scope: Scope, function: cst.Lambda) -> bool:
    """Whether a function that is kept has tensors in it which `__init__` made, wherever it took them then."""
    own = {parameter.name.value for parameter in function.params.params}
    if scope.node is None or any(isinstance(part, cst.Call) and moves(part) for part in walk(function.body)):
        return False
    for part in walk(function.body):
        if isinstance(part, cst.Name) and part.value not in own:
            for value in assigned_values(scope.node).get(part.value, ()):
                while value is not None:
                    if source_of(scope, value) == "made":
                        return True
                    value = (
                        value.func.value
                        if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute)
                        else None
                    )
    return False


def _is_registered(
    model: ClassModel, name: str, methods: list[tuple[ClassModel, cst.FunctionDef]], *, cache: bool
) -> bool:
    """Whether anything makes it a part of the module, or gives it another value that was moved."""
    for owner, method in methods:
        if name not in own_attributes(method) and "register_" not in owner.frame.analysis.text(method):
            continue
        for node in walk(method.body):
            match node:
                case cst.Call(
                    func=cst.Attribute(attr=cst.Name(value="register_buffer" | "register_parameter")),
                    args=[cst.Arg(value=cst.SimpleString() as key), *_],
                ) if str(key.evaluated_value) == name:
                    return True
                case cst.Assign(value=value) if any(_is_own(one.target, name) for one in node.targets):
                    if (
                        method.name.value != "__init__"
                        and not cache
                        and any(isinstance(part, cst.Call) and _places(part) for part in walk(value))
                    ):
                        return True
                    if any(_is_parameter_call(part) for part in walk(value)):
                        return True
                case cst.Assign() if any(
                    _is_own(part, name)
                    for one in node.targets
                    if isinstance(one.target, (cst.Tuple, cst.List))
                    for part in walk(one.target)
                ):
                    return True
                case _:
                    pass
    return any(
        name in one.attributes or name in one.setters or one.find(name) is not None for one in model.lineage()
    )


def _places(node: cst.Call) -> bool:
    """Whether a call moves something, or makes it on a device that it is told."""
    name = (dotted(node.func) or "").rpartition(".")[2] or (
        node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
    )
    if name in IN_PLACE_MOVES or name in ("type_as", "Parameter", "Buffer"):
        return name in ("Parameter", "Buffer") or moves(node)
    return (
        name.startswith("new_")
        or name.endswith("_like")
        or any(argument.keyword is not None and "device" in argument.keyword.value for argument in node.args)
    )


def _is_parameter_call(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and (dotted(node.func) or "").rpartition(".")[2] in (
        "Parameter",
        "Buffer",
    )


def _is_own(node: cst.CSTNode, name: str) -> bool:
    match node:
        case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=own)):
            return own == name
        case _:
            return False


@remembered(cst.Module)
def _set_through_others(module: cst.Module) -> frozenset[str]:
    """The attributes that code of the file sets of something else than `self`."""
    return frozenset(
        node.target.attr.value
        for node in walk(module)
        if isinstance(node, cst.AssignTarget)
        and isinstance(node.target, cst.Attribute)
        and not (isinstance(node.target.value, cst.Name) and node.target.value.value == "self")
    )


def _is_set_elsewhere(analysis: Analysis, name: str) -> bool:
    return name in _set_through_others(analysis.module)


def _assignments(method: cst.FunctionDef) -> Iterator[str]:
    for node in walk(method.body):
        match node:
            case (
                cst.AssignTarget(
                    target=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name))
                )
                | cst.AnnAssign(target=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)))
            ):
                yield name
            case _:
                pass


def _that_meets(
    reading: Reading,
    model: ClassModel,
    methods: list[tuple[ClassModel, cst.FunctionDef]],
    initializer: cst.FunctionDef,
    one: _Kept,
    plain: frozenset[str],
) -> Use | None:
    """The first use that meets what moves; None where any use moves it, or methods set it to something else."""
    found: Use | None = None
    setters = setters_of(model, initializer)
    for owner, method in methods:
        if method.name.value == "__init__" or id(method) in setters or one.name not in own_attributes(method):
            continue
        uses = list(uses_in(reading, owner, method, one.name, plain))
        if one.cache and any(use.how == "set" for use in uses):
            continue  # who fills it where its input is uses it there as a rule
        for use in uses:
            if use.how == "moved":
                return None
            if use.how == "set" and not one.cache and not _keeps_place(use.node, one.name):
                return None
            if use.how == "meets" and found is None and not _ON_HOST.search(method.name.value):
                if one.source == "number" and not use.shown:
                    continue
                found = use
    return None if one.source == "number" else found


def _keeps_place(node: cst.CSTNode, name: str) -> bool:
    """In place: `self.steps += 1`."""
    return isinstance(node, cst.AugAssign)


def _moved_by(mover: cst.FunctionDef) -> Iterator[str]:
    """The attributes that an override of `to` moves itself."""
    for node in walk(mover.body):
        match node:
            case cst.Assign(
                targets=[
                    cst.AssignTarget(
                        target=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name))
                    )
                ],
                value=value,
            ):
                if any(isinstance(part, cst.Call) and moves(part) for part in walk(value)):
                    yield name
            case _:
                pass


def _is_after_super(initializer: cst.FunctionDef, one: _Kept) -> bool:
    """Whether the module can register anything where the tensor is kept: `super().__init__()` has run."""
    if one.method is not initializer:
        return False
    for node in walk(initializer.body):
        if node is one.node:
            return False
        if (
            isinstance(node, cst.Call)
            and isinstance(node.func, cst.Attribute)
            and node.func.attr.value == "__init__"
        ):
            return True
    return False


_AUDITED = (PlainAttribute, UnmovedModule, LayerWithoutDevice)


def _told_of(event: PlainAttribute | UnmovedModule | LayerWithoutDevice) -> set[int]:
    places = {"assigned", "meets", "node", "made"}
    wholes = [getattr(event, place, None) for place in places]
    return {id(part) for whole in wholes if whole is not None for part in walk(whole)}


def without_known(events: Sequence[Event]) -> Iterator[Event]:
    """The events, less those of attributes that another rule speaks of."""
    known: set[int] = set()
    for event in events:
        if not isinstance(event, (*_AUDITED, DeviceLiteral)):
            known |= set(_named_by(event))
    for event in events:
        if not isinstance(event, _AUDITED) or known.isdisjoint(_told_of(event)):
            yield event


def _named_by(event: Event) -> Iterator[int]:
    for field_name in ("node", "meets", "call", "value_node"):
        node = getattr(event, field_name, None)
        if isinstance(node, cst.CSTNode):
            yield id(node)
    built = getattr(event, "built", None)
    if built is not None:
        yield id(built.node)
    made = getattr(event, "made", None)
    if made is not None:
        yield id(getattr(made, "node", None))
    place = getattr(event, "place", None)
    if place is not None:
        yield id(getattr(place, "node", None))
    for leaf_name in ("left", "right", "given", "model"):
        leaf = getattr(event, leaf_name, None)
        origin = getattr(leaf, "origin", None)
        while isinstance(origin, Origin):
            yield id(origin.node)
            origin = origin.inner
