"""Reads on the host: `.numpy()`, and tensors given to numpy and to what is built on it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import libcst as cst

from torchdev_lint.flow.activation.events import HostRead, Place
from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.calling import arrays
from torchdev_lint.flow.calling.callsites import CallSite
from torchdev_lint.flow.domain.conditions import Atom, Formula, Key, Not, Or, atoms, negate
from torchdev_lint.flow.domain.lattice import (
    UNKNOWN_DEVICE,
    Conflict,
    Cpu,
    Device,
    Leaf,
    Level,
    Symbol,
    conflict,
    device_atoms,
    leaves,
)
from torchdev_lint.flow.domain.values import Either, Items, Literal, Many, Object, Tensor, Unknown, Value
from torchdev_lint.flow.execution.truths import is_of_array
from torchdev_lint.flow.mistakes import unproven_reads
from torchdev_lint.flow.mistakes.brought_beside import brought_beside, is_chosen, result_brought_beside
from torchdev_lint.flow.project import kept_defaults
from torchdev_lint.flow.syntax.trees import all_parameters, dotted, receiver_name, walk
from torchdev_lint.flow.telling.attribution import (
    Report,
    argument_of,
    called,
    host_was_chosen,
    is_reached_on_host,
    report_at,
    root_of,
    stays_on_host,
    transfer_of,
    worth_telling,
)
from torchdev_lint.flow.torch_calls import device_values
from torchdev_lint.flow.torch_calls.operands import Operand, place_of
from torchdev_lint.flow.torch_calls.tensor_values import frame_moved, tensor_device
from torchdev_lint.torch_api import tensor_methods
from torchdev_lint.torch_api.modules import MODEL_METHODS


def check_method(frame: Frame, receiver: Value, name: str, site: CallSite) -> None:
    """`receiver.numpy()`: publish a `HostRead` when the receiver is on an accelerator."""
    if frame.reads_tried:
        return
    forced = site.keyword("force") or (site.get(0, "force") if name == "numpy" else None)
    if forced is not None and not (isinstance(forced.value, Literal) and forced.value.value is False):
        return
    if site.receiver is None:
        return
    frame.analysis.read_on_host |= _read_whenever_given(frame, receiver)
    if not _is_tensor(frame, receiver):
        if isinstance(receiver, (Unknown, Object)) and not is_chosen(frame, site.node, site.receiver):
            if name == "numpy" and _is_brought_elsewhere(frame, site, receiver):
                return
            _note_unproven(frame, site, f".{name}()", site.receiver, receiver)
        return
    operand = Operand(receiver, tensor_device(frame, receiver) or Cpu(), site.receiver)
    found = conflict(Cpu(), operand.device, frame.env.path)
    if operand.device == UNKNOWN_DEVICE and name == "numpy" and _is_brought_elsewhere(frame, site, receiver):
        return
    if (found is None or found.level != Level.CERTAIN) and not is_chosen(frame, site.node, site.receiver):
        _note_unproven(frame, site, f".{name}()", site.receiver, receiver)
    if found is not None and found.level != Level.NO:
        if found.level != Level.CERTAIN and (
            host_was_chosen(frame.env.path) or _is_brought_on_demand(operand.device)
        ):
            return
        if is_chosen(frame, site.node, site.receiver) or kept_defaults.stays_default(frame, found.right):
            return
        report = _reported(frame, operand, found)
        if report is not None:
            _publish(frame, site.node, f".{name}()", report, found)


_HOST = re.compile(r"(?i)(?:^|_)(?:cpu|host|numpy|np)(?:_|$)")


def _is_brought_on_demand(device: Device) -> bool:
    """Whether a flag of the caller's says that something comes to the CPU, `if output_to_cpu:`: who says no wants no arrays."""
    named = any(_HOST.search(atom.text) for atom in device_atoms(device))
    return named and any(isinstance(one, Cpu) for one in leaves(device))


