"""Parts of a batch that are not moved though others of it are: `for x, y in loader: x = x.to(device)`, and then `loss(net(x), y)`.

Nothing is known of what the loader gives, but the one who wrote the function knows: what is taken to the device is not there yet, and
what comes with it comes from the same place. A part counts only if the function uses it as a tensor is used, not as a number or a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain.lattice import Cpu, Origin
from torchdev_lint.flow.domain.values import Object, Tensor
from torchdev_lint.flow.nn_modules import loaders
from torchdev_lint.flow.read_alone.evidence import ONLY_TENSORS, resolved_path, takes_tensors
from torchdev_lint.flow.syntax.naming import is_loss_name
from torchdev_lint.flow.syntax.trees import dotted, remembered, transfers, walk
from torchdev_lint.torch_api.devices import DEVICE_NAME

_NO_TENSOR = re.compile(
    r"(?i)len|idx|ind(?:ex|ices)|^i$|id(?:s)?$|name|path|text|meta|info|file|size|shape|epoch|num|count|key|str|word|sent|caption|question|answer|title|prompt|loader|optim|sched|model|data_?set|tokenizer|config"
)
"""Words in the names of what is no tensor, or stays on the CPU on purpose."""
_NETWORK = re.compile(r"(?i)model|net(?:work)?$|encoder|decoder|backbone|classifier|generator|discriminator")
"""Words in the names of what is called with tensors, and perhaps with something else."""
_TARGET = re.compile(r"(?i)target|label|truth|^y$|^gt")
"""Names of what a loss compares with: who only moves these may well leave the inputs to `DataParallel`, wherever that wraps the model
(torch/nn/parallel/data_parallel.py, `scatter`)."""

_COLLATES = re.compile(r"\bcollate_fn\s*=(?!\s*None)")
"""The file has a loader whose batches are made by a function of the program: what a model gets may be a list of anything."""

_TRANSFER = re.compile(r"(?i)^to$|cuda|device|gpu|move|prepare|collate")


def parts(frame: Frame, elements: Sequence[cst.BaseElement], value: Object) -> dict[str, Tensor]:
    """What the names are bound to that `value` is unpacked to, as far as they are left where they come from."""
    places = {one.value.value: one.value for one in elements if isinstance(one.value, cst.Name)}
    if len(places) != len(elements) or len(places) < 2 or frame.state(value).kind != "unknown":
        return {}
    if _is_computed_by_module(frame) or _is_told_device(frame) or loaders.are_placed(frame):
        return {}
    left = frame.analysis.learn(_left_of_tuple, frame, tuple(places))
    return {name: _left(places[name], sure=sure) for name, sure in left.items()}


def _is_computed_by_module(frame: Frame) -> bool:
    """Whether what is unpacked comes of a method of the module that is read: there are its parameters, which move with it."""
    match frame.assigning:
        case cst.Assign(value=cst.Call(func=cst.Attribute(value=cst.Name(value="self")))):
            owner = None if frame.function is None else frame.function.owner
            return owner is not None and owner.is_module
        case _:
            return False


def _is_told_device(frame: Frame) -> bool:
    """Whether what is unpacked comes of a call that is told of a device: `sampler.batch(cuda=args.cuda)` may well have moved it."""
    match frame.assigning:
        case cst.Assign(value=cst.Call(args=given)):
            return any(map(_speaks_of_transfer, given))
        case _:
            return False


def item(frame: Frame, target: cst.Name, value: Object) -> Tensor | None:
    """What `y = batch["y"]` binds, if `batch["x"]` is moved and it is not; None if nothing tells that it is left where it is."""
    if loaders.are_placed(frame):
        return None
    match frame.assigning:
        case cst.Assign(
            targets=[cst.AssignTarget(target=assigned)],
            value=cst.Subscript(value=cst.Name(value=batch)) as taken,
        ) if assigned is target and _is_item(taken, batch) and frame.state(value).kind == "unknown":
            sure = frame.analysis.learn(_left_of_batch, frame, batch).get(target.value)
            return None if sure is None else _left(target, sure=sure)
        case _:
            return None


def read_in_place(frame: Frame, taken: cst.Subscript, value: Object) -> Tensor | None:
    """What `batch["y"]` is in `loss(net(x), batch["y"])`, if `batch["x"]` is moved and it nowhere is; None if nothing tells."""
    if (
        not isinstance(taken.value, cst.Name)
        or not _is_item(taken, taken.value.value)
        or frame.state(value).kind != "unknown"
        or loaders.are_placed(frame)
    ):
        return None
    left = frame.analysis.learn(_left_in_place, frame, taken.value.value)
    return _left(taken, sure=True) if id(taken) in left else None


def _left(place: cst.BaseExpression, *, sure: bool) -> Tensor:
    return Tensor(Cpu(Origin(place, "left")), guess=not sure)


@dataclass(slots=True)
class _Uses:
    """What code does with names: which it moves, which it treats in another way, which it uses as tensors (surely or not)."""

    moved: set[str] = field(default_factory=set)
    made: set[str] = field(default_factory=set)
    """Of what is moved: that of which a tensor is made for it, `torch.tensor(x).to(device)`."""
    other: set[str] = field(default_factory=set)
    used: dict[str, bool] = field(default_factory=dict)
    taken: int = 0
    """How often they are taken out of what holds them."""

    def left(self) -> dict[str, bool]:
        """The names that are left where they come from."""
        kept = {name: sure for name, sure in self.used.items() if name not in self.moved | self.other}
        return {name: sure for name, sure in kept.items() if not _NO_TENSOR.search(name)}


def _left_of_tuple(frame: Frame, names: tuple[str, ...]) -> dict[str, bool]:
    doings = _doings(frame)
    if not doings.transfer:
        return {}
    uses = _uses(frame, doings, frozenset(names), lambda target, _: _is_unpacked(target, names))
    if uses.taken != 1 or not uses.moved or _moves_for_the_loss(frame, uses.moved):
        return {}
    if uses.moved <= uses.made:
        return {}  # the others are arrays or lists, of which tensors are made: what is used as it is, is none of those
    left = uses.left()
    if left and frame.analysis.says(_COLLATES):
        return {name: sure for name, sure in left.items() if sure}
    return left


def _moves_for_the_loss(frame: Frame, moved: set[str]) -> bool:
    """Whether the function moves nothing but what a loss compares with: its model may be one that brings its inputs."""
    return all(map(_TARGET.search, moved)) and not any(
        dotted(other) not in moved for _, other in transfers(_body(frame))
    )


def _left_of_batch(frame: Frame, batch: str) -> dict[str, bool]:
    doings = _doings(frame)
    if not doings.transfer:
        return {}
    names: Counter[str] = Counter()
    moved = False
    for node in walk(_body(frame)):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                if _moves_or_fills(target, value, batch):
                    return {}
                names.update(name for name, part in _pairs(target, value) if _is_item(part, batch))
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=method))):
                if dotted(receiver) == batch and method in _OF_THE_WHOLE:
                    return {}
                moved = moved or (_is_item(receiver, batch) and _is_transfer(node))
            case _:
                pass
    wanted = frozenset(name for name, times in names.items() if times == 1)
    uses = _uses(frame, doings, wanted, lambda _, value: _is_item(value, batch), batch)
    return uses.left() if moved or uses.moved else {}


_OF_THE_WHOLE = frozenset({"items", "to", "cuda", "update"})
"""Methods by which a batch is moved, or gone through, as a whole."""


def _moves_or_fills(target: cst.BaseExpression, value: cst.BaseExpression, batch: str) -> bool:
    """Whether an assignment moves a batch as a whole, or puts something into it."""
    if isinstance(target, cst.Subscript):
        return dotted(target.value) == batch
    return dotted(target) == batch and _speaks_of_transfer(value)


def _left_in_place(frame: Frame, batch: str) -> frozenset[int]:
    """The places (by id) where a function gives items of a batch as tensors, of which it moves others and these never."""
    doings = _doings(frame)
    if not doings.transfer:
        return frozenset()
    given: dict[str, list[int]] = {}
    read: Counter[str] = Counter()
    moved: set[str] = set()
    for node in doings.about((batch,)):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                if _moves_or_fills(target, value, batch):
                    return frozenset()
            case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=method))) if (
                name == batch and method in _OF_THE_WHOLE
            ):
                return frozenset()
            case cst.Call(func=called, args=arguments):
                if isinstance(called, cst.Attribute) and _is_item(called.value, batch) and _is_transfer(node):
                    moved.add(_key(called.value))
                for one in _items_given_as_tensors(frame, called, arguments, batch):
                    given.setdefault(_key(one), []).append(id(one))
            case _:
                pass
    if not (moved and given):
        return frozenset()
    for part in walk(_body(frame)):
        if isinstance(part, cst.Subscript) and _is_item(part, batch):
            read[_key(part)] += 1
    return frozenset(
        place
        for key, places in given.items()
        # it is given as a tensor wherever it is read: nobody brings it anywhere, or asks whether it is there
        if key not in moved and read[key] == len(places) and not _NO_TENSOR.search(key)
        for place in places
    )


def _key(item: cst.CSTNode) -> str:
    """What an item is called: `y` of `batch["y"]`, `1` of `batch[1]`."""
    assert isinstance(item, cst.Subscript)
    index = item.slice[0].slice
    assert isinstance(index, cst.Index)
    key = index.value
    return (
        str(key.raw_value) if isinstance(key, cst.SimpleString) else cst.ensure_type(key, cst.Integer).value
    )


def _items_given_as_tensors(
    frame: Frame, called: cst.BaseExpression, arguments: Sequence[cst.Arg], batch: str
) -> Iterator[cst.Subscript]:
    """The items of a batch that a call surely takes as tensors."""
    path, name = resolved_path(frame, called), (dotted(called) or "").rpartition(".")[2]
    for index, argument in enumerate(arguments):
        if argument.keyword is not None or argument.star or not isinstance(argument.value, cst.Subscript):
            continue
        if _is_item(argument.value, batch) and _takes_tensor(path, name, index):
            yield argument.value


def _takes_tensor(path: str | None, name: str, index: int) -> bool:
    """Whether a call surely takes a tensor in a place: of a path that is known, or else of a loss, by its name, the two first."""
    return is_loss_name(name) and index < 2 if path is None else takes_tensors(path, index)


def _body(frame: Frame) -> cst.CSTNode:
    return frame.source.module if frame.function is None else frame.function.node.body


_DOINGS = frozenset((cst.Assign, cst.For, cst.CompFor, cst.AugAssign, cst.AnnAssign, cst.Attribute, cst.Call))


@dataclass(frozen=True, slots=True)
class _Doings:
    """The nodes of a piece of code that do something with names, and whether one of them takes anything to a device.

    Asked for each tuple that is unpacked; in nearly all functions nothing is taken anywhere, so that nothing is left behind.
    """

    nodes: tuple[cst.CSTNode, ...]
    transfer: bool
    naming: dict[str, list[int]]
    """For each name, which of the nodes mention it."""

    def about(self, names: Iterable[str]) -> Iterator[cst.CSTNode]:
        """The nodes that mention one of the names, in their order."""
        for index in sorted({index for name in names for index in self.naming.get(name, ())}):
            yield self.nodes[index]


def _doings(frame: Frame) -> _Doings:
    if frame.function is None:
        return _doings_of_module(frame.source.module)
    node = frame.function.node
    return _doings_of_function(node) if isinstance(node, cst.FunctionDef) else _doings_in(node.body)


@remembered(cst.FunctionDef)
def _doings_of_function(node: cst.FunctionDef) -> _Doings:
    return _doings_in(node.body)


@remembered(cst.Module)
def _doings_of_module(module: cst.Module) -> _Doings:
    return _doings_in(module)


def _doings_in(code: cst.CSTNode) -> _Doings:
    nodes = tuple(node for node in walk(code) if type(node) in _DOINGS)
    transfer = any(type(node) is cst.Call and _is_transfer(node) for node in nodes)
    naming: dict[str, list[int]] = {}
    for index, node in enumerate(nodes if transfer else ()):
        for name in {part.value for part in walk(node) if type(part) is cst.Name}:
            naming.setdefault(name, []).append(index)
    return _Doings(nodes, transfer, naming)


def _uses(
    frame: Frame,
    doings: _Doings,
    wanted: frozenset[str],
    takes: Callable[[cst.CSTNode, cst.CSTNode], bool],
    holder: str = "",
) -> _Uses:
    """What the function does with the names, but for the assignments that take them out of what holds them (a `holder` with a name)."""
    uses = _Uses()
    for node in doings.about((*wanted, holder)):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=given):
                if takes(target, given):
                    uses.taken += 1
                    continue
                for name, part in _pairs(target, given):
                    if name in wanted and not takes(target, part):
                        # what was moved before they were taken was another thing of that name
                        (uses.moved if uses.taken and _moves(part, name) else uses.other).add(name)
                        if _makes(part, name):
                            uses.made.add(name)
                if isinstance(target, (cst.Subscript, cst.Attribute)) and isinstance(target.value, cst.Name):
                    uses.other.add(target.value.value)  # a list, whose items may be moved one by one
            case cst.For(target=target, iter=source) | cst.CompFor(target=target, iter=source):
                uses.taken += any(takes(part, source) for part in walk(target))
                uses.other |= {part.value for part in walk(source) if isinstance(part, cst.Name)}
            case cst.AugAssign(target=cst.Name(value=name)) | cst.AnnAssign(target=cst.Name(value=name)):
                uses.other.add(name)
            case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=attribute)) if name in wanted:
                if attribute in ("to", "cuda", "cpu", "numpy", "tolist", "device"):
                    uses.other.add(name)
                elif attribute in ONLY_TENSORS:
                    uses.used[name] = True
            case cst.Call(
                func=cst.Attribute(value=cst.Comparison() as compared, attr=cst.Name(value=attribute))
            ) if attribute in _OF_COMPARED:
                for name in _compared(compared) & wanted:  # `(predicted == y).float()`
                    uses.used[name] = True
            case cst.Call(func=called, args=arguments):
                if (
                    uses.taken
                    and isinstance(called, cst.Attribute)
                    and dotted(called.value) in wanted
                    and _is_transfer(node)
                ):
                    uses.moved.add(dotted(called.value) or "")
                for name, sure in _given_as_tensors(frame, called, arguments):
                    uses.used[name] = (sure or uses.used.get(name, False)) if name in wanted else False
            case _:
                pass
    uses.used = {name: sure for name, sure in uses.used.items() if name in wanted}
    return uses


_OF_COMPARED = frozenset("float double int long type sum mean all any nonzero cpu cumsum view".split())
"""What only tensors have of what a comparison gives: of lists, it gives a bool."""


def _compared(node: cst.Comparison) -> set[str]:
    """The names that are compared with something else."""
    sides = (node.left, *(one.comparator for one in node.comparisons))
    return {side.value for side in sides if isinstance(side, cst.Name)}


def _is_item(node: cst.CSTNode, batch: str) -> bool:
    """`batch["x"]`, `batch[0]`, of the batch of this name."""
    match node:
        case cst.Subscript(
            value=cst.Name(value=name),
            slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() | cst.Integer()))],
        ):
            return name == batch
        case _:
            return False


def _is_unpacked(target: cst.CSTNode, names: tuple[str, ...]) -> bool:
    return isinstance(target, (cst.Tuple, cst.List)) and names == tuple(
        one.value.value if isinstance(one.value, cst.Name) else "" for one in target.elements
    )


def _pairs(target: cst.BaseExpression, value: cst.BaseExpression) -> Iterator[tuple[str, cst.BaseExpression]]:
    """The names that an assignment binds, each with what it is given."""
    match target, value:
        case cst.Name(value=name), _:
            yield name, value
        case ((cst.Tuple() | cst.List()), (cst.Tuple() | cst.List())) if len(target.elements) == len(
            value.elements
        ):
            for one, given in zip(target.elements, value.elements, strict=True):
                yield from _pairs(one.value, given.value)
        case ((cst.Tuple() | cst.List()), _):
            for one in target.elements:
                yield from _pairs(one.value, value)
        case _:
            pass


def _moves(node: cst.BaseExpression, name: str) -> bool:
    """Whether the expression takes what the name holds to a device: `x.to(device)`, `Variable(x.cuda())`, `x.float().to(device)`."""
    parts_of_it = list(walk(node))
    return any(isinstance(part, cst.Name) and part.value == name for part in parts_of_it) and any(
        isinstance(part, cst.Call) and _is_transfer(part) for part in parts_of_it
    )


_MAKERS = re.compile(
    r"(?:^|\.)(?:tensor|as_tensor|asarray|from_numpy|(?:Float|Long|Int|Bool|Byte|Double)?Tensor)$"
)


def _makes(node: cst.BaseExpression, name: str) -> bool:
    """Whether the expression makes a tensor of what the name holds: `torch.tensor(x)`, `torch.FloatTensor(np.float32(x))`."""
    return any(
        isinstance(part, cst.Call)
        and _MAKERS.search(dotted(part.func) or "") is not None
        and any(
            isinstance(inner, cst.Name) and inner.value == name
            for one in part.args
            for inner in walk(one.value)
        )
        for part in walk(node)
    )


def _speaks_of_transfer(value: cst.CSTNode) -> bool:
    """Whether anything in an expression may bring things to a device: `to_device(batch, device)`."""
    return any(
        isinstance(part, cst.Name) and _TRANSFER.search(part.value) is not None for part in walk(value)
    )


def _is_transfer(node: cst.Call) -> bool:
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="cuda"))):
            return True
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="to")), args=[cst.Arg(value=given), *_]):
            return _names_device(given)
        case _:
            return False


def _names_device(node: cst.BaseExpression) -> bool:
    """Whether an argument is a chosen device, not where another value is (`y.device`)."""
    if isinstance(node, cst.SimpleString):
        return "cuda" in node.value
    text = dotted(node) or ""
    owner, _, last = text.rpartition(".")
    return DEVICE_NAME.search(last) is not None and (
        not owner or last != "device" or owner in ("self", "args")
    )


def _given_as_tensors(
    frame: Frame, called: cst.BaseExpression, arguments: Sequence[cst.Arg]
) -> Iterator[tuple[str, bool]]:
    """The names that a call is given as tensors, and whether it is sure that they are."""
    path = resolved_path(frame, called)
    name = (dotted(called) or "").rpartition(".")[2]
    for index, argument in enumerate(arguments):
        if not isinstance(argument.value, cst.Name) or argument.keyword is not None or argument.star:
            continue
        if _takes_tensor(path, name, index):
            yield argument.value.value, True
        elif path is None and _NETWORK.search(name) is not None:
            yield argument.value.value, False
