"""Which mixes of devices an operator admits, and what it says to the others.

A rule gets the operator's tensor operands with their devices and returns the device of the result, or raises
what the CUDA kernel would. Three general rules follow native_functions.yaml; the rest are operators that
check by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import torch

from torchdev_lint.harness.simulator.errors import raise_device_error, raise_two_devices
from torchdev_lint.harness.simulator.machine import CPU
from torchdev_lint.harness.simulator.native import Declaration
from torchdev_lint.harness.simulator.tags import WILD


class Operand(NamedTuple):
    """A tensor argument: the schema's name for it, the tensor, its device (or WILD)."""

    name: str
    tensor: torch.Tensor
    device: Any


class Operator(NamedTuple):
    """What a rule may want to know of the operator."""

    name: str
    overload: str
    declaration: Declaration | None

    @property
    def wrapper(self) -> str:
        """The generated wrapper's name, as it stands in messages (torchgen/dest/register_dispatch_key.py)."""
        if self.declaration is not None and self.declaration.structured:
            return f"wrapper_CUDA_{self.overload + '_' if self.overload else ''}{self.name}"
        return f"wrapper_CUDA_{self.overload}_{self.name}"


Rule = Callable[[Operator, Sequence[Operand]], Any]


def release() -> tuple[int, int]:
    """torch's version as (major, minor)."""
    match = re.match(r"(\d+)\.(\d+)", str(torch.__version__))
    assert match is not None
    return int(match[1]), int(match[2])


_NEW_WORDING = release() >= (2, 9)


def raise_exact(argument: str, device: Any, common: Any, method: str) -> NoReturn:
    """The generated check's error: c10::impl::common_device_check_failure
    (ATen/core/op_registration/adaption.cpp).
    """
    if _NEW_WORDING:
        raise_device_error(
            f"Expected all tensors to be on the same device, but got {argument} is on {device}, different "
            f"from other tensors on {common} (when checking argument in method {method})"
        )
    raise_device_error(
        f"Expected all tensors to be on the same device, but found at least two devices, {common} and "
        f"{device}! (when checking argument for argument {argument} in method {method})"
    )


def exact(operator: Operator, operands: Sequence[Operand], method: str | None = None) -> Any:
    """All operands on one device: the check that the code generator puts before CUDA kernels."""
    common: Any = None
    for operand in operands:
        if operand.device is WILD:
            continue
        if common is None:
            common = operand.device
        elif operand.device != common:
            if "mps" in (operand.device.type, common.type):
                raise_two_devices(*accelerator_first(common, operand.device))
            raise_exact(operand.name, operand.device, common, method or operator.wrapper)
    return WILD if common is None else common


def iterator(operator: Operator, operands: Sequence[Operand], *, cpu_scalars: int | None = 1) -> Any:
    """TensorIterator: the common device is that of the first operand not on the CPU; 0-dim CPU inputs are
    admitted.

    At most `cpu_scalars` of them (TensorIterator.cpp: max_cpu_scalars_on_non_cpu), never as an output.
    """
    common: Any = None
    for operand in operands:
        if operand.device is not WILD and operand.device.type != "cpu":
            common = operand.device
            break
    if common is None:
        return CPU if any(operand.device is not WILD for operand in operands) else WILD
    in_place = operator.name.endswith("_") and not operator.name.endswith("__")
    scalars = 0
    for position, operand in enumerate(operands):
        if operand.device is WILD or operand.device == common:
            continue
        is_output = (in_place and position == 0) or operand.name == "out"
        if operand.device.type == "cpu" and operand.tensor.dim() == 0 and not is_output:
            scalars += 1
            if cpu_scalars is not None and scalars > cpu_scalars:
                raise_device_error("Trying to pass too many CPU scalars to non-CPU kernel!")
            continue
        raise_two_devices(common, operand.device)
    return common


def lenient(operator: Operator, operands: Sequence[Operand]) -> Any:
    """Operators without a kernel of their own: they end in others that check; scalars get the benefit of the
    doubt.
    """
    return iterator(operator, operands, cpu_scalars=None)


def first(operator: Operator, operands: Sequence[Operand]) -> Any:
    """Any mix; the result is where the first operand is."""
    for operand in operands:
        if operand.device is not WILD:
            return operand.device
    return WILD


def accelerator_first(one: Any, other: Any) -> tuple[Any, Any]:
    """The pair in the order in which TensorIterator names devices."""
    return (other, one) if one.type == "cpu" else (one, other)


