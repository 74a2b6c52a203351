"""Calls of libraries that stub files speak of: what they give, where it is, and what they read or move."""

from __future__ import annotations

from collections.abc import Iterator

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE, Anywhere, Cpu, Device, Origin, Symbol
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
    State,
    Tensor,
    Value,
    element_of,
)
from torchdev_lint.flow.instances.objects import escape, move
from torchdev_lint.flow.libraries import library_facts
from torchdev_lint.flow.mistakes import host_reads
from torchdev_lint.flow.syntax.naming import is_model_name
from torchdev_lint.flow.syntax.trees import dotted
from torchdev_lint.flow.torch_calls import device_values, operations, tensor_values, transfers
from torchdev_lint.flow.torch_calls.operands import Given
from torchdev_lint.stubs.facts import ANY_ARGUMENT, Fact
from torchdev_lint.torch_api import libraries, operators
from torchdev_lint.torch_api.devices import parse


def call_imported(frame: Frame, path: str, site: CallSite) -> Value | None:
    """The result of calling an imported name; None when no stub file speaks of it."""
    fact = library_facts.first(frame.analysis.options.shelf.called(path), site)
    if fact is None:
        return None
    if not fact.is_class:
        return _result(frame, fact, path, site, None)
    _check_reads(frame, fact, site)
    return _instance(frame, fact, path, site)


def call_instance(frame: Frame, thing: Object, site: CallSite) -> Value | None:
    """The result of calling an object of a library's class (`transform(image)`); None when nothing is known of that."""
    if frame.state(thing).model is not None:
        return None
    fact = library_facts.class_of(frame, thing)
    if fact is None:
        return None
    if fact.composes:
        return _composed(frame, thing, site)
    if fact.kind == "module" or (not fact.returns and fact.follows is None):
        return None  # a module is called like any other
    return _result(frame, fact, frame.state(thing).api, site, thing)


def call_method(frame: Frame, thing: Object, name: str, site: CallSite) -> Value | None:
    """The result of a method of a library's object; None when no stub file speaks of it."""
    made_by = library_facts.made_by_library(frame, thing)
    if not made_by:
        return None
    fact = library_facts.first(frame.analysis.options.shelf.methods(made_by, name), site)
    return None if fact is None else _result(frame, fact, made_by, site, thing)


# -- what comes back


def _instance(frame: Frame, fact: Fact, path: str, site: CallSite) -> Value:
    text = path.rpartition(".")[2]
    if fact.kind == "module":
        return _module(frame, fact, path, site)
    if any(_is_said(site, condition) for condition in fact.unless):
        return frame.result_of(site.node, text)
    if fact.kind == "mapping":
        device = _common_device(frame, site)
        if device is None:
            return frame.result_of(site.node, text)
        return Tensor(device_values.built_on(frame, device, site.node), mapping=True)
    state = State("unknown", UNKNOWN_DEVICE, path, moves_inputs=fact.moves_inputs)
    if fact.yields or fact.kind == "loader":
        element = _on_host(fact.yields or "cpu-batch", site)
        known = fact.kind != "loader" or _loads_from_host(frame, site)
        state = replace(state, kind="loader", element=element if known else UNKNOWN)
    else:
        for argument in site.arguments:
            escape(frame, argument.value)
        if not fact.moves_in_place:
            told = transfers.device_keyword(frame, site)
            device = Cpu() if told is None or told.value == NONE else device_values.as_device(told.value)
            state = replace(state, device=device_values.built_on(frame, device, site.node), moved=True)
    if fact.composes:
        parts = [argument.value for argument in site.positional()]
        listed = parts[0].items if len(parts) == 1 and isinstance(parts[0], Items) else ()
        state = replace(state, attributes={f"[{index}]": part for index, part in enumerate(listed)})
    return frame.fresh(site.node, state, text)


def _is_said(site: CallSite, condition: str) -> bool:
    """Whether a call says by a keyword that nothing is known of what it gives: `cpu=True`; with no value, whatever is given."""
    name, _, value = condition.partition("=")
    said = site.keyword(name)
    if said is None or not value:
        return said is not None
    return isinstance(said.value, Literal) and str(said.value.value) == value


def _loads_from_host(frame: Frame, site: CallSite) -> bool:
    """Whether what a loader is given first is on the CPU: who made it may have put it anywhere."""
    first = site.get(0, "dataset") or site.keyword("data")
    given = UNKNOWN if first is None else first.value
    match given:
        case Tensor(device=device):
            return device == Cpu()
        case Items() | Many():
            element = element_of(given)
            return isinstance(element, Tensor) and element.device == Cpu()
        case Object():
            state = frame.state(given)
            if isinstance(state.element, Tensor):
                return state.element.device == Cpu()
            return state.api.rpartition(".")[2][:1].isupper() and not state.moves_inputs
        case _:
            return False


