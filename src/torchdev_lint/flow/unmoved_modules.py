"""Modules that code makes or loads and runs on inputs that it has moved, where nothing in sight moves the module.

`model_calls` tells what is known of a module that was executed. Here a module counts that nobody can read: what a function of
another file gives, what is loaded. Who moves the inputs says where things are to be; what he runs on them is not there unless it is moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from torchdev_lint.flow.analysis import Analysis
from torchdev_lint.flow.evidence import TESTING, resolved_path
from torchdev_lint.flow.evident_tensors import annotated_tensors, moves
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.host_functions import HOST_CLASS
from torchdev_lint.flow.left_behind import is_transfer
from torchdev_lint.flow.operands import dotted
from torchdev_lint.flow.placement_events import UnmovedModule
from torchdev_lint.flow.trees import all_parameters, walk
from torchdev_lint.flow.values import Class, Function
from torchdev_lint.torch_api.devices import DEVICE_NAME
from torchdev_lint.torch_api.modules import COPIES, IN_PLACE_MOVES, WITHOUT_PARAMETERS

_DEFAULTS = re.compile(r"set_default_device|set_default_tensor_type")
_PLACED = re.compile(
    r"device_map|\.prepare\(|deepspeed|dispatch_model|with torch\.device|Trainer\(|\.distribute\("
)
"""The code leaves it to a default, or to a library, where modules are."""

_MAKES = re.compile(
    r"(?i)^(?:load|build|create|get|make|init\w*)_?\w*(?:model|net(?:work)?|encoder|backbone)$|^from_pretrained$"
)
"""Functions, by name, that give a module."""

_MODEL_FILE = re.compile(r"(?i)(?:^|\.)(?:models?|nets?|networks?|modeling\w*|architectures?)(?:\.|$)")
"""Files, by name, whose functions and classes are models."""

_NETWORK = re.compile(r"(?i)^(?:model|net|network)$|_(?:model|net)$")
_OF_MODULES = frozenset("parameters named_parameters state_dict load_state_dict zero_grad eval train".split())
_NO_MODULES = re.compile(
    r"(?i)config|args|param|token|vocab|data|path|name|list|dict|optim|sched|criterion|loss|shape|size|info|processor"
)
_INSPECTS = re.compile(
    r"(?i)optim|^(?:print|len|isinstance|type|repr|str|id|hasattr|getattr|summary|count_\w+|save|format|log|info|debug|filter|list|"
    r"clip_grad_\w+|manual_seed|load_state_dict|export|watch|Adam\w*|SGD|RMSprop|\w*LR)$"
)
"""Functions, by name, that leave a module where it is."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A module that is made and bound to a name."""

    name: str
    call: cst.Call


@dataclass(slots=True)
class _Text:
    """A piece of code, with what it contains besides the functions in it."""

    body: cst.CSTNode
    frame: Frame
    node: cst.FunctionDef | None = None
    own: list[cst.CSTNode] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.own = list(walk(self.body, below=(cst.FunctionDef, cst.ClassDef, cst.Lambda)))


@dataclass(frozen=True, slots=True)
class _Meeting:
    """Where a module is run on an input that was moved: the call, the input's text, and the device's, if it has one."""

    node: cst.Call
    given: str
    device: str | None
    method: str = "to"


def check(analysis: Analysis, functions: Sequence[Function], frame: Frame) -> Iterator[UnmovedModule]:
    """The modules of a file that are made and never moved."""
    if not TESTING.isdisjoint(analysis.imported) or analysis.says(_DEFAULTS):
        return
    texts = [_Text(analysis.module, frame)]
    seen: set[int] = set()
    for function in functions:
        node = function.node
        if id(node) in seen or not isinstance(node, cst.FunctionDef):
            continue
        seen.add(id(node))
        if function.owner is not None and HOST_CLASS.search(function.owner.name):
            continue
        texts.append(_Text(node.body, function.frame, node))
    for text in texts:
        if _PLACED.search(analysis.text(text.body) if text.node is not None else analysis.written):
            continue
        for made in _made(text):
            yield from _check_made(analysis, text, made, texts)
        yield from _in_one_branch(analysis, text)
        yield from _given(text, texts)


