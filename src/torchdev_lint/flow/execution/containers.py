"""Lists, tuples, dicts and strings: their identity, their methods and operators.

A list or dict is changed in place through whatever name it is known by. Each one that the program writes down gets a *cell*, an
identity under which the heap keeps what it has become (`environment.refreshed` brings a value up to date).
"""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling import choices, registries
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.conditions import Atom
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE, Cpu
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    DeviceValue,
    Either,
    Entries,
    Items,
    Literal,
    Many,
    Object,
    Tensor,
    Truth,
    Unknown,
    Value,
    alternatives,
    element_of,
    item_of,
    join,
    join_all,
    present,
)
from torchdev_lint.flow.execution import mixed_lists, truths
from torchdev_lint.flow.execution.identities import with_cell as with_cell
from torchdev_lint.flow.execution.iteration import iterate, known_items
from torchdev_lint.flow.execution.patterns import change
from torchdev_lint.flow.instances import dict_classes, list_classes
from torchdev_lint.flow.mistakes import literals
from torchdev_lint.flow.syntax.trees import says_device

MAX_ITEMS = 32
"""Lists with more items than this are known by what their items have in common."""


def forget_order(frame: Frame, receiver: Value, node: cst.CSTNode) -> None:
    """The container is shuffled."""
    if isinstance(receiver, (Items, Many)):
        change(frame, receiver, Many(element_of(receiver)), node)


def sequence(items: list[Value], *, fixed: bool = True) -> Items | Many:
    """A list of these items; without `fixed`, there may be more or fewer of each."""
    return Items(tuple(items)) if fixed and len(items) <= MAX_ITEMS else Many(join_all(items))


def extended(receiver: Items | Many, other: Value, frame: Frame) -> Items | Many:
    """`receiver + other`."""
    other = list_classes.iterated(frame, other)
    if isinstance(receiver, Items) and isinstance(other, Items):
        return sequence([*receiver.items, *other.items])
    added = iterate(frame, other)
    if receiver == Items(()):
        return Many(added)
    if other == Items(()):
        return receiver
    return Many(join(None, element_of(receiver), added))


def call_container_method(frame: Frame, receiver: Value, name: str, site: CallSite) -> Value:
    """The effect and result of a method of a list, tuple, dict or string."""
    match receiver:
        case Items() | Many():
            return _list_method(frame, receiver, name, site)
        case Entries(spare=True) if not hasattr(dict, name):
            # no dict: a tokenizer's BatchEncoding and a graph move all that they have
            from torchdev_lint.flow.torch_calls import tensors

            return tensors.call_method(frame, Tensor(UNKNOWN_DEVICE, mapping=True), name, site)
        case Entries():
            return _dict_method(frame, receiver, name, site)
        case Literal(value=str(text)):
            made = _string_method(text, name, site)
            unknown = not all(isinstance(argument.value, Literal) for argument in site.arguments)
            if name == "format" and unknown and not site.has_star():
                parts = [argument.node.value for argument in site.arguments]
                return literals.formatted_device(frame, site.node, text, parts)
            return made
        case _:
            return UNKNOWN


def call_dict_method(frame: Frame, thing: Object, name: str, site: CallSite) -> Value | None:
    """The result of a method that an instance has from `dict`; None where it has none, or what it holds is not known."""
    held = dict_classes.held_by(frame, thing)
    given = [argument.value for argument in site.positional()]
    if held is None:
        return None
    if name in dict_classes.METHODS:
        return _dict_method(frame, held, name, replace(site, receiver=None))
    match name, given:
        case "__getitem__", [key]:
            return item(held, key)
        case "__setitem__", [key, value]:
            changed = held.updated(key.value, value) if isinstance(key, Literal) else _any_key(held, value)
            change(frame, held, changed, None)
            return NONE
        case _:
            return None


def call_list_class_method(frame: Frame, thing: Object, name: str, site: CallSite) -> Value | None:
    """The result of a method that an instance has from `list`; None where it has none, or what it holds is not known."""
    held = list_classes.held_by(frame, thing)
    given = [argument.value for argument in site.positional()]
    if held is None:
        return None
    if name in list_classes.METHODS:
        return _list_method(frame, held, name, replace(site, receiver=None))
    match name, given:
        case "__init__", _:
            list_classes.begin(frame, thing, list_of(frame, site))
            return NONE
        case "__getitem__", [Literal(value=int(index))] if isinstance(held, Items) and (
            -len(held.items) <= index < len(held.items)
        ):
            return held.items[index]
        case "__setitem__" | "__delitem__" | "__iadd__", _:
            list_classes.forget(frame, thing)
            return UNKNOWN
        case "__iter__", _:
            return held
        case _:
            return None


