"""A tensor is moved and the result thrown away."""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.events import DiscardedTogether, DiscardedTransfer
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.lattice import (
    Device,
    Level,
    Symbol,
    conflict,
    describe,
)
from torchdev_lint.flow.mistakes.all_together import are_together
from torchdev_lint.flow.mistakes.brought_by_callees import is_brought
from torchdev_lint.flow.read_alone.evidence import ONLY_TENSORS, in_a_test
from torchdev_lint.flow.syntax.naming import is_loader_name
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, last_name, only_indexes, walk
from torchdev_lint.flow.telling import attribution
from torchdev_lint.torch_api import tensor_methods
from torchdev_lint.torch_api.tensor_surface import TENSOR_NAMES


def discarded(frame: Frame, device: Device, site: CallSite, target: Device) -> None:
    """What is on `device` is moved and the result thrown away: it stays where it is."""
    certain = conflict(device, target, frame.env.path)
    if (certain is None or certain.level != Level.CERTAIN) and not _is_given(device, target):
        return  # it may be there already
    if (
        site.receiver is not None
        and _used_later(frame, site)
        and not _only_indexes(frame, site)
        and not _is_all_there_is(frame)
        and not are_together(frame, site.receiver)
    ):
        _publish(frame, site, site.receiver, target)


def discarded_copy(frame: Frame, site: CallSite, target: Device) -> None:
    """An object that was not moved, as its `to` gives another one, is used further down."""
    if site.receiver is not None and _used_later(frame, site):
        _publish(frame, site, site.receiver, target)


def _only_indexes(frame: Frame, site: CallSite) -> bool:
    """Whether the tensor is used as an index and nothing else: it may stay on the CPU, whatever it indexes."""
    name = dotted(site.receiver)
    if name is None:
        return False
    kept = name.startswith("self.") or frame.function is None
    root = frame.analysis.module if kept or frame.function is None else frame.function.node
    return only_indexes(root, name, site.node)


def _is_all_there_is(frame: Frame) -> bool:
    """Whether a test does nothing else with the device that it is given than throw away what it moves there: all stays together."""
    function = frame.function
    if function is None or not in_a_test(frame):
        return False
    names = {parameter.name.value for parameter in all_parameters(function.node.params)} & {"device", "dev"}
    if not names:
        return False
    thrown_away = {
        id(part)
        for node in walk(function.node.body)
        if isinstance(node, cst.Expr)
        and isinstance(node.value, cst.Call)
        and isinstance(node.value.func, cst.Attribute)
        and node.value.func.attr.value == "to"
        for part in walk(node.value)
    }
    return not any(
        isinstance(part, cst.Name) and part.value in names and id(part) not in thrown_away
        for part in walk(function.node.body)
    )


def discarded_unknown(frame: Frame, site: CallSite, target: Device) -> bool:
    """A thing of which nothing is known is moved and the result thrown away: it stays, unless it is a module. Whether it is a tensor."""
    receiver = site.receiver
    whole = frame.analysis.module if frame.function is None else frame.function.node
    if receiver is None or frame.source.foreign:
        return False
    notes, key = frame.analysis.notes, ("discarded unknown", id(site.node))
    if key not in notes:
        notes[key] = frame.analysis.learn(_is_tensor_there, frame, whole, site, receiver)
    shown, assignable = notes[key]
    if shown:
        _publish(frame, site, receiver, target, assignable=assignable)
    return bool(shown)


def _is_tensor_there(
    frame: Frame, whole: cst.CSTNode, site: CallSite, receiver: cst.BaseExpression
) -> tuple[bool, bool]:
    """Whether a thing is shown to be a tensor that is used again, and whether the result may be assigned to it."""
    if isinstance(receiver, cst.Name) and _is_entry(whole, receiver.value):
        return True, False
    path = dotted(receiver)
    if path is not None and _is_asked_for_tensor(whole, path, site.node):
        runs_over = any(isinstance(loop, cst.For) and is_target(loop.target, path) for loop in walk(whole))
        return runs_over or _used_later(frame, site), not runs_over
    of_loader = (
        isinstance(receiver, cst.Name)
        and not frame.analysis.says(_MOVED_IN_PLACE)
        and _is_of_loader(whole, receiver.value)
    )
    return (of_loader or _is_no_module(whole, receiver)) and _used_later(frame, site), True


