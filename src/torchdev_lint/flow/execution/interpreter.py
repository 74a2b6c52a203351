"""Reading a whole file: the module from top to bottom, then each function on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis, Options, Recording
from torchdev_lint.flow.activation.events import (
    DeviceLiteral,
    Event,
    MixedOperation,
    ModelCall,
    ReturnedFactory,
    Revealed,
    UnregisteredModule,
    UnregisteredTensor,
)
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.imports import NoImports
from torchdev_lint.flow.calling import calls  # registers the handlers, too
from torchdev_lint.flow.calling.functions import (
    bind_symbolically,
    called_to_build_only,
    is_private,
    parameter_key,
    run_body,
    tensors_by_default,
)
from torchdev_lint.flow.domain.conditions import Atom, Key
from torchdev_lint.flow.domain.environment import Environment
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import CPU, UNKNOWN_DEVICE, Cpu, Leaf, Symbol
from torchdev_lint.flow.domain.values import (
    NONE,
    Class,
    DeviceValue,
    Either,
    Function,
    Items,
    Many,
    Tensor,
    Value,
)
from torchdev_lint.flow.execution import contexts, definitions, expressions, loops, statements
from torchdev_lint.flow.instances import stored_devices
from torchdev_lint.flow.instances.built_within import called_on_default_device
from torchdev_lint.flow.instances.classes import (
    REPLACED,
    ClassModel,
    held_at_first,
    symbolic_self,
    without_caller,
)
from torchdev_lint.flow.instances.never_built import is_never_built
from torchdev_lint.flow.libraries import library_hooks
from torchdev_lint.flow.libraries.command_lines import minded_defaults
from torchdev_lint.flow.mistakes import (
    device_not_passed,
    doubtful_devices,
    forwarding,
    odd_one_out,
    optimizer_states,
    plain_state,
    returned_factories,
    unmoved_modules,
    unproven_reads,
    unstated_by_use,
    unstated_devices,
    unstated_generators,
    unstated_in_init,
)
from torchdev_lint.flow.mistakes.divided_work import with_several
from torchdev_lint.flow.nn_modules import checkpoints, loaded_models
from torchdev_lint.flow.project import defaults_met, driven, settings_given
from torchdev_lint.flow.project.accelerator_needs import parts_for_accelerators
from torchdev_lint.flow.project.accelerator_programs import parts_for_accelerators_only
from torchdev_lint.flow.project.broken_imports import cannot_be_imported
from torchdev_lint.flow.project.dead_helpers import is_dead
from torchdev_lint.flow.project.left_in_scripts import is_left
from torchdev_lint.flow.project.projects import Project, sets_default_device
from torchdev_lint.flow.read_alone import module_parameters, moved_in_functions
from torchdev_lint.flow.read_alone.evidence import (
    TESTING,
    fixtures_on_host,
    has_tests,
    sequence_parameters,
    tensor_parameters,
)
from torchdev_lint.flow.read_alone.host_functions import works_on_host
from torchdev_lint.flow.read_alone.preparations import is_for_the_host, is_marked, run_before
from torchdev_lint.flow.syntax.trees import standing_alone, walk
from torchdev_lint.flow.telling.attribution import root_of
from torchdev_lint.torch_api.devices import DEVICE_NAME, speaks_of_devices

LEAST = 2_000
"""Statements that may be executed for a function that is read on its own, whatever the others have cost."""

__all__ = ["calls", "contexts", "definitions", "expressions", "loops", "read_module", "statements"]


def read_module(
    module: cst.Module,
    options: Options,
    recorder: Recording | None = None,
    project: Project | None = None,
    text: str | None = None,
) -> list[Event]:
    """All events of a parsed file; with a `project`, what it imports of other files is read as well.

    `text` is what was parsed: where it is not given, LibCST has to write it again.

    The module's statements run first, with the file's own functions followed into at each call. Then every function and
    method runs on its own, with parameters that may hold anything: what fails there fails for every caller.
    """
    analysis = Analysis(
        module,
        options,
        NoImports() if project is None else project,
        sets_default_device=(text is None or "set_default_" in text) and sets_default_device(module),
        given_text=text,
        recorder=recorder,
    )
    frame = prepare(analysis, project)
    frame.execute(module.body)
    frame.alive = True
    if recorder is not None:
        recorder.ended(frame, None, None)
    analysis.at_top = False
    return settle(analysis, read_functions(analysis))


Step: TypeAlias = Callable[..., Any]
"""Who has a part of the reading done: `step(of what, function, *its arguments)` is what the function gives, which may be known."""


def _at_once(of: tuple[str, object], function: Callable[..., Any], *given: Any) -> Any:
    return function(*given)


def prepare(analysis: Analysis, project: Project | None) -> Frame:
    """The activation of a module that is about to be read."""
    analysis.speaks_of_devices = speaks_of_devices(analysis.written)
    frame = Frame(analysis, Environment())
    analysis.skipped = is_marked(analysis.module)
    if project is not None:
        project.begin(analysis, frame)
    return frame


def read_functions(analysis: Analysis, step: Step = _at_once) -> list[Function]:
    """Read each function that was met on its own, and those that are met then; all of them."""
    seen: set[tuple[int, int | None]] = set()
    prepared: set[ClassModel] = set()
    met: list[Function] = []
    while analysis.pending:
        # those that only this file calls come after their callers: what they are given is known then
        later = (i for i, function in enumerate(analysis.pending) if not is_private(function.name))
        function = analysis.pending.pop(next(later, 0))
        derived = _read_as(function)
        if derived is None:
            met.append(function)
        key = id(function.node), None if derived is None else id(derived.node)
        if key not in seen:
            seen.add(key)
            analysis.replenish(LEAST)
            if step(("who runs it", function), _is_passed_over, function):
                continue
            owner = derived or function.owner
            if owner is not None and owner not in prepared:
                prepared.add(owner)
                analysis.on_host = False
                step(("self", owner), symbolic_self, owner)
                analysis.replenish(LEAST)
            kind = "alone" if derived is None else f"alone as {id(derived.node)}"
            step((kind, function), read_alone, analysis, function)
    return met


def _is_passed_over(function: Function) -> bool:
    """Whether nothing can be learned from a function alone: it runs on the CPU only, or never."""
    return is_for_the_host(function) or _is_never_run(function)


def _is_never_run(function: Function) -> bool:
    return (
        is_dead(function)
        or library_hooks.is_never_called(function)
        or is_never_built(function)
        or is_left(function)
    )


def _read_as(function: Function) -> ClassModel | None:
    """The class that a method which it inherits is read for (`definitions`)."""
    return function.receiver.model if isinstance(function.receiver, Class) else None


def settle(analysis: Analysis, met: list[Function]) -> list[Event]:
    """What was told in all, once everything has been read."""
    met = [function for function in met if not _is_never_run(function)]
    for function in met:
        loaded_models.check_function(analysis, function)
    models = [function.owner for function in met if function.owner is not None]
    for model in dict.fromkeys(models):
        stored_devices.check_class(analysis, model, models)
    events = [
        *optimizer_states.without_met(_told(analysis)),
        *settle_literals(analysis),
        *checkpoints.settle(analysis),
    ]
    told = forwarding.without_consequences([*events, *forwarding.settle(analysis)])
    known = list(unproven_reads.without_known(list(unstated_devices.without_known(told))))
    settled = [
        *known,
        *doubtful_devices.settle(analysis, known),
        *plain_state.settle(analysis, known, met),
        *unstated_generators.settle(analysis, known, met),
        *device_not_passed.settle(analysis, known, met),
        *unmoved_modules.settle(analysis, known, met),
    ]
    if settled and cannot_be_imported(analysis):
        return [event for event in settled if isinstance(event, Revealed)]
    return list(driven.with_scripts(analysis, settled, met))


def _told(analysis: Analysis) -> Iterator[Event]:
    """The events, less those that are only possible where the function itself shows that its argument is on the CPU.

    Less those, too, that a tensor meets further on which is told where a function makes it to return it, or that a module of a plain
    container has given, which is told.
    """
    met = set()
    told = []
    plain = {id(event.node) for event in analysis.events.values() if isinstance(event, UnregisteredModule)}
    for event in analysis.events.values():
        match event:
            case MixedOperation(certain=False, left=Symbol(key=key)) if key in analysis.read_on_host:
                pass
            case MixedOperation(certain=False, left=leaf) | ModelCall(given=leaf) if _is_given_on_host(
                analysis, leaf
            ):
                pass
            case MixedOperation(certain=False, made=None, right=Cpu(origin=origin)) if (
                origin is not None and returned_factories.is_told(analysis, origin)
            ):
                met.add(id(origin.root().node))
            case UnregisteredTensor(node=node) if id(node) in plain:
                pass
            case _:
                told.append(event)
    for event in told:
        if isinstance(event, ReturnedFactory) and id(event.made.node) in met:
            event = replace(event, met=True)
        yield event


def _is_given_on_host(analysis: Analysis, leaf: Leaf) -> bool:
    """Whether it is an argument's device, and functions that were read later give nothing but what they have brought to the CPU."""
    brought = leaf.origin is not None and leaf.origin.root().what == "moved"
    return isinstance(leaf, Symbol) and not brought and analysis.only_on_host(root_of(leaf.key))


