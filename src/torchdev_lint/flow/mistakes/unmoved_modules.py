"""Modules with parameters or buffers that code makes and never moves, where it has a device at hand.

What is known of a module that was executed `model_calls` tells. Here the text says what is made (`written_modules`), what is done with it,
and where things are to be: by what it is run on, by what becomes of others that are made beside it, or by what the class says of itself.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.events import DeviceLiteral, Event
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.placement_events import UnmovedModule
from torchdev_lint.flow.domain.lattice import Origin
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.instances.classes import ClassModel
from torchdev_lint.flow.mistakes import moved_too_early
from torchdev_lint.flow.project.callers_elsewhere import SAYS_HOST
from torchdev_lint.flow.project.defaults_elsewhere import managers
from torchdev_lint.flow.project.project_calls import argument_given
from torchdev_lint.flow.project.untaken import stands_on_untaken_way
from torchdev_lint.flow.read_alone.evidence import TESTING, has_tests
from torchdev_lint.flow.read_alone.host_functions import HOST_CLASS, HOST_FILE, works_on_host
from torchdev_lint.flow.read_alone.written_evidence import path_of
from torchdev_lint.flow.read_alone.written_modules import (
    calls_made,
    function_called,
    is_device,
    is_told_where,
    makes_module,
    may_be_moved,
    moves,
    moves_it,
    parameter_for,
)
from torchdev_lint.flow.read_alone.written_tensors import Reading
from torchdev_lint.flow.syntax.naming import is_loss_name, is_model_name
from torchdev_lint.flow.syntax.trees import (
    SCOPES,
    bound_to,
    dotted,
    last_name,
    receiver_name,
    says_device,
    walk,
)
from torchdev_lint.torch_api.factories import FACTORIES
from torchdev_lint.torch_api.modules import MODULE_EVIDENCE

_PLACES = re.compile(
    r"(?i)^prepare(?:_model)?$|deepspeed|dispatch_model|DataParallel$|^DDP$|fully_shard|FSDP|Trainer$|^device_map$"
)
"""Names of what says where modules are, in place of `to`."""
_DEFAULTS = re.compile(r"\bset_default_(?:device|tensor_type)\b")
_MOVERS = frozenset("lightning pytorch_lightning accelerate deepspeed fastai".split())
"""Libraries that move the modules of a program."""
_PLAIN_BASE = re.compile(r"(?:Callback|Mixin|ABC|Estimator|Generic(?:\[.*)?|Protocol|object|Interface)$")
"""Base classes, by name, that do not know what a class keeps."""
_OWN_DEVICE = re.compile(r"\bself\.(?:_?device|use_cuda|use_gpu|cuda|gpu)\b(?!\()")
_MAKES = re.compile(
    r"=\s*[\w.]*\b(?:[A-Z]\w*|from_pretrained|load|\w*(?:cls|class|maker|model|net|loss)\w*)\("
)
"""What a function says that makes a module."""
_COUNTS = frozenset("parameter_count count_parameters num_parameters num_params get_num_params".split())
"""Methods that tell how many parameters a module has."""
_NO_RUNS = (
    MODULE_EVIDENCE | _COUNTS | frozenset("save save_pretrained load config compile extra_repr".split())
)
_ASKS_MACHINE = re.compile(r"(?i)device|cuda|gpu|distributed|parallel")


def settle(analysis: Analysis, known: Sequence[Event], met: Sequence[Function]) -> list[UnmovedModule]:
    """The modules of a file that nothing moves, less those that others speak of."""
    if (
        not (TESTING | _MOVERS).isdisjoint(analysis.imported)
        or has_tests(analysis.module)
        or HOST_FILE.search(analysis.source.path)
        or analysis.says(_DEFAULTS)
    ):
        return []
    told: list[UnmovedModule] = []
    for function in {id(function.node): function for function in met}.values():
        node = function.node
        if (
            isinstance(node, cst.FunctionDef)
            and _MAKES.search(analysis.text(node)) is not None
            and not _is_placed(analysis, node)
        ):
            told += _in_function(function, node)
    models = list(dict.fromkeys(function.owner for function in met if function.owner is not None))
    for model in models:
        if not HOST_CLASS.search(model.name) and not _is_placed(analysis, model.node):
            told += _in_class(model, models)
            told += moved_too_early.check(model)
    # where a literal names a device, nothing is said of the module that it is for
    spoken = {part for event in known if not isinstance(event, DeviceLiteral) for part in _spoken_of(event)}
    told = [event for event in told if id(event.node) not in spoken and id(event.use) not in spoken]
    return list({id(event.node): event for event in reversed(told)}.values())[::-1]


def _is_placed(analysis: Analysis, node: cst.CSTNode) -> bool:
    """Whether the code leaves it to a library, or to a default device, where modules are."""
    within = [
        last_name(getattr(part.item, "func", part.item))
        for part in walk(node)
        if isinstance(part, cst.WithItem)
    ]
    if any("device" in name for name in within) or (
        within and not managers(analysis).isdisjoint(within)  # those of the project that enter `torch.device`
    ):
        return True
    return any(
        (isinstance(part, cst.Name) and _PLACES.search(part.value) is not None)
        or (isinstance(part, cst.SimpleString) and part.raw_value == "device_map")  # `{"device_map": "cuda"}`
        for part in walk(node)
    )


def _spoken_of(event: Event) -> Iterator[int]:
    """The calls that an event is about."""
    for field in dataclasses.fields(event):
        part = getattr(event, field.name)
        origin = part if isinstance(part, Origin) else getattr(part, "origin", None)
        if isinstance(origin, Origin):
            yield id(origin.root().node)
        yield from (id(one) for one in (part, getattr(part, "node", None), getattr(part, "call", None)))


def _as_moved(frame: Frame, mover: cst.Call) -> str:
    """The method call that moves something, to be written behind another thing."""
    assert isinstance(mover.func, cst.Attribute)
    return f".{mover.func.attr.value}({', '.join(frame.analysis.text(one) for one in mover.args)})"


# -- functions


def _in_function(function: Function, node: cst.FunctionDef) -> Iterator[UnmovedModule]:
    frame, nodes = function.frame, list(walk(node.body, below=SCOPES))
    yield from _in_one_branch(frame, nodes, function.owner)
    yield from _beside(frame, nodes)
    if works_on_host(function) or node.name.value == "__init__":
        return
    reading = None
    for name, call, statement in calls_made(nodes):
        if "." in name or len(list(bound_to(node.body, name))) > 1 or not makes_module(frame, call):
            continue
        if _is_returned(nodes, name) or may_be_moved(frame, nodes, name, but=statement):
            continue
        reading = reading or Reading(frame, function, node)
        for use, given in _runs(frame, nodes, name):
            move = _to_what_it_meets(frame, reading, node, given)
            if move is not None and not stands_on_untaken_way(function, use):
                yield UnmovedModule(call, name, "runs", use, frame.analysis.text(given), move)
                break


def _is_returned(nodes: Iterable[cst.CSTNode], name: str) -> bool:
    """Whether a function returns what has this name, or it is known elsewhere under it."""
    return any(
        (isinstance(one, (cst.Return, cst.Yield)) and dotted(getattr(one, "value", None)) == name)
        or (isinstance(one, cst.Global) and any(part.name.value == name for part in one.names))
        for one in nodes
    )


def _runs(
    frame: Frame, nodes: Iterable[cst.CSTNode], name: str
) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
    """Where a module is run, at once or by a function of the project that is given it, and on what."""
    for node in nodes:
        if not isinstance(node, cst.Call):
            continue
        of_it = isinstance(node.func, cst.Attribute) and dotted(node.func.value) == name
        if dotted(node.func) == name or (of_it and last_name(node.func) not in _NO_RUNS):
            yield from ((node, one.value) for one in node.args)
            continue
        function = function_called(frame, node.func)
        if function is None or not any(dotted(one.value) == name for one in node.args):
            continue
        parameters = [parameter_for(function, one, index) for index, one in enumerate(node.args)]
        runner = next(of for of, one in zip(parameters, node.args, strict=True) if dotted(one.value) == name)
        run_on = {
            dotted(one.value)
            for call in walk(function.body)
            if isinstance(call, cst.Call) and runner is not None and dotted(call.func) == runner
            for one in call.args
        }
        for parameter, one in zip(parameters, node.args, strict=True):
            if parameter is not None and parameter in run_on:
                yield node, one.value


def _to_what_it_meets(
    frame: Frame, reading: Reading, scope: cst.FunctionDef, given: cst.BaseExpression
) -> str | None:
    """How to move a module to what it is run on (empty if that cannot be written); None if this may well be on the CPU."""
    for part in (given, *(bound_to(scope.body, given.value) if isinstance(given, cst.Name) else ())):
        for one in walk(part):
            devices = (
                [arg.value for arg in one.args if is_device(arg.value)] if isinstance(one, cst.Call) else []
            )
            if moves(one) or (isinstance(one, cst.Call) and devices and last_name(one.func) != "cpu"):
                bound = [device for device in devices if any(bound_to(scope.body, receiver_name(device)))]
                return "" if bound or not devices else f".to({frame.analysis.text(devices[0])})"
    look, name = reading.look(given), receiver_name(given)
    if look.host or look.made or look.held or name not in reading.at_first or not (look.there or look.open):
        return None
    return f".to({name}.device)" if look.root == name and not any(bound_to(scope.body, name)) else ""


def _beside(frame: Frame, nodes: Sequence[cst.CSTNode]) -> Iterator[UnmovedModule]:
    """`kernel = MaternKernel(...).to(**tkwargs)`, and `other = IndexKernel(...)`, which stays."""
    moved: dict[str, tuple[cst.Call, cst.BaseExpression]] = {}
    for node in nodes:
        match node:
            case cst.Call(func=cst.Attribute(value=cst.Call(func=maker))) if moves(node):
                if last_name(maker)[:1].isupper():
                    moved.setdefault(_kind(maker), (node, maker))
            case _:
                pass
    if not moved:
        return
    returned = {id(part) for one in nodes if isinstance(one, cst.Return) for part in walk(one)}
    rest = [one for one in nodes if id(one) not in returned]
    made = {name for name, _, _ in calls_made(nodes)}
    made |= _collections_of(made, nodes)
    for name, call, statement in calls_made(nodes):
        if not made.isdisjoint(dotted(part) or "" for part in walk(call)):
            continue  # what is made here is called, or holds others that are made here
        beside = moved.get(_kind(call.func))
        if (
            beside is None
            or "." in name
            or SAYS_HOST.search(name)
            or not last_name(call.func)[:1].isupper()
            or is_told_where(frame, call)
            or (_is_torchs(frame, call) and not makes_module(frame, call))
            or _is_only_shown(nodes, name)
            or _is_run_on_host(nodes, name)
        ):
            continue
        if not may_be_moved(frame, rest, name, but=statement):
            text = frame.analysis.text(beside[1])
            yield UnmovedModule(call, name, "beside", beside[0], text, _as_moved(frame, beside[0]))


def _is_only_shown(nodes: Iterable[cst.CSTNode], name: str) -> bool:
    """Whether a module is made to be printed, or counted, and for nothing else: wherever it is, nobody runs it."""
    shown = {
        id(part)
        for node in nodes
        if isinstance(node, cst.Call) and (dotted(node.func) in _SHOWS or last_name(node.func) in _COUNTS)
        for part in walk(node)
    }
    uses = [id(node) in shown for node in nodes if isinstance(node, cst.Name) and node.value == name]
    return any(uses) and uses.count(False) == 1  # where it is bound


def _is_run_on_host(nodes: Sequence[cst.CSTNode], name: str) -> bool:
    """Whether a module is run on nothing but what the function makes on the CPU and leaves there: `reference(x)`, `x = torch.randn(3)`."""
    runs = [node for node in nodes if isinstance(node, cst.Call) and dotted(node.func) == name]
    given = {dotted(one.value) for node in runs for one in node.args}
    if not given or None in given:
        return False
    made: dict[str, list[bool]] = {}
    for node in nodes:
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=bound))], value=value):
                path = dotted(value.func) if isinstance(value, cst.Call) else None
                fresh = path in FACTORIES and isinstance(value, cst.Call) and not says_device(value.args)
                made.setdefault(bound, []).append(fresh)
            case _:
                pass
    return all(made.get(one or "") == [True] for one in given)


_SHOWS = frozenset({"print", "summary", "logger.info", "logging.info", "pprint"})


def _collections_of(made: set[str], nodes: Iterable[cst.CSTNode]) -> set[str]:
    """The names of what is put together of things with these names: `losses = [of_classes, of_boxes]`."""
    return {
        node.targets[0].target.value
        for node in nodes
        if isinstance(node, cst.Assign)
        and isinstance(node.targets[0].target, cst.Name)
        and isinstance(node.value, (cst.List, cst.Tuple, cst.Dict))
        and not made.isdisjoint(dotted(part) or "" for part in walk(node.value))
    }


def _is_torchs(frame: Frame, call: cst.Call) -> bool:
    """Whether a class of PyTorch's own is called, of which it is known whether it holds anything: `nn.CrossEntropyLoss()` does not."""
    return (path_of(frame, call.func) or "").startswith("torch.")


