"""`nn.Sequential`, `nn.ModuleList` and `nn.ModuleDict`: their parts, by index, key, slice and method."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE, Anywhere, leaves
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    AnyOf,
    Items,
    Literal,
    Many,
    Object,
    Tensor,
    Value,
)
from torchdev_lint.flow.execution.iteration import ANY, container_of, part_for_all, parts_of
from torchdev_lint.flow.instances.objects import moves_with_owner
from torchdev_lint.flow.nn_modules import attached_parts, module_slices, registration
from torchdev_lint.torch_api.modules import CONTAINERS, PARAMETER_CONTAINERS

if TYPE_CHECKING:
    from torchdev_lint.flow.instances.classes import ClassModel


def part(frame: Frame, thing: Object, key: Value) -> Value | None:
    """`thing[key]`; None where the thing is no container of modules, or empty."""
    state = container_of(frame, thing)
    if state is None:
        return None
    if isinstance(key, Literal):
        held = parts_of(frame, thing)
        if held is not None and type(key.value) is int and -len(held) <= key.value < len(held):
            return held[key.value][1]
        return state.attributes.get(ANY)
    return part_for_all(frame, thing)


def sliced(frame: Frame, thing: Object, bounds: list[Value | None], node: cst.CSTNode) -> Value:
    """`thing[lower:upper]`: a container of some of the parts."""
    held = parts_of(frame, thing)
    numbers = [bound.value if isinstance(bound, Literal) else bound for bound in bounds]
    if held is None or not all(number is None or type(number) is int for number in numbers):
        some = part_for_all(frame, thing)
        if some is None:
            return UNKNOWN
        parts = [(ANY, some)]
    else:
        lower, upper, step = (number if isinstance(number, int) else None for number in numbers)
        kept = held[lower : upper : step or None]
        parts = [(f"[{index}]", value) for index, (_, value) in enumerate(kept)]
    if not parts or frame.state(thing).api not in module_slices.SLICED:
        values = tuple(value for _, value in parts)
        return Many(values[0]) if parts and parts[0][0] == ANY else Items(values)
    registered = frozenset(name for name, value in parts if moves_with_owner(frame, value))
    return module_slices.made(frame, thing, parts, registered, node)


def spread(frame: Frame, thing: Object) -> Value:
    """What `*thing` hands over: the parts of a container in their order, else the thing."""
    if frame.state(thing).api not in module_slices.SLICED:
        return thing
    held = parts_of(frame, thing)
    if held is not None:
        return Items(tuple(value for _, value in held))
    some = part_for_all(frame, thing)
    return thing if some is None else Many(some)


def items(frame: Frame, thing: Object, name: str) -> Value | None:
    """`thing.items()`, `.values()`, `.keys()` of a dict of modules or parameters; None for anything else."""
    state = container_of(frame, thing)
    if state is None or not state.api.endswith("Dict") or name not in ("items", "values", "keys"):
        return None
    held = parts_of(frame, thing)
    if held is None:
        some = part_for_all(frame, thing) or UNKNOWN
        return Many({"items": Items((UNKNOWN, some)), "values": some, "keys": UNKNOWN}[name])
    keys = [Literal(key[2:-2]) for key, _ in held]
    if name == "keys":
        return Items(tuple(keys))
    if name == "values":
        return Items(tuple(value for _, value in held))
    return Items(tuple(Items((key, value)) for key, (_, value) in zip(keys, held, strict=True)))


def children(frame: Frame, thing: Object, *, named: bool) -> Value:
    """`children()` and `named_children()`: what is registered, where that is known."""
    state = frame.state(thing)
    complete = state.model is not None and _says_all(state.model)
    if parts_of(frame, thing) is None and not complete:
        some = part_for_all(frame, thing) or attached_parts.part_of(
            frame, thing, Object(("item", thing.key, PART), "")
        )
        return Many(Items((UNKNOWN, some)) if named else some)
    found: list[tuple[str, Value]] = []
    # a part of a Sequential that has a name is kept under its number, too
    named_parts = {
        value for name, value in state.attributes.items() if name[0] != "[" and isinstance(value, Object)
    }
    for name, value in state.attributes.items():
        if name[0] == "[" and value in named_parts:
            continue
        if name in state.registered and isinstance(value, Object):
            found.append((name.strip("[]'"), value))
        elif name in state.registered and value != NONE and not hasattr(value, "parameter"):
            return Many(Items((UNKNOWN, UNKNOWN)) if named else UNKNOWN)
    if named:
        return Items(tuple(Items((Literal(name), value)) for name, value in found))
    return Items(tuple(value for _, value in found))


def _says_all(model: ClassModel) -> bool:
    """Whether a class, and those that it derives from, say which modules it holds: a layer of PyTorch's holds no others."""
    layers = [
        path
        for path in model.imported_bases()
        if path.startswith("torch.nn.") and path not in CONTAINERS and _HOLDS_OTHERS.search(path) is None
    ]
    return not model.has_unseen_base(layers)


