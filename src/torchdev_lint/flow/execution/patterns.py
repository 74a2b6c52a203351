"""Assigning a value to a target: names, attributes, items, tuples, starred targets."""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import LOADED, UNKNOWN_DEVICE, Cpu, Level, Origin, Symbol, conflict
from torchdev_lint.flow.domain.values import (
    UNKNOWN,
    AnyOf,
    Api,
    DeviceValue,
    Either,
    Entries,
    Function,
    Generator,
    Items,
    Literal,
    Many,
    Object,
    State,
    Tensor,
    Value,
    element_of,
    join,
)
from torchdev_lint.flow.execution import mixed_lists
from torchdev_lint.flow.execution.identities import with_cell
from torchdev_lint.flow.instances import computed_attributes, dict_classes, list_classes, special_methods
from torchdev_lint.flow.instances.objects import (
    as_tuple,
    forget_attributes,
    forget_device,
    forget_unmoved,
    hide_attribute,
    move,
    set_attribute,
)
from torchdev_lint.flow.mistakes import derived_before, host_reads, left_behind, literals, optimizer_states
from torchdev_lint.flow.nn_modules import loaded_parts, looped_parameters, module_containers
from torchdev_lint.flow.nn_modules.registration import attach, noted
from torchdev_lint.flow.syntax.trees import dotted, last_name
from torchdev_lint.torch_api.factories import TAKES_DATA
from torchdev_lint.torch_api.modules import CONTAINERS, WORDS


def assign(frame: Frame, target: cst.CSTNode, value: Value) -> None:
    """Bind the target."""
    match target:
        case cst.Name(value=name):
            if isinstance(value, Object) and value.key[0] == "item":
                value = left_behind.item(frame, target, value) or value
            if isinstance(value, Object) and not value.text:
                value = replace(value, text=name)
            if isinstance(value, Tensor) and frame.assigning is not None:
                derived_before.leave(frame, target, value)
            frame.bind(name, value)
            _record(frame, target, value)
        case cst.Attribute(value=receiver, attr=cst.Name(value=name)):
            _assign_attribute(frame, receiver, name, value)
            _record(frame, target, value)
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            _unpack(frame, list(elements), value)
        case cst.Subscript():
            _assign_item(frame, target, value)
        case cst.StarredElement(value=inner):
            assign(frame, inner, value)
        case _:
            pass


def _record(frame: Frame, target: cst.CSTNode, value: Value) -> None:
    if frame.analysis.recorder is not None:
        frame.analysis.recorder.assigned(frame, target, value)


def _assign_attribute(frame: Frame, receiver: cst.BaseExpression, name: str, value: Value) -> None:
    holder = frame.evaluate(receiver)
    match holder:
        case Tensor(parameter=True, device=Symbol(key=("device", ("self", *_)))) if (
            name == "data" and isinstance(value, Object)
        ):
            pass  # `self.scale.data = self.limits.inverse(self.scale.data)`: computed by who knows what, from what is there
        case Tensor(parameter=True) if name == "data":
            # the module that owns the parameter is moved behind its back
            forget_unmoved(frame)
            looped_parameters.give(frame, receiver, value)
            if isinstance(value, Tensor):
                assign(frame, receiver, replace(holder, device=value.device))
                _take_along(frame, receiver, value)
        case Object(key=("attr", owner, _)) if name == "data" and frame.state(Object(owner)).kind == "module":
            # `cell.weight_hh.data = other.weight_hh_l0.data`: a parameter of it, whose name is not known
            forget_device(frame, Object(owner))
        case Tensor() if name == "data" and isinstance(value, Tensor):
            assign(frame, receiver, replace(holder, device=value.device))
        case Tensor(batch=True) | Tensor(mapping=True):
            assign(frame, receiver, _batch_with(frame, receiver, holder, name, value))
        case Entries(spare=True):
            change(frame, holder, holder.updated(name, value), receiver)
        case Object() if (setter := _setter(frame, holder, name)) is not None:
            _run_setter(frame, setter, receiver, value)
        case Object() if computed_attributes.set_by_class(frame, holder, name, value):
            pass
        case _:
            if _is_given_elsewhere(frame, holder, value):
                forget_unmoved(frame)
            if isinstance(holder, Object) and _is_given_anything(frame, holder, name, value):
                forget_device(frame, holder)
            if isinstance(value, Tensor) and _is_shared_parameter(frame, holder, value):
                value = replace(value, device=UNKNOWN_DEVICE)
            if isinstance(holder, Object) and isinstance(value, Object):
                value = loaded_parts.in_place_of(frame, value, frame.state(holder).attributes.get(name))
            set_attribute(frame, holder, name, noted(frame, holder, name, value))


