"""Abstract values: what a name may hold, as far as devices are concerned. All are immutable.

Things with identity (modules, instances, whatever is not known) are `Object`s; their state lives in the environment's
heap, so that aliases see what happens to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

from torchdev_lint.flow.domain.conditions import TRUE, Atom, Formula, Key, disjunction, known, negate, truth
from torchdev_lint.flow.domain.immutable import dataclass, replace
from torchdev_lint.flow.domain.lattice import (
    UNKNOWN_DEVICE,
    Cpu,
    Device,
    Origin,
    Symbol,
    choose,
    leaves,
    with_origin,
)
from torchdev_lint.source.imports import Location

if TYPE_CHECKING:
    from torchdev_lint.flow.activation.frame import Frame
    from torchdev_lint.flow.instances.classes import ClassModel


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known, not even an identity.

    `absent`: in a dict, a key that is not there in this case. `number`: but that it is a number of Python's, as `loss.item()` gives.
    """

    absent: bool = False
    number: bool = field(default=False, compare=False)


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
    is not known which (what a loader yields). `guess`: what code that cannot be read gave out, or a part of it: if it is a
    tensor at all, it is there. `element`: one of the parts that a loop over a tensor gives, a number if that has one dimension,
    or what a 0-dim one became with something unknown.
    `dims`: it has at least so many dimensions, as far as the sizes that it was made with tell.
    """

    device: Device
    scalar: bool | None = False
    parameter: bool = False
    mapping: bool = False
    batch: bool = False
    guess: bool = False
    element: bool = field(default=False, compare=False)
    dims: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Generator:
    """A `torch.Generator`."""

    device: Device


@dataclass(frozen=True, slots=True)
class DeviceValue:
    """A `torch.device`; `is_object` is False where it may be a plain string or index, `is_index` True for an index."""

    device: Device
    is_object: bool = True
    is_index: bool = field(default=False, kw_only=True)
    node: Any = field(default=None, compare=False)
    """The node of the literal that names the device, or of the call of `get_device()`, while the value is its, else None."""


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
    at_rest: State | None = field(default=None, compare=False, init=False, repr=False)
    """Its state as long as nothing happens to it, once it was asked for (`environment.default_state`)."""


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple or list of known length. `cell`: see `Entries`. `kind`: "tuple" or "list", as it is written or made, where that is known."""

    items: tuple[Value, ...]
    cell: Key | None = field(default=None, compare=False)
    kind: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Many:
    """Any number of values like `element`: a list, an iterator, a generator. `cell`: see `Entries`, `kind`: see `Items`.

    `each`: what a generator gives at one of its `yield`s and at another, where both are reached; a loop meets them all.
    """

    element: Value
    cell: Key | None = field(default=None, compare=False)
    each: tuple[Value, ...] = field(default=(), compare=False)
    kind: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Entries:
    """A dict with known keys (strings, numbers, truths).

    `default` stands for every other key; `open` says that there may be such keys. `spare`: it is what such a key has if it is
    looked up, but all that there are may be among the known ones. `cell` is the identity of a container that can
    be changed in place: the environment's heap holds what it has become since (`environment.refreshed`).
    """

    entries: tuple[tuple[Any, Value], ...]
    default: Value = Unknown()
    open: bool = False
    spare: bool = False
    cell: Key | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.default != UNKNOWN:
            object.__setattr__(self, "open", True)

    def get(self, key: Any) -> Value:
        """The value under `key`."""
        return next((value for name, value in self.entries if name == key), self.default)

    def updated(self, key: Any, value: Value) -> Entries:
        """The same dict with `key` set."""
        return replace(self, entries=tuple((dict(self.entries) | {key: value}).items()))

    def opened(self, value: Value) -> Entries:
        """The same dict with `value` under a key that is not known."""
        merged = value if not self.open else join(None, self.default, value)
        return replace(self, default=merged, open=True)

    def of_each(self, function: Callable[[Value], Value]) -> Entries:
        """Another dict, of what a function makes of each value; it has no identity yet."""
        held = tuple((name, function(value)) for name, value in self.entries)
        return replace(
            self, entries=held, default=function(self.default) if self.open else UNKNOWN, cell=None
        )

    def values(self) -> list[Value]:
        """All that it may hold."""
        others = UNKNOWN if self.spare else self.default
        return [*(present(value) for _, value in self.entries), *((others,) if self.open else ())]


