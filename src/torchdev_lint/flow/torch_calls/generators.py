"""Random generators: where they are made, and whether they are used for tensors of their own device type."""

from __future__ import annotations

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.placement_events import GeneratorMismatch
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.lattice import (
    CPU,
    Accelerator,
    Conflict,
    Cpu,
    Device,
    Level,
    Origin,
    Symbol,
    conflict,
    describe,
    with_origin,
)
from torchdev_lint.flow.domain.values import NONE, UNKNOWN, Generator, Literal, Value
from torchdev_lint.flow.nn_modules import placements
from torchdev_lint.flow.syntax.trees import dotted, holds, says_device, walk
from torchdev_lint.flow.torch_calls import device_values


def construct(frame: Frame, site: CallSite) -> Value:
    """`torch.Generator(...)`: on the CPU unless told otherwise, whatever the default device is."""
    argument = site.get(0, "device")
    device: Device = CPU
    if site.has_star():
        return UNKNOWN
    if argument is not None and argument.value != NONE:
        device = device_values.as_device(argument.value)
    placements.note_built(frame, site.node)
    return Generator(with_origin(device, _origin(frame, site)))


def default(frame: Frame, site: CallSite) -> Value:
    """`torch.manual_seed(...)`: the CPU's default generator."""
    return Generator(with_origin(CPU, _origin(frame, site)))


def _origin(frame: Frame, site: CallSite) -> Origin:
    return Origin(site.node, "made", frame.uid, step=frame.analysis.budget)


def device_of(value: Value) -> Device | None:
    """Where a generator is; None for anything else."""
    return value.device if isinstance(value, Generator) else None


def check(frame: Frame, site: CallSite, made: Device, *, draws_indices: bool = False) -> None:
    """A call that makes (or fills) a tensor on `made` may be given a generator: its device type must be that one."""
    argument = site.keyword("generator")
    held = None if argument is None else device_of(argument.value)
    if argument is None or held is None or not isinstance(site.node, cst.Call):
        return
    found = conflict(held, made, frame.env.path)
    if (
        found is None
        or found.level == Level.NO
        or isinstance(found.left, Cpu) == isinstance(found.right, Cpu)
    ):
        return  # two accelerators of one type share their kind of generator
    if found.level == Level.POSSIBLE and isinstance(found.right, Symbol) and not found.right.text:
        return  # where something else keeps what it was given: that may well be the host
    if found.level == Level.POSSIBLE and _is_stated_on_host(found) and site.keyword("device") is None:
        return  # it is on the CPU on purpose: so is what it is for
    if draws_indices and (found.level == Level.POSSIBLE or not _runs_from_the_module(frame)):
        return  # the caller may have set a default device: indices are drawn there
    if frame.source.foreign:
        _publish_in_call(frame, site, found, draws_indices=draws_indices)
        return
    factory, target = None, None
    if not draws_indices and site.keyword("device") is None and isinstance(found.right, Cpu):
        factory, target = site.node, _name_of(frame, held, argument.node.value)
    constructor = None if factory is not None else _constructor(frame, found)
    if constructor is not None and not draws_indices:
        target = _bound_target(frame, site, made, found) or _target_there(frame, made, found)
        constructor = constructor if target is not None else None
    if found.left.origin is not None:
        frame.analysis.notes["generator of", id(found.left.origin.root().node)] = True
    frame.analysis.publish(
        ("generator", id(site.node)),
        GeneratorMismatch(
            node=argument.node,
            call=site.node,
            function=site.callee,
            generator=found.left,
            made=found.right,
            generator_device=describe(found.left),
            made_device=describe(found.right),
            target=target,
            factory=factory if target is not None else None,
            constructor=constructor,
            constructor_function="" if constructor is None else frame.analysis.text(constructor.func),
            draws_indices=draws_indices,
        ),
    )


def _is_stated_on_host(found: Conflict) -> bool:
    """Whether the generator was told that it is the CPU's, `torch.Generator("cpu")`, and the other is on a device that is given."""
    if not isinstance(found.left, Cpu) or found.left.origin is None or not isinstance(found.right, Symbol):
        return False
    made = found.left.origin.root().node
    return isinstance(made, cst.Call) and bool(made.args)


def _publish_in_call(frame: Frame, site: CallSite, found: Conflict, *, draws_indices: bool) -> None:
    """A function of another file draws with the generator.

    Told where the file that is checked makes it, else once of the call that leads there.
    """
    entered = frame.entrance()
    root = None if found.left.origin is None else found.left.origin.root()
    if found.level != Level.CERTAIN or root is None or not isinstance(entered.call, cst.Call):
        return
    owner = None if frame.function is None else frame.function.owner
    if owner is not None and holds(owner.node, root.node):
        return  # the class makes it for itself: that is told where its own file is checked
    made_here = holds(frame.analysis.module, root.node)
    if not made_here and root.frame >= entered.uid:
        return  # the call makes it, and hands it on: that is told where its file is checked
    node = root.node if made_here else entered.call
    name = "" if frame.function is None else f"` in `{frame.function.name}"
    if ("generator of", id(root.node)) in frame.analysis.notes:
        return  # told where this file itself draws with it
    frame.analysis.publish(
        ("generator", id(root.node)),
        GeneratorMismatch(
            node=node,
            call=node,
            function=f"{site.callee}{name}",
            generator=found.left,
            made=found.right,
            generator_device=describe(found.left),
            made_device=describe(found.right),
            target=None,
            draws_indices=draws_indices,
        ),
    )