def read_alone(analysis: Analysis, function: Function) -> None:
    """Run a function with symbolic parameters."""
    definition = function.frame
    env = without_caller(definition)
    owner = _read_as(function) or function.owner
    if owner is not None:
        receiver, env_of_self = symbolic_self(owner)
        if function.name == "__init__":
            unstated_in_init.check(Frame(analysis, env, parent=definition, function=function), function)
            return  # was run for `self`
        env = analysis.catch_up(env_of_self.copy(), definition.env)
        env.names = {}
        at_first = held_at_first(owner).get(function.name)
        if at_first:
            state = env.state(receiver)
            held = {**state.attributes, **at_first}
            env.set_state(receiver, replace(state, attributes=held))
        function = Function(
            function.node, function.name, definition, receiver, function.owner, function.decorators
        )
    _forget_wanderers(analysis, env)
    moved_in_functions.forget(definition, env)
    if any(DEVICE_NAME.search(decorator) and "cache" not in decorator for decorator in function.decorators):
        env.default_device = UNKNOWN_DEVICE  # `@torch.device(...)`
    elif defaults_met.are_elsewhere(analysis, function.node) or analysis.learn(
        called_on_default_device,
        function.name,
        function.owner is not None,
        definition.source.module,
    ):
        env.default_device = UNKNOWN_DEVICE
    child = Frame(analysis, env, parent=definition, function=function)
    builds = called_to_build_only(child, function)
    if builds:
        _forget_moves(child.env)
    handed = library_hooks.handed_to(child, function)
    # what a library computes with is at work, whatever the class is called
    at_work = handed is not None and not handed.own
    analysis.on_host = (works_on_host(function) and not at_work) or builds
    child.env.names = bind_symbolically(function)
    child.env.names |= dict(sequence_parameters(definition, function))
    child.env.names |= settings_given.given_to(analysis, function)
    child.env.names |= tensors_by_default(function)
    replaced = (REPLACED, id(function.node)) in analysis.notes
    if not analysis.on_host and not replaced:
        given = _tensors_given(analysis, function)
        returned_factories.note_given(child, given)
        child.env.names |= given
        module_parameters.note_given(child, function)
        if function.owner is not None:
            module_parameters.note_held(child, function.owner)
    child.env.names |= {name: DeviceValue(CPU) for name in fixtures_on_host(definition, function)}
    if handed is not None:
        library_hooks.hand_over(child, function, handed)
    # what must hold for the module to be read to its end holds whenever one of its functions runs
    child.env.path = definition.module_frame.env.path
    for fact in analysis.notes.get(("defined under", id(function.node)), ()):
        child.env.assume(fact)
    run_before(child, function)
    value, end = run_body(child, function)
    returned_factories.check(child, function)
    odd_one_out.check(child, function)
    unstated_devices.note_returned(child)
    unstated_by_use.check(child, function)
    if analysis.recorder is not None:
        analysis.recorder.ended(child, value, end)