def _check_made(
    analysis: Analysis, text: _Text, made: _Made, texts: Sequence[_Text]
) -> Iterator[UnmovedModule]:
    users = [text]
    if text.node is None:
        users += [other for other in texts[1:] if _uses_global(other, made.name)]
    if any(_moves_or_hides(user, made) for user in users):
        return
    for user in users:
        meeting = next(iter(_meetings(user, made.name, argument_too=text.node is not None)), None)
        if meeting is not None:
            usable = meeting.device is not None and _bound_before(text, meeting.device, made.call)
            at_call = meeting.device is not None and not usable and user is text
            yield UnmovedModule(
                node=meeting.node if at_call else made.call,
                name=made.name,
                made=made.call,
                meets=meeting.node,
                given=meeting.given,
                device=meeting.device or "",
                move=f".{meeting.method}({meeting.device or ''})"
                if usable or meeting.method == "cuda"
                else "",
            )
            return


def _given(text: _Text, texts: Sequence[_Text]) -> Iterator[UnmovedModule]:
    """A model that a function is given, makes the optimizer for, and runs on what it moves to the device that it is given, too."""
    node = text.node
    if node is None or any(
        isinstance(part, cst.Name) and part.value == node.name.value for other in texts for part in other.own
    ):
        return
    parameters = {one.name.value: one for one in all_parameters(node.params)}
    for name in _optimized(text) & parameters.keys():
        if _moves_or_hides(text, _Made(name, cst.Call(cst.Name("given")))):
            continue
        for meeting in _meetings(text, name, argument_too=False):
            if meeting.device in parameters:
                yield UnmovedModule(
                    meeting.node, name, parameters[name], meeting.node, meeting.given, meeting.device or ""
                )
                break


def _optimized(text: _Text) -> set[str]:
    """The names whose parameters the code hands to an optimizer that it makes."""
    return {
        part.value.value
        for node in text.own
        if isinstance(node, cst.Call)
        and re.search(r"(?i)optim|\b(?:Adam\w*|SGD|RMSprop)$", dotted(node.func) or "")
        for argument in node.args
        for part in walk(argument.value)
        if isinstance(part, cst.Attribute)
        and part.attr.value == "parameters"
        and isinstance(part.value, cst.Name)
    }


def _bound_names(text: _Text) -> Iterator[tuple[str, cst.CSTNode]]:
    for node in text.own:
        match node:
            case cst.AssignTarget(target=target) | cst.For(target=target) | cst.NamedExpr(target=target):
                for part in walk(target):
                    if isinstance(part, cst.Name):
                        yield part.value, node
            case _:
                pass


def _bound_before(text: _Text, device: str, place: cst.CSTNode) -> bool:
    """Whether the expression for the device can be written where the module is made."""
    root = re.split(r"\W", device)[0]
    if root == "self" or (
        text.node is not None and any(one.name.value == root for one in all_parameters(text.node.params))
    ):
        return True
    bound = False
    for node in text.own:
        if node is place:
            # what a function does not bind is bound outside
            return bound or (text.node is not None and root not in {name for name, _ in _bound_names(text)})
        match node:
            case cst.AssignTarget(target=cst.Name(value=name)) if name == root:
                bound = True
            case _:
                pass
    return False


def _made(text: _Text) -> Iterator[_Made]:
    for node in text.own:
        match node:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name(value=name))], value=cst.Call() as call
            ):
                if _root_of_call(call) not in (name, "self") and (
                    _makes_module(text, name, call) and not _speaks_of_device(call)
                ):
                    yield _Made(name, call)
            case _:
                pass


_CONFIG = re.compile(
    r"(?i)^(?:cfg|conf|config|args|opts?|hparams|params|settings|FLAGS)$|_(?:cfg|config|args)$"
)
"""What is called like this holds what a program was told, and often a device."""


def _speaks_of_device(call: cst.Call) -> bool:
    """Whether a call may be told where to make the module: by a device, or by all that the program was told."""
    last = call.func.attr.value if isinstance(call.func, cst.Attribute) else dotted(call.func) or ""
    if last[:1].islower() and any(
        isinstance(one.value, cst.Name) and _CONFIG.search(one.value.value) for one in call.args
    ):
        return True
    return any(
        (
            isinstance(part, cst.Name)
            and (DEVICE_NAME.search(part.value) or part.value in ("device_map", "map_location"))
        )
        or (isinstance(part, cst.Attribute) and part.attr.value in IN_PLACE_MOVES)
        or (isinstance(part, cst.Arg) and part.star == "**")
        for part in walk(call)
    )