def check_unstated(frame: Frame, site: CallSite, path: str) -> None:
    """What shuffles makes a generator of its own where it is given none: on the CPU, whatever the default device is.

    Source: torch/utils/data/sampler.py (`RandomSampler.__iter__`), torch/utils/data/dataset.py (`random_split`); pytorch#44714.
    """
    if site.has_star() or not isinstance(site.node, cst.Call) or not _shuffles(site, path):
        return
    made = frame.default_device()
    splits = path.endswith("random_split")
    if not splits and made not in frame.analysis.notes.get(_SET_FOR_ALL, ()):
        return  # within a block: the loader may be iterated outside
    found = conflict(CPU, made, frame.env.path)
    if found is None or found.level in (Level.NO, Level.POSSIBLE):
        return
    if isinstance(found.right, Symbol) and found.right.assumed:
        return
    frame.analysis.publish(
        ("generator", id(site.node)),
        GeneratorMismatch(
            node=site.node,
            call=site.node,
            function=site.callee,
            generator=found.left,
            made=found.right,
            generator_device=describe(found.left),
            made_device=describe(found.right),
            target=_generator_there(frame, made),
            draws_indices=True,
            unstated=True,
        ),
    )


def note_default(frame: Frame) -> None:
    """The default device was set by a statement, for all that follows."""
    known = frame.analysis.notes.get(_SET_FOR_ALL, ())
    frame.analysis.notes[_SET_FOR_ALL] = (*known, frame.env.default_device)


_SET_FOR_ALL = "default device set for all"


def _shuffles(site: CallSite, path: str) -> bool:
    """Whether a call that draws indices makes a generator of its own."""

    def left_out(name: str, position: int | None = None) -> bool:
        argument = site.keyword(name) if position is None else site.get(position, name)
        return argument is None or argument.value == NONE

    match path.rpartition(".")[2]:
        case "DataLoader":
            shuffle = site.get(2, "shuffle")
            shuffled = shuffle is not None and shuffle.value == Literal(True)
            return (
                shuffled and left_out("sampler", 3) and left_out("batch_sampler", 4) and left_out("generator")
            )
        case "RandomSampler":
            return left_out("generator", 3)
        case "random_split":
            return left_out("generator", 2)
        case _:
            return False


def _generator_there(frame: Frame, made: Device) -> str | None:
    """An expression that makes a generator on the default device; None where PyTorch has no name here."""
    torch = device_values.torch_name(frame)
    if torch is None:
        return None
    device = f'"{made.type}"' if isinstance(made, Accelerator) else f"{torch}.get_default_device()"
    return f"{torch}.Generator(device={device})"


def _runs_from_the_module(frame: Frame) -> bool:
    """Whether the module's own statements lead here: then the default device is known."""
    top = frame
    while top.caller is not None:
        top = top.caller
    return top.function is None


def _name_of(frame: Frame, held: Device, node: cst.BaseExpression) -> str | None:
    """An expression for the device of the generator."""
    name = device_values.name_of_device(frame, held, local=True)
    if name is not None:
        return name
    text = dotted(node)
    return device_values.name_of_device(frame, held) if text is None else f"{text}.device"


def _bound_target(frame: Frame, site: CallSite, made: Device, found: Conflict) -> str | None:
    """An expression for the tensor's device that can be used where the generator was made."""
    origin = found.left.origin
    given = site.keyword("device")
    written = None if given is None else dotted(given.node.value)
    for name in (written, device_values.name_of_device(frame, made)):
        if name is not None and origin is not None:
            inline = holds(site.node, origin.node)
            if inline or frame.bound_before(name, origin):
                return name
    return None


def _target_there(frame: Frame, made: Device, found: Conflict) -> str | None:
    """An expression for the tensor's device where the generator was made, in another activation."""
    origin = found.left.origin
    spot = None if origin is None else placements.spot_of(frame, origin.root(), None, made, found.right)
    return None if spot is None else spot[1]


def _constructor(frame: Frame, found: Conflict) -> cst.Call | None:
    """The call that made the generator, if it is used for nothing else."""
    origin = found.left.origin
    if origin is None or not isinstance(origin.node, cst.Call):
        return None
    origin = origin.root()
    here = origin.frame == frame.uid and frame.function is not None
    scope: cst.CSTNode = frame.function.node if here and frame.function is not None else frame.analysis.module
    if not here and not holds(scope, origin.node):
        return None  # in another file
    names = {
        node.targets[0].target.value
        for node in walk(scope)
        if isinstance(node, cst.Assign)
        and isinstance(node.targets[0].target, cst.Name)
        and holds(node.value, origin.node)
    }
    given = [
        call
        for call in walk(scope)
        if isinstance(call, cst.Call)
        for argument in call.args
        if isinstance(argument.value, cst.Name) and argument.value.value in names
    ]
    return origin.node if len(given) <= 1 or not any(map(_may_draw_on_host, given)) else None


def _may_draw_on_host(call: cst.Call) -> bool:
    """Whether a call that is given a generator is told no device: `torch.randperm(n, generator=g)`, `DataLoader(data, generator=g)`."""
    if says_device(call.args):
        return False
    name = dotted(call.func) or ""
    own = name.startswith(("torch.", "th.", "utils.data.")) or "." not in name
    return own or name.rpartition(".")[2] in ("DataLoader", "RandomSampler", "random_split")