def _forget_wanderers(analysis: Analysis, env: Environment) -> None:
    """What is moved from one place to another, and on, was left somewhere at last: the function is called while it is here or there."""
    for key, state in env.heap.items():
        if state.moved and analysis.notes.get(("wanders", key)):
            env.heap[key] = replace(state, device=UNKNOWN_DEVICE, moved=False)


def _forget_moves(env: Environment) -> None:
    """The function runs while something is built, which may be moved only after that: `self.n = self.count_features(); self.to(device)`."""
    for key, state in env.heap.items():
        if state.moved:
            env.heap[key] = replace(state, device=UNKNOWN_DEVICE, moved=False)


def _tensors_given(analysis: Analysis, function: Function) -> dict[str, Value]:
    """The parameters that are tensors for certain: each on a device of its own, which may be an accelerator."""
    names: dict[str, Value] = {}
    for name, evidence in tensor_parameters(function.frame, function).items():
        key = parameter_key(function.node, name)
        if analysis.only_on_host(key):
            continue
        given: Value
        if evidence.count:
            given = Items(
                tuple(_given(("item", key, repr(n)), f"{name}[{n}]") for n in range(evidence.count))
            )
        elif evidence.many:
            given = Many(_given(("item", key, "0"), f"{name}[0]"))
        else:
            given = _given(key, name)
        absent = Atom("absent", key, f"{name} is None")
        names[name] = Either(absent, NONE, given) if evidence.optional else given
    return names