def _makes_module(text: _Text, name: str, call: cst.Call) -> bool:
    """Whether a call gives a module with parameters or buffers."""
    called = call.func
    last = called.attr.value if isinstance(called, cst.Attribute) else dotted(called) or ""
    path = resolved_path(text.frame, called)
    if path is not None and path.startswith("torch."):
        return (
            path.startswith("torch.nn.")
            and last[:1].isupper()
            and path not in WITHOUT_PARAMETERS
            and not path.startswith(
                (
                    "torch.nn.utils",
                    "torch.nn.parallel",
                    "torch.nn.DataParallel",
                    "torch.nn.functional",
                    "torch.nn.Parameter",
                )
            )
        ) or path == "torch.hub.load"
    if path in COPIES:
        return False  # it is where the other one is
    if path is not None and path.startswith("torchaudio.transforms."):
        return True
    if path is not None and path.startswith("torchvision.models."):
        return last[:1].islower() and not last.startswith(("get_model_", "list_"))
    if isinstance(called, cst.Name):
        known = text.frame.lookup(called.value)
        if isinstance(known, Class):
            return known.model.is_module and not known.model.moves_itself()
        if isinstance(known, Function):
            return False  # was executed
    if _NO_MODULES.search(last) and last != "from_pretrained":
        return False
    if last == "from_pretrained":
        owner = called.value if isinstance(called, cst.Attribute) else None
        return owner is not None and not _NO_MODULES.search(dotted(owner) or "x_config")
    if _MAKES.search(last):
        return _NETWORK.search(name) is not None or _is_used_as_module(text, name)
    if path is not None and _MODEL_FILE.search(path.rpartition(".")[0]):
        return _is_used_as_module(text, name) or _NETWORK.search(name) is not None
    plain = isinstance(called, cst.Name) or path is not None
    return plain and _NETWORK.search(name) is not None and _is_used_as_module(text, name)


def _is_used_as_module(text: _Text, name: str) -> bool:
    return any(
        isinstance(node, cst.Attribute)
        and isinstance(node.value, cst.Name)
        and node.value.value == name
        and node.attr.value in _OF_MODULES
        for node in text.own
    )


def _uses_global(text: _Text, name: str) -> bool:
    node = text.node
    return (
        node is not None
        and all(one.name.value != name for one in all_parameters(node.params))
        and any(isinstance(part, cst.Name) and part.value == name for part in text.own)
        and name not in {bound for bound, _ in _bound_names(text)}
    )


def _moves_or_hides(text: _Text, made: _Made, *, depth: int = 0) -> bool:
    """Whether anything moves the module, or may: it is handed to what cannot be read, kept elsewhere, returned, given another value."""
    name = made.name
    for node in text.own:
        match node:
            case cst.Attribute(value=value, attr=cst.Name(value=attribute)) if _root(value) == name:
                if attribute in IN_PLACE_MOVES or attribute in ("share_memory", "device", "module"):
                    return True
            case cst.Call(func=called, args=arguments):
                for index, argument in enumerate(arguments):
                    if _names(argument.value, name) and _may_move(text, called, node, argument, index, depth):
                        return True
            case cst.Return(value=value) if value is not None and _names(value, name):
                return True
            case cst.Assign(targets=targets, value=value):
                if _names(value, name) and not (isinstance(value, cst.Call) and value is made.call):
                    return True
                if any(_names(target.target, name) for target in targets) and not (
                    isinstance(value, cst.Call)
                    and (_makes_module(text, name, value) or _gives_itself(value, name))
                ):
                    return True
            case cst.Element(value=value) | cst.DictElement(value=value) if _names(value, name):
                return True
            case cst.Global(names=names) if any(one.name.value == name for one in names):
                return True
            case cst.WithItem(item=item) if any(_names(part, name) for part in walk(item)):
                return True
            case _:
                pass
    return False


def _root_of_call(call: cst.Call) -> str:
    node: cst.BaseExpression = call
    while isinstance(node, (cst.Call, cst.Attribute)):
        node = node.func if isinstance(node, cst.Call) else node.value
    return node.value if isinstance(node, cst.Name) else ""