def _reported(frame: Frame, operand: Operand, found: Conflict) -> Report | None:
    """Where a method that reads is told of: only tensors have it, so that bringing the receiver over there is right for every caller.

    But what another file reads was handed to it: whoever wrote that means to be given what is on the CPU.
    """
    if frame.source.foreign and found.level == Level.CERTAIN:
        return report_at(frame, operand, found)
    return Report(place_of(frame, operand.node, operand.value), frame, operand.device)


def _read_whenever_given(frame: Frame, value: Value) -> set[Key]:
    """The devices (by key) of a tensor that is read whenever the function is run and given one.

    What is read in one branch only, as `if isinstance(x, np.ndarray)`, says nothing of the others.
    """
    if not all(_holds_of_tensors(fact) for fact in frame.env.path):
        return set()
    match value:
        case Tensor(device=device):
            return {leaf.key for leaf in leaves(device) if isinstance(leaf, Symbol)}
        case Object(key=("parameter", *_) as key) if frame.state(value).kind == "unknown":
            return {("device", key)}
        case _:
            return set()


def _holds_of_tensors(fact: Formula) -> bool:
    """Whether a condition holds wherever a tensor is given: it is one, and not None, on a device that will do."""
    return not _says_no_tensor(fact) and all(
        atom.kind in ("absent", "device-type") or _asks_for_tensor(atom) for atom in atoms(fact)
    )


def _note_unproven(
    frame: Frame, site: CallSite, reader: str, node: cst.BaseExpression | cst.Arg, value: Value
) -> None:
    """Something is read, and nothing is known of where it is."""
    place = place_of(frame, node, value)
    key = ("unproven host", id(site.node), id(place.node))
    what = "" if key in frame.analysis.events else unproven_reads.shown(frame, reader, place, value)
    if what:
        read = HostRead(
            node=site.node,
            reader=reader,
            place=place,
            given=UNKNOWN_DEVICE,
            given_device=what,
            certain=False,
            without_grad=_without_grad(frame, place),
            unproven=True,
        )
        frame.analysis.publish(key, read)


def _is_brought_elsewhere(frame: Frame, site: CallSite, value: Value) -> bool:
    """Publish a read of what a function gives that cannot be read, if another result of it is brought to the CPU before it is read."""
    assert site.receiver is not None
    beside = result_brought_beside(frame, site.receiver)
    if not beside or frame.source.foreign or (isinstance(value, Object) and arrays.is_array(frame, value)):
        return False
    place = place_of(frame, site.receiver, value)
    read = HostRead(
        node=site.node,
        reader=".numpy()",
        place=place,
        given=UNKNOWN_DEVICE,
        given_device=beside,
        certain=False,
        without_grad=_without_grad(frame, place),
        beside=beside,
    )
    frame.analysis.publish(("host", id(site.node), id(place.node)), read)
    return True


def check_arguments(frame: Frame, site: CallSite, *, in_lists_only: bool = False) -> None:
    """A call that reads its arguments: a `HostRead` for each that is on an accelerator.

    `in_lists_only`: a tensor by itself is not read, what stands in a list or tuple is.
    """
    if frame.reads_tried:
        return
    if any(_says_no_tensor(fact) for fact in frame.env.path):
        return  # the branch for arrays: whoever gives a tensor along with one is not what it is written for
    for argument in site.arguments:
        if argument.star == "**" or argument.keyword in _SIZES:
            continue
        for value, node in _given(argument.value, argument.node):
            if isinstance(value, (Unknown, Object, Tensor)) and not in_lists_only:
                _note_unproven(frame, site, _reader(site), node, value)
                frame.analysis.read_on_host |= _read_whenever_given(frame, value)
            value, path = _less_a_guess(value, frame.env.path)
            if _is_guess(value) or not _is_tensor(frame, value) or is_as_given(frame, value):
                continue
            if (
                isinstance(value, Many)
                and isinstance(value.element, Object)
                and _reader(site).endswith(_CHOOSES)
            ):
                continue  # some of a list, which may well be modules
            alone = isinstance(value, (Tensor, Either, Object)) and node is argument.node
            if in_lists_only and alone and not argument.star:
                continue
            device = tensor_device(frame, value)
            found = None if device is None else conflict(Cpu(), device, path)
            if device is None or found is None or found.level == Level.NO:
                continue
            report = report_at(frame, Operand(value, device, node), found)
            if report is not None:
                _publish(frame, site.node, _reader(site), report, found)


