"""What else the scope does that loads a checkpoint: whether it has saved the file itself, and whether it goes on without an accelerator."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.lattice import Accelerator
from torchdev_lint.flow.domain.values import DeviceValue
from torchdev_lint.flow.syntax.trees import dotted, parents, walk
from torchdev_lint.flow.torch_calls import device_values
from torchdev_lint.torch_api.devices import DEVICE_NAME

_TELLING = frozenset((cst.For, cst.While, cst.Assign, cst.Call, cst.Attribute, cst.Subscript, cst.Comparison))
_TRAINING = re.compile(r"(?:train|fit)(?:_|$)")


def scope_of(frame: Frame) -> cst.CSTNode:
    """The function that is being read, or the module."""
    return frame.analysis.module if frame.function is None else frame.function.node


def trains(loop: cst.For | cst.While) -> bool:
    """Whether a loop trains: what is loaded after it is the best of what it saved."""
    called = _called(loop)
    if not called.isdisjoint(("backward", "train_epoch", "train_one_epoch")):
        return True
    # one epoch after the other, each of which is saved
    epochs = isinstance(loop, cst.For) and "epoch" in (dotted(loop.target) or "")
    return epochs and not called.isdisjoint(("save_checkpoint", "save_best", "save_model"))


def saves(frame: Frame, scope: cst.CSTNode, loop: cst.For | cst.While, around: set[int]) -> bool:
    """Whether a loop has a function train and saves models itself, and always runs before what is loaded here."""
    called = _called(loop)
    trains = "save" in called and any(map(_TRAINING.match, called))
    return trains and _runs_along(frame, scope, loop, around)


def goes_to_accelerator(frame: Frame, scope: cst.CSTNode, call: cst.Call) -> bool:
    """Whether the model that the checkpoint is loaded into, or is, is put on an accelerator, whatever the machine: one without one does
    not come so far, or does not go on."""
    around = calls_around(frame, scope, call)
    nodes = telling_nodes(frame, scope)
    names = _models(nodes, around)
    return bool(names) and any(
        _moves(frame, node, names) and _runs_along(frame, scope, node, around) for node in nodes
    )


def has_one_device(frame: Frame) -> bool:
    """Whether the file has one device, the first accelerator whatever the machine: `device = torch.device("cuda")` at its top."""
    held = {name: value for name, value in frame.module_frame.env.names.items() if DEVICE_NAME.search(name)}
    devices = [device_values.as_device(value) for value in held.values() if isinstance(value, DeviceValue)]
    return bool(devices) and all(isinstance(one, Accelerator) and not one.index for one in devices)


def _models(nodes: list[cst.CSTNode], around: set[int]) -> set[str]:
    """What the models are called that are filled from what the call that the nodes `around` hold loads, or that it loads."""
    loaded: set[str] = set()
    names: set[str] = set()
    for node in nodes:
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                text = dotted(target) or ""
                if id(value) in around:
                    loaded.add(text)
                elif dotted(value) in names:
                    names.add(text)
            case cst.Call(
                func=cst.Attribute(value=receiver, attr=cst.Name(value="load_state_dict")),
                args=arguments,
            ):
                held = {dotted(part) for argument in arguments for part in walk(argument.value)}
                if id(node) in around or not held.isdisjoint(loaded - {""}):
                    names.add(dotted(receiver) or "")
            case _:
                pass
    return (names | loaded) - {""}


def _moves(frame: Frame, node: cst.CSTNode, names: set[str]) -> bool:
    """Whether something of these names is put on an accelerator: `model.cuda()`, `model = DataParallel(model).cuda()`."""
    match node:
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=cst.Call() as value):
            return dotted(target) in names and any(
                isinstance(part, cst.Call) and _is_move(frame, part) for part in walk(value)
            )
        case cst.Call(func=cst.Attribute(value=receiver)):
            held = _held(receiver)
            return any(held == name or held.startswith(f"{name}.") for name in names) and _is_move(
                frame, node
            )
        case _:
            return False


def _held(receiver: cst.BaseExpression) -> str:
    """The name of what a chain of calls is made on: `model` of `model.eval()`."""
    while isinstance(receiver, cst.Call) and isinstance(receiver.func, cst.Attribute):
        receiver = receiver.func.value
    return dotted(receiver) or ""


def _is_move(frame: Frame, call: cst.Call) -> bool:
    match call:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="cuda")), args=[]):
            return True
        case cst.Call(
            func=cst.Attribute(attr=cst.Name(value="to")),
            args=[cst.Arg(value=where), *_],
        ):
            return _is_accelerator(frame, where)
        case _:
            return False


def _runs_along(frame: Frame, scope: cst.CSTNode, node: cst.CSTNode, around: set[int]) -> bool:
    """Whether a statement depends on no condition that what is loaded does not depend on."""
    above, branches = _above(frame, scope), _branches(frame, scope)
    current: int | None = id(node)
    while current is not None:
        if current in branches and current not in around:
            return False
        current = above.get(current)
    return True


def _branches(frame: Frame, scope: cst.CSTNode) -> set[int]:
    """What runs only sometimes, by id."""
    key = ("branches", id(scope))
    known: set[int] | None = frame.analysis.notes.get(key)
    if known is None:
        known = frame.analysis.notes[key] = {
            id(part)
            for node in walk(scope)
            if isinstance(node, (cst.If, cst.IfExp, cst.ExceptHandler)) and not _begins_cell(node)
            for part in ((node.body, node.orelse) if isinstance(node, (cst.If, cst.IfExp)) else (node.body,))
            if part is not None
        }
    return known


def conditions_of(frame: Frame, scope: cst.CSTNode, around: set[int]) -> set[int]:
    """The branches, by id, in which the nodes `around` stand: what they depend on."""
    return _branches(frame, scope) & around


def _is_accelerator(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether an expression is an accelerator on every machine."""
    if isinstance(node, cst.SimpleString):
        return str(node.raw_value) == "cuda"
    value = dict(frame.visible_names()).get(node.value) if isinstance(node, cst.Name) else None
    return value is not None and isinstance(device_values.as_device(value), Accelerator)


