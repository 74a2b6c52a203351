"""Operations on tensors: operators, indexing, methods."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from torchdev_lint.flow import (
    attribution,
    conflicts,
    device_objects,
    device_values,
    generators,
    host_arguments,
    literals,
    lost_index,
    truths,
)
from torchdev_lint.flow.callsites import Argument, CallSite
from torchdev_lint.flow.events import DiscardedTogether, DiscardedTransfer
from torchdev_lint.flow.evidence import is_number_parameter
from torchdev_lint.flow.frame import Frame
from torchdev_lint.flow.lattice import (
    UNKNOWN_DEVICE,
    Accelerator,
    Anywhere,
    Cpu,
    Device,
    Level,
    Symbol,
    UnknownDevice,
    choose,
    conflict,
    describe,
    leaves,
)
from torchdev_lint.flow.operands import Given, Operand, dotted, given_by
from torchdev_lint.flow.patterns import assign
from torchdev_lint.flow.trees import walk
from torchdev_lint.flow.values import (
    UNKNOWN,
    Api,
    DeviceValue,
    Dtype,
    Either,
    Items,
    Literal,
    Many,
    Object,
    Tensor,
    Value,
)
from torchdev_lint.torch_api import factories, tensor_methods
from torchdev_lint.torch_api.tensor_surface import TENSOR_NAMES


def tensor_device(frame: Frame, value: Value) -> Device | None:
    """The device of a value used as a tensor; None when nothing says that it is one."""
    match value:
        case Tensor(device=device):
            return device
        case Either(guard, then, otherwise):
            left, right = tensor_device(frame, then), tensor_device(frame, otherwise)
            if left is None and right is None:
                return None
            return choose(guard, left or UNKNOWN_DEVICE, right or UNKNOWN_DEVICE)
        case Object():
            state = frame.state(value)
            return state.device if state.kind == "unknown" else None
        case Items(items) if items:
            found = [tensor_device(frame, item) for item in items]
            known = [device for device in found if device is not None]
            return (
                known[0] if len(known) == len(found) and all(device == known[0] for device in known) else None
            )
        case Many(element):
            return tensor_device(frame, element)
        case _:
            return None


def binary_operation(
    frame: Frame, node: cst.BinaryOperation | cst.Comparison, left: Value, right: Value
) -> Value:
    """The result of `left op right`, and the check that both are on one device."""
    if not isinstance(left, (Tensor, Either)) and not isinstance(right, (Tensor, Either)):
        return UNKNOWN
    left_node = node.left
    right_node = node.right if isinstance(node, cst.BinaryOperation) else node.comparisons[0].comparator
    given = [Given(left, left_node), Given(right, right_node)]
    return combine(frame, node, "operator", given, admits_scalar=True)


def combine(
    frame: Frame,
    node: cst.CSTNode,
    operation: str,
    operands: list[Given],
    *,
    admits_scalar: bool,
) -> Value:
    """The result of an operation on operands that must share a device."""
    found: list[tuple[Device, bool | None, Operand]] = []
    guess = all(given.value.guess for given in operands if isinstance(given.value, Tensor))
    for given in operands:
        value = given.value
        device = tensor_device(frame, value)
        if device is not None and counts_as_operand(frame, value):
            found.append(
                (
                    device,
                    scalar_ness(value),
                    Operand(Many(value) if given.inside else value, device, given.node),
                )
            )
    if not found:
        return UNKNOWN
    operands = [entry for entry in operands if not isinstance(entry.value, Literal)]
    # where a 0-dim CPU tensor is admitted, one that may be 0-dim proves nothing (an accelerator's is not admitted)
    strict = [
        entry for entry in found if not (admits_scalar and entry[1] is not False and _on_host(entry[0]))
    ]
    mended: Device | None = None
    for entry in strict[1:]:
        mended = conflicts.check_operands(frame, node, operation, strict[0][2], entry[2]) or mended
    scalars = [entry[1] for entry in found]
    scalar = all(scalars) if None not in scalars and len(found) == len(operands) else None
    if mended is not None:
        return Tensor(mended)
    if strict:
        known = [entry[0] for entry in strict if not _unknown(entry[0])]
        certainly_not = any(entry[1] is False for entry in found)
        whole = scalar if not certainly_not else False
        return Tensor(known[0] if known else strict[0][0], scalar=whole, guess=guess)
    if len(operands) > len(found) or any(entry[0] != found[0][0] for entry in found):
        return Tensor(_device_of_scalars(found, len(operands)), scalar=scalar)
    return Tensor(found[0][0], scalar=scalar)


def has_room_for_scalars(receiver: Value) -> bool:
    """Whether a tensor that is changed in place takes in a 0-dim tensor from elsewhere: on the CPU none from an accelerator."""
    return not (isinstance(receiver, Tensor) and isinstance(receiver.device, Cpu))


def counts_as_operand(frame: Frame, value: Value) -> bool:
    """Whether the value is a tensor, at least in one case, or something that was moved like one."""
    if isinstance(value, Either):
        return counts_as_operand(frame, value.then) or counts_as_operand(frame, value.otherwise)
    return isinstance(value, Tensor) or frame_moved(frame, value)


def _on_host(device: Device) -> bool:
    return any(isinstance(leaf, (Cpu, UnknownDevice)) for leaf in leaves(device))


def _device_of_scalars(found: list[tuple[Device, bool | None, Operand]], operands: int) -> Device:
    """Where the result of operands that may all be 0-dim is: a number changes nothing, an accelerator's wins."""
    if len(found) == 1 and operands == 1:
        return found[0][0]
    return UNKNOWN_DEVICE


