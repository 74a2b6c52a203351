"""Datasets and loaders: what their batches are made of."""

from __future__ import annotations

import re

import libcst as cst

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling import arrays
from torchdev_lint.flow.calling.callsites import Argument, CallSite
from torchdev_lint.flow.domain.immutable import replace
from torchdev_lint.flow.domain.lattice import (
    CPU,
    UNKNOWN_DEVICE,
    Cpu,
    Origin,
)
from torchdev_lint.flow.domain.values import (
    NONE,
    UNKNOWN,
    Either,
    Entries,
    Function,
    Items,
    Literal,
    Many,
    Object,
    Partial,
    State,
    Tensor,
    Unknown,
    Value,
    element_of,
    join,
    without_cell,
)
from torchdev_lint.flow.instances.objects import as_tuple
from torchdev_lint.flow.syntax.trees import walk
from torchdev_lint.torch_api.devices import DEVICE_NAME
from torchdev_lint.torch_api.modules import IN_PLACE_MOVES


def loader(frame: Frame, site: CallSite) -> Value:
    """A DataLoader: what its batches are made of."""
    dataset, collate = site.get(0, "dataset"), site.keyword("collate_fn")
    if dataset is not None and _speaks_of_devices(frame, dataset.value):
        frame.analysis.notes[_PLACED] = True
    origin = Origin(site.node, "loaded")
    on_host = Tensor(Cpu(origin), batch=True)
    element: Value = on_host
    if collate is not None and collate.value != NONE:
        element = _collated(frame, collate, dataset)
    elif dataset is not None:
        element = _element(frame, dataset.value, site, on_host)
    if collate is None or collate.value == NONE:
        if dataset is not None and isinstance(dataset.value, Object) and _stays_on_host(frame, dataset.value):
            element = _read_as_numbers(frame, dataset.value, element, replace(on_host, guess=True))
        element = _batched(frame, element, origin)
    element = without_cell(element)
    for name in ("sampler", "batch_sampler"):
        drawn = site.keyword(name)
        if drawn is not None and isinstance(drawn.value, Object):
            _draw(frame, drawn.value, site)
    pins = site.keyword("pin_memory")
    if pins is not None and pins.value != Literal(False):
        element = _pinned(element)
    if isinstance(element, Object):
        frame.analysis.notes[_AS_IT_COMES, element.key] = frame.state(element)
    state = State("loader", UNKNOWN_DEVICE, "torch.utils.data.DataLoader", element=element)
    if dataset is not None:
        state = state.with_attribute("dataset", dataset.value)
    return frame.fresh(site.node, state, "DataLoader")


_PLACED = "a dataset places its items"


def are_placed(frame: Frame) -> bool:
    """Whether a loader has been made of a dataset of the project that speaks of devices: what comes of it may be anywhere."""
    return bool(frame.analysis.notes.get(_PLACED))


def _pinned(element: Value) -> Value:
    """A batch in pinned memory: tuples were made lists, as late as PyTorch 2.4 (torch/utils/data/_utils/pin_memory.py)."""
    match element:
        case Items(items):
            return replace(element, items=tuple(map(_pinned, items)), kind="")
        case Many(inner):
            return replace(element, element=_pinned(inner), kind="")
        case _:
            return element


_AS_IT_COMES = "a batch as it comes"


def anew(frame: Frame, node: cst.CSTNode, item: Value) -> Value:
    """What a loop is given: each time another batch, though of one loader: nothing was done with it that an earlier loop did."""
    match item:
        case Object(key=key, text=text):
            state = frame.analysis.notes.get((_AS_IT_COMES, key))
            return item if state is None else frame.fresh(node, state, text)
        case Items(items) if any(isinstance(one, Object) for one in items):
            return replace(item, items=tuple(anew(frame, node, one) for one in items))
        case _:
            return item


def _element(frame: Frame, dataset: Value, site: CallSite, on_host: Tensor) -> Value:
    """What a dataset gives out, as far as that is known; `on_host` if it is any dataset."""
    match dataset:
        case Object():
            state = frame.state(dataset)
            if state.element != UNKNOWN:
                return state.element
            if state.model is not None:
                return _item(frame, dataset, site, on_host)
            array = arrays.holds_items(frame, dataset)
            if not array and (not state.api.rpartition(".")[2][:1].isupper() or state.moves_inputs):
                return UNKNOWN  # whoever made it may have put it anywhere
            # tensors that nobody has seen are made where all are by default
            return on_host if frame.env.default_device == CPU else UNKNOWN
        case Items() | Many():
            return element_of(dataset)
        case Tensor(device=device) if not isinstance(device, Cpu):
            return Tensor(device, dims=max(dataset.dims - 1, 0))  # its rows
        case Either(guard, then, otherwise):
            return join(
                guard,
                _element(frame, then, site, on_host),
                _element(frame, otherwise, site, on_host),
            )
        case _:
            return on_host