def _given(key: Key, text: str) -> Tensor:
    return Tensor(Symbol(("device", key), f"{text}.device", assumed=True), scalar=None)


def _placing(module: cst.Module) -> frozenset[int]:
    """The expressions (by id) that a call is given to say where to put something."""
    found: set[int] = set()
    for node in walk(module):
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            on_torch = isinstance(node.func.value, cst.Name) and node.func.value.value == "torch"
            for argument in node.args:
                moved = argument.keyword is None and node.func.attr.value in ("to", "cuda")
                made = on_torch and argument.keyword is not None and argument.keyword.value == "device"
                if moved or made:
                    found.add(id(argument.value))
    return frozenset(found)


def settle_literals(analysis: Analysis) -> list[DeviceLiteral]:
    """One event for each literal: its use is guarded when every way that leads to it is."""
    settled = []
    bare = frozenset(map(id, standing_alone(analysis.module))) if analysis.literals else frozenset()
    meant = parts_for_accelerators(analysis.module) if analysis.literals else frozenset()
    minded = minded_defaults(analysis.module) if analysis.literals else frozenset()
    first = any(use.index == 0 and not use.guarded for uses in analysis.literals.values() for use in uses)
    only_there = parts_for_accelerators_only(analysis) if first else frozenset()
    tests = not TESTING.isdisjoint(analysis.imported) or has_tests(analysis.module)
    placing = _placing(analysis.module) if analysis.literals and tests else None
    for uses in analysis.literals.values():
        if (
            placing is not None
            and uses[0].form in ("string", "call", "integer")
            and id(uses[0].node) not in placing
        ):
            continue  # a test may well speak of devices that its machine lacks
        called = [use for use in uses if use.inlined]
        alone = [use for use in uses if not use.inlined]
        decisive = called or uses
        guarded = (
            id(uses[0].node) in analysis.redeemed
            or id(uses[0].node) in minded
            or (uses[0].index == 0 and id(uses[0].node) in meant)
            or all(use.guarded for use in decisive)
            or (bool(called and alone) and all(use.guarded for use in alone))
            or (uses[0].index == 0 and id(uses[0].node) in only_there)
        )
        shown = next(iter(alone), uses[0])
        # what every caller hands over is the choice of the program, which the function alone does not show
        choices = {use.chosen for use in called}
        chosen = choices.pop() if shown.chosen is None and len(choices) == 1 else shown.chosen
        parenthesize = id(shown.node) not in bare
        settled.append(replace(shown, guarded=guarded, parenthesize=parenthesize, chosen=chosen))
    return with_several(analysis.module, settled)
