"""Loading checkpoints: is `map_location` given, and may the file hold tensors of an accelerator?

What a file holds cannot be read in the program that loads it. It counts as a checkpoint when the program treats it as one:
it is given to `load_state_dict`, has a checkpoint's keys, is called a checkpoint, model or weights. Data sets, caches and
whatever else programs keep in `.pt` files are silent, and so is what the same function saved before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.placement_events import CheckpointLoad
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.lattice import Accelerator
from torchdev_lint.flow.domain.values import NONE, Literal, Object, Value
from torchdev_lint.flow.mistakes import forwarding, literals
from torchdev_lint.flow.nn_modules import (
    earlier_cells,
    loading_callers,
    loading_evidence,
    loading_scopes,
    others_weights,
    savers,
)
from torchdev_lint.flow.nn_modules.saved_files import SAVING, saved_from_host
from torchdev_lint.flow.project import reach
from torchdev_lint.flow.project.accelerator_needs import is_run_there, needs_accelerator
from torchdev_lint.flow.read_alone import read_on_host
from torchdev_lint.flow.read_alone.evidence import in_a_test
from torchdev_lint.flow.syntax.trees import dotted, walk
from torchdev_lint.flow.torch_calls import device_values
from torchdev_lint.torch_api import checkpoints as api
from torchdev_lint.torch_api.devices import names_only_the_cpu, speaks_of_devices
from torchdev_lint.torch_api.modules import MODULE_EVIDENCE


def note(frame: Frame, path: str, site: CallSite) -> None:
    """A checkpoint, or something else, is loaded by the function `path`."""
    if not isinstance(site.node, cst.Call) or site.has_star() or not site.arguments:
        return
    given = site.get(api.LOADERS[path], "map_location")
    if given is not None and not (isinstance(given.value, Literal) and given.value == NONE):
        frame.analysis.located[id(site.node)] = device_values.as_device(given.value)
        literals.see_current(frame, given)
        return
    if given is not None and not _is_none(given.node.value):
        return  # a name that happens to hold None here: the caller may give another
    if frame.analysis.muted:
        return
    if path in api.ALWAYS_WEIGHTS and (
        site.keyword("check_hash") is not None or others_weights.are_addressed(frame, site.arguments[0])
    ):
        if site.keyword("check_hash") is None and others_weights.is_at(frame, site.arguments[0]):
            _remember(frame, site, _target(frame, _use(frame, site), weights=True), None, borne_out=False)
        return
    use = _use(frame, site)
    is_weights = path in api.ALWAYS_WEIGHTS or use.is_checkpoint()
    if given is None and (is_weights or not use.is_data()) and forwarding.note_load(frame, site):
        return
    if not is_weights or _was_saved_here(frame, site.node, use):
        return
    along = loading_callers.goes_on_with_accelerator(frame, site.node) or loading_scopes.goes_to_accelerator(
        frame, loading_scopes.scope_of(frame), site.node
    )
    several = along and not use.published and _saves_in_one_of_several(frame)
    borne_out = not (
        (along and not several)
        or _stays_on_host(frame)
        or frame.analysis.learn(savers.is_of_others, frame.analysis)
        or _is_never_there(frame, site.node)
        or (use.published and path not in api.ALWAYS_WEIGHTS)
        or loading_evidence.is_missing(frame, site.node)
    )
    harmless = along if path in api.ALWAYS_WEIGHTS else _is_harmless(frame, site.node, use, along=along)
    if borne_out or not harmless:
        keyword = None if given is None else given.node.value
        target = _target(frame, use, path in api.ALWAYS_WEIGHTS)
        _remember(frame, site, target, keyword, borne_out=borne_out, several=several)


def note_unmapped(frame: Frame, site: CallSite, position: int) -> None:
    """A checkpoint is loaded by a function of a library, or of the project, that has a `map_location`, and at which position."""
    if not isinstance(site.node, cst.Call) or site.has_star() or not site.arguments or frame.analysis.muted:
        return
    if site.get(position, "map_location") is not None or others_weights.is_address(frame, site.arguments[0]):
        return
    use = _use(frame, site)
    if _was_saved_here(frame, site.node, use):
        return
    along = loading_callers.goes_on_with_accelerator(frame, site.node)
    if not _is_harmless(frame, site.node, use, along=along):
        _remember(frame, site, _target(frame, use, weights=True), None, borne_out=False)


def _was_saved_here(frame: Frame, call: cst.Call, use: _Use) -> bool:
    """Whether what is loaded was saved by the same run, or on the CPU, or whether the file, or the run, is about accelerators only."""
    return (
        in_a_test(frame)
        or _is_sharded(frame)
        or use.saved_here
        or use.holds_numbers
        or _is_in_memory(frame, call)
        or _is_on_accelerator(frame)
        or frame.analysis.says(_SHUTS_OFF)
        or needs_accelerator(frame)
        or is_run_there(frame.analysis.module)
        or loading_scopes.has_one_device(frame)
        or frame.analysis.learn(saved_from_host, frame.analysis)
        or loading_callers.follows_training(frame, call)
        or loading_callers.follows_saving(frame, call)
        or earlier_cells.has_run_training(frame, call)
    )


_SHUTS_OFF = re.compile(r"\btorch\.cuda\.is_available\s*=\s*lambda[^:\n]*:\s*False")
"""A program that says there is no accelerator, whatever the machine: what it loads has been saved on the CPU, or it would never run."""


def _is_in_memory(frame: Frame, call: cst.Call) -> bool:
    """Whether what is loaded is a buffer that the function goes back to the beginning of, `state.seek(0)`: the run has filled it."""
    name = dotted(call.args[0].value) if call.args else None
    if name is None or frame.function is None:
        return False
    sought = rf"(?<![\w.]){re.escape(name)}\.seek\(0\)"
    return re.search(sought, frame.analysis.text(frame.function.node)) is not None


_TRAINS = re.compile(r"\.backward\(|\.step\(\)|\.fit\(")
_HAS_PROCESSES = re.compile(
    r"(?i)init_process_group|DistributedDataParallel|local_rank|world_size|deepspeed|torchrun|horovod|distributed_backend|distr_backend"
)


_ONE_OF_SEVERAL = re.compile(r"\bDistributedDataParallel\(|\bDDP\(")
_STARTS_PROCESSES = re.compile(r"\b(?:mp|multiprocessing)\.spawn\(|\binit_process_group\(")


def _saves_in_one_of_several(frame: Frame) -> bool:
    """Whether a program of several processes, each with a GPU of its own, loads what one of them has saved.

    All then put it on the GPU of that one (https://pytorch.org/tutorials/intermediate/ddp_tutorial.html, "Save and Load Checkpoints").
    Another branch that says where to load it knows of that.
    """
    says = frame.analysis.says
    return says(_ONE_OF_SEVERAL) and says(_STARTS_PROCESSES) and says(SAVING) and not says(_LOADS_TO_ITS_OWN)


_LOADS_TO_ITS_OWN = re.compile(r"map_location\s*=")


def _is_harmless(frame: Frame, call: cst.Call, use: _Use, *, along: bool) -> bool:
    """Whether the program shows that what it loads can be loaded where the program runs.

    It comes from the web, or was trained by the file itself, which speaks of no device; or nobody without an accelerator gets there, and
    there is one process: several would all load to the GPU of the one that saved.
    """
    if use.fetched or (not frame.analysis.speaks_of_devices and frame.analysis.says(_TRAINS)):
        return True
    return not frame.analysis.says(_HAS_PROCESSES) and (
        along or loading_evidence.needs_accelerator(frame, call)
    )


def _is_tried_again(frame: Frame, call: cst.BaseExpression) -> bool:
    """Whether a failure is handled by saying where to load it."""
    scope = loading_scopes.scope_of(frame)
    around = loading_scopes.calls_around(frame, scope, call)
    return any(
        isinstance(node, cst.Try)
        and id(node.body) in around
        and any("map_location" in frame.analysis.text(handler) for handler in node.handlers)
        for node in walk(scope)
    )


_OF_MACHINES = re.compile(r"(?i)cuda|gpu|cpu|device|accelerat|mps|xpu|npu")
_TO_HOST = re.compile(r"map_location *= *(?:(?:torch\.)?device\( *)?(?:['\"]cpu|lambda)")


def _is_of_other_branch(frame: Frame, call: cst.BaseExpression) -> bool:
    """Whether the other branch of an `if` loads to the CPU, or that was tried and failed: this one is for machines with an accelerator."""
    scope = loading_scopes.scope_of(frame)
    around = loading_scopes.calls_around(frame, scope, call)
    for node in walk(scope):
        if (
            isinstance(node, cst.Try)
            and any(id(handler) in around for handler in node.handlers)
            and _TO_HOST.search(frame.analysis.text(node.body))
        ):
            return True
        if (
            isinstance(node, cst.If)
            and isinstance(node.orelse, cst.Else)
            and id(node) in around
            and any(
                isinstance(part, cst.Name) and _OF_MACHINES.search(part.value) for part in walk(node.test)
            )
        ):
            branches = (node.body, node.orelse.body)
            if any(id(branch) in around for branch in branches) and any(
                id(branch) not in around and _TO_HOST.search(frame.analysis.text(branch))
                for branch in branches
            ):
                return True
    return False


def _remember(
    frame: Frame,
    site: CallSite,
    target: str | None,
    keyword: cst.BaseExpression | None,
    *,
    borne_out: bool,
    several: bool = False,
) -> None:
    other = _is_of_other_branch(frame, site.node)
    event = CheckpointLoad(
        node=site.node,
        function=site.callee,
        target=target,
        keyword=keyword,
        guarded=other or literals.is_guarded(frame, "cuda", 0),
        excluded=other
        or literals.is_guarded(frame, "cuda", 0, handled=False)
        or _is_tried_again(frame, site.node),
        inlined=frame.caller is not None,
        borne_out=borne_out,
        several=several,
    )
    frame.analysis.loads.setdefault(id(site.node), []).append(event)


def settle(analysis: Analysis) -> Iterator[CheckpointLoad]:
    """One event for each load that some way reaches without a guard: as it is borne out, else as it is not."""
    for events in analysis.loads.values():
        borne_out = [event for event in events if event.borne_out]
        if not all(event.guarded for event in _called(borne_out)):
            yield _first(borne_out)
        elif not all(event.excluded for event in _called(events)):
            yield replace(_first(events), borne_out=False)


def _called(events: Sequence[CheckpointLoad]) -> Sequence[CheckpointLoad]:
    return [event for event in events if event.inlined] or events


def _first(events: Sequence[CheckpointLoad]) -> CheckpointLoad:
    return next((event for event in events if not event.inlined), events[0])


def _is_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def _is_sharded(frame: Frame) -> bool:
    """Whether the file is about sharded training: its checkpoints are loaded by the processes of machines with accelerators."""
    return frame.analysis.says(api.SHARDED)


def _is_on_accelerator(frame: Frame) -> bool:
    """Whether a model was put on an accelerator before, whatever the machine: one without would not have come so far."""
    return any(
        isinstance(value, Object)
        and (state := frame.state(value)).kind == "module"
        and state.moved
        and isinstance(state.device, Accelerator)
        for value in frame.env.names.values()
    )


def _stays_on_host(frame: Frame) -> bool:
    """Whether the file saves what it loads, or its like, and never speaks of devices but the CPU: it was there when it was saved.

    So is what a script beside it saves, when neither speaks of devices, and whatever is saved where the whole project does not.
    """
    if reach.is_all_on_host(frame.analysis):
        return True
    if frame.analysis.speaks_of_devices and speaks_of_devices(said := reach.said(frame.analysis.written)):
        return frame.analysis.says(SAVING) and names_only_the_cpu(said)
    return frame.analysis.says(SAVING) or frame.analysis.learn(_saved_beside, frame.analysis)


def _saved_beside(analysis: Analysis) -> bool:
    """Whether scripts beside the file save something, and none of those speaks of devices either."""
    known = analysis.notes.get("saved beside")
    if known is None:
        saving = [text for text in analysis.imports.texts_around(analysis) if SAVING.search(text) is not None]
        known = analysis.notes["saved beside"] = bool(saving) and not any(
            speaks_of_devices(reach.said(text)) for text in saving
        )
    return bool(known)


def _is_never_there(frame: Frame, call: cst.Call) -> bool:
    """Whether the program asks for the file first, and nothing in the project writes it."""
    scope = loading_scopes.scope_of(frame)
    around = loading_scopes.calls_around(frame, scope, call)
    tests = [
        frame.analysis.text(node.test)
        for node in walk(scope)
        if isinstance(node, cst.If) and id(node.body) in around
    ]
    return any(
        frame.analysis.learn(savers.is_never_written, frame.analysis, name)
        for name in savers.asked_for(tests, call.args[0].value)
    )


# -- what the program does with what it loads


@dataclass(slots=True)
class _Use:
    """What the function that loads a file says about it."""

    names: list[str] = field(default_factory=list)
    """What the result is bound to, the file (last component first), the function: in this order of weight."""
    into_state_dict: bool = False
    as_module: bool = False
    saved_here: bool = False
    holds_numbers: bool = False
    """Whether the file holds no tensors of an accelerator: the state of a scheduler, what the program saves under that name, or what it
    reads on the host as it is."""
    fetched: bool = False
    """Whether the program says where the file comes from: from the web, or along with it."""
    published: bool = False
    """Whether the file comes from the web, or is what others have trained: where it was saved is not in the program."""
    has_other_path: bool = False
    in_dataset: bool = False
    """Whether it is no model for certain: an item of a data set, the state of a scheduler."""

    def is_data(self) -> bool:
        """Whether the names say that it is data of any kind."""
        return any(api.DATA_NAME.search(name) for name in self.names[:3])

    def is_checkpoint(self) -> bool:
        """Whether it is the state of a model, or a model."""
        if self.into_state_dict or self.as_module:
            return True
        if self.in_dataset:
            return False
        if self.is_data():
            return False
        return any(api.CHECKPOINT_NAME.search(name) for name in self.names)


def _use(frame: Frame, site: CallSite) -> _Use:
    scope = loading_scopes.scope_of(frame)
    use = _Use(
        saved_here=any(isinstance(n, cst.Name) and n.value == "best_model_path" for n in walk(site.node))
    )
    path = site.arguments[0].node.value
    path_text = frame.analysis.text(_unwrapped(path))
    targets = _read_scope(frame, scope, site.node, path_text, use)
    words = others_weights.words_of(path)
    use.names = [*targets, *words]
    name = _literal(site.arguments[0].value)
    use.fetched = use.published or others_weights.are_to_be_had(frame, scope, path, words, name)
    use.published = use.fetched or others_weights.are_named(frame, path, words, name)
    use.saved_here = (
        use.saved_here
        or any(api.RANK.search(word) for word in words)
        or _is_within_saver(frame)
        or earlier_cells.has_saved(frame, site.node, path, site.arguments[0].value)
    )
    use.holds_numbers = use.holds_numbers or (
        not use.into_state_dict and not use.as_module and savers.saved_numbers(frame.analysis, words)
    )
    if frame.function is not None:
        use.names.append(frame.function.name)
        owner = frame.function.owner
        use.saved_here = use.saved_here or _saved_by_class(frame, path_text) or _saved_at_first(frame, path)
        use.in_dataset = (
            use.in_dataset
            or frame.function.name in ("__getitem__", "collate", "collate_fn")
            or (owner is not None and ("Data" in owner.name or owner.find("__getitem__") is not None))
        )
    return use


def _unwrapped(path: cst.BaseExpression) -> cst.BaseExpression:
    """A path, where its text is asked for: `str(path)`."""
    match path:
        case cst.Call(func=cst.Name(value="str"), args=[cst.Arg(value=inner)]):
            return inner
        case _:
            return path


def _is_within_saver(frame: Frame) -> bool:
    """Whether the function that loads stands in one that saves: both are called while the program runs."""
    outer = None if frame.parent is None else frame.parent.function
    return outer is not None and any(
        isinstance(node, cst.Call) and dotted(node.func) == "torch.save" for node in walk(outer.node)
    )


def _literal(value: Value) -> str:
    return str(value.value) if isinstance(value, Literal) else ""


def _saved_by_class(frame: Frame, path: str) -> bool:
    """Whether the class keeps under one attribute the file that it saves to and loads from: early stopping."""
    owner = None if frame.function is None else frame.function.owner
    if owner is None or not path.startswith("self."):
        return False
    return any(
        isinstance(node, cst.Call)
        and api.SAVES.search(loading_scopes.name_of_call(node)) is not None
        and any(frame.analysis.text(argument.value) == path for argument in node.args)
        for method in owner.methods.values()
        for node in walk(method.body)
    )


def _saved_at_first(frame: Frame, path: cst.BaseExpression) -> bool:
    """Whether an object saves a file when it is made, and loads it in another method: to begin again from there."""
    owner = None if frame.function is None else frame.function.owner
    first = None if owner is None else owner.methods.get("__init__")
    if first is None or not isinstance(path, cst.SimpleString):
        return False
    return any(
        isinstance(node, cst.Call)
        and dotted(node.func) == "torch.save"
        and any(
            isinstance(one.value, cst.SimpleString) and one.value.raw_value == path.raw_value
            for one in node.args[1:]
        )
        for node in walk(first.body)
    )


def _read_scope(
    frame: Frame, scope: cst.CSTNode, call: cst.BaseExpression, path: str, use: _Use
) -> list[str]:
    """The names that the loaded thing is bound to; what the scope does with them goes into `use`."""
    nodes = loading_scopes.telling_nodes(frame, scope)
    around = loading_scopes.calls_around(frame, scope, call)
    # a notebook is opened again another day and run from the middle; a cell is run as a whole
    along = loading_scopes.cell_of(scope, around) if frame.analysis.options.in_cells else None
    targets: list[str] = []
    met = False
    for node in nodes:
        if node is call:
            met = True
        match node:
            case cst.For() | cst.While() if (
                not met and (along is None or id(node) in along) and id(node) not in around
            ):
                # the call may stand in the loop itself
                use.saved_here = (
                    use.saved_here
                    or loading_scopes.trains(node)
                    or loading_scopes.saves(frame, scope, node, around)
                )
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=cst.Call() as fetch) if (
                not met and frame.analysis.text(target) == path and others_weights.fetches(frame, fetch)
            ):
                use.published = not use.has_other_path
            case cst.Assign(targets=[cst.AssignTarget(target=target)]) if (
                not met and frame.analysis.text(target) == path
            ):
                use.has_other_path, use.published = True, False
            case cst.Assign(value=value) if id(value) in around:
                if _takes_whole(value, call):
                    bound = _bound([target.target for target in node.targets])
                    targets += bound
                    # `layer.weight.data = torch.load(path)`, not the `self.data` of a data set
                    use.into_state_dict = use.into_state_dict or any(
                        name.endswith(".data") and name != "self.data" for name in bound
                    )
            case cst.Call(func=function, args=arguments):
                text = dotted(function) or (
                    function.attr.value if isinstance(function, cst.Attribute) else ""
                )
                name = text.rpartition(".")[2]
                if (
                    not met
                    and (along is None or id(node) in along)
                    and (api.SAVES.search(name) or name in _COPIES)
                ):
                    use.saved_here = use.saved_here or any(
                        frame.analysis.text(part) == path
                        for argument in arguments
                        for part in _files(argument)
                    )
                if name in _REMOVES and any(frame.analysis.text(one.value) == path for one in arguments):
                    use.saved_here = True  # it was made to be read here
                if not met and any(frame.analysis.text(argument.value) == path for argument in arguments):
                    use.published = use.published or others_weights.fetches(frame, node)
                if api.TAKES_WEIGHTS.search(name) and any(id(one.value) in around for one in arguments):
                    if api.SCHEDULER.search(text.rpartition(".")[0]):
                        use.in_dataset = (
                            True  # numbers, as a rule (torch/optim/lr_scheduler.py, `state_dict`)
                        )
                    else:
                        use.into_state_dict = True
            case cst.Attribute(value=value, attr=cst.Name(value="state_dict")) if value is call:
                use.as_module = True
            case cst.Subscript(value=value, slice=keys) if value is call and _weight_key(keys):
                use.into_state_dict = True
            case _:
                pass
    if targets:
        held = set(targets)
        for node in nodes:
            _read_use(node, held, use)
        use.holds_numbers = use.holds_numbers or read_on_host.is_read(scope, nodes, held)
    return targets


def _files(argument: cst.Arg) -> list[cst.BaseExpression]:
    """What an argument that names a file is, and what it is made of: `save(model, with_folder(path))`."""
    made = argument.value.args if isinstance(argument.value, cst.Call) else ()
    return [argument.value, *(one.value for one in made)]


_REMOVES = frozenset(("remove", "unlink"))
_COPIES = frozenset(("copy", "copy2", "copyfile", "move", "rename", "replace", "symlink"))
"""Functions that give a file that is there another name."""


def _is_without_weights(method: str) -> bool:
    """Whether the method that takes a state is that of a scheduler or a sampler: `scheduler.load_state_dict`."""
    return api.NO_WEIGHTS.search(method.rpartition(".")[0].rpartition(".")[2]) is not None


def _takes_whole(value: cst.CSTNode, call: cst.CSTNode) -> bool:
    """Whether the value is the loaded thing or a part of it, not the result of something else given it."""
    current: cst.CSTNode = value
    while current is not call:
        match current:
            case cst.Subscript(value=inner) | cst.Attribute(value=inner) | cst.Await(expression=inner):
                current = inner
            case cst.Call(
                func=cst.Attribute(value=inner, attr=cst.Name(value="get" | "pop" | "to" | "cpu" | "eval"))
            ):
                current = inner
            case cst.IfExp(body=body, orelse=orelse):
                current = body if any(part is call for part in walk(body)) else orelse
            case _:
                return False
    return True


def _bound(targets: Sequence[cst.BaseExpression]) -> list[str]:
    names: list[str] = []
    for target in targets:
        match target:
            case cst.Tuple(elements=elements) | cst.List(elements=elements):
                names += _bound([element.value for element in elements])
            case _:
                name = dotted(target)
                if name is not None:
                    names.append(name)
    return names


_OF_MODULES = frozenset(MODULE_EVIDENCE) - {"half", "requires_grad_", "apply"}
"""Methods that modules have and tensors do not."""


def _read_use(node: cst.CSTNode, targets: set[str], use: _Use) -> None:
    match node:
        case cst.Call(func=function, args=arguments):
            if isinstance(function, cst.Attribute):
                receiver = dotted(function.value)
                if receiver in targets and function.attr.value in _OF_MODULES:
                    use.as_module = True
                if receiver in targets and function.attr.value in ("get", "pop") and arguments:
                    first = arguments[0].value
                    if isinstance(first, cst.SimpleString) and api.WEIGHT_KEYS.search(str(first.raw_value)):
                        use.into_state_dict = True
                name = function.attr.value
            else:
                name = dotted(function) or ""
            if api.TAKES_WEIGHTS.search(name) and any(
                dotted(part) in targets for argument in arguments for part in walk(argument.value)
            ):
                use.into_state_dict = True
                if any(dotted(argument.value) in targets for argument in arguments):
                    # the whole of it, not one of many states that it holds
                    use.holds_numbers = use.holds_numbers or _is_without_weights(dotted(function) or "")
        case cst.Subscript(value=value, slice=keys) if dotted(value) in targets and _weight_key(keys):
            use.into_state_dict = True
        case cst.Comparison(
            left=cst.SimpleString() as key,
            comparisons=[cst.ComparisonTarget(operator=cst.In(), comparator=held)],
        ) if dotted(held) in targets and api.WEIGHT_KEYS.search(str(key.raw_value)):
            use.into_state_dict = True
        case _:
            pass


def _weight_key(keys: Sequence[cst.SubscriptElement]) -> bool:
    match keys:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]:
            return api.WEIGHT_KEYS.search(str(key.raw_value)) is not None
        case _:
            return False


# -- where to load it


def _target(frame: Frame, use: _Use, weights: bool) -> str | None:
    """What `map_location` should say: a name that holds a device; else the CPU, from where `load_state_dict` copies."""
    named = device_values.named_device(frame)
    if named is not None:
        return named
    if use.as_module or not (weights or use.into_state_dict):
        torch = device_values.torch_name(frame)
        return None if torch is None else f'"cuda" if {torch}.cuda.is_available() else "cpu"'
    return '"cpu"'
