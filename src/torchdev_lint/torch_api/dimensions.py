"""How many dimensions PyTorch's functions and tensor methods give at least, by those of what they are given.

Source: https://pytorch.org/docs/stable/torch.html and .../tensors.html, function by function; tests/harness/test_dimensions.py
tries each.
"""

from __future__ import annotations

KEEPS = frozenset(
    (
        "abs absolute exp exp2 expm1 log log1p log2 log10 sqrt rsqrt square reciprocal neg negative positive sign  sgn ceil "
        "floor round trunc frac sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfinv lgamma digamma sigmoid "
        "logit relu relu6 gelu silu  elu selu celu leaky_relu softplus softsign hardtanh hardswish hardsigmoid mish threshold "
        "dropout normalize clamp  clip clamp_min clamp_max softmax softmin log_softmax gumbel_softmax layer_norm rms_norm "
        "batch_norm cumsum cumprod logcumsumexp argsort  flip roll fliplr flipud rot90 transpose t permute swapaxes swapdims "
        "movedim tril triu masked_fill  index_fill index_copy index_add index_select scatter scatter_add gather float double "
        "half bfloat16 long int short byte bool  clone detach contiguous requires_grad_ nan_to_num real imag conj angle deg2rad "
        "rad2deg chunk split tensor_split  split_with_sizes pad linear scaled_dot_product_attention bernoulli logical_not isnan "
        "isinf isfinite renorm narrow fft ifft  rfft irfft fft2 ifft2 rfft2 irfft2 fftshift ifftshift conv1d conv2d conv3d "
        "max_pool1d max_pool2d avg_pool1d  avg_pool2d adaptive_avg_pool2d interpolate cpu zeros_like ones_like rand_like "
        "randn_like empty_like full_like  randint_like data"
    ).split()
)
"""The result, or each of several, has as many as the first tensor."""

NEEDS_ITS_DIMENSION = frozenset(
    (
        "softmax log_softmax softmin cumsum cumprod logcumsumexp cummax cummin sort topk argsort cat concat concatenate squeeze unbind "
        "transpose swapaxes swapdims chunk split narrow select sum mean prod max min median nanmedian nansum nanmean mode kthvalue argmax "
        "argmin all any std var logsumexp norm amax amin gather scatter scatter_add index_select index_add flip"
    ).split()
)
"""Operations along a dimension that their operand must have: `dim=1` raises for what has one only."""

BROADCASTS = frozenset(
    (
        "add sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow maximum minimum fmax fmin where lerp "
        "atan2 hypot copysign xlogy logaddexp eq ne lt gt le ge logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor "
        "addcmul addcdiv isclose heaviside"
    ).split()
)
"""The result has as many as the operand that has most."""

ADDS_ONE = frozenset({"unsqueeze", "stack", "one_hot", "embedding"})
"""The result has one more than the first tensor, or than each of a list."""

PAIRS_OF_SAME = frozenset({"sort", "topk", "cummax", "cummin"})
"""The result is a pair of tensors with as many."""

PAIRS = frozenset({"max", "min", "median", "nanmedian", "mode", "kthvalue"})
"""Reductions that give, for a dimension, a pair of values and indices."""

AT_LEAST: dict[str, int] = {
    "cat": 1,
    "concat": 1,
    "concatenate": 1,
    "hstack": 1,
    "flatten": 1,
    "ravel": 1,
    "masked_select": 1,
    "bincount": 1,
    "unique": 1,
    "vstack": 2,
    "row_stack": 2,
    "column_stack": 2,
    "mm": 2,
    "cdist": 2,
    "outer": 2,
    "ger": 2,
    "nonzero": 2,
    "dstack": 3,
    "bmm": 3,
    "baddbmm": 3,
}
"""The least number, whatever is given."""

AS_MANY_AS_ITEMS = frozenset(
    {"cat", "concat", "concatenate", "hstack", "vstack", "row_stack", "column_stack", "dstack"}
)
"""What joins tensors along a dimension that they have: the result has as many as each, or more."""

BY_SIZES = frozenset(
    {"reshape", "view", "repeat", "expand", "tile", "new_zeros", "new_ones", "new_empty", "new_full"}
)
"""As many as there are sizes in the call; `repeat` and `expand` never have fewer than the tensor."""

LIKE_ANOTHER = frozenset({"view_as", "expand_as", "reshape_as"})
"""As many as the argument has."""

SQUEEZES = frozenset({"squeeze", "unbind", "select"})
"""With a dimension: one less than the tensor has; `unbind` takes the first one apart when it is not told which."""
