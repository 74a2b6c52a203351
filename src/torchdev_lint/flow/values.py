"""Abstract values: what a name may hold, as far as devices are concerned. All are immutable.

Things with identity (modules, instances, whatever is not known) are `Object`s; their state lives in the environment's
heap, so that aliases see what happens to each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from torchdev_lint.flow.conditions import Formula, Key
from torchdev_lint.flow.lattice import UNKNOWN_DEVICE, Device, Origin, choose, with_origin

if TYPE_CHECKING:
    from torchdev_lint.flow.classes import ClassModel
    from torchdev_lint.flow.frame import Frame


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known, not even an identity."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: None, a bool, a number, a string."""

    value: bool | int | float | str | None
    node: Any = field(default=None, compare=False)
    """The literal's node while the value is that literal itself (for messages and fixes), else None."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor, or an output of a module whose parts are tensors.

    `scalar`: certainly 0-dimensional, certainly not, or (None) possibly. `parameter`: an `nn.Parameter`. `mapping`: a
    mapping of tensors that moves in place (a tokenizer's BatchEncoding). `batch`: a tensor or a container of tensors, it
    is not known which (what a loader yields).
    """

    device: Device
    scalar: bool | None = False
    parameter: bool = False
    mapping: bool = False
    batch: bool = False


@dataclass(frozen=True, slots=True)
class DeviceValue:
    """A `torch.device`; `is_object` is False where it may be a plain string or index."""

    device: Device
    is_object: bool = True
    node: Any = field(default=None, compare=False)
    """The node of the literal that names the device, while the value is that literal's, else None."""


@dataclass(frozen=True, slots=True)
class DeviceType:
    """`device.type`: the name of the device's type."""

    device: Device


@dataclass(frozen=True, slots=True)
class Dtype:
    """A `torch.dtype`."""


@dataclass(frozen=True, slots=True)
class Truth:
    """The result of a condition."""

    formula: Formula


@dataclass(frozen=True, slots=True)
class Object:
    """A thing with identity; see `State`. `text` is the source it is known by, for messages only."""

    key: Key
    text: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple or list of known length."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Many:
    """Any number of values like `element`: a list, an iterator, a generator."""

    element: Value


@dataclass(frozen=True, slots=True)
class Entries:
    """A dict with known string keys; `default` stands for every other key."""

    entries: tuple[tuple[str, Value], ...]
    default: Value = Unknown()

    def get(self, key: str) -> Value:
        """The value under `key`."""
        return dict(self.entries).get(key, self.default)

    def updated(self, key: str, value: Value) -> Entries:
        """The same dict with `key` set."""
        return Entries(tuple((dict(self.entries) | {key: value}).items()), self.default)