def list_of(frame: Frame, site: CallSite) -> Items | Many:
    """What `list(...)` of these arguments holds."""
    given = [argument.value for argument in site.positional()]
    if not given:
        return Items(()) if not site.arguments else Many(UNKNOWN)
    parts = known_items(frame, given[0])
    return Many(iterate(frame, given[0])) if parts is None else sequence(parts)


_KEEPS_ITEMS = frozenset("extend insert appendleft sort reverse copy index count".split())
"""Methods of lists after which all items are still there."""


def _tells_the_end(frame: Frame, value: Value) -> bool:
    """Whether what is put into a queue tells those who wait that nothing more comes: None, or an `object()` made for that."""
    return value == NONE or truths.is_bare_object(frame, value)


def _list_method(frame: Frame, receiver: Items | Many, name: str, site: CallSite) -> Value:
    given = [argument.value for argument in site.positional()]
    first = given[0] if given else UNKNOWN

    if name == "append":
        mixed_lists.note(frame, receiver, first)
    elif name not in _KEEPS_ITEMS:
        mixed_lists.forget(frame, receiver)

    def becomes(changed: Items | Many) -> Value:
        change(frame, receiver, replace(changed, kind=receiver.kind), site.receiver)
        return NONE

    match receiver, name:
        case Items(items), "append":
            return becomes(sequence([*items, first]))
        case _, "put" | "put_nowait" if receiver not in (Items(()), Many(UNKNOWN)) and _tells_the_end(
            frame, first
        ):
            ended = Atom("opaque", ("end of", receiver.cell or id(site.node)), "nothing more comes")
            held = element_of(receiver)
            return becomes(Many(held if isinstance(held, Either) else Either(ended, first, held)))
        case _, "append" | "add" | "put" | "put_nowait":
            return becomes(Many(_with(receiver, first)))
        case Items(items), "appendleft":
            return becomes(sequence([first, *items]))
        case _, "appendleft":
            return becomes(Many(_with(receiver, first)))
        case _, "extend" | "update":
            return becomes(extended(receiver, first, frame))
        case Items(items), "extendleft" if isinstance(first, Items):
            return becomes(sequence([*first.items[::-1], *items]))
        case _, "extendleft":
            return becomes(Many(element_of(extended(receiver, first, frame))))
        case _, "insert" if len(given) > 1:
            return becomes(Many(_with(receiver, given[1])))
        case Items(items), "pop":
            index = given[0].value if given and isinstance(given[0], Literal) else None if given else -1
            if isinstance(index, int) and -len(items) <= index < len(items):
                left = list(items)
                popped = left.pop(index)
                becomes(Many(element_of(receiver)) if _is_emptied(frame, receiver) else sequence(left))
                return popped
            becomes(Many(element_of(receiver)))
            return element_of(receiver)
        case Items(items), "popleft" if items:
            becomes(Many(element_of(receiver)) if _is_emptied(frame, receiver) else sequence(list(items[1:])))
            return items[0]
        case Many(
            element=Either(guard=Atom(kind="opaque", key=("end of", queue)), then=then, otherwise=held)
        ), ("get" | "get_nowait") if _tells_the_end(frame, then):
            # one may be the last, and the next not
            ended = Atom(
                "opaque", ("end of", queue, id(site.node), frame.uid, frame.salt), "nothing more comes"
            )
            return Either(ended, then, held)
        case _, "pop" | "popleft" | "get" | "get_nowait" | "__next__" | "next":
            return element_of(receiver)
        case _, "clear":
            return becomes(Items(()))
        case Items(items), "reverse":
            return becomes(sequence(list(items[::-1])))
        case _, "remove" | "discard" | "sort" | "rotate" | "reverse":
            return becomes(Many(element_of(receiver)))
        case _, "copy":
            return replace(receiver, cell=None)
        case _, "union" | "intersection" | "difference":
            return (
                Many(element_of(receiver))
                if not given
                else extended(Many(element_of(receiver)), first, frame)
            )
        case _:
            return UNKNOWN


def _is_emptied(frame: Frame, receiver: Items | Many) -> bool:
    """Whether a loop that takes items out of a container was begun after that was made: `while len(queue) > 4: queue.popleft()`.

    It may have taken out none, or some, so that it is known of none that it is gone.
    """
    counted = all(loop.exact for loop in frame.loops)
    return not counted and receiver.cell is not None and frame.salt not in receiver.cell[2:]


