"""Which calls give a module with parameters or buffers, as far as the text of the program shows, and what moves it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.values import Class, Import
from torchdev_lint.flow.project.project_calls import definition_of, position_of
from torchdev_lint.flow.read_alone.written_evidence import path_of
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, last_name, walk
from torchdev_lint.torch_api.devices import DEVICE_NAME
from torchdev_lint.torch_api.modules import (
    AFFINE,
    CONTAINERS,
    IN_PLACE_MOVES,
    LOSS_BUFFERS,
    LOSSES,
    MODULE_STAYS,
    NOT_MODULES,
    WITHOUT_PARAMETERS,
)
from torchdev_lint.torch_api.tensor_methods import ACCELERATOR_METHODS

_PLACES = re.compile(
    r"(?i)device|cuda|gpu|accelerator|map_location|quanti[sz]|load_in_\d|fsdp|deepspeed|\bmeta\b|tkwargs|factory_kwargs"
)
"""What a call says that is told where to make a module."""
_NO_MODEL = re.compile(r"(?i)config|token|processor|extractor|scheduler|pipeline|dataset|vocab|schedule|args")
_WRAPS = re.compile(r"(?i)parallel|ddp|fsdp|pipeline")
_GIVEN_MODULE = re.compile(r"(?i)(?:^|_)(?:model|module|net|network|backbone|encoder|decoder)s?$")
"""Names of modules: what is made of one is where that is."""
_MODULE_BASE = re.compile(r"^(?:nn\.|torch\.nn\.)?Module$|^(?:torch\.)?nn\.[A-Z]")
_STATE = re.compile(r"\bnn\.Parameter\(|(?<!\.)\bParameter\(|\bregister_(?:buffer|parameter)\(")
_PLACES_ITSELF = re.compile(r"(?i)device|cuda|\.to\(")
_STAYS = MODULE_STAYS - {"apply", "type"}
_INSPECTS = re.compile(
    r"(?i)optim|^(?:print|len|isinstance|type|repr|str|id|hasattr|summary|count_\w+|save|log|info|debug|list|filter|clip_grad_\w+|"
    r"parameters|state_dict|Adam\w*|SGD|RMSprop|\w*LR)$"
)
"""Functions, by name, that leave a module where it is."""

_DEPTH = 3


def calls_made(nodes: Iterable[cst.CSTNode]) -> Iterator[tuple[str, cst.Call, cst.Assign]]:
    """What names and attributes are given that a call makes: `net = Net()`, `self.net = Net().features.eval()`."""
    for node in nodes:
        if isinstance(node, cst.Assign) and len(node.targets) == 1:
            name, value = dotted(node.targets[0].target), node.value
            while True:
                match value:
                    case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=method))) if (
                        method in _STAYS
                    ):
                        value = inner
                    case cst.Attribute(value=inner) | cst.Subscript(value=inner):
                        value = inner
                    case _:
                        break
            if name is not None and isinstance(value, cst.Call):
                yield name, value, node


def is_told_where(frame: Frame, call: cst.Call) -> bool:
    """Whether a call, or what it is given, may say where to make a module."""
    return _PLACES.search(frame.analysis.text(call)) is not None or any(
        isinstance(part, cst.Attribute) and part.attr.value in IN_PLACE_MOVES for part in walk(call)
    )


def makes_module(frame: Frame, call: cst.Call) -> bool:
    """Whether a call is known to give a module with parameters or buffers, and is not told where."""
    if is_told_where(frame, call) or _WRAPS.search(last_name(call.func)) is not None:
        return False
    path, last = path_of(frame, call.func), last_name(call.func)
    if last == "from_pretrained" and isinstance(call.func, cst.Attribute):
        owner = dotted(call.func.value) or "config"
        return owner[:1].isupper() or "." in owner if not _NO_MODEL.search(owner) else False
    if any(_GIVEN_MODULE.search(last_name(_original(one.value))) for one in call.args):
        return False
    if path is not None and path.startswith("torch."):
        return path == "torch.hub.load" or _is_layer(path, call, frame)
    if path is not None and not path.startswith("builtins."):
        shelf = frame.analysis.options.shelf
        known = shelf.called(path)
        return bool(known) and (
            (known[0].kind == "module" and not known[0].without_parameters) or "module" in known[0].returns
        )
    node, module = class_of(frame, call.func)
    return node is not None and module is not None and _is_stateful(node, module, _DEPTH)


def _original(node: cst.BaseExpression) -> cst.BaseExpression:
    """What something is a copy of, `deepcopy(self.model)`; else itself."""
    match node:
        case cst.Call(args=[cst.Arg(value=inner), *_]) if last_name(node.func) in ("copy", "deepcopy"):
            return inner
        case _:
            return node


def _is_layer(path: str, call: cst.Call, frame: Frame) -> bool:
    if not path.startswith("torch.nn.") or path.startswith(NOT_MODULES):
        return False
    name = f"torch.nn.{path.rpartition('.')[2]}"
    if name in LOSSES:
        return any(
            one.keyword is not None
            and one.keyword.value in LOSS_BUFFERS
            and not isinstance(one.value, (cst.Name, cst.Attribute))  # where that is, the loss is
            and not _has_no_dimension(one.value)
            for one in call.args
        )
    if name in CONTAINERS:
        return any(
            isinstance(part, cst.Call) and makes_module(frame, part)
            for one in call.args
            for part in walk(one.value)
        )
    return (
        path.rpartition(".")[2][:1].isupper()
        and name not in WITHOUT_PARAMETERS
        and not ("InstanceNorm" in name and name in AFFINE and len(call.args) < 2)
        and not path.endswith((".Parameter", ".Buffer", ".Module"))
    )


def _has_no_dimension(value: cst.BaseExpression) -> bool:
    """`pos_weight=torch.tensor(2.0)`: a tensor without dimensions goes with tensors of all devices."""
    match value:
        case cst.Call(args=[cst.Arg(value=cst.Integer() | cst.Float()), *_]):
            return last_name(value.func) in ("tensor", "as_tensor", "scalar_tensor")
        case _:
            return False


def class_of(frame: Frame, called: cst.BaseExpression) -> tuple[cst.ClassDef | None, cst.Module | None]:
    """The class of the project that a name stands for, and its file."""
    if not isinstance(called, cst.Name):
        return None, None
    value = frame.lookup(called.value)
    if isinstance(value, Class):
        source = value.model.frame.source
        return value.model.node, source.module
    if isinstance(value, Import):
        tree = frame.analysis.imports.tree(value)
        return (None, None) if tree is None else (_named(tree, value.name), tree)
    return None, None


def _named(module: cst.Module, name: str) -> cst.ClassDef | None:
    return next(
        (one for one in module.body if isinstance(one, cst.ClassDef) and one.name.value == name), None
    )


def _is_stateful(node: cst.ClassDef, module: cst.Module, depth: int) -> bool:
    """Whether a class derives from nn.Module, holds parameters or buffers, and leaves it to others where they are."""
    return _is_module(node, module, depth) and _holds_state(node, module, depth)


def _is_module(node: cst.ClassDef, module: cst.Module, depth: int) -> bool:
    for base in node.bases:
        text = dotted(base.value) or ""
        if _MODULE_BASE.search(text):
            return True
        above = _named(module, text)
        if above is not None and depth and _is_module(above, module, depth - 1):
            return True
    return False


def _holds_state(node: cst.ClassDef, module: cst.Module, depth: int) -> bool:
    initializer = next(
        (one for one in node.body.body if isinstance(one, cst.FunctionDef) and one.name.value == "__init__"),
        None,
    )
    if initializer is not None:
        text = module.code_for_node(initializer)
        if _PLACES_ITSELF.search(text):
            return False
        if _STATE.search(text):
            return True
        for part in walk(initializer.body):
            if isinstance(part, cst.Call) and depth:
                name = dotted(part.func) or ""
                if re.match(r"(?:torch\.)?nn\.[A-Z]", name):
                    whole = f"torch.nn.{name.rpartition('.')[2]}"
                    if whole not in WITHOUT_PARAMETERS | CONTAINERS:
                        return True
                held = _named(module, name)
                if held is not None and held is not node and _is_stateful(held, module, depth - 1):
                    return True
    above = [_named(module, dotted(base.value) or "") for base in node.bases]
    return bool(depth) and any(one is not None and _holds_state(one, module, depth - 1) for one in above)


def may_be_moved(
    frame: Frame, nodes: Iterable[cst.CSTNode], name: str, *, but: cst.CSTNode | None = None, depth: int = 0
) -> bool:
    """Whether anything among some nodes, `but` for one, moves what has this name, or may: it is handed on, or kept elsewhere."""
    for node in nodes:
        match node:
            case cst.Attribute(value=base, attr=cst.Name(value=attribute)) if _stays_itself(base) == name:
                if attribute in IN_PLACE_MOVES or attribute in ("device", "module"):
                    return True
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute(value=base))], value=value) if (
                dotted(base) == name and not any(dotted(part) == name for part in walk(value))
            ):
                return True  # its weight is another one then, which is somewhere
            case cst.Call(func=called, args=arguments):
                if _is_of(called, name) and any(map(_says_where, arguments)):
                    return True
                for index, argument in enumerate(arguments):
                    if dotted(argument.value) == name and not _leaves_it(
                        frame, called, argument, index, depth
                    ):
                        return True
            case cst.Assign(value=value) | cst.Element(value=value) | cst.DictElement(value=value):
                if node is not but and dotted(value) == name:
                    return True
            case cst.For(iter=iterable) if dotted(iterable) == name:
                return True
            case _:
                pass
    return False


def _stays_itself(node: cst.BaseExpression) -> str | None:
    """What a module is called in a chain of methods that give the module itself: `net` in `net.train().to(device)`."""
    while True:
        match node:
            case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=method))) if method in _STAYS:
                node = inner
            case _:
                return dotted(node)


def _is_of(called: cst.BaseExpression, name: str) -> bool:
    return isinstance(called, cst.Attribute) and dotted(called.value) == name


def _says_where(argument: cst.Arg) -> bool:
    """`net.place(device)`, `net.split(dense_device=first)`: a method of the module's is told a device."""
    keyword = argument.keyword
    return is_device(argument.value) or (
        keyword is not None and DEVICE_NAME.search(keyword.value) is not None
    )