def _may_hold_another(frame: Frame, argument: Argument) -> bool:
    """Whether it is a module, or something that was put somewhere: what a library makes of it may be where that is."""
    state = frame.state(argument.value) if isinstance(argument.value, Object) else None
    if state is not None and (state.kind != "unknown" or state.moved):
        return state.kind == "module" or state.moved
    return is_model_name(dotted(argument.node.value) or "")


def _module(frame: Frame, fact: Fact, path: str, site: CallSite) -> Value:
    """A new module on the default device, unless the call says otherwise or the library places it itself."""
    placed = site.has_star() or any(site.keyword(name) is not None for name in fact.placed_by)
    device: Device = frame.default_device()
    argument = transfers.device_keyword(frame, site)
    if fact.without_parameters:
        device = Anywhere()
    elif fact.gathers:
        device = _gathered(frame, site)
    elif placed or any(_may_hold_another(frame, one) for one in site.positional()):
        device = UNKNOWN_DEVICE
    elif argument is not None and argument.value != NONE:
        device = device_values.as_device(argument.value)
    told = [
        name for name in {*fact.placed_by, *libraries.PLACED_BY_LIBRARY} if site.keyword(name) is not None
    ]
    one = _one_device_of_map(site) if told == ["device_map"] else None
    by_library = bool(told) and one is None
    if by_library:
        device = UNKNOWN_DEVICE
    elif one is not None:
        device = one
    name = path.rpartition(".")[2]
    state = State(
        "module",
        device_values.built_on(frame, device, site.node),
        path,
        moves_inputs=fact.moves_inputs or by_library,
    )
    return frame.fresh(site.node, state, name)


def _gathered(frame: Frame, site: CallSite) -> Device:
    """Where the modules are that another is made of: where the first of them is that is known."""
    given = [one.value for one in site.positional()]
    held: list[Value] = []
    for value in given:
        match value:
            case Items(items=items):
                held += items
            case Entries(entries=entries):
                held += [entry for _, entry in entries]
            case _:
                held.append(value)
    states = [frame.state(one) for one in held if isinstance(one, Object)]
    return next((state.device for state in states if state.kind == "module"), UNKNOWN_DEVICE)


def _one_device_of_map(site: CallSite) -> Device | None:
    """The device of `device_map="cuda"` or `device_map={"": 0}`: the model is put there, and gets no hooks that bring its inputs.

    Source: accelerate/big_modeling.py, `dispatch_model`.
    """
    argument = site.keyword("device_map")
    match argument and argument.value:
        case Literal(value=str(text)) if parse(text) is None:
            return None  # "auto", "balanced"
        case (Literal(value=str()) | DeviceValue()) as one:
            return device_values.as_device(one)
        case Entries(entries=(("", one),), open=False):
            return device_values.as_device(one)
        case _:
            return None


def _result(frame: Frame, fact: Fact, path: str, site: CallSite, receiver: Object | None) -> Value:
    _check_reads(frame, fact, site)
    if fact.brings_arguments and receiver is not None:
        return _brought(frame, receiver, site)
    if fact.passes_through is not None:
        given = site.get(*fact.passes_through)
        return UNKNOWN if given is None else given.value
    if fact.makes:
        made = f"{path.partition('.')[0]}.{fact.makes}"
        known = frame.analysis.options.shelf.classes(made)
        return _instance(frame, known[0] if known else Fact(()), made, site)
    if fact.yields:
        return _yielding(frame, fact, site, receiver)
    if fact.follows is not None:
        device = _followed(frame, fact.follows, site)
        return frame.result_of(site.node) if device is None else Tensor(device)
    parts = tuple(_one(frame, fact, what, path, site, receiver) for what in fact.returns)
    if len(parts) > 1:
        return Items(parts)
    return parts[0] if parts else _unsaid(frame, fact, path, site)


def _one(frame: Frame, fact: Fact, what: str, path: str, site: CallSite, receiver: Object | None) -> Value:
    match what:
        case "module":
            return _module(frame, fact, path, site)
        case "receiver" if receiver is not None:
            return receiver
        case "at-receiver" if receiver is not None:
            if any(_is_on_host(argument.value) for argument in site.arguments):
                # `generate` of transformers 5 goes on with ids of the CPU on the CPU, that of 4 raises (generation/utils.py)
                return frame.result_of(site.node)
            return Tensor(frame.state(receiver).device, guess=True)
        case "cpu-tensor" | "cpu-batch" | "cpu-mapping":
            return _on_host(what, site)
        case _:
            return frame.result_of(site.node)


def _is_on_host(value: Value) -> bool:
    return isinstance(value, Tensor) and isinstance(value.device, Cpu)