_CHOOSES = "random.choice"


def check_item(frame: Frame, target: cst.Subscript, array: Object, key: Value, value: Value) -> None:
    """`array[key] = tensor`: NumPy asks for an array (`Tensor.__array__`, torch/_tensor.py), unless one number is put in one place.

    What is put in one place is made a number of (`PyNumber_Float` in numpy/_core/src/multiarray/arraytypes.c.src): that brings it to
    the host, and raises on the host, too, if it has several elements.
    """
    match frame.assigning:
        case cst.Assign(targets=[cst.AssignTarget(target=assigned)], value=node) if assigned is target:
            pass
        case _:
            return
    if not isinstance(value, Tensor) or value.guess or value.mapping or not is_of_array(frame, array.key):
        return
    several = any(not isinstance(one.slice, cst.Index) for one in target.slice) or (
        _is_several(frame, target, key)
    )
    if not several and (value.scalar is not False or arrays.dimensions(frame, array) <= len(target.slice)):
        return
    found = conflict(Cpu(), value.device, frame.env.path)
    if found is None or found.level == Level.NO:
        return
    report = report_at(frame, Operand(value, value.device, node), found)
    if report is not None:
        _publish(frame, node, f"{frame.analysis.text(target)} = ...", report, found)


def check_index(frame: Frame, node: cst.Subscript, array: Object, keys: Sequence[Value]) -> None:
    """`array[tensor]`: NumPy makes an array of an index (numpy/_core/src/multiarray/mapping.c), which reads it (`Tensor.__array__`).

    Of one element it asks `Tensor.__index__`, which brings that to the host: `labels[i : i + 1]` may be used so.
    """
    if frame.reads_tried or not arrays.is_array(frame, array):
        return
    for element, key in zip(node.slice, keys, strict=False):
        if not isinstance(key, Tensor) or not isinstance(element.slice, cst.Index):
            continue
        if (
            key.scalar is not False
            or key.guess
            or key.mapping
            or not _is_of_several(frame, element.slice.value)
        ):
            continue
        found = conflict(Cpu(), key.device, frame.env.path)
        if found is None or found.level == Level.NO:
            continue
        report = report_at(frame, Operand(key, key.device, element.slice.value), found)
        if report is not None:
            _publish(frame, node, f"{frame.analysis.text(node.value)}[...]", report, found, is_index=True)


_SEVERAL = re.compile(
    r"\b(?:topk|argsort|sort|nonzero|randperm|multinomial|where|unique|bincount)\(|[<>]=? |[!=]= |\b(?:arange|randint)\(|\.flatten\(\)"
)
"""What gives as many elements as there are, or as are wanted."""


