"""Values, devices and conditions in words, for `reveal_device` and `torchdev-lint infer`."""

from __future__ import annotations

from torchdev_lint.flow.domain.conditions import And, Atom, Constant, Formula, Not, Or
from torchdev_lint.flow.domain.environment import Environment
from torchdev_lint.flow.domain.lattice import Choice, Device, UnknownDevice, describe
from torchdev_lint.flow.domain.values import (
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
    Items,
    Literal,
    Many,
    Method,
    Object,
    Partial,
    State,
    Super,
    Tensor,
    Truth,
    Value,
)

MAX_PARTS = 8
"""Containers are shown with at most this many of their parts."""
MAX_DEPTH = 4
"""Containers inside containers are shown this deep."""


MAX_TEXTS = 500
_texts: dict[int, tuple[Formula, str]] = {}
"""Of conditions, by `id`: they are shared, and asked for with all that depends on them."""


def describe_formula(formula: Formula) -> str:
    """A condition as source-like text: `torch.cuda.is_available() and not debug`."""
    match formula:
        case Constant(value=value):
            return str(value)
        case Atom():
            return _atom(formula)
        case Not(operand=operand):
            inner = describe_formula(operand)
            return f"not ({inner})" if isinstance(operand, (And, Or)) or " " in inner else f"not {inner}"
        case _:
            return _described(formula)


def forget() -> None:
    """Know no text of a condition any more."""
    _texts.clear()


def _described(formula: And | Or) -> str:
    known = _texts.get(id(formula))
    if known is not None:
        return known[1]
    operands = formula.operands
    word = " and " if isinstance(formula, And) else " or "
    parts = [describe_formula(part) for part in operands]
    text = word.join(
        f"({text})" if isinstance(part, (And, Or)) else text
        for part, text in zip(operands, parts, strict=True)
    )
    if len(_texts) >= MAX_TEXTS:
        _texts.clear()
    _texts[id(formula)] = formula, text
    return text


def _atom(atom: Atom) -> str:
    match atom.kind:
        case "available":
            return atom.text or f"{atom.key[0]} is available"
        case "count":
            return f"{atom.text or 'device_count()'} > {atom.key[1]}"
        case "device-type":
            return f"{atom.text or 'a device'} is of type {atom.key[1]}"
        case _:
            return atom.text or "a condition"


def describe_device(device: Device) -> str:
    """A device with the conditions that decide it."""
    if not isinstance(device, Choice):
        return describe(device)
    then, otherwise = describe_device(device.then), describe_device(device.otherwise)
    if isinstance(device.then, Choice):
        then = f"({then})"
    return f"{then} if {describe_formula(device.guard)} else {otherwise}"


def describe_value(env: Environment, value: Value, depth: int = 0) -> str:
    """What a value is, as far as devices are concerned."""
    if depth > MAX_DEPTH:
        return "..."

    def inner(part: Value) -> str:
        return describe_value(env, part, depth + 1)

    match value:
        case Tensor():
            return _tensor(value)
        case Literal(value=constant):
            return repr(constant)
        case DeviceValue(device=device):
            return f"the device {describe_device(device)}"
        case DeviceType(device=device):
            return f"the type of {describe_device(device)}"
        case Dtype():
            return "a dtype"
        case Truth(formula=formula):
            return f"whether {describe_formula(formula)}"
        case Items(items=items):
            return f"({_listed([inner(item) for item in items])})"
        case Many(element=element):
            return f"any number of [{inner(element)}]"
        case Entries(entries=entries, default=default):
            parts = [f"{name!r}: {inner(entry)}" for name, entry in entries]
            return f"{{{_listed(parts + ([] if default == UNKNOWN else [f'else: {inner(default)}']))}}}"
        case Either(guard=guard, then=then, otherwise=otherwise):
            return f"({inner(then)}) if {describe_formula(guard)} else ({inner(otherwise)})"
        case Object():
            return _object(env, value, depth)
        case AnyOf(things=things):
            return f"one of ({_listed([inner(thing) for thing in things])})"
        case Api(path=path):
            return f"`{path}`"
        case Function(name=name):
            return f"the function `{name}`"
        case Class(model=model):
            return f"the class `{model.name}`"
        case Method(receiver=receiver, name=name):
            return f"`.{name}` of {inner(receiver)}"
        case Partial(function=function):
            return f"{inner(function)} with arguments"
        case Super():
            return "super()"
        case _:
            return "unknown"


def _listed(parts: list[str]) -> str:
    return ", ".join(parts[:MAX_PARTS] + (["..."] if len(parts) > MAX_PARTS else []))


def _tensor(tensor: Tensor) -> str:
    kind = "a tensor"
    if tensor.parameter:
        kind = "a parameter"
    elif tensor.mapping:
        kind = "a mapping of tensors"
    elif tensor.batch:
        kind = "a batch"
    elif tensor.scalar:
        kind = "a 0-dim tensor"
    return f"{kind} on {describe_device(tensor.device)}"


def _object(env: Environment, thing: Object, depth: int) -> str:
    state = env.state(thing)
    match state.kind:
        case "module":
            return f"a module{_named(state, thing)} on {describe_device(state.device)}"
        case "instance":
            return f"an instance{_named(state, thing)}"
        case "loader":
            return f"a DataLoader of {describe_value(env, state.element, depth + 1)}"
        case _:
            name = f" (`{thing.text}`)" if thing.text else ""
            if state.moved and not isinstance(state.device, UnknownDevice):
                return f"something{name} on {describe_device(state.device)}"
            return f"unknown{name}"


def _named(state: State, thing: Object) -> str:
    name = state.model.name if state.model is not None else state.api.rpartition(".")[2] or thing.text
    return f" `{name}`" if name else ""


def shown_device(env: Environment, value: Value) -> Device | None:
    """The device of a tensor, of a device or of a module, where there is one to tell of."""
    match value:
        case Tensor(device=device) | DeviceValue(device=device):
            return device
        case Object():
            state = env.state(value)
            return state.device if state.kind == "module" or state.moved else None
        case _:
            return None
