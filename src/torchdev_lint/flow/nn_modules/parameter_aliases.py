"""Other references to the parameters of a module that is moved: a name, a list, a dict.

`Module.to` moves a parameter in place (torch/nn/modules/module.py, `_apply` puts what was moved into `param.data`), so that whoever else
has it has it where the module is now. A buffer is replaced instead: what else refers to it stays where it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Key
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE, Device, leaves
from torchdev_lint.flow.domain.values import Either, Entries, Items, Many, Object, Tensor, Value, each_of

Identity: TypeAlias = tuple[int, int, int]
"""What made a parameter, in which activation and when: of what a loop makes, one is told from the next."""


def move(frame: Frame, parameters: frozenset[Identity], device: Device) -> None:
    """What refers to these parameters finds them on the device from now on; what callers have, on one that is not known."""
    if not parameters:
        return
    env = frame.env
    for name, value in _changed(env.names, parameters, device).items():
        env.names[name] = value
    for key, state in list(env.heap.items()):
        plain = {name: held for name, held in state.attributes.items() if name not in state.registered}
        found = _changed(plain, parameters, device)
        element = _moved(state.element, parameters, device)
        if found or element is not state.element:
            held = {**state.attributes, **found}
            env.set_state(Object(key), replace(state, attributes=held, element=element))
    caller = frame.caller
    while caller is not None:  # whether the callee always comes here is not known there
        if caller.env is not env:
            for name, value in _changed(caller.env.names, parameters, UNKNOWN_DEVICE).items():
                caller.env.names[name] = value
        caller = caller.caller


def parameters_of(frame: Frame, thing: Object) -> frozenset[Identity]:
    """The parameters of a module and of its parts, as far as they are told apart."""
    return frozenset(_parameters(frame, thing, set()))


def _parameters(frame: Frame, thing: Object, seen: set[Key]) -> Iterator[Identity]:
    seen.add(thing.key)
    state = frame.state(thing)
    yield from _identities(state.device)
    for name in state.registered:
        for held in each_of(state.attributes[name]) if name in state.attributes else ():
            if isinstance(held, Tensor) and held.parameter:
                yield from _identities(held.device)
            elif isinstance(held, Object) and held.key not in seen:
                yield from _parameters(frame, held, seen)


def _identities(device: Device) -> Iterator[Identity]:
    for leaf in leaves(device):
        if leaf.origin is not None:
            root = leaf.origin.root()
            yield id(root.node), root.frame, root.step


def _changed(held: dict[str, Value], parameters: frozenset[Identity], device: Device) -> dict[str, Value]:
    """Those of some values, by name, that refer to one of the parameters: as they are now."""
    found = {name: _moved(value, parameters, device) for name, value in held.items()}
    return {name: value for name, value in found.items() if value is not held[name]}


def _moved(value: Value, parameters: frozenset[Identity], device: Device) -> Value:
    match value:
        case Tensor(parameter=True):
            own = frozenset(_identities(value.device))
            return replace(value, device=device) if own and own <= parameters else value
        case Items(items=items):
            now = tuple(_moved(item, parameters, device) for item in items)
            same = all(new is old for new, old in zip(now, items, strict=True))
            return value if same else replace(value, items=now)
        case Many(element=element):
            inner = _moved(element, parameters, device)
            return value if inner is element else replace(value, element=inner)
        case Entries(entries=entries, default=default):
            held = tuple((key, _moved(entry, parameters, device)) for key, entry in entries)
            rest = _moved(default, parameters, device)
            same = rest is default and all(a is b for (_, a), (_, b) in zip(held, entries, strict=True))
            return value if same else replace(value, entries=held, default=rest)
        case Either(guard, then, otherwise):
            ways = _moved(then, parameters, device), _moved(otherwise, parameters, device)
            same = ways[0] is then and ways[1] is otherwise
            return value if same else Either(guard, *ways)
        case _:
            return value