def _take_along(frame: Frame, parameter: cst.BaseExpression, value: Tensor) -> None:
    """`net.embedding.weight.data = torch.from_numpy(table)` of a layer that was moved before: its parameter is not where it was put."""
    if not isinstance(parameter, cst.Attribute):
        return
    with frame.quietly():
        layer = frame.evaluate(parameter.value)
    if not isinstance(layer, Object):
        return
    state = frame.state(layer)
    if not state.moved or not state.api.startswith("torch.nn."):
        return
    found = conflict(state.device, value.device, frame.env.path)
    if found is not None and found.level == Level.CERTAIN:
        move(frame, layer, value.device)


def _setter(frame: Frame, thing: Object, name: str) -> Function | None:
    model = frame.state(thing).model
    return None if model is None else model.setter(name, thing)


def _run_setter(frame: Frame, setter: Function, node: cst.BaseExpression, value: Value) -> None:
    """`@name.setter`: its body says what becomes of the value."""
    from torchdev_lint.flow.calling.functions import call, can_follow

    if can_follow(frame, setter):
        call(frame, setter, CallSite(node, (Argument(value, cst.Arg(node)),)))
    elif setter.receiver is not None:
        forget_attributes(frame, setter.receiver)


def _is_shared_parameter(frame: Frame, holder: Value, value: Tensor) -> bool:
    """Whether an object that is no module keeps a parameter which it was given: that moves in place with whatever module has it.

    Source: torch/nn/modules/module.py, `_apply` puts what was moved into `param.data`.
    """
    match frame.assigning:
        case cst.Assign(value=cst.Name()) | cst.AnnAssign(value=cst.Name()):
            kept = value.parameter and isinstance(holder, Object) and frame.state(holder).kind == "instance"
            return kept and not _is_made_by_module(frame)
        case _:
            return False


def _is_made_by_module(frame: Frame) -> bool:
    """Whether a module that is running makes the object: it is used before anybody moves the module, `Gaussian(self.mu).sample()`."""
    caller = frame.caller
    if caller is None or caller.function is None or frame.function is None:
        return False
    running = caller.function.receiver
    return (
        frame.function.name == "__init__"
        and isinstance(running, Object)
        and caller.state(running).kind == "module"
        and not caller.building()
    )


def _is_given_elsewhere(frame: Frame, holder: Value, value: Value) -> bool:
    """Whether a module is given, from outside, a parameter that is not on the CPU: `linear.weight = nn.Parameter(eye)`."""
    function = frame.function
    return (
        isinstance(value, Tensor)
        and value.parameter
        and not isinstance(value.device, Cpu)
        and isinstance(holder, Object)
        and (function is None or function.receiver != holder)
        and frame.state(holder).kind != "instance"
    )


def _is_given_anything(frame: Frame, holder: Object, name: str, value: Value) -> bool:
    """Whether a parameter of a module is replaced, from outside, by what is not known: `new.weight = child.weight`."""
    state = frame.state(holder)
    unknown = value == UNKNOWN or (isinstance(value, Object) and frame.state(value).kind == "unknown")
    outside = frame.function is None or frame.function.receiver != holder
    held = state.attributes.get(name)
    owned = isinstance(held, Tensor) and held.parameter if held is not None else name in _OF_LAYERS
    return unknown and outside and owned and state.kind == "module"


