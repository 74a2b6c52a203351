"""What tensor methods and attributes do to the device.

Source: https://docs.pytorch.org/docs/stable/tensors.html.
"""

from __future__ import annotations

METADATA_ATTRIBUTES = frozenset(
    "shape dtype ndim layout requires_grad is_leaf is_sparse is_quantized is_meta is_cpu is_mps grad_fn names itemsize nbytes".split()
)
"""Attributes that are no tensors."""

HOST_METHODS = frozenset(
    (
        "item tolist numpy size dim ndimension numel nelement stride storage_offset element_size is_contiguous "
        "is_floating_point is_complex data_ptr get_device is_shared is_set_to is_signed is_same_size equal allclose "
        "storage untyped_storage backward register_hook retain_grad __len__ __bool__ __int__ __float__ keys"
    ).split()
)
"""Methods whose result is no tensor (or none that has a device worth knowing)."""

IN_PLACE_SAME_RECEIVER = frozenset("requires_grad_ detach_ share_memory_ pin_memory".split())
"""Return the receiver where it is."""

REDUCES_TO_SCALAR = frozenset(
    "sum mean max min prod norm std var median argmax argmin all any nanmean nansum".split()
)
"""Called without arguments these give a 0-dim tensor."""

OPERAND_METHODS = frozenset(
    (
        "add add_ sub sub_ mul mul_ div div_ matmul mm bmm dot mv addmm baddbmm eq ne lt le gt ge maximum minimum pow fmod "
        "remainder atan2 where masked_fill masked_fill_ masked_select masked_scatter gather scatter scatter_ scatter_add scatter_add_ "
        "index_select index_add index_add_ index_copy index_copy_ take take_along_dim addcmul addcmul_ addcdiv addcdiv_ lerp lerp_ "
        "logical_and logical_or logical_xor bitwise_and bitwise_or isclose cross outer ger kron dist "
        "subtract multiply divide true_divide floor_divide greater less greater_equal less_equal not_equal"
    ).split()
)
"""Methods whose tensor arguments must be where the receiver is."""

ADMITS_SCALAR_OPERAND = frozenset(
    (
        "add add_ sub sub_ mul mul_ div div_ eq ne lt le gt ge maximum minimum pow fmod remainder atan2 where masked_fill "
        "masked_fill_ addcmul addcmul_ addcdiv addcdiv_ logical_and logical_or logical_xor bitwise_and bitwise_or isclose "
        "subtract multiply divide true_divide floor_divide greater less greater_equal less_equal not_equal lerp lerp_"
    ).split()
)
"""Of those, the ones that accept a 0-dim CPU tensor (TensorIterator's rule for scalars)."""