def _with(receiver: Items | Many, value: Value) -> Value:
    held = element_of(receiver)
    if receiver in (Items(()), Many(UNKNOWN)):
        return value
    return join(None, held, value)


def _dict_method(frame: Frame, receiver: Entries, name: str, site: CallSite) -> Value:
    given = [argument.value for argument in site.positional()]
    key = given[0].value if given and isinstance(given[0], Literal) else None
    match name:
        case "items":
            if not receiver.open:
                return Items(
                    tuple(Items((Literal(held), present(value))) for held, value in receiver.entries)
                )
            return Many(Items((UNKNOWN, join_all(receiver.values()))))
        case "values":
            return Many(join_all(receiver.values())) if receiver.open else Items(tuple(receiver.values()))
        case "keys":
            return (
                Many(UNKNOWN)
                if receiver.open
                else Items(tuple(Literal(held) for held, _ in receiver.entries))
            )
        case "get" | "pop" if given:
            receiver = registries.filled(frame, receiver, given[0]) if name == "get" else receiver
            absent = given[1] if len(given) > 1 else NONE
            if name == "get" and not receiver.open and are_literals(given[0]):
                return looked_up(receiver, given[0], absent)
            table = {} if receiver.open or name == "pop" else dict(receiver.entries)
            chosen = choices.one_of(frame, site.node, table, given[0])
            found = item(receiver, given[0]) if chosen is None else chosen
            if isinstance(given[0], Literal) and not receiver.open and key not in dict(receiver.entries):
                return absent
            if name == "pop" and isinstance(given[0], Literal):
                kept = tuple((held, value) for held, value in receiver.entries if held != key)
                change(frame, receiver, replace(receiver, entries=kept), site.receiver)
            return found
        case "setdefault" if given:
            value = given[1] if len(given) > 1 else NONE
            if isinstance(given[0], Literal):
                if key in dict(receiver.entries):
                    return receiver.get(key)
                if not receiver.open:
                    change(frame, receiver, receiver.updated(key, value), site.receiver)
                    return value
                return UNKNOWN
            change(frame, receiver, receiver.opened(value), site.receiver)
            return join_all([*receiver.values(), value])
        case "update":
            change(frame, receiver, updated_from(receiver, site), site.receiver)
            return NONE
        case "popitem":
            return Items((UNKNOWN, join_all(receiver.values())))
        case "clear":
            change(frame, receiver, Entries(()), site.receiver)
            return NONE
        case "copy":
            return replace(receiver, cell=None)
        case _:
            return UNKNOWN


def updated_from(receiver: Entries, site: CallSite) -> Entries:
    """A dict after `update(...)` with the arguments of a call."""
    changed = receiver
    for argument in site.arguments:
        name = argument.keyword
        changed = merged(changed, argument.value) if name is None else changed.updated(name, argument.value)
    return changed


def dict_of(frame: Frame, site: CallSite) -> Entries:
    """What `dict(...)` of these arguments holds."""
    given = tuple(replace(one, value=dict_classes.as_dict(frame, one.value)) for one in site.arguments)
    return updated_from(Entries(()), replace(site, arguments=given))


def merged(left: Entries, right: Value) -> Entries:
    """`{**left, **right}`; `right` may also be pairs of keys and values."""
    match right:
        case Entries(entries=entries):
            for key, value in entries:
                left = left.updated(key, value)
            if not right.open:
                return left
            return _any_key(left, right.default)
        case Items(items=items):
            for pair in items:
                match pair:
                    case Items(items=(Literal(value=key), value)):
                        left = left.updated(key, value)
                    case Items(items=(_, value)):
                        left = _any_key(left, value)
                    case _:
                        left = _any_key(left, UNKNOWN)
            return left
        case Many(element=Items(items=(_, value))):
            return _any_key(left, value)
        case Object():
            return _any_key(left, item_of(right))  # `dict(checkpoint["shadow"])`: where that was loaded to
        case _:
            return _any_key(left, UNKNOWN)


def _any_key(left: Entries, value: Value) -> Entries:
    """The dict after `value` was stored under a key that is not known: it may have replaced any."""
    replaced = tuple((key, join(None, held, value)) for key, held in left.entries)
    return replace(left, entries=replaced).opened(value)


def item(container: Entries, key: Value) -> Value:
    """`container[key]`; a key that is not known may be any of those that there are.

    What is kept by device, `cache[x.device, n]`, is for each of them where it was made for.
    """
    if isinstance(key, Literal):
        return present(container.get(key.value))
    held = container.values()
    by_device = isinstance(key, DeviceValue) or (
        isinstance(key, Items) and any(isinstance(part, DeviceValue) for part in key.items)
    )
    return UNKNOWN if by_device and not all(map(_is_made_on_host, held)) else join_all(held)


