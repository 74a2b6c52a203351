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
    "torchvision.ops.",
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
        "ctc_loss set_num_threads get_num_threads use_deterministic_algorithms are_deterministic_algorithms_enabled typename vmap "
        "set_float32_matmul_precision get_float32_matmul_precision utils.data.DataLoader manual_seed equal allclose autograd.grad "
        "nn.functional.has_torch_function multi_head_attention_forward "
        "index_put index_put_ pin_memory utils.checkpoint.checkpoint"
    ).split()
)
"""Functions in those namespaces that are no operations on operands of one device."""

FOLLOWS_ARGUMENT = {
    "torch.nn.utils.parameters_to_vector": (0, "parameters", "tensor"),
    "torch.nn.utils.clip_grad_norm_": (0, "parameters", "scalar"),
    "torch.nn.utils.get_total_norm": (0, "tensors", "scalar"),
    "torch.nn.utils.clip_grad.clip_grad_norm_": (0, "parameters", "scalar"),
    "torch.autograd.grad": (1, "inputs", "tuple"),
}
"""Functions whose result is where an argument (or what it contains) is: its position and name, and what comes back."""

FIRST_OPERAND_ONLY = frozenset(
    "split split_with_sizes chunk tensor_split reshape tile roll topk histogram histc narrow unflatten flatten".split()
)
"""Functions of one tensor: what else they are given are sizes, counts and dimensions."""

ALWAYS_SCALAR = frozenset({"trace", "dot", "vdot"})
"""Functions whose result is 0-dimensional whatever they are given."""

HOST_ONLY_RESULT = frozenset("is_tensor is_nonzero equal allclose numel is_complex is_floating_point".split())
"""Functions whose result is no tensor."""
