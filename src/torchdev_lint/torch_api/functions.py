"""What functions of `torch`, `torch.nn.functional` and their like do with the devices of their operands.

Source: `device_check` in PyTorch's packaged `native_functions.yaml`; see docs/design.md.
"""

from __future__ import annotations

OPERATION_NAMESPACES = (
    "torch.",
    "torch.nn.functional.",
    "torch.linalg.",
    "torch.fft.",
    "torch.special.",
)
"""Functions in these namespaces compute on the device of their tensor operands."""

ADMITS_SCALAR = frozenset(
    (
        "add sub mul div where eq ne lt le gt ge maximum minimum pow fmod remainder atan2 masked_fill addcmul addcdiv "
        "logical_and logical_or logical_xor bitwise_and bitwise_or isclose subtract multiply divide true_divide floor_divide lerp "
        "clamp clip greater less greater_equal less_equal not_equal mse_loss l1_loss smooth_l1_loss huber_loss kl_div "
        "binary_cross_entropy_with_logits xlogy copysign hypot nextafter"
    ).split()
)
"""Pointwise functions: a 0-dim CPU tensor may meet an accelerator's (TensorIterator)."""

NO_COMMON_DEVICE = frozenset(
    (
        "is_tensor is_storage is_complex is_floating_point is_nonzero set_default_dtype get_default_dtype "
        "set_default_device get_default_device set_default_tensor_type numel set_printoptions set_flush_denormal manual_seed seed "
        "initial_seed get_rng_state set_rng_state save load no_grad enable_grad inference_mode set_grad_enabled is_grad_enabled "
        "compile jit.script jit.trace Generator device dtype Size finfo iinfo broadcast_shapes result_type can_cast promote_types "
        "set_num_threads get_num_threads use_deterministic_algorithms are_deterministic_algorithms_enabled typename vmap "
        "set_float32_matmul_precision get_float32_matmul_precision utils.data.DataLoader manual_seed equal allclose autograd.grad "
        "nn.functional.has_torch_function index_put index_put_ pin_memory utils.checkpoint.checkpoint"
    ).split()
)
"""Functions in those namespaces that are no operations on operands of one device."""

HOST_ONLY_RESULT = frozenset("is_tensor is_nonzero equal allclose numel is_complex is_floating_point".split())
"""Functions whose result is no tensor."""