def _gives_itself(call: cst.Call, name: str) -> bool:
    """`model = model.eval()`."""
    match call.func:
        case cst.Attribute(value=cst.Name(value=owner), attr=cst.Name(value="eval" | "train")):
            return owner == name
        case _:
            return False


def _root(node: cst.BaseExpression) -> str:
    while isinstance(node, cst.Attribute):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""


def _names(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _may_move(
    text: _Text, called: cst.BaseExpression, call: cst.Call, argument: cst.Arg, index: int, depth: int
) -> bool:
    last = called.attr.value if isinstance(called, cst.Attribute) else dotted(called) or ""
    if _INSPECTS.search(last):
        return False
    followed = _function(text, called)
    if followed is not None:
        parameter = _parameter(followed, argument, index)
        if parameter is None or depth > 2:
            return True
        below = _Text(followed.body, text.frame, followed)
        return _moves_or_hides(below, _Made(parameter, call), depth=depth + 1)
    # whoever runs it on an input is handed both
    return not any(one is not argument and _is_moved(text, one.value) for one in call.args)


def _function(text: _Text, called: cst.BaseExpression) -> cst.FunctionDef | None:
    known = text.frame.lookup(called.value) if isinstance(called, cst.Name) else None
    if isinstance(known, Function) and isinstance(known.node, cst.FunctionDef):
        return known.node if not known.frame.source.foreign else None
    return None


def _parameter(function: cst.FunctionDef, argument: cst.Arg, index: int) -> str | None:
    if argument.star:
        return None
    if argument.keyword is not None:
        return argument.keyword.value
    declared = (*function.params.posonly_params, *function.params.params)
    return declared[index].name.value if index < len(declared) else None


def _meetings(text: _Text, name: str, *, argument_too: bool, depth: int = 0) -> Iterator[_Meeting]:
    """Where a module is run on what was moved; `argument_too`: or on an argument that is annotated as a tensor."""
    for node in text.own:
        if not isinstance(node, cst.Call):
            continue
        handed = any(_names(one.value, name) for one in node.args)
        runs = _names(node.func, name)
        if not runs and not handed:
            continue
        followed = None if runs else _function(text, node.func)
        for one in node.args:
            transfer = _transfer_of(text, one.value)
            if transfer is not None and (runs or followed is None):
                yield _Meeting(node, _short(one.value), *transfer)
        if argument_too and text.node is not None and (runs or followed is not None):
            given = annotated_tensors(text.node)
            for one in node.args:
                if (
                    isinstance(one.value, cst.Name)
                    and one.value.value in given
                    and _is_untouched(text, one.value.value)
                ):
                    yield _Meeting(node, one.value.value, f"{one.value.value}.device")
        if followed is not None and depth < 2:
            index = next(i for i, one in enumerate(node.args) if _names(one.value, name))
            parameter = _parameter(followed, node.args[index], index)
            below = _Text(followed.body, text.frame, followed)
            if parameter is not None:
                for found in _meetings(below, parameter, argument_too=False, depth=depth + 1):
                    device = found.device
                    if device is not None:
                        device = _handed_as(followed, node, device)
                    yield _Meeting(node, found.given, device, found.method)


def _handed_as(function: cst.FunctionDef, call: cst.Call, device: str) -> str | None:
    """What a call gives the parameter that a device is."""
    for index, argument in enumerate(call.args):
        if _parameter(function, argument, index) == device:
            return dotted(argument.value)
    return device if "." in device and not device.startswith("self.") else None


def _is_untouched(text: _Text, name: str) -> bool:
    return name not in {bound for bound, _ in _bound_names(text)}


def _is_moved(text: _Text, value: cst.BaseExpression) -> bool:
    return _transfer_of(text, value) is not None or (
        text.node is not None and isinstance(value, cst.Name) and value.value in annotated_tensors(text.node)
    )


def _transfer_of(text: _Text, value: cst.BaseExpression, depth: int = 0) -> tuple[str | None, str] | None:
    """Where an expression was moved by this code: an expression for the device, and the method; None where it was not."""
    match value:
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=method))):
            if is_transfer(value) and moves(value):
                if method == "cuda":
                    return None, "cuda"
                return dotted(value.args[0].value), "to"
            return (
                _transfer_of(text, inner, depth)
                if not is_transfer(value) and method not in ("cpu", "numpy")
                else None
            )
        case cst.Subscript(value=inner):
            return _transfer_of(text, inner, depth)
        case cst.BinaryOperation(left=left, right=right):
            return _transfer_of(text, left, depth) or _transfer_of(text, right, depth)
        case cst.Name(value=name) if depth < 4:
            given = [one for bound, one in _values(text) if bound == name]
            for one in reversed(given):
                if not _mentions(one, name) or is_moving(one):
                    found = _transfer_of(text, one, depth + 1)
                    if found is not None:
                        return found
            return None
        case cst.Call(func=function, args=[cst.Arg(value=inner), *_]) if (dotted(function) or "").endswith(
            "Variable"
        ):
            return _transfer_of(text, inner, depth)
        case _:
            return None