def _batched(frame: Frame, element: Value, origin: Origin) -> Value:
    match element:
        case Tensor(device=Cpu()):
            # what is put together has a dimension more than each of its parts; a `batch` may be a container of such
            return Tensor(
                Cpu(origin),
                batch=element.batch,
                mapping=element.mapping,
                guess=element.guess,
                dims=0 if element.batch or element.mapping or element.guess else element.dims + 1,
            )
        case Tensor():
            return replace(element, scalar=False)
        case Items(items):
            on_host = any(isinstance(item, Tensor) and isinstance(item.device, Cpu) for item in items)
            # beside a tensor on the CPU: a label, most likely
            number = Tensor(Cpu(origin), batch=True, guess=True) if on_host else UNKNOWN
            return Items(
                tuple(number if item == UNKNOWN else _batched(frame, item, origin) for item in items)
            )
        case Entries():
            return element.of_each(lambda value: _batched(frame, value, origin))
        case Literal(value=int() | float()):
            return Tensor(Cpu(origin), dims=1)
        case Either(guard, then, otherwise):
            return Either(guard, _batched(frame, then, origin), _batched(frame, otherwise, origin))
        case Object():
            fields = as_tuple(frame, element)
            if fields is None:
                return element
            # a named tuple of what its fields are put together to (torch/utils/data/_utils/collate.py)
            state = frame.state(element)
            assert state.model is not None
            put_together = (_batched(frame, field, origin) for field in fields.items)
            attributes = dict(zip(state.model.fields, put_together, strict=True))
            together = Object((*element.key, "batch", id(origin.node)), element.text)
            frame.set_state(together, replace(state, attributes=attributes))
            return together
        case _:
            return element


_TEXT = re.compile(
    r"(?i)text|caption|sentence|prompt|path|name|file|url|word|title|question|answer|\bstr|string|token|meta|info"
)
"""Words in what stands for an item that is no number."""


def _stays_on_host(frame: Frame, dataset: Object) -> bool:
    """Whether nothing in a dataset's class speaks of devices, and nothing that it holds came from an unknown caller.

    What it gives out is then made of numbers and arrays (`default_collate` makes CPU tensors of them), or of tensors on the CPU.
    """
    state = frame.state(dataset)
    if state.model is None or any(_is_handed_in(held) for held in state.attributes.values()):
        return False
    return not _speaks_of_devices(frame, dataset)


def _speaks_of_devices(frame: Frame, value: Value, depth: int = 4) -> bool:
    """Whether a thing of a class of the project, a function, or what it holds (a transform), speaks of devices."""
    written: list[cst.CSTNode] = []
    held: list[Value] = []
    match value:
        case Object():
            state = frame.state(value)
            written = [] if state.model is None else [model.node.body for model in state.model.lineage()]
            held = list(state.attributes.values())
        case Function(node=node):
            written = [node.body]
        case Partial(function=function, positional=positional):
            held = [function, *positional]
        case Items(items):
            held = list(items)
        case Many(element):
            held = [element]
        case Entries():
            held = value.values()
        case Either(_, then, otherwise):
            held = [then, otherwise]
        case _:
            pass
    for node in (part for body in written for part in walk(body)):
        if isinstance(node, cst.Name) and (DEVICE_NAME.search(node.value) or node.value in IN_PLACE_MOVES):
            return True
    return depth > 0 and any(_speaks_of_devices(frame, one, depth - 1) for one in held)


def _is_handed_in(held: Value) -> bool:
    if isinstance(held, Entries):
        # columns that something computed, wherever that was
        return any(isinstance(entry, (Unknown, Object)) for _, entry in held.entries)
    if not isinstance(held, Object):
        return False
    key: object = held.key
    while isinstance(key, tuple) and len(key) > 1 and key[0] in ("attr", "item"):
        key = key[1]
    return isinstance(key, tuple) and bool(key) and key[0] == "parameter"


def _read_as_numbers(frame: Frame, dataset: Object, element: Value, number: Tensor) -> Value:
    """What an item is made of, with `number` for each part of which nothing is known and whose name does not speak of text."""
    model = frame.state(dataset).model
    getter = None if model is None else model.find("__getitem__")
    given = () if getter is None else getter.params.params
    index = given[1].name.value if len(given) > 1 else ""
    returned = [] if getter is None else [n.value for n in walk(getter.body) if isinstance(n, cst.Return)]

    def read(value: Value, name: str, node: cst.CSTNode | None) -> Value:
        match value, node:
            case Items(items), cst.Tuple(elements=elements) if len(items) == len(elements):
                pairs = zip(items, elements, strict=True)
                return replace(value, items=tuple(read(item, name, one.value) for item, one in pairs))
            case Entries(entries=entries), _:
                nodes: list[cst.CSTNode | None] = [None] * len(entries)
                if isinstance(node, cst.Dict) and len(node.elements) == len(entries):
                    nodes = [one.value for one in node.elements]
                pairs_of_entries = zip(entries, nodes, strict=True)
                held = tuple((key, read(item, str(key), one)) for (key, item), one in pairs_of_entries)
                return replace(value, entries=held)
            case Object(), _ if as_tuple(frame, value) is not None:
                return value
            case ((Unknown() | Object()), _) if node is not None and _is_number(node, index):
                return replace(number, guess=False, batch=False, dims=1)
            case ((Unknown() | Object()), _) if not _TEXT.search(name) and (node is not None or name):
                written = walk(node) if node is not None else ()
                words = [one.value for one in written if isinstance(one, (cst.Name, cst.SimpleString))]
                return value if any(_TEXT.search(word) for word in words) else number
            case _:
                return value

    if len(returned) > 1 and isinstance(element, Items):
        # `if self.train: return image, density, mask`, and in the end `return image, count`: the one that gives as many
        returned = [
            one for one in returned if isinstance(one, cst.Tuple) and len(one.elements) == len(element.items)
        ]
    return read(element, "", returned[0] if len(returned) == 1 else None)