def _is_asked_for_tensor(whole: cst.CSTNode, name: str, node: cst.CSTNode) -> bool:
    """Whether code runs only where a name, or an attribute, holds a tensor: `if torch.is_tensor(v): v.to(device)`."""
    return any(
        isinstance(branch, cst.If)
        and _asks_for_tensor(branch.test, name)
        and any(part is node for part in walk(branch.body))
        for branch in walk(whole)
    )


def _asks_for_tensor(test: cst.BaseExpression, name: str) -> bool:
    match test:
        case cst.BooleanOperation(left=left, operator=cst.And(), right=right):
            return _asks_for_tensor(left, name) or _asks_for_tensor(right, name)
        case cst.Call(func=function, args=[cst.Arg(value=asked)]):
            return dotted(asked) == name and dotted(function) in ("torch.is_tensor", "is_tensor")
        case cst.Call(func=cst.Name(value="isinstance"), args=[cst.Arg(value=asked), cst.Arg(value=kind)]):
            return dotted(asked) == name and dotted(kind) in ("torch.Tensor", "Tensor")
        case _:
            return False


def _publish(
    frame: Frame, site: CallSite, receiver: cst.BaseExpression, target: Device, *, assignable: bool = True
) -> None:
    if is_brought(frame, site.node, receiver):
        return
    frame.analysis.publish(
        ("discarded", id(site.node)),
        DiscardedTransfer(
            node=site.node,
            receiver=receiver,
            receiver_text=frame.analysis.text(receiver),
            device=describe(target),
            assignable=assignable
            and isinstance(receiver, (cst.Name, cst.Attribute, cst.Subscript))
            and not isinstance(frame.discarded_with, cst.Tuple),
            together=_discarded_together(frame),
        ),
    )


_BATCH = re.compile(
    r"(?i)(?:^|_)(?:batch|batch_data|batch_dict|data_batch|inputs?|model_inputs|sample|samples|features|encod(?:ing|ings|ed)|tokens|tokenized|targets?|"
    r"labels|feed_dict)$"
)
"""Names of mappings of tensors."""


def _is_no_module(whole: cst.CSTNode, receiver: cst.BaseExpression) -> bool:
    """Whether a thing is a tensor by what the function does with it, or as an entry of a batch."""
    match receiver:
        case cst.Subscript(value=cst.Name(value=name)):
            return holds_batch(whole, name)
        case cst.Name(value=name):
            return _is_used_as_tensor(whole, name)
        case _:
            return False


_MOVED_IN_PLACE = re.compile(
    r"\b(?:torch_geometric|transformers|tokenizers?|BatchEncoding|BatchFeature|Namespace|TensorDict|tensordict)\b"
)
"""Libraries, and classes, whose batches are moved in place by `to`."""
_MAY_BE_ONE = re.compile(
    r"(?i)data|batch|graph|^b?g\d*$|input|encod|sample|token|meta|extra|info|^b$|item|example|target|label|feat"
)
"""Names of what may be such a batch, or a list."""


def _is_of_loader(whole: cst.CSTNode, name: str) -> bool:
    """Whether a name holds one part of what a loader gives: a tensor, no module."""
    if _MAY_BE_ONE.search(name):
        return False
    bound = sum(
        is_target(part.target, name)
        for part in walk(whole)
        if isinstance(part, (cst.AssignTarget, cst.NamedExpr))
    )
    loops = [part for part in walk(whole) if isinstance(part, cst.For) and is_target(part.target, name)]
    return bool(loops) and not bound and all(_is_part_of_batch(loop, name) for loop in loops)