def _is_of_several(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether an index is shown to be of several elements: by itself, or where the function binds its name."""
    text = frame.analysis.text
    if not isinstance(node, cst.Name):
        return _SEVERAL.search(text(node)) is not None
    if frame.source.foreign:
        return False
    scope = frame.analysis.module if frame.function is None else frame.function.node
    return any(
        isinstance(part, cst.Assign)
        and any(dotted(name) == node.value for one in part.targets for name in walk(one.target))
        and _SEVERAL.search(text(part.value)) is not None
        for part in walk(scope)
    )


def _is_several(frame: Frame, target: cst.Subscript, key: Value) -> bool:
    """Whether an index is several numbers, and no item of what holds some, which may be one: `scores[labels[i]]`."""
    match target.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.Subscript()))]:
            item = True
        case _:
            item = False
    match key:
        case Items() | Many():
            return True
        case Tensor(scalar=scalar):
            return scalar is False or not item
        case Object():
            return is_of_array(frame, key.key) and (not item or arrays.dimensions(frame, key) > 0)
        case _:
            return False


def check_operation(frame: Frame, node: cst.BinaryOperation, left: Value, right: Value) -> None:
    """`tensor * array`: PyTorch leaves it to NumPy, which reads the tensor (`ndarray.__rmul__`, `Tensor.__array__`).

    On the CPU that gives a tensor. `array * tensor` raises everywhere, and numbers of NumPy's, `np.float32(3)`, are numbers to PyTorch.
    """
    known = isinstance(left, Tensor) and not left.guess and not left.mapping
    if frame.reads_tried or not (known or frame.analysis.options.audits):
        return
    if not (isinstance(right, Object) and arrays.dimensions(frame, right)) and not _is_array(
        frame, node.right
    ):
        return
    if not isinstance(left, Tensor) or not known:
        _note_unproven_operand(frame, node, left)
        return
    found = conflict(Cpu(), left.device, frame.env.path)
    if found is None or found.level == Level.NO:
        return
    report = report_at(frame, Operand(left, left.device, node.left), found)
    if report is not None:
        array = node.right, _made_beside(frame, node)
        _publish(frame, node, frame.analysis.text(node), report, found, array)


def _note_unproven_operand(frame: Frame, node: cst.BinaryOperation, left: Value) -> None:
    """An array is the operand of something of which the text alone shows that it is a tensor."""
    place = place_of(frame, node.left, left)
    what = unproven_reads.shown_by_use(frame, node.left)
    if what:
        read = HostRead(
            node=node,
            reader=frame.analysis.text(node),
            place=place,
            given=UNKNOWN_DEVICE,
            given_device=what,
            certain=False,
            unproven=True,
            array=(node.right, _made_beside(frame, node)),
        )
        frame.analysis.publish(("unproven host", id(node), id(place.node)), read)


def _made_beside(frame: Frame, node: cst.BinaryOperation) -> str:
    """The array that is the right operand, as a tensor where the left one is; empty where there is no way to write it."""
    torch, tensor = device_values.torch_name(frame), dotted(node.left)
    if torch is None or tensor is None:
        return ""
    return f"{torch}.as_tensor({frame.analysis.text(node.right)}, device={tensor}.device)"


_ARRAY = re.compile(r"^(?:np|numpy)\.ndarray$|^(?:npt?\.|numpy\.typing\.)?NDArray\b")


def _is_array(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether an operand is written as an array: `mask.astype(np.float32)`, or an argument that is said to be one."""
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="astype"))):
            return True
        case cst.Name(value=name) if frame.function is not None:
            value = frame.lookup(name)
            if not _is_given_as(frame, value, name):
                return False
            given = all_parameters(frame.function.node.params)
            note = next((one.annotation for one in given if one.name.value == name), None)
            return note is not None and _ARRAY.search(frame.analysis.text(note.annotation)) is not None
        case _:
            return False


def _is_given_as(frame: Frame, value: Value, name: str) -> bool:
    """Whether a name still holds what the function was given under it, of which nothing is known."""
    assert frame.function is not None
    return isinstance(value, Object) and value.key == ("parameter", id(frame.function.node), name)


_SIZES = frozenset({"size", "shape"})
"""What is asked for its numbers: `Tensor.__index__` copies them to the host (tools/autograd/templates/python_variable_methods.cpp)."""


def _says_no_tensor(fact: Formula) -> bool:
    """Whether a condition is that something is no tensor (`not torch.is_tensor(x)`)."""
    match fact:
        case Not(Atom() as test):
            return _asks_for_tensor(test)
        case Not(Or() as tests):  # of what may be one thing or the other, each under its condition
            return any(map(_asks_for_tensor, atoms(tests)))
        case _:
            return False


def _asks_for_tensor(atom: Atom) -> bool:
    match atom:
        case Atom(kind="opaque", key=("isinstance", _, paths)):
            return "torch.Tensor" in paths
        case _:
            return False