def _called(loop: cst.For | cst.While) -> set[str]:
    return {name_of_call(node) for node in walk(loop.body) if isinstance(node, cst.Call)}


def name_of_call(call: cst.Call) -> str:
    match call.func:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name
        case _:
            return ""


def telling_nodes(frame: Frame, scope: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes of a scope that may say what becomes of what is loaded; looked for once."""
    key = ("telling", id(scope))
    known: list[cst.CSTNode] | None = frame.analysis.notes.get(key)
    if known is None:
        known = frame.analysis.notes[key] = [node for node in _own(scope) if type(node) in _TELLING]
    return known


def cell_of(scope: cst.CSTNode, around: set[int]) -> frozenset[int] | None:
    """The nodes, by id, of the cell of a notebook in which the nodes `around` stand; None in a function, whose cell does not matter.

    Cells begin with a row of their own: `pass` or `if True:` (`source.cells`).
    """
    if not isinstance(scope, cst.Module):
        return None
    cell: list[cst.CSTNode] = []
    met = False
    for statement in scope.body:
        if _begins_cell(statement):
            if met:
                break
            cell = []
        cell.append(statement)
        met = met or id(statement) in around
    return frozenset(id(node) for statement in cell for node in walk(statement))


def _begins_cell(statement: cst.CSTNode) -> bool:
    match statement:
        case cst.SimpleStatementLine(body=[cst.Pass()]) | cst.If(test=cst.Name(value="True"), orelse=None):
            return True
        case _:
            return False


def _above(frame: Frame, scope: cst.CSTNode) -> dict[int, int]:
    """What each node of a scope stands in, by id."""
    key = ("parents", id(scope))
    above: dict[int, int] | None = frame.analysis.notes.get(key)
    if above is None:
        above = frame.analysis.notes[key] = parents(scope)
    return above


def calls_around(frame: Frame, scope: cst.CSTNode, call: cst.CSTNode) -> set[int]:
    """The call and the nodes around it in the scope, by id."""
    above = _above(frame, scope)
    found = {id(call)}
    current = above.get(id(call))
    while current is not None:
        found.add(current)
        current = above.get(current)
    return found


def _own(scope: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes of a scope; for a module, without those of its functions and classes."""
    if not isinstance(scope, cst.Module):
        yield from walk(scope)
        return
    apart = cst.FunctionDef, cst.ClassDef
    yield from (node for node in walk(scope, below=apart) if not isinstance(node, (cst.Module, *apart)))
