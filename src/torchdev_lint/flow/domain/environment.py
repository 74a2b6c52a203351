"""The state of the interpretation at one point of a program: names, objects, known conditions, default device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import is_

from torchdev_lint.flow.domain.conditions import Formula, Key, common, extended, known
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import (
    CPU,
    Choice,
    Device,
    Symbol,
    choose,
    is_kept_plainly,
    without_attribute,
)
from torchdev_lint.flow.domain.values import (
    UNKNOWN,
    DeviceValue,
    Either,
    Entries,
    Items,
    Literal,
    Many,
    Object,
    State,
    Tensor,
    Value,
    join,
)


def default_state(thing: Object) -> State:
    """What is assumed of a thing that nothing has been seen to happen to: it is where it is."""
    if thing.at_rest is None:
        where = Symbol(("device", thing.key), f"{thing.text}.device" if thing.text else "", assumed=True)
        object.__setattr__(thing, "at_rest", State("unknown", where))
    assert thing.at_rest is not None
    return thing.at_rest


@dataclass(slots=True)
class Environment:
    """Names of the current scope, the heap of objects, the conditions known to hold, where factories put tensors."""

    names: dict[str, Value] = field(default_factory=dict)
    heap: dict[Key, State] = field(default_factory=dict)
    path: tuple[Formula, ...] = ()
    default_device: Device = CPU
    imported: dict[Key, State] = field(default_factory=dict)
    """The objects of imported modules as they were left by their import: one table for all environments of a file."""

    def copy(self) -> Environment:
        """An environment that changes independently (values and states are immutable)."""
        return Environment(dict(self.names), self.heap.copy(), self.path, self.default_device, self.imported)

    def inside(self, *, path: tuple[Formula, ...] | None = None) -> Environment:
        """An environment for another scope that goes on from here, changing independently."""
        return Environment(
            {}, self.heap.copy(), self.path if path is None else path, self.default_device, self.imported
        )

    def rename(self, names: Mapping[str, Value]) -> None:
        """Bind what `names` binds, and nothing else."""
        for name in [name for name in self.names if name not in names]:
            del self.names[name]
        for name, value in names.items():
            if self.names.get(name) is not value:
                self.names[name] = value

    def assume(self, formula: Formula) -> None:
        """Add what is known when `formula` holds."""
        self.path = extended(self.path, formula)

    def state(self, thing: Object) -> State:
        """What is known of an object."""
        key = thing.key
        return self.heap.get(key) or self.imported.get(key) or thing.at_rest or default_state(thing)

    def found(self, key: Key) -> State | None:
        """What was seen of an object, if anything was."""
        return self.heap.get(key) or self.imported.get(key)

    def everything(self) -> Mapping[Key, State]:
        """All objects that something was seen of, as they are now."""
        return {**self.imported, **self.heap} if self.imported else self.heap

    def knows(self, thing: Object) -> bool:
        """Whether anything was seen to happen to an object."""
        return thing.key in self.heap or thing.key in self.imported

    def set_state(self, thing: Object, state: State) -> None:
        """Record what is known of an object."""
        self.heap[thing.key] = state


def refreshed(env: Environment, value: Value, depth: int = 3) -> Value:
    """A container as it is now: what was changed in place through any of its names is seen through all."""
    kind = type(value)
    if kind is Either:
        assert isinstance(value, Either)
        ways = refreshed(env, value.then, depth), refreshed(env, value.otherwise, depth)
        same = ways[0] is value.then and ways[1] is value.otherwise
        return value if same else join(value.guard, *ways)
    if kind is not Items and kind is not Many and kind is not Entries:
        return value
    assert isinstance(value, (Items, Many, Entries))
    if value.cell is not None:
        state = env.found(value.cell)
        if state is not None and state.kind == "cell":
            kept = state.element
            if not isinstance(kept, (Items, Many, Entries)):
                return kept  # one container on one way, another on another
            value = kept
    if depth == 0:
        return value
    match value:
        case Items(items=items):
            if _CONTAINERS.isdisjoint(map(type, items)):
                return value
            now = tuple(refreshed(env, item, depth - 1) for item in items)
            return value if all(map(is_, now, items)) else replace(value, items=now)
        case Many(element=element):
            inner = refreshed(env, element, depth - 1)
            return value if inner is element else replace(value, element=inner)
        case Entries(entries=entries, default=default):
            held = tuple((key, refreshed(env, entry, depth - 1)) for key, entry in entries)
            rest = refreshed(env, default, depth - 1)
            if rest is default and all(new is old for (_, new), (_, old) in zip(held, entries, strict=True)):
                return value
            return replace(value, entries=held, default=rest)


_CONTAINERS = frozenset((Items, Many, Entries, Either))


def distinguishing(left: Environment, right: Environment) -> Formula | None:
    opposite = known(right.path).opposites
    if opposite.isdisjoint(known(left.path).facts):
        return None
    return next(fact for fact in left.path if fact in opposite)


def _join(guard: Formula | None, left: Value, right: Value) -> Value:
    # nearly all values are shared between the copies; comparing them by their structure is what costs
    return left if left is right else join(guard, left, right)


def _merge_states(guard: Formula | None, key: Key, left: State, right: State) -> State:
    if left is right or left == right:
        return left
    attributes = {
        name: _join(guard, _held(key, left, name, right), _held(key, right, name, left))
        for name in {**left.attributes, **right.attributes}
    }
    if guard is not None and left.registered != right.registered:
        for name in left.registered ^ right.registered:
            held = _registered_on_one_way(guard, left, right, name)
            if held is not None:
                attributes[name] = held
    return replace(
        left,
        kind=left.kind
        if left.kind == right.kind
        else "module"
        if "module" in (left.kind, right.kind)
        else "unknown",
        device=choose(guard, left.device, right.device),
        attributes=attributes,
        registered=left.registered | right.registered,
        moves_inputs=left.moves_inputs or right.moves_inputs,
        moved=left.moved or right.moved,
        element=join(guard, left.element, right.element),
    )


def _registered_on_one_way(guard: Formula, left: State, right: State, name: str) -> Tensor | None:
    """A tensor that one way registers in a module and the other keeps as a plain attribute: `if train: self.w = nn.Parameter(self.w)`.

    It moves with the module on the one way only, which the two places say, although both are the CPU until then.
    """
    then, otherwise = left.attributes.get(name), right.attributes.get(name)
    if left.kind != "module" or not isinstance(then, Tensor) or not isinstance(otherwise, Tensor):
        return None
    plain = otherwise if name in left.registered else then
    if not is_kept_plainly(plain.device):
        return None
    joined = join(guard, then, otherwise)
    places = (
        (without_attribute(then.device), otherwise.device)
        if plain is otherwise
        else (then.device, without_attribute(otherwise.device))
    )
    return replace(joined, device=Choice(guard, *places)) if isinstance(joined, Tensor) else None


def _held(key: Key, state: State, name: str, other: State) -> Value:
    """An attribute on one of two ways that meet; where only the other one sets it, a device, number, text or None is what it was before.

    A tensor that one way keeps is looked at as if it were always kept: `if self.mask is None: self.mask = torch.ones(n)`. Of a thing
    that was made here nobody asks for it who has not taken the other way.
    """
    held = state.attributes.get(name)
    if held is not None:
        return held
    kept = other.attributes[name]
    came = state.kind == "unknown" or key[0] == "self"
    shared = UNKNOWN if state.model is None else state.model.class_attribute(name)
    if not came or type(kept) not in (DeviceValue, Literal) or shared != UNKNOWN:
        return kept
    if name == "device" and state.kind == "module":
        return DeviceValue(state.device, is_object=False)
    if name.startswith("["):
        return Object(("item", key, name[1:-1]), "")  # `cfg["device"]`, as it is read elsewhere
    return Object(("attr", key, name), f"self.{name}" if key[0] == "self" else name)


def _untouched(env: Environment, key: Key, state: State) -> State:
    """What an object is where nothing happened to it, if it is `state` where something did."""
    if key in env.imported:
        return env.imported[key]
    if state.kind == "cell":
        return replace(state, element=state.attributes["start"])
    return default_state(Object(key)) if state.kind == "unknown" else state


def merge(left: Environment | None, right: Environment | None) -> Environment | None:
    """The environment where two control flows meet; None is a flow that cannot be reached."""
    if left is None or right is None or left is right:
        return left if right is None else right
    guard = distinguishing(left, right)
    names = dict(left.names)
    for name, value in right.names.items():
        held = names.get(name)
        if held is None:
            names[name] = value
        elif held is not value:
            # nearly all values are shared between the copies; comparing them by their structure is what costs
            if guard is None and (_may_be_tensor(held) or _may_be_tensor(value)):
                held, value = _as_tensor(left, held), _as_tensor(right, value)
            names[name] = join(guard, held, value)
    heap = dict(left.heap)
    if heap != right.heap:  # which compares what is shared by its identity, and much faster than a loop would
        for key, state in right.heap.items():
            other = heap.get(key)
            if other is state:
                continue
            heap[key] = _merge_states(
                guard, key, _untouched(left, key, state) if other is None else other, state
            )
        if len(heap) > len(right.heap):
            for key, state in left.heap.items():
                if key not in right.heap:
                    heap[key] = _merge_states(guard, key, state, _untouched(right, key, state))
    default = choose(guard, left.default_device, right.default_device)
    path = common(left.path, right.path)
    return Environment(names, heap, path, default, left.imported)


def moved_tensor(env: Environment, value: Value) -> Tensor | None:
    """Something that was moved, and of which nothing else is known, taken for a tensor; None for anything else."""
    if not isinstance(value, Object) or value.key[0] != "moved":
        return None
    state = env.state(value)
    return Tensor(state.device, scalar=None) if state.moved and state.kind == "unknown" else None


def _as_tensor(env: Environment, value: Value) -> Value:
    """Something that was moved, and is a tensor on another way or in another round, `x = a if x is None else x + a`: it is one as well."""
    if isinstance(value, Either):
        return join(value.guard, _as_tensor(env, value.then), _as_tensor(env, value.otherwise))
    return moved_tensor(env, value) or value


def _may_be_tensor(value: Value) -> bool:
    if isinstance(value, Either):
        return _may_be_tensor(value.then) or _may_be_tensor(value.otherwise)
    return isinstance(value, Tensor)


def merge_all(environments: list[Environment]) -> Environment | None:
    """The meeting point of many flows."""
    result: Environment | None = None
    for environment in environments:
        result = merge(result, environment)
    return result