def _kind(maker: cst.BaseExpression) -> str:
    """The last word of a class's name: `Kernel` of `MaternKernel`."""
    return re.split(r"(?<=[a-z0-9])(?=[A-Z])", last_name(maker))[-1]


def _in_one_branch(
    frame: Frame, nodes: Sequence[cst.CSTNode], owner: ClassModel | None
) -> Iterator[UnmovedModule]:
    """`if new: net = Net(); net.to(device)`, and `else: net = Net.from_pretrained(path)`, which nobody moves.

    Not of the parts of a module, which whoever has that moves as a whole.
    """
    whole = owner is not None and owner.is_module
    for node in nodes:
        if not isinstance(node, cst.If) or not isinstance(node.orelse, cst.Else):
            continue
        if _ASKS_MACHINE.search(frame.analysis.text(node.test)):
            continue
        ways = [list(walk(one, below=SCOPES)) for one in (node.body, node.orelse.body)]
        inside = {id(part) for part in walk(node)}
        rest = [one for one in nodes if id(one) not in inside]
        for way, other in (ways, ways[::-1]):
            made = {name: call for name, call, _ in calls_made(other)}
            for name, call, statement in calls_made(way):
                mover = next((one for one in other if moves_it(one, name)), None)
                if mover is None or name not in made or is_told_where(frame, call):
                    continue
                if whole and name.startswith("self."):
                    continue
                alike = not _is_torchs(frame, call) and receiver_name(call) == receiver_name(made[name]) != ""
                if not alike and not (makes_module(frame, call) and makes_module(frame, made[name])):
                    continue
                if not may_be_moved(frame, [*way, *rest], name, but=statement):
                    assert isinstance(mover, cst.Call)
                    yield UnmovedModule(call, name, "branch", mover, "", _as_moved(frame, mover))