def _is_number(node: cst.CSTNode, index: str) -> bool:
    """Whether an expression gives a number whatever its other parts are: `int(label)`, `index % 3`; `text % 3` may format."""
    match node:
        case cst.Integer() | cst.Float():
            return True
        case cst.Name(value=name):
            return name == index
        case cst.Call(func=cst.Name(value="int" | "float" | "len")):
            return True
        case cst.BinaryOperation(left=left, operator=cst.Modulo()):
            return _is_number(left, index)
        case cst.BinaryOperation(
            left=left, operator=cst.Add() | cst.Subtract() | cst.Divide() | cst.FloorDivide(), right=right
        ):
            return _is_number(left, index) or _is_number(right, index)
        case _:
            return False


def _item(frame: Frame, dataset: Object, site: CallSite, on_host: Tensor) -> Value:
    from torchdev_lint.flow.calling.functions import call

    model = frame.state(dataset).model
    getter = None if model is None else model.find("__getitem__") or model.find("__iter__")
    if model is None or getter is None:
        return UNKNOWN if model is not None and model.has_unseen_base() is False else on_host
    given = call(frame, model.function(getter, getter.name.value, dataset), CallSite(site.node))
    if getter.name.value == "__iter__":
        given = element_of(given)
    is_record = isinstance(given, Object) and as_tuple(frame, given) is not None
    return given if is_record or isinstance(given, (Tensor, Items, Entries)) else UNKNOWN


def _draw(frame: Frame, sampler: Object, site: CallSite) -> None:
    """What a sampler of the program's own does when the loader asks it for indices; they are numbers, whatever it makes them of."""
    from torchdev_lint.flow.calling.functions import call

    model = frame.state(sampler).model
    method = None if model is None else model.find("__iter__")
    if model is not None and method is not None:
        alive = frame.alive
        call(frame, model.function(method, "__iter__", sampler), CallSite(site.node))
        frame.alive = alive


def _collated(frame: Frame, collate: Argument, dataset: Argument | None) -> Value:
    from torchdev_lint.flow.calling.calls import call_value

    # not at the loader's own call: an instance of a class that puts batches together is another thing than the loader
    site = CallSite(collate.node.value)
    batch: Value = Many(UNKNOWN)
    if dataset is not None and isinstance(dataset.value, (Items, Many)):
        batch = Many(element_of(dataset.value))
    elif dataset is not None and isinstance(dataset.value, Object):
        state = frame.state(dataset.value)
        if state.model is not None:
            batch = Many(_item(frame, dataset.value, site, Tensor(CPU, batch=True)))
        elif state.element != UNKNOWN:
            batch = Many(state.element)
    argument = Argument(batch, cst.Arg(cst.Name("batch")))
    result = call_value(frame, collate.value, CallSite(site.node, (argument,)))
    known = isinstance(result, Object) and frame.state(result).kind == "instance"
    return result if known or isinstance(result, (Tensor, Items, Entries)) else UNKNOWN


def dataset(frame: Frame, path: str, site: CallSite) -> Value | None:
    name = path.rpartition(".")[2]
    values = [argument.value for argument in site.positional()]
    if name == "TensorDataset":
        element: Value = (
            Items(tuple(tensors_of(value) for value in values)) if not site.has_star() else UNKNOWN
        )
        held: dict[str, Value] = {} if site.has_star() else {"tensors": Items(tuple(values))}
        state = State("instance", UNKNOWN_DEVICE, path, attributes=held, element=element)
        return frame.fresh(site.node, state, name)
    if name in ("Subset", "ConcatDataset") and values and isinstance(values[0], Object):
        return values[0]
    if name == "random_split" and values:
        return Many(values[0])
    return frame.result_of(site.node)


def tensors_of(value: Value) -> Value:
    """What a dataset of this tensor yields."""
    return Tensor(value.device) if isinstance(value, Tensor) else UNKNOWN
