"""Is this exception about devices? Decided from its type and message; no torch.

The simulator marks its own errors (`DEVICE_ERROR_MARK`), but marks get lost: PyTorch re-raises what happened
in a DataLoader worker as a new exception with the old text, and errors of the plain CPU and of a real GPU
never had one. So the text decides, by patterns taken from PyTorch's sources and from messages seen on torch
2.13 (CPU build).
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator

from torchdev_lint.harness.verdict import Kind

DEVICE_ERROR_MARK = "_torchdev_lint_device_error"
"""An attribute that the simulator sets on the exceptions it raises."""

UNSUPPORTED_MARK = "_torchdev_lint_unsupported"
"""An attribute on exceptions that say: the simulator cannot do this."""

# (a message pattern, where it comes from)
_PATTERNS: tuple[tuple[str, str], ...] = (
    (r"to be on the same device", "c10/core and TensorIterator checks; stft, masked_fill"),
    (r"must be on the same device", "aten: stft's window, cdist, embedding_bag"),
    (r"on different (?:devices|GPUs)", "nn.utils.parameters_to_vector, torch.equal"),
    (r"indices should be either on cpu or on the same device", "aten/native/TensorAdvancedIndexing"),
    (
        r"Input type \(.*\) and (?:weight|bias) type \(.*\) should be the same",
        "aten/native/Convolution: type_equal",
    ),
    (r"tensors are not at the same device", "aten/native/RNN.h check_attributes"),
    (r"can't convert \S+ device type tensor to numpy", "torch/csrc/utils/tensor_numpy"),
    (
        r"Expected a '[\w:]+' (?:generator device|device type for generator) but found",
        "ATen/core/Generator.h",
    ),
    (r"Torch not compiled with \w+ enabled", "torch/cuda/__init__.py _lazy_init"),
    (r"Cannot get \w+ generator without ATen_\w+ library", "torch.Generator on a CPU build"),
    (r"Cannot initialize \w+ without ATen_\w+ library", "tensor.type(torch.cuda.FloatTensor) on a CPU build"),
    (r"compiled without CUDA support", "torch.cuda.device on a CPU build"),
    (r"requires CUDA support", "torch.cuda.Stream on a CPU build"),
    (r"Tried to instantiate dummy base class", "torch.cuda.Event, CUDAGraph on a CPU build"),
    (r"Found no NVIDIA driver", "torch/csrc/cuda: no driver"),
    (r"No CUDA GPUs are available", "torch/csrc/cuda: CUDA_VISIBLE_DEVICES is empty"),
    (r"CUDA error: invalid device ordinal", "cudaErrorInvalidDevice"),
    (r"[Ii]nvalid device (?:id|ordinal|argument|string|index)", "torch.cuda._utils, DataParallel"),
    (r"Invalid device, must be cuda device", "Tensor.cuda"),
    (r"device type at start of device string", "torch.device('gpu'), torch.device('CUDA')"),
    (r"Device index must not be negative", "c10/core/Device.h: get_device() of a CPU tensor"),
    (r"argument 'device' .*must be torch\.device, not", "Tensor.cuda(True)"),
    (r"'torch\.device'(?: object)? (?:is not|has no attribute)", "a device taken for a string"),
    (r"Attempting to deserialize object on (?:a )?(?:CUDA|MPS|\w+) device", "torch/serialization.py"),
    (r"Storage device not recognized", "torch.load of an MPS checkpoint on a build without MPS"),
    (r"(?:not linked with|PyTorch is not linked with) support for \w+ devices", "c10 device guards"),
    (
        r"Cannot access accelerator device when none is available",
        "at::getAccelerator: integer devices on a CPU build",
    ),
    (r"[Pp]laceholder (?:storage|tensor) (?:has not been allocated|is empty)", "ATen/native/mps"),
    (r"MPS (?:framework )?doesn't support float64|MPS Tensor to float64", "ATen/native/mps"),
    (r"backend (?:is )?not available|not available\. Torch not compiled", "legacy torch.cuda.FloatTensor"),
    (r"should be a 1D CPU int64 tensor", "pack_padded_sequence's lengths"),
    (r"expected device \S+ but got", "the autograd engine's validate_outputs"),
    (r"too many CPU scalars", "TensorIterator"),
    (r"Cannot re-initialize CUDA in forked subprocess", "torch/cuda/__init__.py"),
    (r"only dense CPU tensors can be pinned", "Tensor.pin_memory"),
    (r"no pinned memory allocator is available|pin_memory=True requires", "torch.empty(pin_memory=True)"),
    (r"must have its parameters and buffers on device", "nn.DataParallel"),
    (r"to be on cpu, but it's on", "tensor_split"),
    (r"attempting to assign a gradient (?:with device type|located on device)", "Tensor.grad setter"),
    (r"device type \S+ to a tensor with device type", "Tensor.grad setter"),
    (r"legacy constructor expects device type", "torch.Tensor(device=...)"),
    (r"Could not run 'aten::[^']*' with arguments from the '(?:CPU|CUDA|MPS)' backend", "the dispatcher"),
    (r"module 'torch\._C' has no attribute '_cuda_", "torch.cuda functions on a CPU build"),
    (r"RNG state must be a torch\.ByteTensor", "a generator state that was loaded onto an accelerator"),
    (r"Cannot copy out of meta tensor", "Tensor.to from the meta device"),
    (r"requires all (?:the params|tensors) to be|to be on (?:CUDA|cuda|GPU)", "fused optimizers"),
    (r"CUDA is not available|requires CUDA|no CUDA-capable device", "torch and libraries"),
)

_DEVICE_ERROR = re.compile("|".join(f"(?:{pattern})" for pattern, _ in _PATTERNS))

_CALLED_FLAG = re.compile(r"\.is_(?:cuda|cpu|mps|xpu)\(\)")
"""`x.is_cuda()`: the message does not say what was called, the line does."""

_BASES = (
    RuntimeError,
    TypeError,
    AssertionError,
    ValueError,
    AttributeError,
    NotImplementedError,
    IndexError,
)


def is_device_error(exception: BaseException) -> bool:
    """Whether the exception itself is a device error (its causes are not looked at)."""
    if getattr(exception, DEVICE_ERROR_MARK, False):
        return True
    if isinstance(exception, TypeError) and str(exception) == "'bool' object is not callable":
        last = traceback.extract_tb(exception.__traceback__)[-1:]
        return bool(last and last[0].line and _CALLED_FLAG.search(last[0].line))
    return isinstance(exception, _BASES) and is_device_message(str(exception))


def is_device_message(message: str) -> bool:
    """Whether this is the text of a device error."""
    return _DEVICE_ERROR.search(message) is not None


def device_cause(exception: BaseException) -> BaseException | None:
    """The device error that ended the program: the exception itself or the one it was raised from.

    `raise X from error` declares the cause. A handler that leaves by `sys.exit` does the same in effect; any
    other exception that merely happened in a handler of a device error does not.
    """
    for candidate in _causes(exception):
        if is_device_error(candidate):
            return candidate
    return None


def classify(exception: BaseException | None) -> Kind:
    """The kind of verdict for a program that ended with this exception (None: by itself)."""
    if exception is None:
        return Kind.PASSED
    if isinstance(exception, SystemExit) and exception.code in (None, 0):
        return Kind.PASSED
    if any(getattr(candidate, UNSUPPORTED_MARK, False) for candidate in _causes(exception)):
        return Kind.UNSUPPORTED
    return Kind.OTHER_ERROR if device_cause(exception) is None else Kind.DEVICE_ERROR


def _causes(exception: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = exception
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        if current.__cause__ is not None:
            current = current.__cause__
        elif isinstance(current, SystemExit) and not current.__suppress_context__:
            current = current.__context__
        else:
            current = None
