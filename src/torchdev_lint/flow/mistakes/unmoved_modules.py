"""Modules with parameters or buffers that code makes and never moves, where it has a device at hand.

What is known of a module that was executed `model_calls` tells. Here the text says what is made (`written_modules`), what is done with it,
and where things are to be: by what it is run on, by what becomes of others that are made beside it, or by what the class says of itself.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.events import Event
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.activation.placement_events import UnmovedModule
from torchdev_lint.flow.domain.lattice import Origin
from torchdev_lint.flow.domain.values import Function
from torchdev_lint.flow.instances.classes import ClassModel
from torchdev_lint.flow.project.project_calls import argument_given
from torchdev_lint.flow.read_alone.evidence import TESTING, has_tests
from torchdev_lint.flow.read_alone.host_functions import HOST_CLASS, HOST_FILE, works_on_host
from torchdev_lint.flow.read_alone.written_modules import (
    call_made,
    class_of,
    function_called,
    is_device,
    is_told_where,
    last_name,
    makes_module,
    may_be_moved,
    moved_to,
    parameter_for,
)
from torchdev_lint.flow.read_alone.written_tensors import Reading
from torchdev_lint.flow.syntax.trees import SCOPES, bound_to, dotted, receiver_name, walk
from torchdev_lint.torch_api.modules import MODULE_EVIDENCE

_PLACES = re.compile(
    r"(?i)^prepare(?:_model)?$|deepspeed|dispatch_model|DataParallel$|^DDP$|fully_shard|FSDP|Trainer$|set_default_(?:device|tensor_type)"
)
"""Names of what says where modules are, in place of `to`: defaults, libraries."""
_PLAIN_BASE = re.compile(r"(?:Callback|Mixin|ABC|Estimator|Generic(?:\[.*)?|Protocol|object|Interface)$")
"""Base classes, by name, that do not know what a class keeps."""
_DEFAULTS = re.compile(r"\bset_default_(?:device|tensor_type)\b")
_MOVERS = frozenset("lightning pytorch_lightning accelerate deepspeed fastai".split())
"""Libraries that move the modules of a program."""
_OWN_DEVICE = re.compile(r"\bself\.(?:device|_device|use_cuda|use_gpu|cuda|gpu)\b(?!\()")
_CALLED_MODULE = re.compile(r"(?i)^_?(?:module|model|net|network|criterion|backbone|encoder|decoder)s?_?$")
_NO_RUNS = frozenset(
    "load_state_dict state_dict named_parameters parameters modules named_modules children register_buffer add_module compile apply "
    "save save_pretrained load config eval train zero_grad requires_grad_ register_forward_hook".split()
)
_LATE = frozenset(
    "__init__ to cuda cpu _apply reset __setstate__ __getstate__ load load_state_dict setup".split()
)


def settle(analysis: Analysis, known: Sequence[Event], met: Sequence[Function]) -> list[UnmovedModule]:
    """The modules of a file that nothing moves, less those that others speak of."""
    if (
        not analysis.options.audits
        or not TESTING.isdisjoint(analysis.imported)
        or has_tests(analysis.module)
        or HOST_FILE.search(analysis.source.path)
        or not _MOVERS.isdisjoint(analysis.imported)
        or analysis.says(_DEFAULTS)
    ):
        return []
    found: dict[int, UnmovedModule] = {}
    functions = {id(function.node): function for function in met}
    models = dict.fromkeys(function.owner for function in met if function.owner is not None)
    told: list[UnmovedModule] = []
    for function in functions.values():
        if isinstance(function.node, cst.FunctionDef) and not _is_placed(function.node):
            told += _in_function(function, function.node)
    for model in models:
        if not (model.frame.source.foreign or HOST_CLASS.search(model.name) or _is_placed(model.node)):
            told += _in_class(model, list(models))
    spoken = {part for event in known for part in _spoken_of(event)}
    for event in told:
        if id(event.node) not in spoken and id(event.use) not in spoken:
            found.setdefault(id(event.node), event)
    return list(found.values())


def _is_placed(node: cst.CSTNode) -> bool:
    return any(
        (isinstance(part, cst.Name) and _PLACES.search(part.value) is not None)
        or (
            isinstance(part, cst.With)
            and any("device" in (dotted(getattr(one.item, "func", one.item)) or "") for one in part.items)
        )
        for part in walk(node)
    )


def _spoken_of(event: Event) -> Iterator[int]:
    """The calls that an event is about."""
    for field in dataclasses.fields(event):
        part = getattr(event, field.name)
        origin = part if isinstance(part, Origin) else getattr(part, "origin", None)
        if isinstance(origin, Origin):
            yield id(origin.root().node)
        for one in (part, getattr(part, "node", None), getattr(part, "call", None)):
            if isinstance(one, cst.CSTNode):
                yield id(one)


def _made(nodes: Sequence[cst.CSTNode]) -> Iterator[tuple[str, cst.Call, cst.BaseExpression]]:
    """What names and attributes are given that a call makes."""
    for node in nodes:
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                name, call = dotted(target), call_made(value)
                if name is not None and call is not None:
                    yield name, call, value
            case _:
                pass


# -- functions


def _in_function(function: Function, node: cst.FunctionDef) -> Iterator[UnmovedModule]:
    frame = function.frame
    nodes = list(walk(node.body, below=SCOPES))
    yield from _in_one_branch(frame, nodes)
    yield from _beside(frame, nodes)
    if works_on_host(function) or (function.owner is not None and node.name.value == "__init__"):
        return
    made = [
        (name, call, value)
        for name, call, value in _made(nodes)
        if "." not in name and makes_module(frame, call)
    ]
    reading = None
    for name, call, value in made:
        if (
            len(list(bound_to(node.body, name))) > 1
            or may_be_moved(frame, _others(nodes, value), name)
            or _leaves(nodes, name)
        ):
            continue
        reading = reading or Reading(frame, function, node)
        for use, given in _runs(frame, nodes, name):
            near = _elsewhere(frame, reading, node, given)
            if near is not None:
                yield UnmovedModule(call, name, "runs", use, frame.analysis.text(given), near)
                break


def _others(nodes: Sequence[cst.CSTNode], value: cst.CSTNode) -> Iterator[cst.CSTNode]:
    return (one for one in nodes if not (isinstance(one, cst.Assign) and one.value is value))


def _leaves(nodes: Sequence[cst.CSTNode], name: str) -> bool:
    """Whether the function returns a module, or hands it on in some other way."""
    return any(
        isinstance(one, (cst.Return, cst.Yield)) and one.value is not None and dotted(one.value) == name
        for one in nodes
    ) or any(
        isinstance(one, cst.Global) and any(part.name.value == name for part in one.names) for one in nodes
    )


def _runs(
    frame: Frame, nodes: Sequence[cst.CSTNode], name: str
) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
    """Where a module is run, at once or by a function of the project that is given it, and on what."""
    for node in nodes:
        if not isinstance(node, cst.Call):
            continue
        base = node.func.value if isinstance(node.func, cst.Attribute) else None
        of_it = base is not None and dotted(base) == name and last_name(node.func) not in _NO_RUNS
        if dotted(node.func) == name or of_it:
            yield from ((node, one.value) for one in node.args)
            continue
        places = [index for index, one in enumerate(node.args) if dotted(one.value) == name]
        function = function_called(frame, node.func)
        parameter = (
            parameter_for(function, node.args[places[0]], places[0])
            if function is not None and places
            else None
        )
        if function is not None and parameter is not None:
            body = list(walk(function.body))
            used = {
                dotted(one.value)
                for call in body
                if isinstance(call, cst.Call) and dotted(call.func) == parameter
                for one in call.args
            }
            for index, one in enumerate(node.args):
                if parameter_for(function, one, index) in used - {None}:
                    yield node, one.value


def _elsewhere(
    frame: Frame, reading: Reading, scope: cst.FunctionDef, given: cst.BaseExpression
) -> str | None:
    """How to move a module to where what it is given may be; None if nothing shows that this is not the CPU."""
    for part in (given, *(bound_to(scope.body, given.value) if isinstance(given, cst.Name) else ())):
        for one in walk(part):
            if moved_to(one) is not None:
                assert isinstance(one, cst.Call)
                device = _device_told(one)
                return (
                    "" if device is None or _is_late(scope, device) else f".to({frame.analysis.text(device)})"
                )
            if (
                isinstance(one, cst.Arg)
                and one.keyword is not None
                and one.keyword.value == "device"
                and is_device(one.value)
            ):
                text = frame.analysis.text(one.value)
                return "" if _is_late(scope, one.value) else f".to({text})"
    look = reading.look(given)
    if look.there is None or look.host or look.made or look.held or look.root not in reading.annotated:
        return None
    return f".to(device={look.root}.device)"


def _device_told(call: cst.Call) -> cst.BaseExpression | None:
    return next((one.value for one in call.args if is_device(one.value)), None)


def _is_late(scope: cst.FunctionDef, device: cst.BaseExpression) -> bool:
    """Whether the scope gives itself the device, perhaps after the module is made."""
    return any(True for _ in bound_to(scope.body, receiver_name(device) or "")) and not isinstance(
        device, cst.Call
    )


def _beside(frame: Frame, nodes: Sequence[cst.CSTNode]) -> Iterator[UnmovedModule]:
    """`kernel = MaternKernel(...).to(**tkwargs)`, and `other = IndexKernel(...)`, which stays."""
    moved: dict[str, cst.Call] = {}
    for node in nodes:
        match node:
            case cst.Call(func=cst.Attribute(value=cst.Call(func=maker))) if moved_to(node) is not None:
                if last_name(maker)[:1].isupper():
                    moved.setdefault(_kind(maker), node)
            case _:
                pass
    if not moved:
        return
    for name, call, value in _made(nodes):
        beside = moved.get(_kind(call.func))
        if (
            beside is None
            or not last_name(call.func)[:1].isupper()
            or is_told_where(frame, call)
            or "." in name
        ):
            continue
        returned = {id(part) for one in nodes if isinstance(one, cst.Return) for part in walk(one)}
        rest = [one for one in _others(nodes, value) if id(one) not in returned]
        if not may_be_moved(frame, rest, name):
            assert isinstance(beside.func, cst.Attribute)
            move = f".{beside.func.attr.value}({', '.join(frame.analysis.text(one) for one in beside.args)})"
            yield UnmovedModule(
                call, name, "beside", beside, frame.analysis.text(beside.func.value).partition("(")[0], move
            )


def _kind(maker: cst.BaseExpression) -> str:
    """The last word of a class's name: `Kernel` of `MaternKernel`."""
    words = re.findall(r"[A-Z][a-z0-9]*", last_name(maker))
    return words[-1] if words else last_name(maker)