@dataclass(frozen=True, slots=True)
class Api:
    """A name imported from elsewhere, by its dotted path: `torch.nn.Linear`."""

    path: str


@dataclass(frozen=True, slots=True)
class Import:
    """A name imported from a file of the project that has not been read for it yet.

    `name` is empty for the module itself. `path` is the dotted path as it was written, for when the file does not help.
    """

    location: Location
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Namespace:
    """A module of the project."""

    location: Location
    path: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Function:
    """A function or lambda of the project with the activation it closes over; `receiver` is the bound `self`.

    `defaults`: what its parameters default to, where it is defined inside of a function or a loop, and so over and over.
    """

    node: Any
    name: str
    frame: Frame = field(compare=False)
    receiver: Value | None = None
    owner: ClassModel | None = field(default=None, compare=False)
    decorators: tuple[str, ...] = ()
    defaults: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Class:
    """A class of the project."""

    model: ClassModel


@dataclass(frozen=True, slots=True)
class Method:
    """An attribute of a value, taken but not called yet: `model.forward`."""

    receiver: Value
    name: str


@dataclass(frozen=True, slots=True)
class Partial:
    """`functools.partial`; `nodes`: the arguments as they were written, in the activation `frame`."""

    function: Value
    positional: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]
    nodes: tuple[Any, ...] = field(default=(), compare=False)
    frame: int = field(default=0, compare=False)


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
    | Generator
    | DeviceValue
    | DeviceType
    | Dtype
    | Truth
    | Object
    | Items
    | Many
    | Entries
    | Api
    | Import
    | Namespace
    | Function
    | Class
    | Method
    | Partial
    | Super
    | AnyOf
    | Either
)

UNKNOWN = Unknown()
NUMBER = Unknown(number=True)
"""A number of Python's, it is not known which: wherever it is asked for what is unknown, it is that."""
ABSENT = Unknown(absent=True)
NONE = Literal(None)
MAX_GROUP = 16
"""Groups of more objects than this are given up as unknown."""
MAX_DEPTH = 4
"""Values that differ by more nested conditions than this are given up as unknown."""


def alternatives(value: Value) -> Iterator[Value]:
    """What a value may be: itself, or each of two or more."""
    if isinstance(value, Either):
        yield from alternatives(value.then)
        yield from alternatives(value.otherwise)
    else:
        yield value


def each_of(value: Value) -> Iterator[Value]:
    """What a value may be, one by one: of several objects each, too."""
    for one in alternatives(value):
        yield from one.things if isinstance(one, AnyOf) else (one,)