@dataclass(frozen=True, slots=True)
class Api:
    """A name imported from elsewhere, by its dotted path: `torch.nn.Linear`."""

    path: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function or lambda of this file with the activation it closes over; `receiver` is the bound `self`."""

    node: Any
    name: str
    frame: Frame = field(compare=False)
    receiver: Value | None = None
    owner: ClassModel | None = field(default=None, compare=False)
    decorators: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Class:
    """A class of this file."""

    model: ClassModel


@dataclass(frozen=True, slots=True)
class Method:
    """An attribute of a value, taken but not called yet: `model.forward`."""

    receiver: Value
    name: str


@dataclass(frozen=True, slots=True)
class Partial:
    """`functools.partial`."""

    function: Value
    positional: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Super:
    """`super()` inside a method of `owner`."""

    receiver: Value
    owner: ClassModel | None = field(compare=False)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of several objects, it is not known which: an element of a container, taken by an unknown index."""

    things: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One value if `guard` holds, the other if not."""

    guard: Formula
    then: Value
    otherwise: Value


Value: TypeAlias = (
    Unknown
    | Literal
    | Tensor
    | DeviceValue
    | DeviceType
    | Dtype
    | Truth
    | Object
    | Items
    | Many
    | Entries
    | Api
    | Function
    | Class
    | Method
    | Partial
    | Super
    | AnyOf
    | Either
)

UNKNOWN = Unknown()
NONE = Literal(None)
MAX_GROUP = 16
"""Groups of more objects than this are given up as unknown."""
MAX_DEPTH = 4
"""Values that differ by more nested conditions than this are given up as unknown."""


@dataclass(frozen=True, slots=True)
class State:
    """What is known of an `Object`.

    `kind`: `module` (an nn.Module), `instance` (of a plain class), `loader`, or `unknown`. `device` is where its parameters and
    buffers are (for an unknown thing: where it would be if it is a module). `api` is the path it was constructed from.
    `moves_inputs`: it takes its inputs to its own device itself. `registered`: the names of attributes that move with
    it. `moved`: an in-place transfer was seen. `element`: what iterating over it gives.
    """

    kind: str
    device: Device
    api: str = ""
    model: ClassModel | None = None
    attributes: Mapping[str, Value] = field(default_factory=dict)
    registered: frozenset[str] = frozenset()
    moves_inputs: bool = False
    moved: bool = False
    element: Value = Unknown()

    def with_attribute(self, name: str, value: Value) -> State:
        """The same state with one attribute set."""
        return replace(self, attributes={**self.attributes, name: value})


def depth(value: Value) -> int:
    """How many conditions are nested in the value."""
    return 1 + max(depth(value.then), depth(value.otherwise)) if isinstance(value, Either) else 0


def join(guard: Formula | None, then: Value, otherwise: Value) -> Value:
    """The value after two branches; `guard` tells them apart when it is known."""
    if then == otherwise:
        return then
    match then, otherwise:
        case Tensor(), Tensor():
            return Tensor(
                choose(guard, then.device, otherwise.device),
                scalar=then.scalar if then.scalar == otherwise.scalar else None,
                parameter=then.parameter and otherwise.parameter,
                mapping=then.mapping and otherwise.mapping,
                batch=then.batch or otherwise.batch,
            )
        case DeviceValue(), DeviceValue():
            return DeviceValue(
                choose(guard, then.device, otherwise.device), is_object=then.is_object and otherwise.is_object
            )
        case Items(left), Items(right) if len(left) == len(right):
            return Items(tuple(join(guard, a, b) for a, b in zip(left, right, strict=True)))
        case (Items() | Many(), Items() | Many()):
            return Many(join(guard, element_of(then), element_of(otherwise)))
        case Entries(), Entries():
            names = dict.fromkeys([name for name, _ in (*then.entries, *otherwise.entries)])
            return Entries(
                tuple((name, join(guard, then.get(name), otherwise.get(name))) for name in names),
                join(guard, then.default, otherwise.default),
            )
        case _:
            pass
    if guard is None:
        return _any_of(then, otherwise)
    joined = Either(guard, then, otherwise)
    return joined if depth(joined) <= MAX_DEPTH else UNKNOWN


def _any_of(then: Value, otherwise: Value) -> Value:
    things: list[Object] = []
    for value in (then, otherwise):
        match value:
            case Object():
                things.append(value)
            case AnyOf(things=held):
                things += held
            case _:
                return UNKNOWN
    kept = tuple(dict.fromkeys(things))
    return AnyOf(kept) if len(kept) <= MAX_GROUP else UNKNOWN


def join_all(values: list[Value]) -> Value:
    """The join of values that nothing tells apart."""
    if not values:
        return UNKNOWN
    result = values[0]
    for value in values[1:]:
        result = join(None, result, value)
    return result


def element_of(value: Value) -> Value:
    """What iterating over a container gives; unknown for anything else."""
    match value:
        case Items(items):
            return join_all(list(items))
        case Many(element):
            return element
        case Tensor(device=device, mapping=False, batch=batch):
            return Tensor(device, scalar=None, batch=batch)
        case Either(guard, then, otherwise):
            return join(guard, element_of(then), element_of(otherwise))
        case _:
            return UNKNOWN


def retag(value: Value, origin: Origin) -> Value:
    """The same value with the tensor's origin wrapped: it entered a function through an argument.

    Tensors inside containers keep their origin: what the function takes out of a container is its own business.
    """
    match value:
        case Tensor(device=device):
            return replace(value, device=with_origin(device, origin, wrap=True))
        case Either(guard, then, otherwise):
            return Either(guard, retag(then, origin), retag(otherwise, origin))
        case _:
            return value


def unknown_tensor() -> Tensor:
    """A tensor on an unknown device."""
    return Tensor(UNKNOWN_DEVICE)