def _in_one_branch(frame: Frame, nodes: Sequence[cst.CSTNode]) -> Iterator[UnmovedModule]:
    """`if new: net = Net(); net.to(device)`, and `else: net = Net.from_pretrained(path)`, which nobody moves."""
    for node in nodes:
        if not isinstance(node, cst.If) or not isinstance(node.orelse, cst.Else):
            continue
        if re.search(r"(?i)device|cuda|gpu|distributed|parallel", frame.analysis.text(node.test)):
            continue
        ways = [list(walk(one, below=SCOPES)) for one in (node.body, node.orelse.body)]
        inside = {id(part) for part in walk(node)}
        rest = [one for one in nodes if id(one) not in inside]
        for (name, call, value), moving, way in (
            (made, ways[1 - index], ways[index]) for index in (0, 1) for made in _made(ways[index])
        ):
            others = [one for one in _made(moving) if one[0] == name]
            mover = next((one for one in moving if _moves_it(one, name)), None)
            if (
                mover is None
                or not others
                or is_told_where(frame, call)
                or not _alike(frame, call, others[0][1])
            ):
                continue
            if may_be_moved(frame, _others(way, value), name) or may_be_moved(frame, rest, name):
                continue
            assert isinstance(mover.func, cst.Attribute)
            move = f".{mover.func.attr.value}({', '.join(frame.analysis.text(one) for one in mover.args)})"
            yield UnmovedModule(call, name, "branch", mover, "", move)