def modules(frame: Frame, thing: Object, *, named: bool) -> Value:
    """`modules()` and `named_modules()`: the module itself and all that it holds, where that is known and not too much."""
    found: list[tuple[str, Object]] = []
    if not _collect(frame, thing, "", found):
        some = attached_parts.part_of(frame, thing, Object(("item", thing.key, PART), ""))
        return Many(Items((UNKNOWN, some)) if named else some)
    if named:
        return Items(tuple(Items((Literal(name), value)) for name, value in found))
    return Items(tuple(value for _, value in found))


PART = "part"
"""The last part of the key of any module that a module holds of which it is not known what it holds."""

_MAX_MODULES = 24
_HOLDS_OTHERS = re.compile(
    r"Transformer|MultiheadAttention|AdaptiveLogSoftmax|\.(?:qat|quantized|intrinsic)\."
)
"""Classes of `torch.nn` that hold modules which are not written out."""


def _collect(frame: Frame, thing: Object, name: str, found: list[tuple[str, Object]]) -> bool:
    state = frame.state(thing)
    if state.kind != "module" or len(found) >= _MAX_MODULES or any(held == thing for _, held in found):
        return False
    found.append((name, thing))
    if state.model is None and state.api not in CONTAINERS:
        return state.api.startswith("torch.nn.") and _HOLDS_OTHERS.search(state.api) is None
    held = children(frame, thing, named=True)
    if not isinstance(held, Items):
        return False
    for one in held.items:
        match one:
            case Items((Literal(value=str(own)), Object() as part)):
                if not _collect(frame, part, f"{name}.{own}" if name else own, found):
                    return False
            case _:
                return False
    return True


def put(frame: Frame, thing: Object, key: Value, value: Value) -> None:
    """`thing[key] = value`: what is put into a container of modules or parameters moves with it from now on."""
    state = frame.state(thing)
    if isinstance(value, Tensor) and isinstance(key, Literal) and state.api in PARAMETER_CONTAINERS:
        put_parameter(frame, thing, f"[{key.value!r}]", value)
        return
    if not isinstance(value, Object):
        hold(frame, thing, f"[+{id(frame.assigning)}]", value)
        return
    name = f"[{key.value!r}]" if isinstance(key, Literal) else f"[+{value.key!r}]"
    held = parts_of(frame, thing)
    if held is not None and isinstance(key, Literal) and type(key.value) is int and key.value < 0:
        name = held[key.value][0] if -key.value <= len(held) else name
    add(frame, thing, name, value, frame.assigning)


def hold(frame: Frame, thing: Object, name: str, part: Value) -> None:
    """The container has a part that is one of several, or unknown: where it is itself is not known until it is moved."""
    state = replace(frame.state(thing), device=UNKNOWN_DEVICE)
    if isinstance(part, (Object, AnyOf)) and moves_with_owner(frame, part):
        state = replace(state.with_attribute(name, part), registered=state.registered | {name})
    frame.set_state(thing, state)


def put_parameter(frame: Frame, thing: Object, name: str, value: Tensor) -> None:
    """A list or dict of parameters holds a tensor under a name: one that is no parameter yet becomes one."""
    state = frame.state(thing)
    there = all(isinstance(leaf, Anywhere) for leaf in leaves(state.device))
    state = state.with_attribute(name, replace(value, parameter=True))
    device = value.device if there else state.device if state.device == value.device else UNKNOWN_DEVICE
    frame.set_state(thing, replace(state, device=device, registered=state.registered | {name}))


def append(frame: Frame, thing: Object, part: Object, node: cst.CSTNode, *, many: bool = False) -> None:
    """The container grows by a part, or (`many`) by any number of such parts."""
    held = parts_of(frame, thing)
    empty = not any(name.startswith("[") for name in frame.state(thing).attributes)
    name = f"[{len(held or ())}]" if (held is not None or empty) and not many else f"[+{id(node)}]"
    add(frame, thing, ANY if many and empty else name, part, node)


def add(frame: Frame, thing: Object, name: str, part: Object, node: cst.CSTNode | None = None) -> None:
    """The container holds a part under a name; where its parts are on several devices, its own is not known.

    A part that `node` adds after the container was moved is left behind: then the container stays where it was moved to.
    """
    late = node is not None and registration.note_late(frame, thing, part, node)
    state = frame.state(thing).with_attribute(name, part)
    state = replace(state, registered=state.registered | {name})
    added = frame.state(part)
    anywhere = all(isinstance(leaf, Anywhere) for leaf in leaves(added.device))
    if all(isinstance(leaf, Anywhere) for leaf in leaves(state.device)):
        state = replace(state, device=added.device if added.kind == "module" else UNKNOWN_DEVICE)
    elif added.device != state.device and not anywhere and not late:
        state = replace(state, device=UNKNOWN_DEVICE)
    frame.set_state(thing, state)


def in_order(frame: Frame, thing: Object) -> list[Object] | None:
    """The parts that calling a Sequential runs through, where all are known and one is of a class of the file."""
    state = frame.state(thing)
    if state.api != "torch.nn.Sequential":
        return None
    held = [value for name, value in state.attributes.items() if name.startswith("[")]
    parts = [value for value in held if isinstance(value, Object)]
    if len(parts) != len(held) or not any(frame.state(one).model is not None for one in parts):
        return None
    return parts
