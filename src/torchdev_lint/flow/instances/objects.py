"""Objects: reading and setting attributes, and moving a thing with all that moves with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Atom, Key
from torchdev_lint.flow.domain.environment import refreshed
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import (
    UNKNOWN_DEVICE,
    Anywhere,
    Choice,
    Device,
    Level,
    conflict,
    leaves,
    moved_but_plain,
)
from torchdev_lint.flow.domain.values import (
    BASE,
    UNKNOWN,
    AnyOf,
    Api,
    Class,
    DeviceType,
    DeviceValue,
    Dtype,
    Either,
    Entries,
    Function,
    Generator,
    Import,
    Items,
    Literal,
    Many,
    Method,
    Namespace,
    Object,
    Partial,
    State,
    Super,
    Tensor,
    Truth,
    Value,
    each_of,
    if_not_none,
    join,
    join_all,
    present,
    somewhere,
    unknown_tensor,
    without_cell,
)
from torchdev_lint.flow.execution.truths import device_is, opaque
from torchdev_lint.flow.instances import computed_attributes
from torchdev_lint.flow.instances.handed_functions import may_move
from torchdev_lint.flow.libraries import library_facts
from torchdev_lint.flow.nn_modules import attached_parts, library_parts, module_slices, parameter_aliases
from torchdev_lint.flow.syntax.naming import is_loss_name, is_metric_name, is_module_name
from torchdev_lint.flow.syntax.trees import remembered, walk
from torchdev_lint.flow.torch_calls.device_values import as_device
from torchdev_lint.flow.torch_calls.tensor_values import moved_tensor
from torchdev_lint.torch_api import dtypes, tensor_methods
from torchdev_lint.torch_api.devices import DEVICE_NAME
from torchdev_lint.torch_api.libraries import OPTIONS
from torchdev_lint.torch_api.modules import CONTAINERS, IN_PLACE_MOVES
from torchdev_lint.torch_api.tensor_surface import TENSOR_NAMES

SET_BY_ANY_NAME = "set by any name"
"""Notes the things of which some attribute was set, nobody knows which: `setattr(self, name, value)`."""


def get_attribute(frame: Frame, receiver: Value, name: str, node: cst.CSTNode) -> Value:
    """The value of `receiver.name`."""
    receiver = if_not_none(receiver)
    match receiver:
        case Api(path="torch.Tensor") if name == "__module__":
            return Literal("torch")
        case Api(path=path) if name == "__name__":
            return Literal(path.rpartition(".")[2])
        case Api(path=path) if path in OPTIONS:
            return Object(("attr", ("options", path), name), f"{path.rpartition('.')[2]}.{name}")
        case Api(path=path):
            full = f"{path}.{name}"
            return Dtype() if full in dtypes.DTYPES else Api(full)
        case Namespace():
            return frame.analysis.imports.attribute(receiver, name)
        case Import():
            return get_attribute(frame, frame.analysis.imports.force(receiver), name, node)
        case Tensor():
            return _tensor_attribute(frame, receiver, name, node)
        case DeviceValue(device=device):
            return DeviceType(device) if name == "type" else UNKNOWN
        case Generator(device=device):
            return DeviceValue(device) if name == "device" else UNKNOWN
        case Object():
            return _object_attribute(frame, receiver, name)
        case Class(model=model):
            if name == "apply" and model.is_autograd_function:
                return Method(receiver, name)
            found = model.find(name)
            if found is not None:
                function = model.function(found, name, None)
                return (
                    replace(function, receiver=receiver) if "classmethod" in function.decorators else function
                )
            if name == "__name__":
                return Literal(model.name)
            if name == "_fields" and model.is_tuple and model.fields:
                return Items(tuple(map(Literal, model.fields)), kind="tuple")
            shared = model.class_attribute(name)
            return _member(frame, receiver, name, shared) if model.has_members else shared
        case Function() if name == "__name__":
            return Literal(receiver.name)
        case Function() if (held := attribute_of_function(frame, receiver, name)) is not None:
            return held
        case Super(receiver=instance, owner=owner) if owner is not None:
            for base in owner.bases_in_file():
                found = base.find(name)
                if found is not None:
                    return base.function(found, name, instance)
            return Method(receiver, name)
        case AnyOf(things=things):
            return join_all([get_attribute(frame, thing, name, node) for thing in things])
        case Either(guard, then, otherwise):
            return join(
                guard, get_attribute(frame, then, name, node), get_attribute(frame, otherwise, name, node)
            )
        case Literal() if name == "value":
            return receiver  # of a member of an enumeration that is a string or a number, too
        case Entries(entries=entries, spare=True) if name in dict(entries):
            return present(receiver.get(name))
        case Entries(default=default, spare=True) if not hasattr(dict, name):
            return get_attribute(frame, default, name, node)
        case Items() | Many() | Entries() | Literal() | Super() | Function():
            return Method(receiver, name)
        case _:
            return UNKNOWN


def _member(frame: Frame, owner: Class, name: str, value: Value) -> Value:
    """A member of an enumeration (https://docs.python.org/3/library/enum.html#enum.Enum): it is the same wherever it is named."""
    if not isinstance(value, (Literal, DeviceValue, Items)) or name.startswith("_"):
        return value
    thing = Object(("member", id(owner.model.node), name), f"{owner.model.name}.{name}")
    if not frame.env.knows(thing):
        attributes: dict[str, Value] = {"value": value, "name": Literal(name)}
        frame.set_state(thing, State("instance", UNKNOWN_DEVICE, model=owner.model, attributes=attributes))
    return thing


def _tensor_attribute(frame: Frame, tensor: Tensor, name: str, node: cst.CSTNode) -> Value:
    if name == "device":
        return DeviceValue(tensor.device)
    if name == "dtype":
        return Dtype()
    if name == "is_cuda":
        return Truth(device_is(frame, tensor.device, "cuda") or opaque(frame, node))
    if name == "is_cpu":
        return Truth(device_is(frame, tensor.device, "cpu") or opaque(frame, node))
    if name in tensor_methods.METADATA_ATTRIBUTES:
        return UNKNOWN
    if name not in TENSOR_NAMES and _COUNT.search(name):
        return UNKNOWN  # of a batch or a graph
    if name == "data" and tensor.mapping:
        return tensor  # the dict behind it (transformers/tokenization_utils_base.py, `BatchEncoding`)
    # an attribute that tensors do not have is a part of something else
    guess = tensor.guess and name not in TENSOR_NAMES
    if name in ("values", "indices") and tensor.dims:
        return Tensor(tensor.device, scalar=None if tensor.dims == 1 else False, dims=tensor.dims - 1)
    same = name in ("data", "T", "mT", "H", "mH", "grad", "real", "imag")
    return Tensor(tensor.device, scalar=tensor.scalar and same, guess=guess, dims=tensor.dims if same else 0)


_COUNT = re.compile(r"^(?:num|n)_|_(?:size|count|len|length|name|names|id)$")
"""Attributes that are numbers or text rather than tensors."""


_DICTS = frozenset({"torch.nn.ModuleDict", "torch.nn.ParameterDict"})
"""Containers that register each entry under its key, so that it is an attribute, too (torch/nn/modules/container.py)."""


def held_as(state: State, name: str) -> Value | None:
    """What a thing holds as the attribute `name`: for a dict of modules, the entry with that key."""
    held = state.attributes.get(name)
    return state.attributes.get(f"[{name!r}]") if held is None and state.api in _DICTS else held


def _object_attribute(frame: Frame, thing: Object, name: str) -> Value:
    state = frame.state(thing)
    held = held_as(state, name)
    if held is not None:
        return held
    if state.model is not None:
        found = state.model.find(name)
        if found is not None:
            function = state.model.function(found, name, thing)
            if function.decorators:
                from torchdev_lint.flow.calling.functions import call_without_arguments, is_property

                return call_without_arguments(frame, function) if is_property(function) else function
            return function
        shared = state.model.class_attribute(name)
        computed = computed_attributes.by_descriptor(frame, thing, shared, name)
        if computed is not None:
            return computed
        if shared != UNKNOWN:
            return _member(frame, Class(state.model), name, shared) if state.model.has_members else shared
    if name == "__dict__":
        return _dict_of(frame, thing)
    if name == "__class__" and state.model is not None:
        return Class(state.model)
    computed = computed_attributes.where_there_is_none(frame, thing, name)
    if computed is not None:
        return computed
    family = _family(state, name)
    if family is not None:
        return family
    if state.api.startswith("torch.distributions.") and DEVICE_NAME.search(name):
        return UNKNOWN  # they have no device: what goes by that name was put there
    part = library_parts.part(frame, thing, state, name)
    if part is not None:
        return part
    text = f"{thing.text}.{name}" if thing.text else ""
    if name in IN_PLACE_MOVES and state.kind == "module":
        return Method(thing, name)
    match name:
        case "weight" | "bias" if state.kind == "module" and state.api.startswith("torch.nn."):
            tables = name == "weight" and _TABLES.search(state.api) is not None
            return Tensor(state.device, parameter=True, dims=1 + tables)
        case "weight" | "bias" if isinstance(base := state.attributes.get(BASE), Object):
            return _object_attribute(frame, base, name)
        case "forward" | "__call__" if state.kind == "module" and state.model is None and state.api:
            return Method(thing, name)
        case "device":
            if state.kind == "module" or state.moved:
                # a class of its own may call a string its device
                library = any(
                    library_facts.has_device_property(frame.analysis.options.shelf, base)
                    for base in _bases(state)
                )
                return DeviceValue(state.device, is_object=library)
            named = library_facts.device_of_library_object(frame, thing, text)
            return Object(("attr", thing.key, name), text) if named is None else DeviceValue(named)
        case "dtype":
            return Dtype()
        case "data" | "T" | "mT" | "H" | "mH" | "real" | "imag" | "grad" if (
            moved_tensor(frame, thing) is not None
        ):
            return Tensor(state.device, scalar=None, guess=name == "data")
        case _ if name in _PARTS_OF_GRAPHS and thing.key[0] == "moved" and state.kind == "unknown":
            return Tensor(state.device, guess=True)
        case "type" if state.kind == "unknown":
            return DeviceType(as_device(thing))
        case "is_cuda":
            return Truth(Atom("device-type", (("device", thing.key), "cuda"), thing.text))
        case "is_cpu":
            return Truth(Atom("device-type", (("device", thing.key), "cpu"), thing.text))
        case _:
            return Object(("attr", thing.key, name), text)


def _is_descriptor(frame: Frame, state: State, name: str) -> bool:
    """Whether the object's class holds, under this name, an instance of a class of the project with a `__set__`."""
    shared = None if state.model is None else state.model.class_attribute(name)
    model = frame.state(shared).model if isinstance(shared, Object) else None
    return model is not None and model.find("__set__") is not None


_TABLES = re.compile(r"(?:Linear|Embedding|EmbeddingBag|Conv[123]d|ConvTranspose[123]d)$")
"""Layers whose weight has two dimensions at least (torch/nn/modules/*.py); those of others, and a bias, have one."""

_PARTS_OF_GRAPHS = frozenset(
    "x y edge_index edge_attr edge_weight edge_type batch pos z train_mask val_mask test_mask node_index".split()
)
"""Tensors of a batch of graphs, which moves as a whole."""


def _bases(state: State) -> Iterator[str]:
    """The imported classes that the object is of, by path."""
    yield state.api
    if state.model is not None:
        yield from (base.path for base in state.model.bases if isinstance(base, Api))


def _dict_of(frame: Frame, thing: Object) -> Value:
    """`thing.__dict__`: the attributes, where all were seen."""
    state = frame.state(thing)
    complete = state.kind == "instance" and (state.model is None or not state.model.has_unseen_base())
    if complete and thing.key[0] == "made":
        return Entries(tuple(state.attributes.items()))
    return Object(("attr", thing.key, "__dict__"))


def _family(state: State, name: str) -> Value | None:
    """An attribute that was set under a name like `f"layer{i}"`, or one of those that are asked for by such a name; None for no other."""
    if "{}" in name:
        asked = re.compile(re.escape(name).replace(r"\{\}", ".*"))
        found = [value for held, value in state.attributes.items() if asked.fullmatch(held)]
        return join_all(found) if found else None
    for held, value in state.attributes.items():
        if "{}" in held:
            pattern = re.escape(held).replace(r"\{\}", ".*")
            if held == name or re.fullmatch(pattern, name):
                return value
    return None


def as_tuple(frame: Frame, thing: Object) -> Items | None:
    """What a named tuple holds, in order; None for anything else."""
    state = frame.state(thing)
    if state.kind != "instance" or state.model is None or not state.model.is_tuple:
        return None
    return Items(tuple(state.attributes.get(name, UNKNOWN) for name in state.model.fields))


def set_attribute(frame: Frame, receiver: Value, name: str, value: Value) -> None:
    """The effect of `receiver.name = value`."""
    match receiver:
        case Object() if name == "__dict__":
            _set_dict(frame, receiver, value)
        case Object():
            state = frame.state(receiver)
            if isinstance(value, Tensor):
                attached_parts.forget(frame, receiver)
            if _is_descriptor(frame, state, name):
                value = UNKNOWN  # its `__set__` says what becomes of the value
            elif state.model is not None and state.model.find("__setattr__") is not None:
                # what the class does with it besides is not followed: it may be moved, or kept to be moved with others
                if state.kind != "module":
                    escape(frame, value)
                    if frame.function is None or frame.function.receiver != receiver:
                        _hand_on(frame, state, name)
                if isinstance(value, Tensor):
                    value = UNKNOWN
            name = attribute_name(state, name)
            owned = moves_with_owner(frame, value) or (
                state.kind == "module" and _is_named_like_module(name, value)
            )
            registered = state.registered
            # what is assigned to a buffer takes its place (torch/nn/modules/module.py, `__setattr__`)
            owned = owned or (state.kind == "module" and isinstance(value, Tensor) and name in registered)
            if owned != (name in registered):
                registered = registered | {name} if owned else registered - {name}
            held = {**state.attributes, name: value}
            # `model.features = DataParallel(model.features)`: what the model is given may well go there first
            brings = state.moves_inputs or (
                state.model is None and isinstance(value, Object) and frame.state(value).moves_inputs
            )
            frame.set_state(
                receiver, replace(state, attributes=held, registered=registered, moves_inputs=brings)
            )
        case Either(guard, then, otherwise):
            frame.either(
                guard,
                lambda: set_attribute(frame, then, name, value),
                lambda: set_attribute(frame, otherwise, name, value),
            )
        case Class(model=model):
            model.attributes[name] = value
            if frame.analysis.at_top or not model.is_complete:
                model.replace_method(name, value, sure=not frame.env.path)
        case Function():
            holder = _holder_of(receiver)
            frame.set_state(holder, frame.state(holder).with_attribute(name, value))
        case Api(path=path) if path.startswith("torch."):
            frame.analysis.notes["replaced", name] = path
            if path in ("torch.Tensor", "torch.nn.Module") and name in IN_PLACE_MOVES and not frame.env.path:
                frame.analysis.muted += 1  # moving means something else from here on
        case Namespace():
            frame.analysis.imports.assign(receiver, name)
        case Import():
            set_attribute(frame, frame.analysis.imports.force(receiver), name, value)
        case _:
            pass


def _holder_of(function: Function) -> Object:
    """What holds the attributes that a function is given, `update.reset = reset`."""
    return Object(("function", id(function.node), function.frame.uid))


def attribute_of_function(frame: Frame, function: Function, name: str) -> Value | None:
    """An attribute that a function was given; None where it has none of this name."""
    return frame.state(_holder_of(function)).attributes.get(name)


def hide_attribute(frame: Frame, thing: Object, name: str, value: Value) -> None:
    """`object.__setattr__(thing, name, value)`, `thing.__dict__[name] = value`: nothing is registered (torch/nn/modules/module.py)."""
    state = frame.state(thing)
    held = {**state.attributes, name: value}
    frame.set_state(thing, replace(state, attributes=held, registered=state.registered - {name}))


def is_module_like(frame: Frame, thing: Object) -> bool:
    """Whether a thing of a class that is unknown, or is not read, is a module: by its name or that of its class."""
    state = frame.state(thing)
    api = state.api.rpartition(".")[2]
    if state.model is not None and state.kind == "module":
        return True
    return api[:1].isupper() or is_module_name(thing.text)


def is_loss_like(thing: Object) -> bool:
    """Whether a thing of an unknown class is a loss or a metric, by its name."""
    return is_loss_name(thing.text) or is_metric_name(thing.text)


def _is_named_like_module(name: str, value: Value) -> bool:
    """Whether something that was handed in is, by the name that a module gives it, a part of that module."""
    return isinstance(value, Object) and value.key[0] == "parameter" and is_module_name(name)


def _set_dict(frame: Frame, thing: Object, value: Value) -> None:
    if not isinstance(value, Entries) or value.open:
        forget_attributes(frame, thing)
        return
    for name, held in value.entries:
        set_attribute(frame, thing, str(name), held)


def attribute_name(state: State, name: str) -> str:
    """The name under which a module container keeps the part that is known as the attribute `name` (`"0"` is `[0]`)."""
    return f"[{name}]" if state.api in CONTAINERS and name.isdecimal() else name


def moves_with_owner(frame: Frame, value: Value) -> bool:
    """Whether an attribute with this value moves when the module that holds it does: submodules and parameters."""
    match value:
        case Tensor(parameter=parameter):
            return parameter
        case Object():
            state = frame.state(value)
            return state.kind == "module" or (
                state.kind == "unknown" and bool(state.api) and not library_facts.is_plain(frame, value)
            )
        case AnyOf(things=things):
            return all(moves_with_owner(frame, thing) for thing in things)
        case Either(_, then, otherwise):
            # a function in the place of a layer, `lambda x: x`, holds nothing
            parts = [part for part in (then, otherwise) if not isinstance(part, (Literal, Function))]
            moving = [moves_with_owner(frame, part) for part in parts]
            # what a caller gives in place of a parameter is most likely one, too
            return any(moving) and all(
                moves or _is_unknown(frame, part) for moves, part in zip(moving, parts, strict=True)
            )
        case _:
            return False


def _is_unknown(frame: Frame, value: Value) -> bool:
    return value == UNKNOWN or (isinstance(value, Object) and frame.state(value).kind == "unknown")


_Parts: TypeAlias = "dict[Key, dict[Key, None]]"


def _parts(frame: Frame) -> _Parts:
    """By the key of an object, its attributes that are objects of which something was seen.

    Looked for once for all that moves together: a model has as many parts as the heap has keys. What is first seen while they move
    moves by its own way.
    """
    found: _Parts = {}
    for table in (frame.env.imported, frame.env.heap):
        for key in table:
            if key[0] == "attr":
                found.setdefault(key[1], {})[key] = None
    return found


def move(frame: Frame, thing: Object, device: Device) -> None:
    """Move an object and all that is registered in it, in place."""
    _follow(frame, _move_whole(frame, thing, device, _parts(frame)), device)


def _move_whole(
    frame: Frame, thing: Object, device: Device, parts: _Parts
) -> frozenset[parameter_aliases.Identity]:
    """Move an object and all that is registered in it; what else refers to its parameters, which are given back, is left."""
    state = frame.state(thing)
    if _applies_nothing_to_itself(frame, state):
        return frozenset()
    parameters = parameter_aliases.parameters_of(frame, thing)
    _move(frame, thing, device, frozenset(), parts)
    if state.span is not None:
        _forget_unreached(frame, state.span)
    return parameters


def _follow(frame: Frame, parameters: frozenset[parameter_aliases.Identity], device: Device) -> None:
    """What refers to the parameters of modules that were moved, and what is a slice of such a module, is there, too."""
    parameter_aliases.move(frame, parameters, device)
    module_slices.follow(frame)


def _applies_nothing_to_itself(frame: Frame, state: State) -> bool:
    """It stays wherever whoever holds it goes."""
    applied = None if state.model is None else state.model.find("_apply")
    return applied is not None and bool(frame.analysis.learn(_applies_nothing, applied))


def _move(frame: Frame, thing: Object, device: Device, seen: frozenset[object], parts: _Parts) -> None:
    if thing.key in seen:
        return
    state = frame.state(thing)
    if _applies_nothing_to_itself(frame, state):
        return
    applied = None if state.model is None else state.model.find("_apply")
    attributes = dict(state.attributes)
    for name in state.registered:
        held = attributes.get(name)
        if held is not None:
            attributes[name] = _moved_attribute(frame, held, device, seen | {thing.key}, parts)
    if applied is not None:
        # the class says for itself what moves with it
        attributes = {
            name: _applied(held) if _may_apply_to(frame, state, name) else held
            for name, held in attributes.items()
        }
        # `self.device_ = fn(torch.zeros(1)).device`: where it has come to
        for name in _kept_by_apply(frame, state):
            if not isinstance(attributes.get(name), Tensor):
                attributes[name] = UNKNOWN
    without_tensors = all(isinstance(leaf, Anywhere) for leaf in leaves(state.device))
    found = conflict(state.device, device, frame.env.path) if state.moved else None
    if found is not None and found.level != Level.NO:
        frame.analysis.notes["wanders", thing.key] = True
    # a module of the file that moves itself in `__init__` has its parameters already
    stays = state.kind == "module" and without_tensors and not (state.model is not None and state.registered)
    frame.set_state(
        thing, replace(state, device=state.device if stays else device, attributes=attributes, moved=True)
    )
    if applied is not None:
        _forget_plain_tensors(frame, thing, frozenset())
        for name, held in state.attributes.items():
            if isinstance(held, (Items, Many, Entries)) and _may_apply_to(frame, state, name):
                escape(frame, held)  # `for block in self.blocks: block._apply(fn)`
    for key in parts.get(thing.key, ()):
        _move(frame, Object(key), device, seen | {thing.key}, parts)


def _applied(held: Value) -> Value:
    """What an attribute holds once a class has applied something to it: a tensor is anywhere, `torch.ones(3) if shifted else None`."""
    match held:
        case Tensor():
            return unknown_tensor()
        case Either(guard, then, otherwise):
            return Either(guard, _applied(then), _applied(otherwise))
        case _:
            return held


def _forget_plain_tensors(frame: Frame, thing: Object, seen: frozenset[object]) -> None:
    """A class with a `_apply` of its own may take along what its parts hold without having registered it.

    The parts are modules, or plain objects of the program that move what they hold when they are told to.
    """
    state = frame.state(thing)
    if thing.key in seen or state.kind not in ("module", "instance"):
        return
    attributes = dict(state.attributes)
    for name, held in attributes.items():
        if not _may_apply_to(frame, state, name):
            continue
        if name not in state.registered:
            attributes[name] = somewhere(without_cell(refreshed(frame.env, held)))
        for part in each_of(held):
            if isinstance(part, Object):
                _forget_plain_tensors(frame, part, seen | {thing.key})
                if state.kind == "instance" or name not in state.registered:
                    escape(frame, part)  # `self.teacher.net._apply(fn)`
                continue
            for one in _items_of(refreshed(frame.env, part)):
                _forget_plain_tensors(frame, one, seen | {thing.key})
            if state.kind == "instance":
                escape(frame, part)
    frame.set_state(thing, replace(frame.state(thing), attributes=attributes))


def _items_of(held: Value) -> Iterator[Object]:
    """The objects in a container: `for table in self.tables.values(): table.map(fn)`."""
    match held:
        case Items(items):
            inner: Iterable[Value] = items
        case Many(element):
            inner = (element,)
        case Entries(entries=entries, default=default):
            inner = (*(entry for _, entry in entries), default)
        case _:
            inner = ()
    yield from (one for part in inner for one in each_of(part) if isinstance(one, Object))


def _may_apply_to(frame: Frame, state: State, name: str) -> bool:
    """Whether the `_apply` of the module's class may do something to this attribute: it speaks of it, or of attributes at large."""
    method = None if state.model is None else state.model.find("_apply")
    if state.model is None or method is None:
        return True
    key = ("applies to", id(method))
    named: frozenset[str] | None = frame.analysis.notes.get(key)
    if named is None:
        own = [
            part.attr.value
            for part in walk(method.body)
            if isinstance(part, cst.Attribute)
            and isinstance(part.value, cst.Name)
            and part.value.value == "self"
        ]
        words = {part.value for part in walk(method.body) if isinstance(part, cst.Name)}
        handed = any(
            isinstance(part, cst.Call)
            and not (isinstance(part.func, cst.Name) and part.func.value == "super")
            and any(isinstance(one.value, cst.Name) and one.value.value == "self" for one in part.args)
            for part in walk(method.body)
        )
        at_large = handed or _ANY_ATTRIBUTE & words or any(state.model.find(one) is not None for one in own)
        named = frozenset() if at_large else frozenset({*own, "_apply"})
        frame.analysis.notes[key] = named
    return not named or name in named


@remembered(cst.FunctionDef)
def _applies_nothing(method: cst.FunctionDef) -> bool:
    """Whether an `_apply` calls nothing, neither what it is given nor the one of its base: `return self`."""
    return not any(isinstance(part, cst.Call) for part in walk(method.body))


def _kept_by_apply(frame: Frame, state: State) -> frozenset[str]:
    """The attributes that the `_apply` of the module's class assigns."""
    method = None if state.model is None else state.model.find("_apply")
    return frozenset() if method is None else frame.analysis.learn(_assigned_in, method)


@remembered(cst.FunctionDef)
def _assigned_in(method: cst.FunctionDef) -> frozenset[str]:
    targets: list[cst.BaseExpression] = []
    for node in walk(method.body):
        if isinstance(node, cst.AssignTarget):
            targets += (
                [one.value for one in node.target.elements]
                if isinstance(node.target, cst.Tuple)
                else [node.target]
            )
        elif isinstance(node, cst.AnnAssign) and node.value is not None:
            targets.append(node.target)
    return frozenset(
        target.attr.value
        for target in targets
        if isinstance(target, cst.Attribute)
        and isinstance(target.value, cst.Name)
        and target.value.value == "self"
    )


_ANY_ATTRIBUTE = frozenset(
    "setattr getattr vars __dict__ _buffers _parameters _modules children modules named_children named_modules".split()
)


def _forget_unreached(frame: Frame, span: tuple[int, int]) -> None:
    """Modules built along with one that is moved, of which it is not known how it holds them: they may have moved too."""
    for key, state in list(frame.env.heap.items()):
        if key[0] != "made" or not span[0] < key[2] <= span[1] or state.kind != "module" or state.moved:
            continue
        origins = [leaf.origin for leaf in leaves(state.device)]
        if all(origin is not None and origin.what == "made" for origin in origins):
            frame.set_state(Object(key), replace(state, device=UNKNOWN_DEVICE))


def _moved_attribute(
    frame: Frame, held: Value, device: Device, seen: frozenset[object], parts: _Parts
) -> Value:
    match held:
        case Tensor(device=Choice() as places):
            return replace(held, device=moved_but_plain(places, device))
        case Tensor():
            return replace(held, device=device)
        case Object():
            _move(frame, held, device, seen, parts)
            return held
        case AnyOf(things=things):
            for thing in things:
                _move(frame, thing, device, seen, parts)
            return held
        case Either(guard, then, otherwise):
            return Either(
                guard,
                _moved_attribute(frame, then, device, seen, parts),
                _moved_attribute(frame, otherwise, device, seen, parts),
            )
        case _:
            return held


def forget_attributes(frame: Frame, thing: Value) -> None:
    """Any attribute may have been set: none is known any more."""
    if isinstance(thing, Object):
        state = frame.state(thing)
        names = [*state.attributes, *(state.model.attributes if state.model is not None else ())]
        frame.set_state(thing, replace(state, attributes=dict.fromkeys(names, UNKNOWN)))


def forget_device(frame: Frame, thing: Object, *, even_moved: bool = False) -> None:
    """Something unseen may have moved the object: what was not written down explicitly is no longer known."""
    _forget_devices(frame, [thing], even_moved=even_moved)


def _forget_devices(frame: Frame, things: Iterable[Object], *, even_moved: bool = False) -> None:
    """The same of several, whose parts and other references are looked for once."""
    parts: _Parts | None = None
    parameters: frozenset[parameter_aliases.Identity] = frozenset()
    for thing in things:
        state = frame.state(thing)
        if state.kind in ("module", "unknown") and frame.env.knows(thing) and (even_moved or not state.moved):
            parts = _parts(frame) if parts is None else parts
            parameters |= _move_whole(frame, thing, UNKNOWN_DEVICE, parts)
            frame.set_state(thing, replace(frame.state(thing), moved=False))
    if parts is not None:
        _follow(frame, parameters, UNKNOWN_DEVICE)


def _hand_on(frame: Frame, state: State, name: str, depth: int = 3) -> None:
    """A `__setattr__` may set the attribute of what the instance holds instead: `setattr(self.inner, name, value)`."""
    for held in state.attributes.values():
        if isinstance(held, Object) and depth:
            within = frame.state(held)
            if name in within.attributes:
                frame.set_state(held, within.with_attribute(name, UNKNOWN))
            _hand_on(frame, within, name, depth - 1)


def escape(frame: Frame, value: Value, depth: int = 3) -> None:
    """A value is handed to code that cannot be read: modules in it, or reached by a function, may be moved there."""
    if depth == 0:
        return
    match value:
        case Object() if frame.state(value).api.startswith("torch.optim."):
            pass  # it holds parameters and steps: nobody moves a model by its optimizer
        case Object():
            if frame.state(value).kind in ("instance", "loader"):
                for held in list(frame.state(value).attributes.values()):
                    escape(frame, held, depth - 1)
            else:
                forget_device(frame, value)
        case AnyOf(things=things):
            for thing in things:
                forget_device(frame, thing)
        case Items(items):
            for item in items:
                escape(frame, item, depth - 1)
        case Many(element):
            escape(frame, element, depth - 1)
        case Entries(entries=entries, default=default):
            for _, entry in entries:
                escape(frame, entry, depth - 1)
            escape(frame, default, depth - 1)
        case Either(_, then, otherwise):
            escape(frame, then, depth - 1)
            escape(frame, otherwise, depth - 1)
        case Method(receiver=Object() as thing, name=name) if name in IN_PLACE_MOVES:
            forget_device(frame, thing, even_moved=True)  # `atexit.register(model.cpu)`
        case Partial(function=Method(name=name) as bound) if name in IN_PLACE_MOVES:
            escape(frame, bound, depth)
        case Method(receiver=receiver):
            escape(frame, receiver, depth)
        case Function() | Partial():
            if may_move(value):
                forget_unmoved(frame)
        case _:
            pass


def forget_bare(frame: Frame) -> None:
    """Something is registered in what cannot be told: in a part of a bare `nn.Module()`, which has nothing but what is registered."""
    known = frame.env.everything()
    bare = [key for key, state in known.items() if state.api == "torch.nn.Module" and state.model is None]
    _forget_devices(frame, [Object(key) for key in bare if not known[key].moved])


def forget_unmoved(frame: Frame) -> None:
    """Any module that was not moved explicitly may be moved by code that cannot be followed."""
    known = frame.env.everything()
    _forget_devices(
        frame, [Object(key) for key, state in known.items() if state.kind == "module" and not state.moved]
    )
