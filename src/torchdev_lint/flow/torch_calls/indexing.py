"""Indexing: `x[key]`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling import arrays
from torchdev_lint.flow.domain.lattice import UNKNOWN_DEVICE, Accelerator, Cpu, Symbol
from torchdev_lint.flow.domain.values import (
    UNKNOWN,
    Literal,
    Many,
    Object,
    Tensor,
    Value,
)
from torchdev_lint.flow.mistakes import returned_factories
from torchdev_lint.flow.project.callers_elsewhere import is_moved_by_callers
from torchdev_lint.flow.syntax.trees import dotted, remembered, walk
from torchdev_lint.flow.telling import conflicts
from torchdev_lint.flow.torch_calls.dimensions import least
from torchdev_lint.flow.torch_calls.operands import Operand
from torchdev_lint.flow.torch_calls.operator_calls import is_index
from torchdev_lint.flow.torch_calls.tensor_values import frame_moved


def index(frame: Frame, node: cst.CSTNode, tensor: Tensor, keys: list[Value]) -> Value:
    """`x[key]`: a CPU index may index an accelerator's tensor, not the other way round."""
    if tensor.scalar is True and len(keys) == 1 and isinstance(keys[0], Literal) and keys[0].value == 0:
        return UNKNOWN  # `loss.data[0]` was a number before PyTorch 0.4, and raises since
    if isinstance(node, cst.Subscript):
        table = Operand(tensor, tensor.device, node.value)
        for element, given in zip(node.slice, keys, strict=False):
            # what was moved explicitly is no number
            moved = isinstance(given, Object) and frame_moved(frame, given)
            key = Tensor(frame.state(given).device) if isinstance(given, Object) and moved else given
            if isinstance(given, Object) and not moved and _is_moved_by_callers(frame, tensor, given):
                key = Tensor(
                    Symbol(("device", given.key), f"{given.text}.device", assumed=True), scalar=False
                )
            if (
                isinstance(key, Tensor)
                and isinstance(element.slice, cst.Index)
                and (is_index(key) or _is_of_many(key, element.slice.value))
                and not (key.scalar is None and _is_a_bound(frame, element.slice.value))
            ):
                operand = Operand(key, key.device, element.slice.value)
                if conflicts.check_index(frame, node, table, operand):
                    # the table's place or the index's: the program does not get here, and either may be mended
                    return Tensor(UNKNOWN_DEVICE, scalar=None)
    keeps = isinstance(node, cst.Subscript) and any(
        _keeps_a_dimension(element.slice) or _is_list(frame, element.slice) for element in node.slice
    )
    # a key takes away one dimension, but for masks of several, which leave one, and for tuples
    single = len(keys) > 1 or (isinstance(node, cst.Subscript) and _is_single_key(frame, node.slice[0], keys))
    left = max(0, tensor.dims - len(keys)) if single else 0
    if isinstance(node, cst.Subscript) and not tensor.guess and not tensor.batch:
        left = max(left, _dimensions_left(tensor, node.slice))
    scalar = False if keeps or left or any(_keeps_dimensions(frame, key) for key in keys) else None
    return Tensor(
        tensor.device,
        scalar=scalar,
        guess=tensor.guess,
        element=scalar is None and isinstance(node, cst.Subscript) and _is_counted(frame, node),
        dims=0 if any(isinstance(key, Tensor) for key in keys) else left,
    )


def _dimensions_left(tensor: Tensor, elements: Sequence[cst.SubscriptElement]) -> int:
    """How many dimensions `x[a:b, None]` has at least: a slice stands for one that is there, None makes one, a number takes one away.

    0 where a key is something else: it may be anything.
    """
    slices = new = numbers = 0
    lists = False
    for element in elements:
        match element.slice:
            case cst.Slice():
                slices += 1
            case cst.Index(value=cst.List(), star=None) if not lists:
                slices += 1
                lists = True  # a second one takes its items together with those of the first
            case cst.Index(value=cst.Name(value="None"), star=None):
                new += 1
            case cst.Index(value=cst.Integer() | cst.UnaryOperation(expression=cst.Integer()), star=None):
                numbers += 1
            case cst.Index(value=cst.Ellipsis(), star=None):
                pass
            case _:
                return 0
    return max(slices, least(tensor) - numbers) + new


def _is_moved_by_callers(frame: Frame, table: Tensor, given: Object) -> bool:
    """Whether a table that is made here is indexed by a parameter of which nothing is known but that its callers bring it elsewhere:
    the labels of many, by its name."""
    origin = table.device.origin if isinstance(table.device, Cpu) else None
    return (
        given.key[:1] == ("parameter",)
        and len(given.key) == 3
        and origin is not None
        and origin.what == "factory"
        and origin.frame == frame.uid
        and _OF_MANY.search(str(given.key[2])) is not None
        and frame.analysis.learn(is_moved_by_callers, frame, given.key)
    )


