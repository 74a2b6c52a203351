"""The messages with which PyTorch complains about devices: which there are, what each means, what it says of the devices.

Taken from PyTorch's sources (named beside each pattern) and from messages seen on torch 2.13 (CPU build).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """What a family of messages means to the user. `rules` are the codes that find its causes, the likeliest first."""

    meaning: str
    look: str
    rules: tuple[str, ...]


_ANY_MIX = (
    "TDV001 TDV004 TDV005 TDV006 TDV007 TDV008 TDV003 TDV013 TDV014 TDV016 TDV017 TDV009 TDV012 TDV102 TDV002"
)

KINDS: Mapping[str, Kind] = {
    "mix": Kind(
        "an operation was given tensors that are on different devices",
        "each operand of the line: where it was made (a factory without `device=`, a batch of a DataLoader, an attribute that "
        "is no registered buffer), and whether the result of its `.to(...)` was kept",
        tuple(_ANY_MIX.split()),
    ),
    "model": Kind(
        "the input of a module and the module's parameters are on different devices",
        "whether the model was moved (`model.to(device)`), whether the batch was, and whether the result of `batch.to(...)` "
        "was kept: tensors are not moved in place",
        tuple("TDV001 TDV003 TDV007 TDV008 TDV006 TDV004 TDV005 TDV016 TDV017 TDV102".split()),
    ),
    "index": Kind(
        "a tensor was indexed with a tensor that is on another device",
        "where the index was made: it has to be on the CPU or on the device of what is indexed",
        tuple("TDV004 TDV005 TDV006 TDV001 TDV003 TDV016".split()),
    ),
    "host": Kind(
        "a tensor on an accelerator was read on the host, where NumPy and most libraries work",
        "the value on its way to NumPy, a plot or a metric: it needs `.cpu()` (and `.detach()` if it has a gradient) first",
        ("TDV010", "TDV013"),
    ),
    "host-argument": Kind(
        "an argument that has to be on the CPU is on an accelerator",
        "the argument that the message names: it needs `.cpu()`",
        ("TDV013", "TDV010", "TDV004"),
    ),
    "load": Kind(
        "a checkpoint that was saved on an accelerator is loaded on a machine without it",
        "the `torch.load` of the traceback: `map_location=device` says where to put what is loaded",
        ("TDV009",),
    ),
    "generator": Kind(
        "a random generator is used for tensors on another device",
        "where the generator was made: `torch.Generator(device=device)`; a DataLoader's and `randperm`'s stay on the CPU",
        ("TDV011",),
    ),
    "absent": Kind(
        "an accelerator is used on a machine, or with a build of PyTorch, that has none",
        'what asks for it: `torch.device("cuda" if torch.cuda.is_available() else "cpu")` asks only where there is one. If there '
        "should be one, look at the driver and at which PyTorch is installed (`torchdev-lint doctor`)",
        ("TDV018", "TDV101", "TDV002", "TDV009"),
    ),
    "ordinal": Kind(
        "a device is asked for by an index that this machine, or CUDA_VISIBLE_DEVICES, does not have",
        "the literal index: which device it is, is better left to a setting",
        ("TDV002", "TDV015", "TDV016"),
    ),
    "misuse": Kind(
        "a device was taken for something that it is not, or is spelled as no device is",
        "the device on the line: a `torch.device` is no string, and `x.is_cuda` and `x.device` are no methods",
        ("TDV012",),
    ),
    "meta": Kind(
        "a tensor on the meta device, which has a shape but no data, was moved",
        "what was made under `torch.device('meta')` or `init_empty_weights`: `to_empty(device=...)` and loading the weights "
        "come before anything is computed",
        ("TDV001", "TDV004"),
    ),
    "optimizer": Kind(
        "a gradient, or the state of an optimizer, is on another device than its parameter",
        "the order: the model is moved first, then the optimizer is made or its state loaded",
        tuple("TDV014 TDV004 TDV001".split()),
    ),
    "fork": Kind(
        "a process that was forked uses CUDA, which its parent had begun to use",
        "what runs in the workers: a dataset or collate function that moves tensors to the accelerator. Move the batch in the "
        "training loop, or start workers with `spawn`",
        (),
    ),
    "pinned": Kind(
        "pinned memory is asked for, for a tensor that is not on the CPU or without an accelerator",
        "`pin_memory`: the dataset has to return CPU tensors",
        (),
    ),
}
"""What there is to say about each kind of message."""

MESSAGES: tuple[tuple[str, str, str], ...] = (
    (
        r"(?P<role_a>input)\(device='(?P<device_a>[\w:]+)'\) and (?P<role_b>weight)\(device='?(?P<device_b>[\w:]+)'?\)",
        "model",
        "ATen/native/mps/operations: Convolution, Linear",
    ),
    (
        r"is on (?P<device_a>\w+), but expected (?:it|them) to be on (?P<device_b>\w+)",
        "mix",
        "ATen/TensorUtils checkBackend",
    ),
    (
        r"must be on the same device\. Received (?P<device_a>[\w:]+) and (?P<device_b>[\w:]+)",
        "mix",
        "ATen/native/cuda/Shape: cat",
    ),
    (r"to be on the same device", "mix", "c10/core and TensorIterator checks; stft, masked_fill"),
    (r"must be on the same device", "mix", "aten: stft's window, cdist, embedding_bag"),
    (r"on different (?:devices|GPUs)", "mix", "nn.utils.parameters_to_vector, torch.equal"),
    (
        r"indices should be either on cpu or on the same device as the (?P<role_a>indexed tensor) \((?P<device_a>[\w:]+)\)",
        "index",
        "aten/native/TensorAdvancedIndexing",
    ),
    (
        r"indices should be either on cpu or on the same device",
        "index",
        "aten/native/TensorAdvancedIndexing",
    ),
    (
        r"(?P<role_a>Input) type \((?P<device_a>.*?)\) and (?P<role_b>weight|bias) type \((?P<device_b>.*?)\) should be the same",
        "model",
        "aten/native/Convolution: type_equal",
    ),
    (
        r"tensors are not at the same device, found (?P<role_a>input) tensor at (?P<device_a>[\w:]+) and "
        r"(?P<role_b>hidden|parameter) tensor at (?P<device_b>[\w:]+)",
        "model",
        "aten/native/RNN.h check_attributes",
    ),
    (r"tensors are not at the same device", "model", "aten/native/RNN.h check_attributes"),
    (
        r"can't convert (?P<device_a>\S+) device type tensor to numpy",
        "host",
        "torch/csrc/utils/tensor_numpy",
    ),
    (
        r"Expected a '(?P<device_a>[\w:]+)' (?:generator device|device type for (?P<role_b>generator)) but found "
        r"'?(?P<device_b>[\w:]*)",
        "generator",
        "ATen/core/Generator.h",
    ),
    (r"Torch not compiled with (?P<device_a>\w+) enabled", "absent", "torch/cuda/__init__.py _lazy_init"),
    (
        r"Cannot get \w+ generator without ATen_\w+ library",
        "absent",
        "torch.Generator on a CPU build",
    ),
    (
        r"Cannot initialize \w+ without ATen_\w+ library",
        "absent",
        "tensor.type(torch.cuda.FloatTensor) on a CPU build",
    ),
    (r"compiled without CUDA support", "absent", "torch.cuda.device on a CPU build"),
    (r"requires CUDA support", "absent", "torch.cuda.Stream on a CPU build"),
    (r"Tried to instantiate dummy base class", "absent", "torch.cuda.Event, CUDAGraph on a CPU build"),
    (r"Found no NVIDIA driver", "absent", "torch/csrc/cuda: no driver"),
    (r"No CUDA GPUs are available", "absent", "torch/csrc/cuda: CUDA_VISIBLE_DEVICES is empty"),
    (r"CUDA error: invalid device ordinal", "ordinal", "cudaErrorInvalidDevice"),
    (
        r"[Ii]nvalid device (?:id|ordinal|argument|string|index)",
        "ordinal",
        "torch.cuda._utils, DataParallel",
    ),
    (r"Invalid device, must be cuda device", "misuse", "Tensor.cuda"),
    (
        r"device type at start of device string",
        "misuse",
        "torch.device('gpu'), torch.device('CUDA')",
    ),
    (
        r"Device index must not be negative",
        "misuse",
        "c10/core/Device.h: get_device() of a CPU tensor",
    ),
    (r"argument 'device' .*must be torch\.device, not", "misuse", "Tensor.cuda(True)"),
    (
        r"'torch\.device'(?: object)? (?:is not|has no attribute)",
        "misuse",
        "a device taken for a string",
    ),
    (
        r"Attempting to deserialize object on (?:a )?(?P<device_a>(?:CUDA|MPS|\w+) device(?: \d+)?)",
        "load",
        "torch/serialization.py",
    ),
    (
        r"Storage device not recognized",
        "load",
        "torch.load of an MPS checkpoint on a build without MPS",
    ),
    (
        r"(?:not linked with|PyTorch is not linked with) support for \w+ devices",
        "absent",
        "c10 device guards",
    ),
    (
        r"Cannot access accelerator device when none is available",
        "absent",
        "at::getAccelerator: integer devices on a CPU build",
    ),
    (
        r"[Pp]laceholder (?:storage|tensor) (?:has not been allocated|is empty)(?: on (?P<device_b>MPS))?",
        "model",
        "ATen/native/mps",
    ),
    (r"MPS (?:framework )?doesn't support float64|MPS Tensor to float64", "mix", "ATen/native/mps"),
    (
        r"backend (?:is )?not available|not available\. Torch not compiled",
        "absent",
        "legacy torch.cuda.FloatTensor",
    ),
    (
        r"(?P<role_a>'lengths' argument) should be a 1D CPU int64 tensor(?:, but got \dD (?P<device_a>[\w:]+))?",
        "host-argument",
        "pack_padded_sequence's lengths",
    ),
    (r"should be a 1D CPU int64 tensor", "host-argument", "pack_padded_sequence's lengths"),
    (
        r"expected device (?P<device_a>\S+) but got (?:device )?(?P<device_b>[\w:]+)?",
        "optimizer",
        "the autograd engine's validate_outputs",
    ),
    (r"too many CPU scalars", "mix", "TensorIterator"),
    (r"Cannot re-initialize CUDA in forked subprocess", "fork", "torch/cuda/__init__.py"),
    (r"only dense CPU tensors can be pinned", "pinned", "Tensor.pin_memory"),
    (
        r"no pinned memory allocator is available|pin_memory=True requires",
        "pinned",
        "torch.empty(pin_memory=True)",
    ),
    (r"must have its parameters and buffers on device", "model", "nn.DataParallel"),
    (r"to be on cpu, but it's on", "host-argument", "tensor_split"),
    (
        r"attempting to assign a gradient (?:with device type|located on device)",
        "optimizer",
        "Tensor.grad setter",
    ),
    (r"device type \S+ to a tensor with device type", "optimizer", "Tensor.grad setter"),
    (r"legacy constructor expects device type", "misuse", "torch.Tensor(device=...)"),
    (
        r"Could not run 'aten::[^']*' with arguments from the '(?P<device_a>CPU|CUDA|MPS)' backend",
        "mix",
        "the dispatcher",
    ),
    (r"module 'torch\._C' has no attribute '_cuda_", "absent", "torch.cuda functions on a CPU build"),
    (
        r"RNG state must be a torch\.ByteTensor",
        "host-argument",
        "a generator state that was loaded onto an accelerator",
    ),
    (r"Cannot copy out of meta tensor", "meta", "Tensor.to from the meta device"),
    (
        r"requires all (?:the params|tensors) to be|to be on (?:CUDA|cuda|GPU)",
        "optimizer",
        "fused optimizers",
    ),
    (r"CUDA is not available|requires CUDA|no CUDA-capable device", "absent", "torch and libraries"),
    (
        r"Expected object of (?:device type|backend) (?P<device_a>\w+) but got (?:device type|backend) (?P<device_b>\w+)",
        "mix",
        "ATen before torch 1.8",
    ),
    (r"to have the same device as tensor for", "mix", "ATen/TensorUtils checkSameGPU"),
)
"""A pattern, a key of `KINDS`, and where the message comes from. `device_a` is the device of `role_a`, likewise `b`."""

_ANY = re.compile("|".join(f"(?:{re.sub(r'[?]P<[a-z_]+>', '?:', pattern)})" for pattern, _, _ in MESSAGES))

STRANGERS: tuple[tuple[str, str], ...] = (
    (
        r"device-side assert triggered",
        "a kernel was given a value that it must not have, mostly an index or a class label out of range; run it on the CPU, or with "
        "CUDA_LAUNCH_BLOCKING=1, to see the line",
    ),
    (
        r"out of memory",
        "the accelerator's memory is full; smaller batches, or `torch.no_grad()` around evaluation, need less",
    ),
    (
        r"illegal memory access|CUBLAS_STATUS|CUDNN_STATUS|misaligned address",
        "a kernel failed; the line may be a later one than the one at fault: CUDA_LAUNCH_BLOCKING=1 shows it",
    ),
    (r"no kernel image is available", "this build of PyTorch does not support this GPU"),
    (
        r"expected (?:m1 and m2|scalar type|mat1 and mat2)|should be the same|same dtype",
        "the data types differ, not the devices: look for `.half()`, `.double()`, `dtype=`, NumPy's float64 and autocast",
    ),
    (
        r"shapes cannot be multiplied|size mismatch|must match the size",
        "the shapes do not fit, not the devices",
    ),
)
"""What looks like a device error and is none, and what to say."""

NOT_CALLED = re.compile(r"but got (?:builtin_function_or_)?method$")
"""What PyTorch says of a method where it wants a tensor (torch/csrc/utils/python_arg_parser.cpp); the simulator's are Python's."""
NOT_CALLED_TRANSFER = re.compile(r"\.(?:cuda|cpu)\b(?!\s*[(.])")
"""In the text of a function: a transfer that is not called."""
NO_STORAGE = "TypedStorage.__init__ received an invalid combination of arguments"
"""What becomes of a `map_location` that gives something else than a storage (torch/serialization.py)."""

CALLED_FLAG = re.compile(r"\.is_(?:cuda|cpu|mps|xpu)\(\)")
"""`x.is_cuda()`: the message, `NOT_CALLABLE`, does not say what was called, the line does."""

NOT_CALLABLE = "'bool' object is not callable"

CALLED_MODULE = re.compile(r"\btorch\.cuda\(")
"""`torch.cuda(0)`: as above, of `MODULE_NOT_CALLABLE`."""
MODULE_NOT_CALLABLE = "'module' object is not callable"

NO_TRANSFER = re.compile(r"^'(?:list|tuple)' object has no attribute '(?:to|cuda|cpu)'")
"""What Python says of a list that is moved as if it were a tensor."""


def is_device_message(message: str) -> bool:
    """Whether this is the text of a device error."""
    return _ANY.search(message) is not None