def _unknown(device: Device) -> bool:
    return any(leaf == UNKNOWN_DEVICE or isinstance(leaf, Anywhere) for leaf in leaves(device))


def taken_for_tensor(frame: Frame, value: Value) -> Value:
    """What PyTorch's own functions are given as an operand is a tensor: where what it was computed from is."""
    if not isinstance(value, Object):
        return value
    state = frame.state(value)
    if state.kind != "unknown" or not isinstance(state.device, Symbol) or not state.device.assumed:
        return value
    root = attribution.root_of(state.device.key)
    if root[:1] != ("parameter",) or (value.key == root and is_number_parameter(frame, root)):
        return value
    return Tensor(state.device, scalar=None)


def frame_moved(frame: Frame, value: Value) -> bool:
    """Whether an otherwise unknown thing is the result of an explicit transfer: then it has a device that counts."""
    return isinstance(value, Object) and value.key[0] == "moved" and frame.state(value).moved


def scalar_ness(value: Value) -> bool | None:
    """Whether the value is 0-dimensional: certainly, certainly not, or (None) possibly."""
    match value:
        case Tensor(scalar=scalar):
            return scalar
        case Either(_, then, otherwise):
            left, right = scalar_ness(then), scalar_ness(otherwise)
            return left if left == right else None
        case Object():
            return None
        case _:
            return False


def is_scalar(value: Value) -> bool:
    """Whether the value is certainly 0-dimensional."""
    return scalar_ness(value) is True


def index(frame: Frame, node: cst.CSTNode, tensor: Tensor, keys: list[Value]) -> Value:
    """`x[key]`: a CPU index may index an accelerator's tensor, not the other way round."""
    if isinstance(node, cst.Subscript):
        table = Operand(tensor, tensor.device, node.value)
        for element, key in zip(node.slice, keys, strict=False):
            # a 0-dim index is read as a number; what a caller hands in is a batch of indices as a rule
            if (
                isinstance(key, Tensor)
                and (key.scalar is False or (key.scalar is None and _comes_from_caller(key.device)))
                and isinstance(element.slice, cst.Index)
            ):
                operand = Operand(key, key.device, element.slice.value)
                if conflicts.check_index(frame, node, table, operand):
                    return Tensor(key.device, scalar=None)
    keeps = isinstance(node, cst.Subscript) and any(
        _keeps_a_dimension(element.slice) for element in node.slice
    )
    return Tensor(
        tensor.device,
        scalar=False if keeps or any(isinstance(key, Tensor) for key in keys) else None,
        guess=tensor.guess,
    )


def _comes_from_caller(device: Device) -> bool:
    """Whether the device is that of a parameter itself."""
    return isinstance(device, Symbol) and device.assumed and device.key[1][:1] in (("parameter",), ("item",))


def reduces_inner_dimension(site: CallSite) -> bool:
    """Whether a reduction certainly leaves a dimension: over a dimension other than the first, or with `keepdim`."""
    keep, dim = site.keyword("keepdim"), site.keyword("dim")
    if keep is not None and isinstance(keep.value, Literal) and keep.value.value is True:
        return True
    candidates = [dim] if dim is not None else site.positional()
    return any(
        isinstance(argument.value, Literal)
        and isinstance(argument.value.value, int)
        and argument.value.value >= 1
        for argument in candidates
    )


def _keeps_a_dimension(part: cst.BaseSlice) -> bool:
    """Whether the result of `x[part]` has a dimension for certain: a slice, `...` or `None`."""
    match part:
        case cst.Slice() | cst.Index(value=cst.Ellipsis() | cst.Name(value="None")):
            return True
        case _:
            return False