_OF_LAYERS = frozenset({"weight", "bias"})
"""What the parameters of most of PyTorch's layers are called (torch/nn/modules/linear.py, conv.py, batchnorm.py)."""


def _unpack(frame: Frame, elements: list[cst.BaseElement], value: Value) -> None:
    value = _unpacked(frame, value)
    if isinstance(value, Tensor) and not value.batch and _is_converted(frame):
        value = Many(element_of(value))  # rows, or numbers
    starred = next((i for i, element in enumerate(elements) if isinstance(element, cst.StarredElement)), None)
    parts = [part_of(value, i, None if starred is not None else len(elements)) for i in range(len(elements))]
    if isinstance(value, Tensor) and value.guess:
        parts = [UNKNOWN if _is_for_lengths(one) else part for one, part in zip(elements, parts, strict=True)]
    if isinstance(value, Tensor) and value.batch:
        parts = [value if _is_for_words(one) else part for one, part in zip(elements, parts, strict=True)]
    if starred is not None:
        if isinstance(value, Items) and len(value.items) >= len(elements) - 1:
            after = len(elements) - starred - 1
            middle = value.items[starred : len(value.items) - after]
            tail = value.items[len(value.items) - after :] if after else ()
            parts = [*value.items[:starred], Items(middle), *tail]
        else:
            parts = [Many(part) if i == starred else part for i, part in enumerate(parts)]
    if isinstance(value, Object):
        left = left_behind.parts(frame, elements, value)
        parts = (
            [_left_or(left, one, part) for one, part in zip(elements, parts, strict=True)] if left else parts
        )
    for element, part in zip(elements, parts, strict=True):
        assign(frame, element.value, part)


_LENGTHS = re.compile(r"(?i)(?:^|_)len(?:s|gths?)?(?:_|$)|len(?:s|gths?)?$")


def _is_for_lengths(element: cst.BaseElement) -> bool:
    """Whether a target is for lengths, by its name: of the outputs of a model that cannot be read these may be on the CPU, or a list.

    Source: torch/nn/utils/rnn.py, `pad_packed_sequence` returns those that the packed sequence has, which are on the CPU.
    """
    return isinstance(element.value, cst.Name) and _LENGTHS.search(element.value.value) is not None


def _is_for_words(element: cst.BaseElement) -> bool:
    """Whether a part of a batch may be a list of strings, by its name."""
    return isinstance(element.value, cst.Name) and WORDS.search(element.value.value) is not None


def _left_or(left: dict[str, Tensor], element: cst.BaseElement, part: Value) -> Value:
    return left.get(element.value.value, part) if isinstance(element.value, cst.Name) else part


def _unpacked(frame: Frame, value: Value) -> Value:
    """A named tuple as the tuple that it is, a list of modules as the parts that it has: `*hidden, last = self.layers`."""
    if not isinstance(value, Object):
        return value
    return as_tuple(frame, value) or module_containers.spread(frame, value)


_CONVERSIONS = frozenset(
    "type type_as float double half bfloat16 long int short bool flatten contiguous".split()
)


def _is_converted(frame: Frame) -> bool:
    """Whether what is assigned is the result of a method that only one tensor has, not several: `box.type(torch.IntTensor)`."""
    match frame.assigning:
        case cst.Assign(value=cst.Call(func=cst.Attribute(attr=cst.Name(value=method)))):
            return method in _CONVERSIONS
        case _:
            return False


def _is_new(origin: Origin | None) -> bool:
    """Whether a tensor is one that a factory made of data, `torch.tensor(bounds)`, and not several that a call has given."""
    root = None if origin is None else origin.root()
    return (
        root is not None
        and root.what == "factory"
        and isinstance(root.node, cst.Call)
        and f"torch.{last_name(root.node.func)}" in TAKES_DATA
    )