# -- classes


def _in_class(model: ClassModel, models: Sequence[ClassModel]) -> Iterator[UnmovedModule]:
    plain = all(_PLAIN_BASE.search(dotted(one.value) or "") for one in model.node.bases)
    if model.is_module and not plain:
        yield from _on_global_device(model, models)
        return
    if plain or not model.has_unseen_base():
        yield from _kept(model)


def _kept(model: ClassModel) -> Iterator[UnmovedModule]:
    """A class that is no module keeps a device, moves what it runs its module on, and never moves that."""
    frame, text = model.frame, model.frame.analysis.text
    own = _OWN_DEVICE.search(text(model.node))
    if own is None or any(
        re.search(r"getattr\(self\b|__dict__|vars\(self", text(one))
        and re.search(r"\.(?:to|cuda)\(", text(one))
        for one in model.methods.values()
    ):
        return
    nodes = list(walk(model.node))
    bound = [dotted(one.target) for one in nodes if isinstance(one, cst.AssignTarget)]
    for name, call, statement in calls_made(nodes):
        if (
            not re.match(r"self\.\w+$", name)
            or bound.count(name) > 1
            or not _is_module(model, nodes, name, call)
        ):
            continue
        use = (
            None
            if may_be_moved(frame, nodes, name, but=statement)
            else _run_on_moved(model, name, _OWN_DEVICE)
        )
        if use is not None and not _is_moved_elsewhere(frame, name[5:]):
            move = f".to({own[0]})" if own[0].endswith("device") else ""
            yield UnmovedModule(call, name, "kept", use[0], use[1], move)