def _moves_it(node: cst.CSTNode, name: str) -> bool:
    return (
        ((isinstance(node, cst.Call) and moved_to(node) is not None) or _asks_device(node))
        and isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and dotted(node.func.value) == name
    )


def _asks_device(node: cst.CSTNode) -> bool:
    """`.to(get_device(config))`."""
    return (
        isinstance(node, cst.Call)
        and last_name(node.func) == "to"
        and any(
            "device" in (dotted(one.value.func) or "") for one in node.args if isinstance(one.value, cst.Call)
        )
    )


def _alike(frame: Frame, call: cst.Call, other: cst.Call) -> bool:
    """Whether two calls give the same kind of module: of one class, as far as anybody sees."""
    return receiver_name(call) == receiver_name(other) != "" or (
        makes_module(frame, call) and makes_module(frame, other)
    )


# -- classes


def _in_class(model: ClassModel, models: Sequence[ClassModel]) -> Iterator[UnmovedModule]:
    if all(_PLAIN_BASE.search(dotted(one.value) or "") for one in model.node.bases):
        yield from _kept(model)
    elif model.is_module:
        yield from _on_global_device(model, models)
    elif not model.has_unseen_base():
        yield from _kept(model)
    yield from _made_late(model)


def _kept(model: ClassModel) -> Iterator[UnmovedModule]:
    """A class that is no module keeps a device, moves what it runs its module on, and never moves that."""
    frame, text = model.frame, model.frame.analysis.text(model.node)
    own = _OWN_DEVICE.search(text)
    if own is None:
        return
    nodes = list(walk(model.node))
    for name, call, value in _made(nodes):
        if not name.startswith("self.") or "." in name[5:] or not _is_module_of(frame, nodes, name, call):
            continue
        if (
            sum(
                dotted(one.target) == name
                for node in nodes
                if isinstance(node, cst.Assign)
                for one in node.targets
            )
            > 1
        ):
            continue
        if may_be_moved(frame, _others(nodes, value), name) or _moves_by_name(model):
            continue
        use = _run_on_moved(model, name, _OWN_DEVICE)
        if use is None or _is_moved_elsewhere(frame, name[5:]):
            continue
        device = own[0] if own[0].endswith("device") else ""
        yield UnmovedModule(call, name, "kept", use[0], use[1], f".to({device})" if device else "")


