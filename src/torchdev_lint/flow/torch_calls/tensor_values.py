"""What a value is when it is used as a tensor: where it is, whether it is 0-dimensional."""

from __future__ import annotations

from torchdev_lint.flow.activation.frame import Frame
from torchdev_lint.flow.domain import environment
from torchdev_lint.flow.domain.lattice import (
    UNKNOWN_DEVICE,
    Cpu,
    Device,
    Symbol,
    choose,
)
from torchdev_lint.flow.domain.values import (
    NONE,
    Either,
    Items,
    Literal,
    Many,
    Object,
    Tensor,
    Value,
)
from torchdev_lint.flow.nn_modules import loaded_parts
from torchdev_lint.flow.read_alone.evidence import is_number_parameter
from torchdev_lint.flow.telling import attribution


def tensor_device(frame: Frame, value: Value) -> Device | None:
    """The device of a value used as a tensor; None when nothing says that it is one."""
    match value:
        case Tensor(device=device):
            return device
        case Either(guard, then, otherwise):
            left, right = tensor_device(frame, then), tensor_device(frame, otherwise)
            if left is None and right is None:
                return None
            if left is None or right is None:
                # a sum that starts from a number is nowhere until a tensor is added; what may be left out neither
                other = then if left is None else otherwise
                if isinstance(other, Literal) and (other == NONE or isinstance(other.value, (int, float))):
                    return left or right
            return choose(guard, left or UNKNOWN_DEVICE, right or UNKNOWN_DEVICE)
        case Object():
            state = frame.state(value)
            return state.device if state.kind == "unknown" else None
        case Items(items) if items:
            # what holds itself twice, step by step, has more leaves than can be counted
            found = [tensor_device(frame, item) for item in {id(item): item for item in items}.values()]
            known = [device for device in found if device is not None]
            return (
                known[0] if len(known) == len(found) and all(device == known[0] for device in known) else None
            )
        case Many(element):
            return tensor_device(frame, element)
        case _:
            return None


def counts_as_operand(frame: Frame, value: Value) -> bool:
    """Whether the value is a tensor, at least in one case, or something that was moved like one."""
    if isinstance(value, Either):
        return counts_as_operand(frame, value.then) or counts_as_operand(frame, value.otherwise)
    return isinstance(value, Tensor) or frame_moved(frame, value)


def frame_moved(frame: Frame, value: Value) -> bool:
    """Whether an otherwise unknown thing is the result of an explicit transfer: then it has a device that counts."""
    return isinstance(value, Object) and value.key[0] == "moved" and frame.state(value).moved


def moved_tensor(frame: Frame, value: Value) -> Tensor | None:
    """Something that was moved, where it is used as only tensors can be: in arithmetic, by a method that only they have."""
    return environment.moved_tensor(frame.env, value)


def taken_for_tensor(frame: Frame, value: Value) -> Value:
    """What PyTorch's own functions are given as an operand is a tensor: where what it was computed from is."""
    if not isinstance(value, Object):
        return value
    loaded = loaded_parts.as_tensor(frame, value)
    if loaded is not value:
        return loaded
    state = frame.state(value)
    if state.kind != "unknown" or not isinstance(state.device, Symbol) or not state.device.assumed:
        return value
    root = attribution.root_of(state.device.key)
    computed = root[:1] == ("self",) and value.key[0] == "call"  # by a part of the module
    if not computed and (
        root[:1] != ("parameter",) or (value.key == root and is_number_parameter(frame, root))
    ):
        return value
    return Tensor(state.device, scalar=None)


def scalar_ness(value: Value) -> bool | None:
    """Whether the value is 0-dimensional: certainly, certainly not, or (None) possibly."""
    match value:
        case Tensor(scalar=scalar):
            return scalar
        case Either(_, then, otherwise):
            left, right = scalar_ness(then), scalar_ness(otherwise)
            if left == right:
                return left
            # what may be a parameter of the function is wherever the other operands are: the one made here counts
            for one, other, known in ((then, otherwise, left), (otherwise, then, right)):
                if isinstance(one, Tensor) and isinstance(one.device, Cpu) and isinstance(other, Object):
                    return known
            return None
        case Object():
            return None
        case _:
            return False


def is_scalar(value: Value) -> bool:
    """Whether the value is certainly 0-dimensional."""
    return scalar_ness(value) is True
