"""What a function makes for a tensor that it is given, and returns from the CPU: a mask of its size, results for its rows.

Nothing fails in the function. Its caller has the tensor on an accelerator and gets a companion that is on the CPU, and the first
operation on both raises. So it is told where the result is made: what is made has the size of a parameter that is a tensor, or is
filled with what is where that parameter is, or another way returns what is there (`disagreeing_returns`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.analysis import Analysis
from torchdev_lint.flow.activation.events import Made, ReturnedFactory
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.conditions import Formula
from torchdev_lint.flow.domain.lattice import Conflict, Cpu, Level, Origin, Symbol
from torchdev_lint.flow.domain.values import Either, Function, Items, Tensor, Value
from torchdev_lint.flow.mistakes import disagreeing_returns
from torchdev_lint.flow.project import caller_results
from torchdev_lint.flow.project.untaken import nobody_gets_to
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, holds, takes_device, walk
from torchdev_lint.flow.telling.attribution import worth_telling
from torchdev_lint.flow.torch_calls.device_values import same_device

COLLECTS = re.compile(
    r"(?i)(?:^|_)(?:predict\w*|eval\w*|extract\w*|collect\w*|sampl\w*|split\w*|perm\w*|shuffl\w*|ind(?:ex|exes|ices)|idxs?|"
    r"nms|metrics?|scor\w+|accuracy|stat\w*|summar\w*|generate\w*|build\w*|make\w*|init\w*|create\w*|get_config|count\w*|len\w*|histogram)(?:_|$)"
)
"""Functions, by name, whose results may well be collected on the CPU, or that make what is moved later."""

_STAYING = disagreeing_returns.STAYING | {"tensor"}

_READS = frozenset({"cpu", "numpy", "tolist", "item"})
_MOVES = frozenset({"to", "cuda", "cpu", "type_as", "numpy", "tolist", "item", "new_tensor"})
_SIZES = frozenset({"shape", "size", "dim", "ndim", "numel"})


def note_given(frame: Frame, given: dict[str, Value]) -> None:
    """The parameters of a function read alone that are tensors for certain."""
    node = None if frame.function is None else frame.function.node
    for name, value in given.items():
        frame.analysis.notes["given", id(node), name] = value


def is_told(analysis: Analysis, origin: Origin) -> bool:
    """Whether what made a tensor is told already, as something that a function returns."""
    return isinstance(analysis.events.get(("factory", id(origin.root().node))), ReturnedFactory)


def check(frame: Frame, function: Function) -> None:
    """A function that nobody called was read to its end: publish what it returns from the CPU.

    Beside a `symbolic` (torch.onnx) a `forward` only stands in for what another runtime computes: its results are made up.
    """
    node = function.node
    if (
        not isinstance(node, cst.FunctionDef)
        or frame.analysis.on_host
        or frame.yields
        or (function.owner is not None and function.owner.find("symbolic") is not None)
        or COLLECTS.search(function.name)
        or (frame.parent is not None and frame.parent.function is not None)
    ):
        return
    given = dict(_given(frame, node))
    if not given:
        return
    found = dict(disagreeing_returns.find(frame, node, given))
    if not works_on_host(node):
        for origin in [made for value, end in frame.returns for made in _reached(frame, value, end.path)]:
            beside = _beside(frame, node, origin, given)
            if beside is not None and not is_filled_one_by_one(node, origin):
                found[origin] = beside
    if (
        not found
        or frame.analysis.learn(moved_by_caller, frame, function.name)
        or frame.analysis.learn(caller_results.becomes_parameter, frame, function)
    ):
        return
    for origin, (name, device) in found.items():
        if not worth_telling(frame, Conflict(Level.POSSIBLE, device, Cpu(origin))):
            continue
        target = None if frame.rebound_before(name, origin) else f"{name}.device"
        made = Made(origin.node, target, takes_device(origin.node))
        frame.analysis.publish(("factory", id(origin.node)), ReturnedFactory(made, name, function.name))


def note_filled(frame: Frame, tensor: Tensor, value: Value) -> None:
    """`x[i] = y` copies from another device: what is made on the CPU is for what is where `y` is."""
    origin = disagreeing_returns.made_by(tensor.device, _STAYING)
    if origin is not None and isinstance(value, Tensor):
        frame.analysis.notes.setdefault(("filled", id(origin.node)), value.device)


def _reached(frame: Frame, value: Value, path: tuple[Formula, ...]) -> Iterator[Origin]:
    """What is returned from the CPU on this way, if anybody gets there."""
    made = list(_made(frame, value))
    if made and not frame.analysis.learn(nobody_gets_to, frame, path):
        yield from made


def _made(frame: Frame, value: Value) -> Iterator[Origin]:
    for part in value.items if isinstance(value, Items) else (value,):
        origin = None
        if isinstance(part, Tensor) and part.scalar is not True:
            origin = disagreeing_returns.made_by(part.device, _STAYING)
        if origin is not None and origin.frame == frame.uid:
            yield origin


def _given(frame: Frame, node: cst.FunctionDef) -> Iterator[tuple[str, Symbol]]:
    """The parameters that were read as tensors: by name, with where they are."""
    for parameter in all_parameters(node.params):
        value = frame.analysis.notes.get(("given", id(node), parameter.name.value))
        if isinstance(value, Either):
            value = value.otherwise
        if isinstance(value, Tensor) and isinstance(value.device, Symbol):
            yield parameter.name.value, value.device


def _beside(
    frame: Frame, node: cst.FunctionDef, origin: Origin, given: dict[str, Symbol]
) -> tuple[str, Symbol] | None:
    """The parameter for which the tensor was made: that its size is taken from, or that it is filled with."""
    filled = frame.analysis.notes.get(("filled", id(origin.node)))
    if filled is not None:
        if not frame.analysis.learn(_goes_on, frame, node.name.value):
            return None  # copying to the CPU works, and what becomes of it is not in the file: results may be collected there
        for name, device in given.items():
            if same_device(filled, device):
                return name, device
    for name, device in given.items():
        sizes = _named_sizes(node, name)
        if any(_is_size(part, name, sizes) for argument in origin.node.args for part in walk(argument.value)):
            return name, device
    return None


def is_filled_one_by_one(node: cst.FunctionDef, origin: Origin) -> bool:
    """Whether a loop computes the numbers of the result one at a time: who does that works on the CPU, whatever it is given."""
    names = {
        target.target.value
        for part in walk(node.body)
        if isinstance(part, cst.Assign) and holds(part.value, origin.node)
        for target in part.targets
        if isinstance(target.target, cst.Name)
    }
    return any(
        isinstance(target.target, cst.Subscript)
        and dotted(target.target.value) in names
        and all(isinstance(one.slice, cst.Index) for one in target.target.slice)
        and not isinstance(part.value, cst.BaseNumber)
        and (len(target.target.slice) > 1 or _is_number(part.value))
        for loop in walk(node.body)
        if isinstance(loop, cst.For)
        for part in walk(loop.body)
        if isinstance(part, cst.Assign)
        for target in part.targets
    )


def _is_number(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Call) and dotted(node.func) in ("int", "float", "len", "round")


def _goes_on(frame: Frame, name: str) -> bool:
    """Whether a caller in the file computes with what the function returns: hands it to another function, or uses it in an expression."""
    held = set(_holders(frame.analysis.module, name))
    return any(
        dotted(operand) in held or _is_call_of(operand, name)
        for node in walk(frame.analysis.module)
        for operand in _operands(node)
    )


def _operands(node: cst.CSTNode) -> tuple[cst.BaseExpression, ...]:
    match node:
        case cst.Call(args=arguments):
            return tuple(argument.value for argument in arguments)
        case cst.BinaryOperation(left=left, right=right):
            return left, right
        case _:
            return ()


def _is_size(node: cst.CSTNode, name: str, sizes: set[str]) -> bool:
    match node:
        case cst.Attribute(value=cst.Name(value=base), attr=cst.Name(value=attribute)):
            return base == name and attribute in _SIZES
        case cst.Call(func=cst.Name(value="len"), args=[cst.Arg(value=cst.Name(value=base))]):
            return base == name
        case cst.Name(value=base):
            return base in sizes
        case _:
            return False


def _named_sizes(node: cst.FunctionDef, name: str) -> set[str]:
    """The names that hold sizes of the parameter: `n, c = x.shape`."""
    found: set[str] = set()
    for part in walk(node.body):
        if not isinstance(part, cst.Assign) or not any(_is_size(p, name, set()) for p in walk(part.value)):
            continue
        if (
            isinstance(part.value, cst.Call)
            and not _is_size(part.value.func, name, set())
            and not _is_size(part.value, name, set())
        ):
            continue  # computed with its size, and with who knows what
        for target in part.targets:
            whole = target.target
            listed = (
                [e.value for e in whole.elements] if isinstance(whole, (cst.Tuple, cst.List)) else [whole]
            )
            found |= {one.value for one in listed if isinstance(one, cst.Name)}
    return found


def works_on_host(node: cst.FunctionDef) -> bool:
    """Whether the function reads tensors on the CPU itself."""
    return any(
        type(part) is cst.Attribute
        and part.attr.value in _READS
        and isinstance(part.value, cst.BaseExpression)
        for part in walk(node.body)
    )


def moved_by_caller(frame: Frame, name: str) -> bool:
    """Whether a caller in the file moves what the function returns, or reads it."""
    key = ("results moved", name)
    known = frame.analysis.notes.get(key)
    if known is None:
        known = frame.analysis.notes[key] = any(
            _moves(part, name) for part in walk(frame.analysis.module)
        ) or any(
            frame.analysis.says(re.compile(rf"\b{re.escape(held)}\s*\.\s*(?:to|cuda|type_as)\("))
            for held in _holders(frame.analysis.module, name)
        )
    return bool(known)


def _is_call_of(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Call) and (dotted(node.func) or "").rpartition(".")[2] == name


def _moves(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value in _MOVES and _is_call_of(node.value, name)


def _holders(module: cst.Module, name: str) -> Iterator[str]:
    """The names that hold what a call of the function returned."""
    for node in walk(module):
        if isinstance(node, cst.Assign) and _is_call_of(node.value, name):
            for part in walk(node.targets[0].target):
                if isinstance(part, (cst.Name, cst.Attribute)):
                    held = dotted(part)
                    if held is not None and held != "self":
                        yield held