def _named(operands: Sequence[Operand], *names: str) -> Operand | None:
    for operand in operands:
        if operand.name in names:
            return operand
    return None


def _index(operator: Operator, operands: Sequence[Operand]) -> Any:
    """`x[index]`: indices on the CPU or beside x (ATen/native/TensorAdvancedIndexing.cpp, make_info)."""
    source = operands[0].device
    for operand in operands[1:]:
        if operand.name != "indices" or WILD in (operand.device, source) or operand.device.type == "cpu":
            continue
        if operand.device != source:
            raise_device_error(
                f"indices should be either on cpu or on the same device as the indexed tensor ({source})"
            )
    return source


def _index_put(operator: Operator, operands: Sequence[Operand]) -> Any:
    """`x[index] = values`: indices from anywhere are brought to x (ATen/native/TensorAdvancedIndexing.cpp: `_index_put_impl_` does not ask
    `check_indices_on_cpu_or_selfdevice`, and `make_info` moves them); 0-dim CPU values are moved (index_put_with_sort / _index_put_impl_).
    """
    target = operands[0].device
    for operand in operands:
        if operand.name != "values" or WILD in (operand.device, target) or operand.device == target:
            continue
        tensor = operand.tensor
        if tensor.dim() == 0:
            continue
        masks = any(o.name == "indices" and o.tensor.dtype in (torch.bool, torch.uint8) for o in operands)
        if operand.device.type == "cpu" and tensor.numel() == 1 and len(operands) <= 3 and masks:
            continue  # becomes masked_fill (canDispatchToMaskedFill)
        raise_two_devices(*accelerator_first(target, operand.device))
    return target


def _embedding(operator: Operator, operands: Sequence[Operand]) -> Any:
    """`weight.index_select(0, indices)` (ATen/native/Embedding.cpp)."""
    weight, indices = operands[0].device, operands[1].device
    if WILD in (weight, indices) or weight == indices:
        return indices if weight is WILD else weight
    if "mps" in (weight.type, indices.type):
        raise_device_error("Placeholder storage has not been allocated on MPS device!")
    raise_exact("index", indices, weight, "wrapper_CUDA__index_select")


def _convolution(operator: Operator, operands: Sequence[Operand]) -> Any:
    """Types before devices (ATen/native/Convolution.cpp, check_input_same_type_as_parameters)."""
    data, weight, bias = (
        _named(operands, "input", "self"),
        _named(operands, "weight"),
        _named(operands, "bias"),
    )
    if data is None or weight is None or _named(operands, "grad_output") is not None:
        return exact(operator, operands)
    if WILD in (data.device, weight.device):
        return data.device if weight.device is WILD else weight.device
    if data.device.type != weight.device.type:
        tail = (
            ""
            if data.device.type != "cpu"
            else " or input should be a MKLDNN tensor and weight is a dense tensor"
        )
        raise_device_error(
            f"Input type ({type_name(data.tensor, data.device)}) and weight type "
            f"({type_name(weight.tensor, weight.device)}) should be the same{tail}"
        )
    if bias is not None and bias.device is not WILD and bias.device.type != data.device.type:
        raise_device_error(
            f"Input type ({type_name(data.tensor, data.device)}) and bias type "
            f"({type_name(bias.tensor, bias.device)}) should be the same"
        )
    return exact(operator, operands, "wrapper_CUDA__cudnn_convolution")


def _masked_fill(operator: Operator, operands: Sequence[Operand]) -> Any:
    """Mask beside self, value anywhere if 0-dim and self is not on the CPU (masked_fill__cuda)."""
    target, mask, value = operands[0], operands[1], operands[2] if len(operands) > 2 else None
    if value is not None and WILD not in (value.device, target.device):
        if target.device.type == "cpu" and (value.device.type if value else "cpu") != "cpu":
            raise_device_error("masked_fill_: Expected inputs to be on same device")
        if value.device.type != "cpu" and value.device != target.device:
            raise_two_devices(target.device, value.device)
    if WILD not in (target.device, mask.device) and target.device != mask.device:
        if "mps" in (target.device.type, mask.device.type):
            raise_two_devices(*accelerator_first(target.device, mask.device))
        raise_device_error(
            f"expected self and mask to be on the same device, but got mask on {mask.device} and self on "
            f"{target.device}"
        )
    return mask.device if target.device is WILD else target.device


def _equal(operator: Operator, operands: Sequence[Operand]) -> Any:
    """`torch.equal` (ATen/native/cuda/Equal.cpp)."""
    return exact(operator, operands, "wrapper_CUDA__equal")


