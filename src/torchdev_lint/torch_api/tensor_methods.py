"""What tensor methods and attributes do to the device.

Source: https://docs.pytorch.org/docs/stable/tensors.html.
"""

from __future__ import annotations

METADATA_ATTRIBUTES = frozenset(
    "shape dtype ndim layout requires_grad is_leaf is_sparse is_quantized is_meta is_cpu is_mps grad_fn names itemsize nbytes".split()
)
"""Attributes that are no tensors."""

ACCELERATOR_METHODS = frozenset("xpu ipu mtia npu mlu musa hpu sdaa gcu".split())
"""Methods that, like `.cuda()`, move to the current device of the type that they are named after.

`xpu`, `ipu` and `mtia` are PyTorch's own; the others are added by vendors' extensions (torch.utils.rename_privateuse1_backend).
"""

HOST_METHODS = frozenset(
    "numpy storage untyped_storage backward register_hook retain_grad __len__ __bool__ __int__ __float__ keys _nnz _dimI _dimV".split()
)
"""Methods whose result is no tensor, or none that has a device worth knowing, beside those that the operator table has."""

READING_METHODS = frozenset({"numpy", "__array__"})
"""Methods that give the host's view of the data and need a CPU tensor (torch/csrc/utils/tensor_numpy.cpp)."""

ON_HOST_ONLY = frozenset({"apply_", "map_", "map2_"})
"""Methods that call a function of Python's for each element, of CPU tensors only (torch/csrc/utils/tensor_apply.cpp)."""

ARRAYS_TOO = frozenset(
    "min max sum mean std var prod any all argmax argmin argsort sort clip round cumsum dot reshape transpose squeeze flatten ravel "
    "repeat swapaxes nonzero copy conj".split()
)
"""Methods that NumPy's arrays have, too."""

WITHOUT_GRAD = frozenset(
    (
        "detach data argmax argmin argsort argwhere nonzero long int short byte bool eq ne lt le gt ge isnan isinf isfinite "
        "isclose round floor ceil sign searchsorted bincount count_nonzero logical_and logical_or logical_not logical_xor"
    ).split()
)
"""Methods and attributes whose result takes no part in automatic differentiation (integers, or cut off from the graph)."""

IN_PLACE_SAME_RECEIVER = frozenset("requires_grad_ detach_ share_memory_ pin_memory".split())
"""Return the receiver where it is."""

MAY_RETURN_RECEIVER = frozenset("float contiguous".split())
"""Return the receiver itself where it is that already, as a new parameter is (`float32`, contiguous) unless told otherwise."""

EVIDENT_OPERATIONS = frozenset(
    (
        "add_ sub_ mul_ div_ matmul mm bmm mv addmm baddbmm eq ne lt le gt ge pow fmod remainder atan2 masked_fill masked_fill_ "
        "masked_select masked_scatter scatter_ scatter_add scatter_add_ index_select index_add_ index_copy index_copy_ "
        "take_along_dim addcmul addcmul_ addcdiv addcdiv_ lerp lerp_ logical_and logical_or logical_xor bitwise_and "
        "bitwise_or isclose ger kron subtract true_divide floor_divide greater_equal less_equal not_equal maximum minimum dot "
        "sub mul div divide"
    ).split()
)
"""Operations that, of the things that people put on devices, only tensors have as methods."""