def is_as_given(frame: Frame, value: Value) -> bool:
    """Whether something is a tensor where a tensor was given, else no tensor, and which of both was given is not known."""
    match value:
        case Either(guard, then, otherwise):
            known = _is_tensor(frame, then), _is_tensor(frame, otherwise)
            return (any(map(_asks_for_tensor, atoms(guard))) and not all(known)) or any(
                is_as_given(frame, one) for one in (then, otherwise)
            )
        case _:
            return False


def _reader(site: CallSite) -> str:
    """What a message calls the function that reads: `np.isnan`, `.fit_transform`."""
    function = site.node.func if isinstance(site.node, cst.Call) else None
    text = dotted(function)
    return (
        text
        if text is not None
        else f".{function.attr.value}"
        if isinstance(function, cst.Attribute)
        else "it"
    )


def _given(value: Value, node: cst.Arg) -> Iterator[tuple[Value, cst.Arg | cst.BaseExpression]]:
    """What is read: the value, or each element of a list or tuple that is written out."""
    written = node.value.elements if isinstance(node.value, (cst.List, cst.Tuple)) else ()
    match value:
        case Items(items) if len(items) == len(written) and items:
            for item, element in zip(items, written, strict=True):
                yield item, element.value
        case _:
            yield value, node


def _is_tensor(frame: Frame, value: Value) -> bool:
    match value:
        case Tensor(mapping=mapping):
            return not mapping
        case Object():
            return frame_moved(frame, value) and frame.state(value).kind == "unknown"
        case Either(_, then, otherwise):
            return _is_tensor(frame, then) or _is_tensor(frame, otherwise)
        case Items(items):
            return any(_is_tensor(frame, item) for item in items)
        case Many(element):
            return _is_tensor(frame, element)
        case _:
            return False


def _is_on_purpose(frame: Frame, leaf: Leaf) -> bool:
    """Whether a device that the program does not name is nevertheless meant to be an accelerator.

    In a module's own method, what follows the module is where the module will be moved; and a class that moves its tensors
    to a device of its own does so for the accelerator's sake.
    """
    function = frame.function
    receiver = None if function is None else function.receiver
    if not isinstance(leaf, Symbol) or not isinstance(receiver, Object):
        return False
    if leaf.key == ("device", receiver.key):
        stays = (
            stays_on_host(frame.analysis)
            or frame.analysis.only_on_host(receiver.key)
            or is_reached_on_host(frame)
        )
        return frame.state(receiver).kind == "module" and not stays
    transfer = transfer_of(frame, leaf.origin.root() if leaf.origin is not None else None)
    given = None if transfer is None else dotted(transfer.argument)
    return given is not None and given.startswith("self.")


def _is_of_given_module(frame: Frame, found: Conflict) -> bool:
    """Whether a parameter, a buffer or a gradient of a module is read that the function is given and does not run.

    Modules are on accelerators as a rule. What a function runs a model on may show that it is on the CPU here.
    """
    leaf, function = found.right, frame.function
    if not isinstance(leaf, Symbol) or leaf.key[0] != "device" or function is None:
        return False
    key = leaf.key[1]
    if key[:2] != ("parameter", id(function.node)) or frame.state(Object(key)).kind != "module":
        return False
    runs = any(
        isinstance(part, cst.Call)
        and (dotted(part.func) or "").partition(".")[0] == key[2]
        and (dotted(part.func) or "").rpartition(".")[2] in _RUNS | {key[2]}
        for part in walk(function.node.body)
    )
    return not runs and worth_telling(frame, found)


_RUNS = MODEL_METHODS | {"to", "cpu", "cuda", "forward"}


def _is_guess(value: Value) -> bool:
    """Whether the value may be no tensor at all."""
    match value:
        case Tensor(guess=guess):
            return guess
        case Either(_, then, otherwise):
            return _is_guess(then) or _is_guess(otherwise)
        case Items(items):
            return any(_is_guess(item) for item in items)
        case Many(element):
            return _is_guess(element)
        case _:
            return False