@dataclass(frozen=True, slots=True)
class State:
    """What is known of an `Object`.

    `kind`: `module` (an nn.Module), `instance` (of a plain class), `loader`, `cell` (a container that was changed in place:
    `element` is what it holds now, the attribute `start` what it was made with), or `unknown`. `device` is where its parameters and
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
    span: tuple[int, int] | None = None
    """For an instance of a class of the file: the activations during which it was built, after the first, up to the last."""

    def with_attribute(self, name: str, value: Value) -> State:
        """The same state with one attribute set."""
        return replace(self, attributes={**self.attributes, name: value})


def depth(value: Value) -> int:
    """How many conditions are nested in the value."""
    return 1 + max(depth(value.then), depth(value.otherwise)) if isinstance(value, Either) else 0


def join(guard: Formula | None, then: Value, otherwise: Value) -> Value:
    """The value after two branches; `guard` tells them apart when it is known."""
    if guard is not None:
        then, otherwise = narrowed(then, (guard,)), narrowed(otherwise, (negate(guard),))
    if then == otherwise:
        return otherwise if isinstance(then, Unknown) and then.number else then
    match then, otherwise:
        case Tensor(), Tensor():
            return Tensor(
                choose(guard, then.device, otherwise.device),
                scalar=_joined_scalar(then, otherwise),
                parameter=then.parameter and otherwise.parameter,
                mapping=then.mapping and otherwise.mapping,
                batch=then.batch or otherwise.batch,
                guess=then.guess or otherwise.guess,
                dims=min(then.dims, otherwise.dims),
            )
        case DeviceValue(), DeviceValue():
            return DeviceValue(
                choose(guard, then.device, otherwise.device),
                is_object=then.is_object and otherwise.is_object,
                is_index=then.is_index and otherwise.is_index,
            )
        case Generator(), Generator():
            return Generator(choose(guard, then.device, otherwise.device))
        case Items(left), Items(right) if len(left) == len(right):
            return Items(
                tuple(join(guard, a, b) for a, b in zip(left, right, strict=True)),
                _same_cell(then, otherwise),
                _same_kind(then, otherwise),
            )
        case (Items() | Many(), Items() | Many()) if guard is not None and _are_devices(then, otherwise):
            pass  # two lists: which device is which is told by where it stands
        case (Items() | Many(), Items() | Many()):
            element = join(guard, element_of(then), element_of(otherwise))
            if then == Items(()) or otherwise == Items(()):
                element = element_of(otherwise if then == Items(()) else then)
            return Many(element, _same_cell(then, otherwise), kind=_same_kind(then, otherwise))
        case Entries(), Entries():
            return _join_entries(guard, then, otherwise)
        case _:
            pass
    for one, other in ((then, otherwise), (otherwise, then)):
        if isinstance(one, Tensor) and isinstance(other, Literal) and _is_number(other) and guard is None:
            # a sum that started from a number
            return replace(one, scalar=None, parameter=False)
    if guard is None:
        return _some_or_none(then, otherwise) or _which_function(then, otherwise) or _any_of(then, otherwise)
    joined = _one_or_none(guard, then, otherwise) or Either(guard, then, otherwise)
    return joined if depth(joined) <= MAX_DEPTH else UNKNOWN


def _are_devices(then: Items | Many, otherwise: Items | Many) -> bool:
    """Whether two lists, not one that was changed on one way, hold nothing but devices, of which there are some."""
    return (then.cell is None or then.cell != otherwise.cell) and all(
        isinstance(held, DeviceValue)
        for one in (then, otherwise)
        for held in (one.items or (UNKNOWN,) if isinstance(one, Items) else (one.element,))
    )


def _one_or_none(guard: Formula, then: Value, otherwise: Value) -> Either | None:
    """What one round of a loop after the other puts in the place of None: `best = None`, `if loss < lowest: best = {...}`."""
    for here, one, other in ((guard, then, otherwise), (negate(guard), otherwise, then)):
        told, held = _told(other)
        if told != TRUE and isinstance(one, _KEPT) and type(one) is type(held):
            return Either(disjunction(here, told), join(here, one, held), NONE)
    return None


def _some_or_none(then: Value, otherwise: Value) -> Either | None:
    """The same after who knows how many rounds."""
    left, right = _told(then), _told(otherwise)
    if not isinstance(left[1], _KEPT) or type(left[1]) is not type(right[1]) or left[0] == right[0] == TRUE:
        return None
    told = Atom("opaque", ("set in some round", left[0], right[0]))
    return Either(told, join(None, left[1], right[1]), NONE)


_MAX_FUNCTIONS = 4
"""Of so many functions each may be the one that is called; of more nothing is known."""


def _which_function(then: Value, otherwise: Value) -> Value | None:
    """One of a few functions, taken from a list of them: whichever it is, it is called. None where there are others, or more."""
    found: list[Function | Api] = []
    for one in (*alternatives(then), *alternatives(otherwise)):
        if not is_function(one):
            return None
        assert isinstance(one, (Function, Api))
        merged = [_with_any_defaults(one, other) for other in found]
        if any(merged):
            found = [both or other for both, other in zip(merged, found, strict=True)]
        elif one not in found:
            found.append(one)
    if len(found) > _MAX_FUNCTIONS:
        return None
    chosen: Value = found[-1]
    for one in reversed(found[:-1]):
        name = one.path if isinstance(one, Api) else id(one.node)
        chosen = Either(Atom("opaque", ("which function", name)), one, chosen)
    return chosen


def is_function(value: Value) -> bool:
    """Whether a value is there to be called: a function of the project, an operation or a factory function of PyTorch."""
    if isinstance(value, Api):
        where, _, name = value.path.rpartition(".")
        return where in ("torch", "torch.nn.functional") and name.islower()
    return isinstance(value, Function)


def _with_any_defaults(one: Function | Api, other: Function | Api) -> Function | None:
    """One function for two of one `lambda x, k=k: ...`, which a loop has made in each of its rounds; None for others."""
    if not isinstance(one, Function) or not isinstance(other, Function) or not one.defaults:
        return None
    if (one.node, one.receiver, one.frame) != (other.node, other.receiver, other.frame):
        return None
    defaults = dict(other.defaults)
    joined = tuple((name, join(None, value, defaults.get(name, UNKNOWN))) for name, value in one.defaults)
    return replace(one, defaults=joined)


def _told(value: Value) -> tuple[Formula, Value]:
    """What a value is if it is not None, and when that is so."""
    if isinstance(value, Either):
        if value.otherwise == NONE:
            return value.guard, value.then
        if value.then == NONE:
            return negate(value.guard), value.otherwise
    return TRUE, value


_KEPT = (Tensor, Items, Many, Entries)


def if_not_none(value: Value) -> Value:
    """What the value is where it is something: of None nothing is read, the program ends there."""
    if not isinstance(value, Either):
        return value
    then, otherwise = if_not_none(value.then), if_not_none(value.otherwise)
    if NONE in (then, otherwise):
        return otherwise if then == NONE else then
    unchanged = then is value.then and otherwise is value.otherwise
    return value if unchanged else join(value.guard, then, otherwise)


def _joined_scalar(then: Tensor, otherwise: Tensor) -> bool | None:
    """Whether one of two tensors is 0-dim: that matters for the one on the CPU, which other devices take in only then."""
    if then.scalar == otherwise.scalar:
        return then.scalar
    hosted = [one for one in (then, otherwise) if any(isinstance(leaf, Cpu) for leaf in leaves(one.device))]
    elsewhere = [
        one for one in (then, otherwise) if all(isinstance(leaf, Symbol) for leaf in leaves(one.device))
    ]
    return hosted[0].scalar if len(hosted) == len(elsewhere) == 1 else None


def narrowed(value: Value, path: tuple[Formula, ...]) -> Value:
    """What the value is where the conditions of `path` hold."""
    if not path:
        return value
    if not isinstance(value, Either):
        return value
    told = known(path)
    while isinstance(value, Either):
        guard = value.guard
        if guard in told.facts:
            settled: bool | None = True
        elif type(guard) is not Atom and negate(guard) in told.facts:
            settled = False
        else:  # which holds what is told of an atom, too
            settled = truth(guard, told.assignment)
        if settled is None:
            return value
        value = value.then if settled else value.otherwise
    return value


def present(value: Value) -> Value:
    """What a dict's entry holds, given that its key is there."""
    if not isinstance(value, Either):
        return value
    if value.then == ABSENT:
        return present(value.otherwise)
    if value.otherwise == ABSENT:
        return present(value.then)
    return value