def part_of(value: Value, index: int, count: int | None) -> Value:
    """The part that unpacking gives to the target at `index` (of `count`, None when there is a star)."""
    match value:
        case Items(items):
            return (
                items[index]
                if (count is None or len(items) == count) and index < len(items)
                else element_of(value)
            )
        case Object(key=key, text=text):
            return Object(("item", key, repr(index)), f"{text}[{index}]" if text else "")
        case Tensor(dims=dims) if dims:
            return element_of(value)  # rows, or numbers
        case Tensor(device=Cpu(origin=origin), batch=False, guess=False) if _is_new(origin):
            return element_of(value)
        case Tensor(device=device, guess=guess):
            # unpacking a module's output or a batch: a tuple of tensors
            return Tensor(device, guess=guess)
        case Either(guard, then, otherwise):
            return join(guard, part_of(then, index, count), part_of(otherwise, index, count))
        case Many(element):
            return element
        case _:
            return UNKNOWN


def _assign_item(frame: Frame, target: cst.Subscript, value: Value) -> None:
    container = frame.evaluate(target.value)
    key: Value = UNKNOWN
    if len(target.slice) == 1 and isinstance(target.slice[0].slice, cst.Index):
        with frame.quietly():
            key = frame.evaluate(target.slice[0].slice.value)
    if isinstance(container, Object):
        host_reads.check_item(frame, target, container, key, value)
    match container:
        case Entries() | Items() | Many():
            mixed_lists.forget(frame, container)
            one = _under_device(frame, key, value)
            change(frame, container, _with_item(container, key, one), target.value)
        case Either():
            dict_classes.forget(frame, container)
            list_classes.forget(frame, container)
            _assign_item_of_each(frame, target, container, key, value)
        case AnyOf():
            dict_classes.forget(frame, container)
            list_classes.forget(frame, container)
        case Api(path="os.environ"):
            literals.note_environment(frame, key, value)
        case Object(key=("attr", owner, "__dict__")) if isinstance(key, Literal):
            hide_attribute(frame, Object(owner), str(key.value), value)
        case Object(key=("attr", owner, "__dict__")):
            forget_attributes(frame, Object(owner))
        case Object(key=("attr", owner, "_modules")):
            attach(frame, Object(owner), key, value, frame.assigning or target)
        case Object() if special_methods.set_item(frame, target, container, key, value):
            pass
        case Object() if (held := dict_classes.held_by(frame, container)) is not None:
            change(frame, held, _with_item(held, key, value), None)
        case Object() if (items := list_classes.held_by(frame, container)) is not None:
            change(frame, items, _with_item(items, key, value), None)
        case Object() if frame.state(container).api in CONTAINERS:
            module_containers.put(frame, container, key, value)
        case Object() if isinstance(key, Literal):
            optimizer_states.note_kept(frame, container, value)
            loaded_parts.forget(frame, container)
            state = frame.state(container)
            frame.set_state(container, state.with_attribute(f"[{key.value!r}]", value))
        case Object():
            optimizer_states.note_kept(frame, container, value)
            # any item may have changed
            loaded_parts.forget(frame, container)
            state = frame.state(container)
            kept = {name: held for name, held in state.attributes.items() if not name.startswith("[")}
            under = item_name(frame, target)
            if under is not None and isinstance(value, Tensor):
                kept[under] = value
            frame.set_state(container, replace(state, attributes=kept))
        case Tensor() if isinstance(key, Literal) and isinstance(key.value, str):
            assign(frame, target.value, _batch_with(frame, target, container, key.value, value))
        case Tensor(batch=True) | Tensor(mapping=True):
            assign(frame, target.value, UNKNOWN)
        case Tensor():
            _assign_part(frame, target, container, value)
        case _:
            pass


def _batch_with(frame: Frame, target: cst.CSTNode, batch: Tensor, key: str, value: Value) -> Value:
    """A batch that has something under a name, `batch["x"] = batch["x"].to(device)`: a dict, whose other names are where it was."""
    if isinstance(value, Tensor) and value.device == batch.device:
        return batch
    others = Tensor(batch.device, guess=batch.guess)
    held = Entries(((key, value),), others, open=True, spare=True)
    return with_cell(frame, target, held)