def _moves_by_name(model: ClassModel) -> bool:
    """`for name in self.names: getattr(self, name).to(self.device)`."""
    texts = map(model.frame.analysis.text, model.methods.values())
    return any(
        re.search(r"getattr\(self\b|__dict__|vars\(self", one) and re.search(r"\.(?:to|cuda)\(", one)
        for one in texts
    )


def _is_module_of(frame: Frame, nodes: Sequence[cst.CSTNode], name: str, call: cst.Call) -> bool:
    """Whether an attribute holds a module: by what makes it, or, made by a class that it was told, by what is done with it."""
    if makes_module(frame, call):
        return True
    if not (dotted(call.func) or "").startswith("self.") or is_told_where(frame, call):
        return False
    return (
        (_CALLED_MODULE.search(name[5:]) is not None
        and dotted(call.func) == name.rstrip("_"))
        or any(
            isinstance(one, cst.Attribute) and one.attr.value in MODULE_EVIDENCE and dotted(one.value) == name
            for one in nodes
        )
    )


def _is_moved_elsewhere(frame: Frame, attribute: str) -> bool:
    """Whether another file of the project moves what an attribute of this name holds."""
    moves = re.compile(rf"\.{attribute}(?:\.(?:to|cuda|xpu)\(|\s*=|\s*\))")
    return any(moves.search(text) for _, text in frame.analysis.imports.mentioning(f".{attribute}") or ())