def _is_a_bound(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether an index is computed from what also bounds a slice: `x[:length] = y`, and then `x[length - 1]`. So it is one number."""
    names = {part.value for part in walk(node) if isinstance(part, cst.Name)}
    function = None if frame.function is None else frame.function.node
    return (
        isinstance(function, cst.FunctionDef)
        and len(names) == 1
        and isinstance(node, (cst.Name, cst.BinaryOperation))
        and names <= _bounds(function)
    )


@remembered(cst.FunctionDef)
def _bounds(function: cst.FunctionDef) -> frozenset[str]:
    """The names that bound slices in a function."""
    return frozenset(
        bound.value
        for node in walk(function)
        if isinstance(node, cst.Slice)
        for bound in (node.lower, node.upper)
        if isinstance(bound, cst.Name)
    )


SLICE = "builtins.slice"
"""What `slice(start, stop)` is known by."""
_OF_MANY = re.compile(r"(?i)(?:^|_)(?:labels|targets|classes|actions|tokens|ids|indices|indexes|idxs|inds)$")
"""Names of a tensor of several indices. One, which is read as a number, is called otherwise."""


def _is_of_many(key: Tensor, node: cst.BaseExpression) -> bool:
    """Whether what was moved, and so is a tensor, is certainly none of one number, by its name: `labels = labels.to(device)`."""
    origin = key.device.origin if isinstance(key.device, (Symbol, Accelerator)) else None
    return (
        key.scalar is None
        and not key.element
        and not key.guess
        and origin is not None
        and origin.root().what == "moved"
        and _OF_MANY.search((dotted(node) or "").rpartition(".")[2]) is not None
    )


def _is_single_key(frame: Frame, part: cst.SubscriptElement, keys: list[Value]) -> bool:
    """Whether a key is certainly no tuple: a number, a tensor, what a loop counts with."""
    if not keys or isinstance(keys[0], Tensor) or not isinstance(part.slice, cst.Index):
        return bool(keys)
    if isinstance(keys[0], Literal):
        return isinstance(keys[0].value, int)
    match part.slice.value:
        case cst.Name(value=name) | cst.BinaryOperation(left=cst.Name(value=name), right=cst.Integer()):
            return name in counters(frame)
        case _:
            return False


def _is_counted(frame: Frame, node: cst.Subscript) -> bool:
    """Whether it is one of the parts that a loop takes in turn, by their number: `best[i]` in `for i in range(n)`."""
    match node.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.Name(value=name)))]:
            return name in counters(frame)
        case _:
            return False


def _is_list(frame: Frame, part: cst.BaseSlice) -> bool:
    """Whether a key is a name for a list or array of indices, by all that the function assigns to it."""
    return (
        isinstance(part, cst.Index) and isinstance(part.value, cst.Name) and part.value.value in _lists(frame)
    )


def _lists(frame: Frame) -> frozenset[str]:
    scope: cst.CSTNode = frame.analysis.module if frame.function is None else frame.function.node
    key = ("lists of indices", id(scope))
    if key not in frame.analysis.notes:
        lists: set[str] = set()
        others: set[str] = set()
        samplers: set[str] = set()
        for part in walk(scope):
            match part:
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if (
                    _samples_lists(value, samplers)
                ):
                    samplers.add(name)
                case cst.For(target=cst.Name(value=name), iter=turns) if _samples_lists(turns, samplers):
                    lists.add(name)
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                    (lists if _makes_list(value) else others).add(name)
                case (
                    cst.AssignTarget(target=target)
                    | cst.AnnAssign(target=target)
                    | cst.NamedExpr(target=target)
                    | cst.For(target=target)
                    | cst.CompFor(target=target)
                ) if not isinstance(target, cst.Name) or not isinstance(part, cst.AssignTarget):
                    others |= {one.value for one in walk(target) if isinstance(one, cst.Name)}
                case cst.AsName(name=cst.Name(value=name)) | cst.Param(name=cst.Name(value=name)):
                    others.add(name)
                case _:
                    pass
        frame.analysis.notes[key] = frozenset(lists - others)
    found: frozenset[str] = frame.analysis.notes[key]
    return found


def _samples_lists(value: cst.BaseExpression, samplers: set[str]) -> bool:
    """Whether a loop over it takes lists of indices in turn: a `BatchSampler` (torch/utils/data/sampler.py), or a part of an array."""
    match value:
        case cst.Call(func=func):
            return (dotted(func) or "").rpartition(".")[2] in ("BatchSampler", "array_split")
        case cst.Name(value=name):
            return name in samplers
        case _:
            return False


def _makes_list(value: cst.BaseExpression) -> bool:
    """Whether an expression gives a list, an array of at least one dimension, or a part of one."""
    match value:
        case cst.List() | cst.ListComp():
            return True
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Slice())]):
            return True
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="choice" | "sample" | "choices")), args=args):
            return len(args) > 1
        case cst.Call(func=cst.Attribute(attr=cst.Name(value=name))):
            return name in ("permutation", "arange", "flatnonzero")
        case _:
            return False


def counters(frame: Frame) -> frozenset[str]:
    """The names that loops of the function count with."""
    scope: cst.CSTNode = frame.analysis.module if frame.function is None else frame.function.node
    key = ("counters", id(scope))
    if key not in frame.analysis.notes:
        names: set[str] = set()
        for part in walk(scope):
            match part:
                case (
                    cst.For(target=cst.Name(value=name), iter=turns)
                    | cst.CompFor(target=cst.Name(value=name), iter=turns)
                ) if _counts(turns):
                    names.add(name)
                case (
                    cst.For(target=cst.Tuple() as pair, iter=cst.Call(func=cst.Name(value="enumerate")))
                    | cst.CompFor(target=cst.Tuple() as pair, iter=cst.Call(func=cst.Name(value="enumerate")))
                ):
                    first = pair.elements[0].value
                    names |= {first.value} if isinstance(first, cst.Name) else set()
                case _:
                    pass
        frame.analysis.notes[key] = frozenset(names)
    found: frozenset[str] = frame.analysis.notes[key]
    return found


def _counts(turns: cst.BaseExpression) -> bool:
    """`range(n)`, `reversed(range(n))`, `tqdm(range(n))`; and `labels.unique().tolist()`, numbers (or lists of them) as well."""
    match turns:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="tolist")), args=[]):
            return True
        case cst.Call(func=cst.Name(value="range" | "trange")):
            return True
        case cst.Call(
            func=cst.Name(value="reversed" | "sorted" | "set" | "tqdm" | "list"),
            args=[cst.Arg(value=inner), *_],
        ):
            return _counts(inner)
        case _:
            return False


def _keeps_dimensions(frame: Frame, key: Value) -> bool:
    """Whether what `x[key]` gives has a dimension for certain: a number, or a 0-dim tensor, takes one away."""
    if isinstance(key, Tensor):
        return key.scalar is not True and not key.element
    if isinstance(key, Object) and frame.state(key).api == SLICE:
        return True
    return arrays.dimensions(frame, key) > 0


def assign(frame: Frame, node: cst.Subscript, tensor: Tensor, keys: list[Value], value: Value) -> None:
    """`x[key] = value`: slices and numbers copy from anywhere, indices and masks want the value where `x` is.

    The indices themselves may be anywhere: other than for reading, they are brought to `x` (aten/native/TensorAdvancedIndexing.cpp:
    only `index` asks `check_indices_on_cpu_or_selfdevice`, `_index_put_impl_` goes on to `make_info`). A 0-dim value may be anywhere, too,
    and one with a single element if a mask selects what is filled (`canDispatchToMaskedFill`).
    """
    returned_factories.note_filled(frame, tensor, value)
    by_indices = any(
        isinstance(element.slice, cst.Index) and (is_index(key) or isinstance(element.slice.value, cst.List))
        for element, key in zip(node.slice, keys, strict=False)
    )
    if not by_indices or not isinstance(value, Tensor) or value.scalar is not False or _is_single(value):
        return
    written = frame.assigning.value if isinstance(frame.assigning, (cst.Assign, cst.AnnAssign)) else None
    if written is not None:
        target = Operand(Many(tensor), tensor.device, node.value, changed=True)
        conflicts.check_operands(frame, node, "index_put_", target, Operand(value, value.device, written))


def _keeps_a_dimension(part: cst.BaseSlice) -> bool:
    """Whether the result of `x[part]` has a dimension for certain: a slice, `...` or `None`."""
    match part:
        case cst.Slice() | cst.Index(value=cst.Ellipsis() | cst.Name(value="None")):
            return True
        case _:
            return False


def _is_single(value: Tensor) -> bool:
    """Whether the tensor was made right there with one element: `torch.tensor([0.5])`, `torch.zeros(1)`."""
    origin = value.device.origin if isinstance(value.device, Cpu) else None
    if origin is None or origin.what != "factory":
        return False
    match origin.node:
        case cst.Call(args=[cst.Arg(value=cst.List(elements=[cst.Element()])), *_]):
            return True
        case cst.Call(args=[cst.Arg(value=cst.Integer(value="1"), keyword=None), *rest]):
            return all(argument.keyword is not None for argument in rest)
        case _:
            return False