def _less_a_guess(value: Value, path: tuple[Formula, ...]) -> tuple[Value, tuple[Formula, ...]]:
    """Of two things that may be read, one of which may be no tensor at all: the other one, and what holds where that is read."""
    match value:
        case Either(guard, then, otherwise) if _is_guess(then) and not _is_guess(otherwise):
            return _less_a_guess(otherwise, (*path, negate(guard)))
        case Either(guard, then, otherwise) if _is_guess(otherwise) and not _is_guess(then):
            return _less_a_guess(then, (*path, guard))
        case _:
            return value, path


def _publish(
    frame: Frame,
    node: cst.BaseExpression,
    reader: str,
    report: Report,
    found: Conflict,
    array: tuple[cst.BaseExpression, str] | None = None,
    *,
    is_index: bool = False,
) -> None:
    if _is_still_built(frame, found):
        return
    root = found.right.origin.root() if found.right.origin is not None else None
    parameter = argument_of(frame, found.right, is_tensor=reader == ".numpy()")  # arrays have none
    read = report.place.value_node
    direct = bool(parameter) and receiver_name(read) == parameter and not _is_entry(read)
    frame.analysis.publish(
        ("host", id(node), id(report.place.node)),
        HostRead(
            node=node,
            reader=reader,
            place=report.place,
            given=found.right,
            given_device=called(found.right, transfer_of(frame, root)),
            certain=found.level == Level.CERTAIN
            or _is_on_purpose(frame, found.right)
            or _is_of_given_module(frame, found),
            parameter=parameter,
            without_grad=is_index or _without_grad(report.frame, report.place),
            through=report.through,
            beside=brought_beside(frame, parameter) if direct and reader == ".numpy()" else "",
            array=array,
        ),
    )


def _is_still_built(frame: Frame, found: Conflict) -> bool:
    """Whether what a module holds is read while it is built: nobody has moved it yet."""
    leaf = found.right
    return (
        isinstance(leaf, Symbol)
        and found.level != Level.CERTAIN
        and root_of(leaf.key)[:1] == ("self",)
        and frame.building()
    )


def _is_entry(node: cst.BaseExpression) -> bool:
    """Whether a method is called on an entry of a dict of dicts, `batch["meta"]["scale"]`: not all of such a batch is moved."""
    keys = 0
    while isinstance(node, (cst.Call, cst.Attribute, cst.Subscript)):
        if isinstance(node, cst.Subscript) and isinstance(node.slice[0].slice, cst.Index):
            keys += isinstance(node.slice[0].slice.value, cst.SimpleString)
        node = node.func if isinstance(node, cst.Call) else node.value
    return keys > 1


# -- gradients: `.numpy()` wants none


def _without_grad(frame: Frame, place: Place) -> bool:
    """Whether the value certainly takes no part in automatic differentiation."""
    inner: Any = place.value_node
    while isinstance(inner, (cst.Call, cst.Attribute, cst.Subscript)):
        name = ""
        if isinstance(inner, cst.Attribute):
            name, inner = inner.attr.value, inner.value
        elif isinstance(inner, cst.Subscript):
            inner = inner.value
        else:
            inner = inner.func
        if name in tensor_methods.WITHOUT_GRAD:
            return True
    function = frame.function
    if function is None:
        return _inside_no_grad(frame.analysis.module, place.node)
    return any(name in _NO_GRAD for name in function.decorators) or _inside_no_grad(function.node, place.node)


_NO_GRAD = frozenset({"no_grad", "inference_mode"})


def _inside_no_grad(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether the node stands in a `with torch.no_grad():` below `root`."""
    blocks = (block for block in walk(root) if isinstance(block, cst.With))
    return any(
        any(inner is node for inner in walk(block.body))
        for block in blocks
        if any(_is_no_grad(item.item) for item in block.items)
    )


def _is_no_grad(node: cst.BaseExpression) -> bool:
    text = dotted(node.func) if isinstance(node, cst.Call) else dotted(node)
    return text is not None and text.rpartition(".")[2] in _NO_GRAD