def _run_on_moved(model: ClassModel, name: str, device: re.Pattern[str]) -> tuple[cst.Call, str] | None:
    """Where a method runs what an attribute holds on what it, or a method that calls it, has brought to a device."""
    text = model.frame.analysis.text
    for method in model.methods.values():
        for node in walk(method.body, below=SCOPES) if method.name.value != "__init__" else ():
            if isinstance(node, cst.Call) and dotted(node.func) in (name, f"{name}.forward"):
                for one in node.args:
                    if any(_brings(text(part), device) for part in _given(model, method, one.value)):
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


def _brings(text: str, device: re.Pattern[str]) -> bool:
    return (
        "(" in text
        and device.search(text) is not None
        and not text.endswith((".cpu()", ".numpy()", ".item()"))
    )


def _on_global_device(model: ClassModel, models: Sequence[ClassModel]) -> Iterator[UnmovedModule]:
    """A module moves what it is given to a device of the program; others of its kind in the file move themselves there, it does not."""
    frame, text = model.frame, model.frame.analysis.text
    kin = [one for one in models if one is not model and set(one.lineage()) & set(model.lineage())]
    if (
        _moves_self(text(model.node))
        or not kin
        or any(_moves_self(text(one.node)) for one in model.lineage())
    ):
        return
    mover = next((found for one in kin if (found := _moves_self(text(one.node)))), None)
    if mover is None:
        return
    initializer = model.methods.get("__init__")
    nodes = [] if initializer is None else list(walk(initializer.body, below=SCOPES))
    device = re.compile(
        r"\.cuda\(\)$" if mover[1] == "cuda" else rf"\.to\(\s*(?:device\s*=\s*)?{re.escape(mover[2])}"
    )
    everything = list(walk(model.node))
    for name, call, value in _made(nodes):
        if (
            name.startswith("self.")
            and makes_module(frame, call)
            and not may_be_moved(frame, _others(everything, value), name)
        ):
            use = _run_on_moved(model, name, device)
            if use is not None:
                move = f".to({mover[2]})" if mover[1] == "to" else ""
                yield UnmovedModule(call, name, "class", use[0], use[1], move)


def _moves_self(text: str) -> re.Match[str] | None:
    return re.search(r"\bself\.(cuda|to)\(([\w.]*)\)", text)


def _made_late(model: ClassModel) -> Iterator[UnmovedModule]:
    """`to` moves all that an attribute holds, and another method puts new things there, which nobody moves."""
    if model.is_module or (mover := model.methods.get("to")) is None:
        return
    moved = {
        name
        for one in walk(mover.body)
        if isinstance(one, cst.For)
        and isinstance(one.iter, cst.Call)
        and (name := dotted(one.iter.func) or "").startswith("self.")
        and any(moved_to(part) is not None for part in walk(one.body))
    }
    kept = {name.split(".")[1] for name in moved}
    for method in model.methods.values():
        for node in walk(method.body) if method.name.value not in _LATE else ():
            match node:
                case cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Subscript() as target)], value=cst.Call() as call
                ):
                    base: cst.BaseExpression = target
                    while isinstance(base, cst.Subscript):
                        base = base.value
                    name = dotted(base) or ""
                case _:
                    continue
            maker = _maker(model, call)
            if name.startswith("self.") and name[5:] in kept and maker is not None:
                yield UnmovedModule(maker, name, "late", mover.name)


def _maker(model: ClassModel, call: cst.Call) -> cst.Call | None:
    """The call of a class that gives an object, at once or in a method that returns it, and is told no device."""
    name = dotted(call.func) or ""
    if name.startswith("self.") and (method := model.methods.get(name[5:])) is not None:
        returned = [one.value for one in walk(method.body, below=SCOPES) if isinstance(one, cst.Return)]
        if len(returned) != 1 or not isinstance(returned[0], cst.Call):
            return None
        call = returned[0]
        name = dotted(call.func) or ""
    known = class_of(model.frame, call.func)[0]
    last = name.rpartition(".")[2]
    if not last[:1].isupper() or is_told_where(model.frame, call) or last.endswith(("Tensor", "Error")):
        return None
    return None if known is not None and not makes_module(model.frame, call) else call