def _unsaid(frame: Frame, fact: Fact, path: str, site: CallSite) -> Value:
    """A call of which the fact does not say what it gives."""
    result = frame.result_of(site.node)
    if fact.moves_inputs:
        state = replace(frame.state(result), api=path, moves_inputs=True, device=UNKNOWN_DEVICE)
        frame.set_state(result, state)
    return result


def _on_host(what: str, site: CallSite) -> Tensor:
    return Tensor(Cpu(Origin(site.node, "made")), mapping=what == "cpu-mapping", batch=what == "cpu-batch")


def _yielding(frame: Frame, fact: Fact, site: CallSite, receiver: Object | None) -> Value:
    """A thing that is iterated over; a method sets what its receiver yields and gives it back."""
    element = _on_host(fact.yields, site)
    told = transfers.device_keyword(frame, site)
    if told is not None and told.value != NONE:
        element = replace(element, device=device_values.as_device(told.value))
    if receiver is None:
        return frame.fresh(site.node, State("loader", UNKNOWN_DEVICE, element=element))
    frame.set_state(receiver, replace(frame.state(receiver), element=element))
    return receiver


def _brought(frame: Frame, receiver: Object, site: CallSite) -> Value:
    """`accelerator.prepare(...)`: the arguments come back, modules moved, loaders yielding there."""
    called = None if site.receiver is None else dotted(site.receiver)
    text = called or receiver.text
    symbol = Symbol(("device", receiver.key), f"{text}.device" if text else "")
    device = device_values.moved_to(frame, symbol, site.node)
    results: list[Value] = []
    for argument in site.arguments:
        value = argument.value
        if argument.star or not isinstance(value, Object):
            results.append(UNKNOWN)
            continue
        state = frame.state(value)
        if state.kind == "module" or (
            state.kind == "unknown" and library_facts.class_of(frame, value) is None
        ):
            move(frame, value, device)  # what is not known may be a module, of another file; then it is there
        elif state.kind == "loader":
            there = _at(state.element, device)
            value = frame.fresh(site.node, replace(state, element=there), state.api.rpartition(".")[2])
        results.append(value)
    return results[0] if len(results) == 1 else Items(tuple(results))


def _at(value: Value, device: Device) -> Value:
    """The tensors of a batch, brought to a device."""
    match value:
        case Tensor():
            return replace(value, device=device)
        case Items(items):
            return Items(tuple(_at(item, device) for item in items))
        case _:
            return UNKNOWN


def _composed(frame: Frame, thing: Object, site: CallSite) -> Value | None:
    """What a chain of transforms gives: what the last one gives that says so."""
    for part in reversed(list(frame.state(thing).attributes.values())):
        if isinstance(part, Object):
            fact = library_facts.class_of(frame, part)
            if fact is not None and fact.returns:
                return _result(frame, fact, frame.state(part).api, site, part)
            if fact is not None and fact.follows is not None:
                continue
        return frame.result_of(site.node)  # what cannot be read may have moved it
    return None


def _tensors(value: Value) -> Iterator[Value]:
    match value:
        case Tensor() | Either():
            yield value
        case Items(items):
            for item in items:
                yield from _tensors(item)
        case Many(element):
            yield from _tensors(element)
        case _:
            pass


def _followed(frame: Frame, follows: tuple[int, str], site: CallSite) -> Device | None:
    if follows == ANY_ARGUMENT:
        return _brought_together(frame, site)
    given = site.get(*follows)
    if given is None:
        return None
    moved = tensor_values.moved_tensor(frame, given.value)
    if moved is None and not list(_tensors(given.value)):
        return None
    return tensor_values.tensor_device(frame, moved or given.value)


def _brought_together(frame: Frame, site: CallSite) -> Device | None:
    """Where all tensors are that a function is given, which it computes with: they have to be in one place."""
    device = _common_device(frame, site)
    if device == UNKNOWN_DEVICE and not site.has_star():
        given = [Given(argument.value, argument.node.value) for argument in site.arguments]
        tensors = [one for one in given if isinstance(one.value, Tensor)]
        operations.combine(frame, site.node, site.callee, tensors, [operators.SCALAR] * len(tensors))
    return device


def _common_device(frame: Frame, site: CallSite) -> Device | None:
    """Where the tensors among the arguments are; unknown when they are not all in one place, None when there are none."""
    found = [
        tensor_values.tensor_device(frame, value)
        for argument in site.arguments
        for value in _tensors(tensor_values.moved_tensor(frame, argument.value) or argument.value)
    ]
    if not found or site.has_star():
        return None
    first = found[0]
    return first if first is not None and all(device == first for device in found) else UNKNOWN_DEVICE


def _check_reads(frame: Frame, fact: Fact, site: CallSite) -> None:
    if fact.reads_on_host:
        host_reads.check_arguments(frame, site, in_lists_only=fact.reads_on_host == "lists")