def _is_part_of_batch(loop: cst.For, name: str) -> bool:
    """`for x, y in loader`, `for i, (x, y) in enumerate(loader)`."""
    target: cst.BaseExpression = loop.target
    turns = loop.iter
    if isinstance(turns, cst.Call) and last_name(turns.func) in ("enumerate", "tqdm", "track") and turns.args:
        counted = last_name(turns.func) == "enumerate"
        turns = turns.args[0].value
        if isinstance(turns, cst.Call) and last_name(turns.func) in ("tqdm", "track") and turns.args:
            turns = turns.args[0].value
        if counted:
            if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
                return False
            target = target.elements[1].value
    return (
        is_loader_name(dotted(turns) or "")
        and isinstance(target, cst.Tuple)
        and any(isinstance(one.value, cst.Name) and one.value.value == name for one in target.elements)
    )


def holds_batch(whole: cst.CSTNode, name: str) -> bool:
    """Whether a name holds a batch: so called, or given by a loader."""
    if _BATCH.search(name):
        return True
    return any(
        is_loader_name(dotted(loop.iter) or "") and is_target(loop.target, name)
        for loop in walk(whole)
        if isinstance(loop, cst.For)
    )


def _is_entry(whole: cst.CSTNode, name: str) -> bool:
    """Whether a name runs over what a batch holds: `for key, x in batch.items()`."""
    return any(
        isinstance(loop, cst.For)
        and isinstance(loop.iter, cst.Call)
        and isinstance(loop.iter.func, cst.Attribute)
        and loop.iter.func.attr.value in ("items", "values")
        and isinstance(loop.iter.func.value, cst.Name)
        and is_target(loop.target, name)
        and holds_batch(whole, loop.iter.func.value.value)
        for loop in walk(whole)
    )


def is_target(target: cst.CSTNode, name: str) -> bool:
    return any(isinstance(part, cst.Name) and part.value == name for part in walk(target))


def _is_used_as_tensor(whole: cst.CSTNode, name: str) -> bool:
    """Whether a name is given a value once, and what it holds is used as only a tensor can be."""
    shown = False
    bound = 0
    for node in walk(whole):
        match node:
            case cst.Attribute(value=cst.Name(value=base), attr=cst.Name(value=attribute)) if base == name:
                if attribute not in TENSOR_NAMES:
                    return False
                shown = shown or attribute in ONLY_TENSORS
            case cst.Call(func=cst.Name(value=called)) if called == name:
                return False
            case cst.Subscript(value=cst.Name(value=base), slice=[_, _, *_]) if base == name:
                shown = shown or any(isinstance(element.slice, cst.Slice) for element in node.slice)
            case cst.AssignTarget(target=target) | cst.For(target=target):
                bound += is_target(target, name)
            case (
                cst.BinaryOperation(
                    left=cst.Name(value=operand), operator=cst.Add() | cst.Subtract() | cst.Multiply()
                )
                | cst.AugAssign(target=cst.Name(value=operand))
            ) if operand == name:
                shown = True  # there is no arithmetic of modules
            case _:
                pass
    return shown and bound <= 1


def _is_given(device: Device, target: Device) -> bool:
    """Whether a tensor is wherever a caller has it: whoever moves it does not know that it is there already."""
    if not isinstance(device, Symbol) or not device.assumed or device == target:
        return False
    origin = device.origin
    given = attribution.root_of(device.key)[:1] == ("parameter",)
    return given and (origin is None or origin.root().what == "argument")


def _discarded_together(frame: Frame) -> DiscardedTogether | None:
    """The tuple of transfers (`x.to(device), y.to(device)`) whose results are thrown away at once."""
    whole = frame.discarded_with
    if not isinstance(whole, cst.Tuple):
        return None
    names = []
    for element in whole.elements:
        match element.value:
            case cst.Call(
                func=cst.Attribute(value=receiver, attr=cst.Name(value="to" | "cuda" | "cpu" | "xpu"))
            ):
                names.append(dotted(receiver))
            case _:
                return None
    known = [name for name in names if name is not None]
    return DiscardedTogether(whole, ", ".join(known)) if len(known) == len(names) > 1 else None