def _same_cell(then: Items | Many | Entries, otherwise: Items | Many | Entries) -> Key | None:
    return then.cell if then.cell == otherwise.cell else None


def _same_kind(then: Items | Many, otherwise: Items | Many) -> str:
    return then.kind if then.kind == otherwise.kind else ""


def _join_entries(guard: Formula | None, then: Entries, otherwise: Entries) -> Entries:
    left, right = dict(then.entries), dict(otherwise.entries)
    entries = []
    for name in {**left, **right}:
        if name in left and name in right:
            value = join(guard, left[name], right[name])
        elif name in left:
            value = join(guard, left[name], otherwise.default if otherwise.open else ABSENT)
        else:
            value = join(guard, then.default if then.open else ABSENT, right[name])
        entries.append((name, value))
    if then.open and otherwise.open:
        default = join(guard, then.default, otherwise.default)
    else:
        default = then.default if then.open else otherwise.default
    return Entries(
        tuple(entries),
        default,
        then.open or otherwise.open,
        then.spare or otherwise.spare,
        _same_cell(then, otherwise),
    )


def _is_number(value: Literal) -> bool:
    return isinstance(value.value, (int, float)) and not isinstance(value.value, bool)


def _any_of(then: Value, otherwise: Value) -> Value:
    things = [*each_of(then), *each_of(otherwise)]
    kept = tuple(dict.fromkeys(one for one in things if isinstance(one, Object)))
    if not all(isinstance(one, Object) for one in things):
        return UNKNOWN
    return AnyOf(kept) if len(kept) <= MAX_GROUP else UNKNOWN