def is_moving(value: cst.BaseExpression) -> bool:
    """Whether an expression has a transfer in it."""
    return any(isinstance(part, cst.Call) and is_transfer(part) for part in walk(value))


def _mentions(value: cst.BaseExpression, name: str) -> bool:
    return any(_names(part, name) for part in walk(value))


def _values(text: _Text) -> Iterator[tuple[str, cst.BaseExpression]]:
    for node in text.own:
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                yield name, value
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Tuple(elements=names))], value=cst.Tuple(elements=values)
            ) if len(names) == len(values):
                for one, given in zip(names, values, strict=True):
                    if isinstance(one.value, cst.Name):
                        yield one.value.value, given.value
            case _:
                pass


def _in_one_branch(analysis: Analysis, text: _Text) -> Iterator[UnmovedModule]:
    """`if new: model = Model(); model.to(device)`, and `else: model = load(path)`, which nobody moves."""
    for node in text.own:
        if not isinstance(node, cst.If) or not isinstance(node.orelse, cst.Else):
            continue
        if DEVICE_NAME.search(_short(node.test)) or "cuda" in _short(node.test):
            continue
        branches = (node.body, node.orelse.body)
        bound = [_bound_by_calls(branch) for branch in branches]
        for name in bound[0].keys() & bound[1].keys():
            movers = [_move_in(branch, name) for branch in branches]
            if (movers[0] is None) == (movers[1] is None):
                continue
            mover = movers[0] or movers[1]
            other = 1 if movers[0] is not None else 0
            if _binds_device(branches[other]):
                continue
            call = bound[other][name]
            inside = {id(part) for part in walk(node)}
            elsewhere = any(
                isinstance(part, cst.Attribute)
                and part.attr.value in IN_PLACE_MOVES
                and _root(part.value) == name
                and id(part) not in inside
                for part in text.own
            )
            if mover is None or elsewhere or _speaks_of_device(call) or not _gives_module(call):
                continue
            assert isinstance(mover.func, cst.Attribute)
            arguments = ", ".join(analysis.text(argument) for argument in mover.args)
            yield UnmovedModule(
                node=call,
                name=name,
                made=call,
                meets=mover,
                given="",
                device=arguments,
                move=f".{mover.func.attr.value}({arguments})",
            )


def _binds_device(branch: cst.BaseSuite) -> bool:
    """Whether a branch says for itself where things are to be."""
    return any(isinstance(part, cst.Name) and DEVICE_NAME.search(part.value) for part in walk(branch))


def _gives_module(call: cst.Call) -> bool:
    last = call.func.attr.value if isinstance(call.func, cst.Attribute) else dotted(call.func) or ""
    return not _NO_MODULES.search(last) and last not in IN_PLACE_MOVES


def _bound_by_calls(branch: cst.BaseSuite) -> dict[str, cst.Call]:
    found = {}
    for line in branch.body:
        for part in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            match part:
                case cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Name(value=name))], value=cst.Call() as call
                ):
                    found[name] = call
                case _:
                    pass
    return found


def _move_in(branch: cst.BaseSuite, name: str) -> cst.Call | None:
    """`model.to(device)`, a statement of a branch."""
    for node in walk(branch):
        match node:
            case cst.Call(
                func=cst.Attribute(value=cst.Name(value=moved), attr=cst.Name(value="to" | "cuda"))
            ) if moved == name and moves(node):
                return node
            case _:
                pass
    return None


def _short(node: cst.CSTNode) -> str:
    text = cst.Module([]).code_for_node(node).strip()
    return text if "\n" not in text else ""