def cuda_argument(frame: Frame, site: CallSite) -> Device:
    """The device of `.cuda(...)`: its argument, else the current CUDA device."""
    argument = site.get(0, "device")
    if argument is None or argument.keyword == "non_blocking":
        if isinstance(site.node, cst.Call) and site.receiver is not None:
            receiver = frame.analysis.text(site.receiver)
            literals.see(frame, site.node, "cuda-method", "cuda", None, receiver, site.node)
        return Accelerator("cuda")
    if isinstance(argument.value, Literal) and isinstance(argument.value.value, bool):
        return Accelerator("cuda")
    see_integer(frame, argument, "cuda-method", site)
    lost_index.check_device_argument(frame, argument)
    if isinstance(argument.value, Literal) and argument.value.value is None:
        return Accelerator("cuda")
    return device_values.as_device(argument.value)


def see_integer(frame: Frame, argument: Argument, form: str, site: CallSite) -> None:
    """An argument that names a device: record it if it is an integer that is written out."""
    value, node = argument.value, argument.node.value
    if (
        isinstance(value, Literal)
        and isinstance(value.value, int)
        and not isinstance(value.value, bool)
        and isinstance(node, cst.Integer)
        and isinstance(site.node, cst.Call)
    ):
        literals.see(frame, node, form, "cuda", value.value, node.value, site.node)


def device_keyword(frame: Frame, site: CallSite) -> Argument | None:
    """The `device=` argument, after any integer literal in it was noted."""
    argument = site.keyword("device")
    if argument is not None:
        see_integer(frame, argument, "integer", site)
        device_objects.check_index(frame, argument)
        lost_index.check_device_argument(frame, argument)
        literals.see_current(frame, argument)
        device_objects.check_name(frame, argument)
    return argument


def transfer_target(frame: Frame, site: CallSite, name: str, *, sure: bool = True) -> Device | None:
    """Where `.to(...)`, `.cuda(...)` or `.cpu()` moves to; None when it only changes the dtype.

    `sure`: the receiver is a tensor or a module, so that an integer can only be a device's index.
    """
    if name == "cpu":
        return Cpu()
    if name == "cuda":
        return cuda_argument(frame, site)
    if name in tensor_methods.ACCELERATOR_METHODS:
        return Accelerator(name)
    argument = device_keyword(frame, site)
    if any(isinstance(a.value, Literal) and isinstance(a.value.value, str) for a in site.positional()[1:]):
        return UNKNOWN_DEVICE  # `data.to(device, "x", "y")`: only some of its parts move
    if argument is not None:
        return None if _is_none(argument.value) else device_values.as_device(argument.value)
    other = site.keyword("other")
    if other is not None:
        return tensor_device(frame, other.value) or UNKNOWN_DEVICE
    if site.has_unknown_star():
        return UNKNOWN_DEVICE
    positional = site.positional()
    if not positional:
        return None
    first = positional[0]
    if sure:
        see_integer(frame, first, "integer", site)
        device_objects.check_name(frame, first)
    device_objects.check_index(frame, first)
    lost_index.check_device_argument(frame, first)
    literals.see_current(frame, first)
    if _is_none(first.value):
        return None
    return device_values.target_of(frame, first.value, first.node.value)


def _is_none(value: Value) -> bool:
    return isinstance(value, Literal) and value.value is None