def _assign_item_of_each(
    frame: Frame, target: cst.Subscript, container: Value, key: Value, value: Value
) -> None:
    """An item of what is one of several lists or dicts by a condition: whichever it is, it has the item."""
    match container:
        case Either(guard, then, otherwise):
            frame.either(
                guard,
                lambda: _assign_item_of_each(frame, target, then, key, value),
                lambda: _assign_item_of_each(frame, target, otherwise, key, value),
            )
        case Entries() | Items() | Many():
            held = target.value
            bound = isinstance(held, cst.Name) and held.value in frame.env.names
            change(frame, container, _with_item(container, key, value), held if bound else None)
        case _:
            pass


def _assign_part(frame: Frame, target: cst.Subscript, tensor: Tensor, value: Value) -> None:
    """`x[i] = y` copies: the tensor stays where it is."""
    from torchdev_lint.flow.torch_calls import indexing

    with frame.quietly():
        keys = [
            frame.evaluate(element.slice.value) if isinstance(element.slice, cst.Index) else UNKNOWN
            for element in target.slice
        ]
    indexing.assign(frame, target, tensor, keys, value)


def item_name(frame: Frame, node: cst.Subscript) -> str | None:
    """What an item is known by whose key is only a name (`cache[n]`), as long as the name keeps its value; None for others."""
    match node.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=key))]:
            text = dotted(key)
            return None if text is None else f"[{text} since {frame.bound.get(text.partition('.')[0], 0)}]"
        case _:
            return None


def _under_device(frame: Frame, key: Value, value: Value) -> Value:
    """What is kept for one device, by that device, is on another one under another key: `self.masks[x.device] = mask.to(x.device)`.

    What is somewhere else than its key says stays as it is: that is the same mistake under each of them.
    """
    keys = key.items if isinstance(key, Items) else (key,)
    devices = [one.device for one in keys if isinstance(one, DeviceValue)]
    if not devices or not isinstance(value, (Tensor, Generator)):
        return value
    found = conflict(value.device, devices[0], frame.env.path)
    if found is not None and found.level != Level.NO:
        return value
    return replace(value, device=UNKNOWN_DEVICE)


def _with_item(container: Items | Many | Entries, key: Value, value: Value) -> Items | Many | Entries:
    """The container after `container[key] = value`."""
    match container, key:
        case Entries(), Literal(value=name):
            return container.updated(name, value)
        case Entries(entries=entries), _ if _is_restored(value):
            # `for key, value in state["shadow"].items(): self.shadow[key] = value`: each of them, as they were saved
            return replace(
                container, entries=tuple((name, value) for name, _ in entries), default=value, open=True
            )
        case Entries(entries=entries), _:
            merged = tuple((name, join(None, entry, value)) for name, entry in entries)
            return replace(container, entries=merged).opened(value)
        case Items(items), Literal(value=int(index)) if -len(items) <= index < len(items):
            changed = list(items)
            changed[index] = value
            return Items(tuple(changed))
        case _:
            return Many(join(None, element_of(container), value))


def _is_restored(value: Value) -> bool:
    """Whether a tensor is, or was made of, one that was loaded to the CPU."""
    origin = value.device.origin if isinstance(value, Tensor) and isinstance(value.device, Cpu) else None
    return origin is not None and origin.root().name == LOADED


def change(
    frame: Frame, receiver: Items | Many | Entries, changed: Items | Many | Entries, node: cst.CSTNode | None
) -> None:
    """The container `receiver`, written as `node`, becomes `changed`, for all that hold it."""
    changed = replace(changed, cell=receiver.cell)
    if receiver.cell is not None:
        known = frame.env.found(receiver.cell)
        start = receiver if known is None else known.attributes["start"]
        state = State("cell", UNKNOWN_DEVICE, attributes={"start": start}, element=changed)
        frame.env.heap[receiver.cell] = state
        frame.analysis.mutations += 1
        if isinstance(node, cst.Name) and node.value not in frame.env.names:
            return  # a name of an enclosing scope: it is not bound here
    if isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)):
        assign(frame, node, changed)
