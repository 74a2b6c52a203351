"""Functions that make tensors, and where they put them.

Source: the `device` parameter in the signatures of https://docs.pytorch.org/docs/stable/torch.html (creation ops).
"""

from __future__ import annotations

FACTORIES = frozenset(
    {
        "torch." + name
        for name in (
            "tensor arange bartlett_window blackman_window empty empty_permuted empty_strided eye full "
            "hamming_window hann_window kaiser_window linspace logspace normal ones rand randint randn randperm range "
            "scalar_tensor sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor "
            "sparse_csr_tensor tril_indices triu_indices zeros fft.fftfreq fft.rfftfreq signal.windows.hann "
            "signal.windows.hamming signal.windows.gaussian cartesian_prod_of_ranges "
            "nn.Transformer.generate_square_subsequent_mask"
        ).split()
    }
)
"""Put their result on `device=`, without it on the default device (the CPU unless the program says otherwise)."""

TAKES_DEVICE = frozenset(name.rpartition(".")[2] for name in FACTORIES) | {"as_tensor", "asarray"}
"""The last names of the functions that take `device=`."""

TAKES_DATA = frozenset(
    {"torch.tensor", "torch.as_tensor", "torch.asarray", "torch.scalar_tensor", "torch.from_numpy"}
)
"""Factories whose first argument is data: a number literal makes a 0-dim tensor."""

CONVERTERS = frozenset({"torch.as_tensor", "torch.asarray"})
"""Keep the device of a tensor argument; anything else goes to `device=` or the default device."""

OF_PARTS = frozenset(
    "torch." + name
    for name in "sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor sparse_compressed_tensor".split()
)
"""Without `device=` they are where the tensor of the values is (torch/csrc/utils/tensor_new.cpp, `sparse_coo_tensor_ctor`)."""

OF_ARRAYS = frozenset(
    (
        "zeros ones empty full arange linspace eye zeros_like ones_like empty_like full_like concatenate stack vstack hstack column_stack "
        "row_stack dstack rand randn uniform normal randint permutation"
    ).split()
)
"""NumPy's functions that make an array of numbers, unless `dtype=object`: what is taken from it is on the host."""
METHODS_OF_ARRAYS = frozenset(
    (
        "astype copy reshape transpose flatten ravel squeeze swapaxes repeat clip round cumsum cumprod mean std var sum prod min max "
        "dot argsort argmax argmin"
    ).split()
)
"""Methods of NumPy's arrays that give an array of numbers, or a number."""

HOST_FACTORIES = frozenset({"torch.from_numpy", "torch.frombuffer", "torch.from_file"})
"""Always on the CPU: they share the host's memory. The default device has no say (torch/_torch_docs.py, from_numpy)."""

HOST_ENGINES = {"torch.quasirandom.SobolEngine": frozenset({"draw", "draw_base2"})}
"""Classes, and their methods that give tensors on the CPU, whatever the default device (torch/quasirandom.py, `cpu = ...`)."""
GIVES_ENGINE = frozenset({"reset", "fast_forward"})
"""Methods of such a class that give the object itself."""

LEGACY_DTYPES = {
    "torch.Tensor": "float32",
    "torch.FloatTensor": "float32",
    "torch.DoubleTensor": "float64",
    "torch.HalfTensor": "float16",
    "torch.BFloat16Tensor": "bfloat16",
    "torch.ByteTensor": "uint8",
    "torch.CharTensor": "int8",
    "torch.ShortTensor": "int16",
    "torch.IntTensor": "int32",
    "torch.LongTensor": "int64",
    "torch.BoolTensor": "bool",
}
"""Legacy constructors, and the types of their elements (torch/csrc/tensor/python_tensor.cpp)."""

LEGACY_DEFAULT_TYPE = "torch.Tensor"
"""The legacy constructor of the default tensor type."""

LEGACY_HOST_TYPES = frozenset(LEGACY_DTYPES) - {LEGACY_DEFAULT_TYPE}
"""Legacy constructors that are on the CPU whatever the default device (the type names the backend)."""

LIKE = frozenset(
    {
        "torch." + name
        for name in "zeros_like ones_like empty_like full_like rand_like randn_like randint_like".split()
    }
)
"""On the device of the first argument unless `device=` says otherwise."""

NEW_METHODS = frozenset("new_zeros new_ones new_empty new_full new_tensor new_empty_strided new".split())
"""Tensor methods that make a tensor on the receiver's device unless `device=` says otherwise."""

DEFAULT_TENSOR_CONSTRUCTORS = frozenset({"text_to_token_ids"})
"""Functions that people write for themselves and that return tensors on the CPU, by bare name; `tensor-constructors` adds to it."""

RANDOM_SAMPLERS = frozenset({"torch.normal", "torch.bernoulli", "torch.multinomial", "torch.poisson"})
"""Follow a tensor argument if there is one."""