def function_called(frame: Frame, called: cst.BaseExpression) -> cst.FunctionDef | None:
    """The function of the project that a name stands for."""
    return definition_of(frame, called.value) if isinstance(called, cst.Name) else None


def parameter_for(function: cst.FunctionDef, argument: cst.Arg, index: int) -> str | None:
    """The parameter that an argument is for."""
    if argument.keyword is not None:
        return argument.keyword.value
    if argument.star:
        return None
    found = [
        one.name.value
        for one in all_parameters(function.params)
        if position_of(function, one.name.value) == index
    ]
    return found[0] if found else None


def _leaves_it(frame: Frame, called: cst.BaseExpression, argument: cst.Arg, index: int, depth: int) -> bool:
    if _INSPECTS.search(last_name(called)):
        return True
    function = function_called(frame, called)
    parameter = None if function is None else parameter_for(function, argument, index)
    if function is None or parameter is None or depth >= _DEPTH:
        return False
    body = list(walk(function.body))
    returned = any(isinstance(one, cst.Return) and dotted(one.value) == parameter for one in body)
    return not returned and not may_be_moved(frame, body, parameter, depth=depth + 1)


def moves(node: cst.CSTNode) -> bool:
    """Whether a call takes what it is called on to a device: `x.cuda()`, `x.to(device)`, `x.to(**tkwargs)`."""
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value=method))) if method in ACCELERATOR_METHODS | {
            "cuda"
        }:
            return True
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="to")), args=arguments):
            return any(one.star == "**" or is_device(one.value) for one in arguments)
        case _:
            return False


def moves_it(node: cst.CSTNode, name: str) -> bool:
    """Whether a call takes what has this name to a device: `net.cuda()`, `self.to(device)`."""
    return moves(node) and isinstance(node, cst.Call) and dotted(getattr(node.func, "value", None)) == name


def is_device(node: cst.BaseExpression) -> bool:
    """Whether an expression is called a device."""
    return DEVICE_NAME.search(last_name(node.func if isinstance(node, cst.Call) else node)) is not None