def _stack(operator: Operator, operands: Sequence[Operand]) -> Any:
    """Becomes `cat`, which admits no CPU scalar."""
    return exact(operator, operands, "wrapper_CUDA_cat")


def _pack_lengths(operator: Operator, operands: Sequence[Operand]) -> Any:
    """Lengths on the CPU, always (ATen/native/PackedSequence.cpp)."""
    lengths = operands[1]
    if lengths.device is not WILD and lengths.device.type != "cpu":
        kind = type_name(lengths.tensor, CPU).removeprefix("torch.").removesuffix("Tensor")
        raise_device_error(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.tensor.dim()}D "
            f"{lengths.device} {kind} tensor"
        )
    return operands[0].device


def _ctc(operator: Operator, operands: Sequence[Operand]) -> Any:
    """Targets and lengths may be on the CPU (cuDNN's variant wants them there)."""
    strict = ("log_probs", "grad", "neg_log_likelihood", "log_alpha")
    return exact(operator, [operand for operand in operands if operand.name in strict])


def _foreach(operator: Operator, operands: Sequence[Operand]) -> Any:
    """Lists walked together, each step a TensorIterator (the slow path of
    ATen/native/ForeachOpsKernels.cpp).
    """
    lists: dict[str, list[Operand]] = {}
    for operand in operands:
        lists.setdefault(operand.name, []).append(operand)
    columns = list(lists.values())
    length = len(columns[0])
    common: Any = None
    for row in range(length):
        group = [column[row] if len(column) == length else column[0] for column in columns]
        device = iterator(operator, group, cpu_scalars=None)
        common = device if common is None else common
    return WILD if common is None else common


SPECIAL: dict[str, Rule] = {
    "index": _index,
    "_unsafe_index": _index,
    "index_put": _index_put,
    "index_put_": _index_put,
    "_index_put_impl_": _index_put,
    "_unsafe_index_put": _index_put,
    "embedding": _embedding,
    "convolution": _convolution,
    "_convolution": _convolution,
    "convolution_overrideable": _convolution,
    "mkldnn_convolution": _convolution,
    "copy_": first,
    "copy": first,
    "_copy_from": first,
    "_foreach_copy_": first,
    "set_": first,
    "fill": first,
    "fill_": first,
    "_local_scalar_dense": first,
    "is_same_size": first,
    "resize_as_": first,
    "lift_fresh": first,
    "_has_same_storage_numel": first,
    "where": lenient,
    "masked_fill": _masked_fill,
    "masked_fill_": _masked_fill,
    "equal": _equal,
    "stack": _stack,
    "_pack_padded_sequence": _pack_lengths,
    "_ctc_loss": _ctc,
    "_ctc_loss_backward": _ctc,
}
"""Operators that check by hand, by name without overload."""

CHECKED_EVEN_IF_EQUAL = frozenset({"_pack_padded_sequence"})
"""Operators that refuse operands although they are all on one device."""

CPU_OUTPUTS: dict[str, int] = {"_pack_padded_sequence": 1}
"""Operators of which one output, by position, stays on the CPU."""

CPU_ONLY = frozenset(
    {"histogram", "_histogramdd_bin_edges", "_histogramdd_from_bin_cts", "_histogramdd_from_bin_tensors"}
)
"""Public operators that have no CUDA kernel (native_functions.yaml lists the CPU only)."""


def rule_for(operator: Operator) -> Rule:
    """The rule of an operator."""
    special = SPECIAL.get(operator.name)
    if special is not None:
        return special
    if operator.name.startswith("_foreach_"):
        return _foreach
    declaration = operator.declaration
    if declaration is None:
        return lenient
    if declaration.unchecked:
        return iterator
    return exact if declaration.has_cuda_kernel else lenient


_TYPE_NAMES = {
    torch.float32: "Float",
    torch.float64: "Double",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.int64: "Long",
    torch.int32: "Int",
    torch.int16: "Short",
    torch.int8: "Char",
    torch.uint8: "Byte",
    torch.bool: "Bool",
    torch.complex64: "ComplexFloat",
    torch.complex128: "ComplexDouble",
}


def type_name(tensor: torch.Tensor, device: Any) -> str:
    """What `Tensor.type()` says: torch.FloatTensor, torch.cuda.LongTensor."""
    prefix = "torch." if device.type == "cpu" else f"torch.{device.type}."
    return f"{prefix}{_TYPE_NAMES.get(tensor.dtype, 'Float')}Tensor"