_SIZES = frozenset(
    {"size", "dim", "ndimension", "numel", "nelement", "element_size", "stride", "is_contiguous"}
)


_MOVES = frozenset({"to", "cuda", "cpu", "xpu", "npu", "mps"})


def _is_transfer(value: cst.BaseExpression, name: str) -> bool:
    """Whether a value is what has the name, moved first of all, whatever becomes of it then: `x.cpu().detach().numpy()`."""
    while isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute):
        if dotted(value.func.value) == name:
            return value.func.attr.value in _MOVES
        value = value.func.value
    return False


def _copies_into(node: cst.Assign, name: str) -> bool:
    """Whether what has the name is written into a part of another tensor, which copies across devices: `buffer[i:j] = x`."""
    return dotted(node.value) == name and all(
        isinstance(target.target, cst.Subscript)
        and any(isinstance(part.slice, cst.Slice) for part in target.target.slice)
        for target in node.targets
    )


def _used_later(frame: Frame, site: CallSite) -> bool:
    """Whether the tensor is named again further down; moving it only to warm up or to time it is not a mistake."""
    name = dotted(site.receiver)
    if name is None:
        whole = site.receiver
        while isinstance(whole, cst.Subscript):
            whole = whole.value
        return whole is not site.receiver and dotted(whole) is not None
    if name.startswith("self."):
        return True
    root = frame.analysis.module if frame.function is None else frame.function.node
    skipped = {id(node) for node in walk(site.node)}
    passed = False
    for node in walk(root):
        if node is site.node:
            passed = True
        elif not passed or id(node) in skipped:
            continue
        elif isinstance(node, cst.Assign):
            if any(dotted(target.target) == name for target in node.targets):
                if _is_transfer(node.value, name):
                    return (
                        False  # `x.cuda()`, then `x = x.cuda()`: it is where it is wanted before it is used
                    )
                return any(dotted(part) == name for part in walk(node.value))
            if _copies_into(node, name):
                skipped.add(id(node.value))
        elif isinstance(node, cst.Attribute) and dotted(node.value) == name:
            if node.attr.value not in tensor_methods.METADATA_ATTRIBUTES | _SIZES | {"is_cuda"}:
                return True
            skipped.add(id(node.value))
        elif dotted(node) == name:
            return True
    return _begins_next_turn(root, site.node, name)


def _begins_next_turn(root: cst.CSTNode, call: cst.CSTNode, name: str) -> bool:
    """Whether the next turn of the innermost loop around the transfer reads the tensor before it is given another value."""
    inner: cst.For | cst.While | None = None
    for node in walk(root):
        if isinstance(node, (cst.For, cst.While)) and any(part is call for part in walk(node.body)):
            inner = node
    if inner is None or (
        isinstance(inner, cst.For) and any(dotted(part) == name for part in walk(inner.target))
    ):
        return False
    if not any(
        isinstance(node, cst.AssignTarget) and dotted(node.target) == name for node in walk(inner.body)
    ):
        return False  # every turn moves the same, to time it
    for node in walk(inner.body):
        if node is call or (isinstance(node, cst.Expr) and any(part is call for part in walk(node))):
            return False
        if isinstance(node, (cst.Assign, cst.AnnAssign)):
            if node.value is not None and any(dotted(part) == name for part in walk(node.value)):
                return True
            targets = [one.target for one in node.targets] if isinstance(node, cst.Assign) else [node.target]
            if any(dotted(part) == name for target in targets for part in walk(target)):
                return False
        elif isinstance(node, cst.Expr) and any(dotted(part) == name for part in walk(node)):
            return not any(part is call for part in walk(node))
    return False