def are_literals(key: Value) -> bool:
    """Whether a key is known, or is one of several by conditions that are: `"gpu" if torch.cuda.is_available() else "cpu"`."""
    return all(isinstance(one, Literal) for one in alternatives(key))


def looked_up(container: Entries, key: Value, absent: Value) -> Value:
    """What a dict of known keys has under each key that it may be asked for; `absent` where it has none of that name."""
    match key:
        case Either(guard, then, otherwise):
            return join(guard, looked_up(container, then, absent), looked_up(container, otherwise, absent))
        case Literal(value=name) if name in dict(container.entries):
            return present(container.get(name))
        case _:
            return absent


def _is_made_on_host(value: Value) -> bool:
    """Whether a tensor, or each of several, was made without a device, whichever it is for."""
    match value:
        case Tensor(device=Cpu(origin=origin)) if origin is not None:
            made = origin.root()
            return (
                made.what == "factory" and isinstance(made.node, cst.Call) and not says_device(made.node.args)
            )
        case Items(items=items):
            return all(map(_is_made_on_host, items))
        case _:
            return False


def _string_method(text: str, name: str, site: CallSite) -> Value:
    match name:
        case "format":
            return _format(text, site)
        case "lower":
            return Literal(text.lower())
        case "upper":
            return Literal(text.upper())
        case "strip":
            return Literal(text.strip())
        case "split" if not site.arguments:
            return Items(tuple(Literal(word) for word in text.split()))
        case "startswith" | "endswith" if len(site.positional()) == len(site.arguments) == 1:
            asked = site.arguments[0].value
            parts = asked.items if isinstance(asked, Items) else (asked,)
            known = [one.value for one in parts if isinstance(one, Literal) and isinstance(one.value, str)]
            return Literal(getattr(text, name)(tuple(known))) if len(known) == len(parts) else UNKNOWN
        case _:
            return UNKNOWN


def _format(text: str, site: CallSite) -> Value:
    if site.has_star() or not all(isinstance(argument.value, Literal) for argument in site.arguments):
        return UNKNOWN
    positional = [a.value.value for a in site.arguments if a.keyword is None and isinstance(a.value, Literal)]
    named = {
        a.keyword: a.value.value
        for a in site.arguments
        if a.keyword is not None and isinstance(a.value, Literal)
    }
    try:
        return Literal(text.format(*positional, **named))
    except (IndexError, KeyError, ValueError, AttributeError, TypeError):
        return UNKNOWN


def binary_operation(frame: Frame, node: cst.BinaryOperation, left: Value, right: Value) -> Value | None:
    """`a + b`, `a * n` of lists and `a | b` of dicts; None when it is none of them."""
    if not isinstance(left, (Items, Many, Entries)) and not isinstance(right, (Items, Many)):
        return None
    match node.operator, left, right:
        case cst.Add(), Items() | Many(), Items() | Many():
            return extended(replace(left, cell=None), right, frame)
        case cst.Add(), (Items() | Many()), (Object() | Unknown()):
            return Many(UNKNOWN)  # a list, or an array of at least as many dimensions
        case cst.Add(), (Object() | Unknown()), (Items() | Many()):
            return Many(UNKNOWN)
        case cst.Multiply(), Items(items), Literal(value=int(count)) if len(items) * count <= MAX_ITEMS:
            return Items(items * count)
        case cst.Multiply(), Literal(value=int(count)), Items(items) if len(items) * count <= MAX_ITEMS:
            return Items(items * count)
        case (cst.Multiply(), (Items() | Many()) as times, _) if not _is_tensor_like(right):
            return Many(element_of(times))
        case (cst.Multiply(), _, (Items() | Many()) as times) if not _is_tensor_like(left):
            return Many(element_of(times))
        case cst.BitOr(), Entries(), Entries():
            return merged(replace(left, cell=None), right)
        case _:
            return None


def _is_tensor_like(value: Value) -> bool:
    return isinstance(value, (Tensor, Either, Object, Truth))


def sliced(value: Items | Many, bounds: list[Value | None]) -> Value:
    """`value[lower:upper:step]`."""
    numbers = [bound.value if isinstance(bound, Literal) else bound for bound in bounds]
    if isinstance(value, Items) and all(number is None or isinstance(number, int) for number in numbers):
        lower, upper, step = (number if isinstance(number, int) else None for number in numbers)
        if step != 0:
            return Items(value.items[lower:upper:step])
    return Many(element_of(value))