def call_method(frame: Frame, tensor: Tensor, name: str, site: CallSite) -> Value:
    """The result of `tensor.name(...)`."""
    if name in ("to", "cuda", "cpu") or name in tensor_methods.ACCELERATOR_METHODS:
        target = transfer_target(frame, site, name)
        if target is None:
            return tensor
        if tensor.mapping and len(site.positional()) > 1 and isinstance(site.positional()[1].value, Literal):
            # `data.to(device, "x", "y")`: only parts of it move
            target = UNKNOWN_DEVICE
        if tensor.batch and frame.discarded is site.node and site.receiver is not None:
            # a container's `.to` may well work in place
            assign(frame, site.receiver, UNKNOWN)
            return UNKNOWN
        if frame.discarded is site.node and not tensor.mapping:
            discarded(frame, tensor.device, site, target)
        moved = replace(tensor, device=device_values.moved_to(frame, target, site.node), parameter=False)
        if tensor.mapping and site.receiver is not None:
            assign(frame, site.receiver, moved)
        return moved
    if (tensor.batch or tensor.mapping) and name not in TENSOR_NAMES and name not in _MAPPING_METHODS:
        # a method of who knows what: it may move the parts
        if site.receiver is not None:
            assign(frame, site.receiver, UNKNOWN)
        return UNKNOWN
    if name in ("items", "values", "keys") and (tensor.mapping or tensor.batch or tensor.guess):
        part = Tensor(tensor.device, guess=tensor.guess)
        if name == "keys":
            return UNKNOWN
        return Many(part) if name == "values" else Many(Items((UNKNOWN, part)))
    if tensor.guess and name not in TENSOR_NAMES and name != "get":
        return UNKNOWN  # whatever has that method is no tensor
    if name == "get" and (tensor.mapping or tensor.batch or tensor.guess):
        return Tensor(tensor.device, guess=tensor.guess)
    if name in factories.NEW_METHODS:
        argument = device_keyword(frame, site)
        return Tensor(
            tensor.device
            if argument is None
            else device_values.made_on(frame, device_values.as_device(argument.value), site.node)
        )
    if name == "type_as":
        other = site.get(0, "other")
        device = None if other is None else tensor_device(frame, other.value)
        return Tensor(UNKNOWN_DEVICE if device is None else device_values.moved_to(frame, device, site.node))
    if name == "type":
        return _type(frame, tensor, site)
    if name == "get_device":
        return DeviceValue(tensor.device, is_object=False, is_index=True)
    if name == "numpy":
        on_host = truths.device_is(frame, tensor.device, "cpu")
        if on_host is not None:
            frame.env.assume(on_host)  # from here on: what cannot be read there has raised
    if name in tensor_methods.HOST_METHODS:
        return Dtype() if name == "dtype" else UNKNOWN
    if name in tensor_methods.IN_PLACE_SAME_RECEIVER:
        return tensor
    if name in tensor_methods.OPERAND_METHODS and site.receiver is not None:
        operands = [Given(tensor, site.receiver)]
        for argument in site.arguments:
            operands += [] if argument.star else given_by(argument)
        admits = name in tensor_methods.ADMITS_SCALAR_OPERAND
        admits = admits and (not name.endswith("_") or has_room_for_scalars(tensor))
        combine(frame, site.node, name, operands, admits_scalar=admits)
    if site.keyword("generator") is not None:
        generators.check(frame, site, tensor.device)
    host_arguments.is_method(frame, tensor, name, site)
    scalar = tensor.scalar
    if name.startswith(("unsqueeze", "expand", "repeat", "view", "reshape", "new")):
        scalar = False
    elif name == "squeeze":
        scalar = None if scalar is False else scalar
    elif name in tensor_methods.REDUCES_TO_SCALAR:
        scalar = None if site.arguments else True
        if reduces_inner_dimension(site):
            scalar = False
    if name in tensor_methods.SPLITS:
        return Many(Tensor(tensor.device))
    guess = tensor.guess and name in tensor_methods.ARRAYS_TOO and site.keyword("dim") is None
    return Tensor(tensor.device, scalar=scalar, guess=guess)


def _is_given(device: Device, target: Device) -> bool:
    """Whether a tensor is wherever a caller has it: whoever moves it does not know that it is there already."""
    if not isinstance(device, Symbol) or not device.assumed or device == target:
        return False
    origin = device.origin
    given = attribution.root_of(device.key)[:1] == ("parameter",)
    return given and (origin is None or origin.root().what == "argument")


def discarded(frame: Frame, device: Device, site: CallSite, target: Device) -> None:
    """What is on `device` is moved and the result thrown away: it stays where it is."""
    certain = conflict(device, target, frame.env.path)
    if (certain is None or certain.level != Level.CERTAIN) and not _is_given(device, target):
        return  # it may be there already
    if site.receiver is None or not _used_later(frame, site):
        return
    frame.analysis.publish(
        ("discarded", id(site.node)),
        DiscardedTransfer(
            node=site.node,
            receiver=site.receiver,
            receiver_text=frame.analysis.text(site.receiver),
            device=describe(target),
            assignable=isinstance(site.receiver, (cst.Name, cst.Attribute, cst.Subscript))
            and not isinstance(frame.discarded_with, cst.Tuple),
            together=_discarded_together(frame),
        ),
    )


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
_MAPPING_METHODS = frozenset({"items", "values", "keys", "get"})


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
                return any(dotted(part) == name for part in walk(node.value))
        elif isinstance(node, cst.Attribute) and dotted(node.value) == name:
            if node.attr.value not in tensor_methods.METADATA_ATTRIBUTES | _SIZES:
                return True
            skipped.add(id(node.value))
        elif dotted(node) == name:
            return True
    return False


def _type(frame: Frame, tensor: Tensor, site: CallSite) -> Value:
    argument = site.get(0, "dtype")
    match argument and argument.value:
        case None:
            return UNKNOWN
        case Dtype():
            return tensor
        case Api(path=path) if path.startswith("torch.cuda."):
            return Tensor(device_values.moved_to(frame, Accelerator("cuda"), site.node))
        case Api(path=path) if path.startswith("torch.") and path.endswith("Tensor"):
            return Tensor(device_values.moved_to(frame, Cpu(), site.node))
        case Literal(value=str(text)):
            return Tensor(
                device_values.moved_to(frame, Accelerator("cuda") if ".cuda." in text else Cpu(), site.node)
            )
        case _:
            return Tensor(UNKNOWN_DEVICE)