def _is_module(model: ClassModel, nodes: Sequence[cst.CSTNode], name: str, call: cst.Call) -> bool:
    """Whether an attribute holds a module: by what makes it, or, made by a class that it was told, by what is done with it."""
    frame = model.frame
    if makes_module(frame, call):
        return True
    maker = dotted(call.func) or ""
    if not maker.startswith("self.") or is_told_where(frame, call):
        return False
    own = model.find(maker[len("self.") :])
    if own is not None and _PLACED.search(frame.analysis.text(own)):
        return False  # a method of the class, which may well move what it makes
    if (is_model_name(name) or is_loss_name(name)) and maker == name.rstrip("_"):
        return True
    return any(
        isinstance(one, cst.Attribute) and one.attr.value in MODULE_EVIDENCE and dotted(one.value) == name
        for one in nodes
    )


_PLACED = re.compile(r"\.(?:to|cuda|xpu)\(|\bdevice\b")


def _is_moved_elsewhere(frame: Frame, attribute: str) -> bool:
    """Whether code outside of the class moves what an attribute of this name holds, or another file hands it on."""
    if re.search(rf"(?<!self)\.{attribute}\.(?:to|cuda|xpu)\(", frame.analysis.written):
        return True
    moving = re.compile(rf"\.{attribute}(?:\.(?:to|cuda|xpu)\(|\s*\))|(?<!self)\.{attribute}\s*=[^=]")
    return any(moving.search(text) for _, text in frame.analysis.imports.mentioning(f".{attribute}") or ())