def join_all(values: list[Value]) -> Value:
    """The join of values that nothing tells apart."""
    if not values:
        return UNKNOWN
    result = values[0]
    for value in values[1:]:
        result = join(None, result, value)
    return result


BASE = "<base>"
"""The attribute of a module that holds what the `__init__` of a base class from PyTorch has made (`torch_bases`)."""


def element_of(value: Value) -> Value:
    """What iterating over a container gives; unknown for anything else."""
    match value:
        case Items(items):
            return join_all(list(items))
        case Many(element):
            return element
        case Tensor(device=device, mapping=False, dims=dims) if dims > 1:
            return Tensor(device, dims=dims - 1)
        case Tensor(device=device, mapping=False, batch=batch, guess=guess):
            return Tensor(device, scalar=None, batch=batch, guess=guess, element=True)
        case Either(guard, then, otherwise):
            return join(guard, element_of(then), element_of(otherwise))
        case _:
            return UNKNOWN


def without_cell(value: Value) -> Value:
    """A container that is one of several, it is not known which: it has no identity, nor have those in it."""
    match value:
        case Items(items):
            return Items(tuple(without_cell(item) for item in items), kind=value.kind)
        case Many(element):
            return Many(without_cell(element), kind=value.kind)
        case Entries():
            return value.of_each(without_cell)
        case _:
            return value


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


def somewhere(value: Value) -> Value:
    """The same, but nothing is known of where its tensors are."""
    match value:
        case Tensor():
            return unknown_tensor()
        case Items(items=items):
            return replace(value, items=tuple(map(somewhere, items)))
        case Many(element=element):
            return replace(value, element=somewhere(element))
        case Entries(entries=entries, default=default):
            held = tuple((name, somewhere(entry)) for name, entry in entries)
            return replace(value, entries=held, default=somewhere(default))
        case _:
            return value


ASKED = "asked"
"""Notes of a comparison, by its id, that it is the condition of something: what it gives has one element."""

COUNTED = "counted"
"""What the key of a number begins with that says how many there are: `len(items)`."""


def counted(thing: Object) -> Object:
    """The thing as a number, which is the same wherever it goes."""
    return Object((COUNTED, thing.key), thing.text)


def item_of(thing: Object) -> Object:
    """Whatever a thing of which nothing is known gives where it is iterated over, or asked for a key that is not known."""
    return Object(("item", thing.key), f"an item of {thing.text}" if thing.text else "")


def is_number(value: Value) -> bool:
    """Whether a value is a number of Python's for certain, known or not."""
    match value:
        case Unknown(number=number):
            return number
        case Object(key=key):
            return bool(key[0] == COUNTED)
        case Literal(value=constant):
            return isinstance(constant, (int, float))
        case _:
            return False