def _run_on_moved(model: ClassModel, name: str, device: re.Pattern[str]) -> tuple[cst.Call, str] | None:
    """Where a method runs what an attribute holds on what it, or a method that calls it, has brought to a device."""
    text = model.frame.analysis.text
    for method in model.methods.values():
        for node in walk(method.body, below=SCOPES) if method.name.value != "__init__" else ():
            if isinstance(node, cst.Call) and dotted(node.func) in (name, f"{name}.forward"):
                for one in node.args:
                    for part in map(text, _given(model, method, one.value)):
                        if "(" in part and device.search(part) and not part.endswith((".cpu()", ".numpy()")):
                            return node, text(one.value)
    return None


def _given(
    model: ClassModel, method: cst.FunctionDef, value: cst.BaseExpression
) -> Iterator[cst.BaseExpression]:
    """What an expression is, in a method or where another one calls it."""
    yield value
    if not isinstance(value, cst.Name):
        return
    yield from bound_to(method.body, value.value)
    for other in model.methods.values():
        for node in walk(other.body):
            if isinstance(node, cst.Call) and dotted(node.func) == f"self.{method.name.value}":
                handed = argument_given(method, node, value.value)
                if isinstance(handed, cst.Name):
                    yield from bound_to(other.body, handed.value)


def _on_global_device(model: ClassModel, models: Sequence[ClassModel]) -> Iterator[UnmovedModule]:
    """A module moves what it is given to a device of the program; others of its kind in the file move themselves there, it does not."""
    frame, lineage = model.frame, set(model.lineage())
    kin = [one for one in models if one not in lineage and not lineage.isdisjoint(one.lineage())]
    initializer = model.methods.get("__init__")
    mover = next((found for one in kin if (found := _moves_self(one))), None)
    if mover is None or initializer is None or any(map(_moves_self, lineage)):
        return
    device = re.compile(r"\.cuda\(\)$" if mover[1] == "cuda" else rf"\.to\([\w= ]*{re.escape(mover[2])}")
    nodes = list(walk(model.node))
    made = [
        (name, call, statement)
        for name, call, statement in calls_made(walk(initializer.body, below=SCOPES))
        if name.startswith("self.") and makes_module(frame, call)
    ]
    for name, call, statement in made:
        use = None if may_be_moved(frame, nodes, name, but=statement) else _run_on_moved(model, name, device)
        if use is not None:
            move = f".to({mover[2]})" if mover[1] == "to" and len(made) == 1 else ""
            yield UnmovedModule(call, name, "class", use[0], use[1], move)
            return


def _moves_self(model: ClassModel) -> re.Match[str] | None:
    """`self.cuda()`, `self.to(settings.device)`."""
    return re.search(r"\bself\.(cuda|to)\(([\w.]*)\)", model.frame.analysis.text(model.node))
