"""Device strings, and the functions that tell what accelerators there are.

Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device and the `is_available` functions of torch.cuda,
torch.backends.mps, torch.xpu, torch.accelerator.
"""

from __future__ import annotations

import re

ACCELERATOR_TYPES = frozenset("cuda mps xpu hpu npu mlu ipu xla vulkan mtia musa privateuseone hip".split())
"""Device types other than the host that a device string may name."""

TYPE_FLAGS = frozenset("is_cuda is_cpu is_mps is_xpu is_meta is_hpu is_ipu is_mtia".split())
"""Attributes of a tensor that tell the type of its device; they are no methods (torch/_C/__init__.pyi)."""

MISSPELT = {
    "gpu": "cuda",
    "GPU": "cuda",
    "Gpu": "cuda",
    "CUDA": "cuda",
    "Cuda": "cuda",
    "CPU": "cpu",
    "Cpu": "cpu",
    "MPS": "mps",
}
"""What people write for a device's type and PyTorch refuses (c10/core/Device.cpp, `parse_type`), with what they mean."""

DEVICE_STRING = re.compile(r"(?P<type>[a-z]+)(?::(?P<index>\d+))?\Z")
"""The grammar of a device string."""

AVAILABILITY = {
    "torch.cuda.is_available": "cuda",
    "torch.backends.cuda.is_built": "cuda",
    "torch.cuda._is_available": "cuda",
    "torch.backends.mps.is_available": "mps",
    "torch.backends.mps.is_built": "mps",
    "torch.mps.is_available": "mps",
    "torch.xpu.is_available": "xpu",
    "torch.npu.is_available": "npu",
    "torch.hpu.is_available": "hpu",
    "torch.mlu.is_available": "mlu",
    "torch.accelerator.is_available": "any",
    "transformers.utils.is_torch_cuda_available": "cuda",
    "transformers.is_torch_cuda_available": "cuda",
}
"""Calls that are true where an accelerator of the type is there."""

AVAILABILITY_NAME = re.compile(
    r"(?i)^(?:has_|is_)?(?:torch_)?(cuda|xpu|npu|musa|mlu|hpu|mps)_(?:is_)?available$"
)
"""Names of functions and constants, in libraries and projects, that are true where an accelerator of the type is there."""

DEVICE_COUNTS = {
    "torch.cuda.device_count": "cuda",
    "torch.xpu.device_count": "xpu",
    "torch.mps.device_count": "mps",
    "torch.accelerator.device_count": "any",
}
"""Calls that give the number of devices of the type."""

CURRENT_ACCELERATOR = frozenset({"torch.accelerator.current_accelerator"})
"""Calls that return the machine's accelerator as a device."""

NEEDS_CUDA = frozenset(
    f"torch.cuda.{name}"
    for name in (
        "current_device get_device_capability get_device_name get_device_properties mem_get_info memory_summary set_device "
        "synchronize"
    ).split()
)
"""What raises where there is no GPU, whatever it is given (torch/cuda/__init__.py, `_lazy_init`)."""

TAKES_CUDA_DEVICE = frozenset(
    (
        "set_device synchronize device stream get_device_properties get_device_name get_device_capability mem_get_info memory_allocated "
        "max_memory_allocated memory_reserved max_memory_reserved reset_peak_memory_stats memory_summary memory_stats current_stream "
        "default_stream Stream utilization"
    ).split()
)
"""Functions of torch.cuda that take a device (torch/cuda/_utils.py, `_get_device_index`): they raise for another than CUDA's."""

DEVICE_NAME = re.compile(
    r"(?i)(?:^|_)(?:device|dev|gpu|cuda|rank|devices?|gpu_?id|accelerator|placement)(?:$|_|\d)"
)
"""Names whose value, handed to `.to()`, is taken to be a device rather than a dtype."""

DEVICE_PARAMETERS = ("device", "torch_device", "dev")
"""Names of parameters that say where a function puts what it makes."""

NUMBERS_GPUS = re.compile(r"(?i)(?:^|_)(?:gpus?|(?:gpu|cuda)_?ids?|local_rank)$")
"""Names of the numbers of accelerators."""

DTYPE_NAME = re.compile(r"(?i)(?:^|_)(?:dtype|dt|precision|half|float\d*|bfloat16|int\d*)(?:$|_)")
"""Names whose value, handed to `.to()`, is taken to be a dtype."""


def parse(text: str) -> tuple[str, int | None] | None:
    """The type and index of a device string ("cuda:1" -> ("cuda", 1)); None when it is none."""
    match = DEVICE_STRING.match(text)
    if match is None:
        return None
    kind = match["type"]
    if kind not in ACCELERATOR_TYPES and kind not in ("cpu", "meta"):
        return None
    return kind, None if match["index"] is None else int(match["index"])


_DEVICE_WORDS = re.compile(
    r"(?i)cuda|device|\.to\((?!dtype\b|(?:torch|tl|np)\.(?:float|bfloat|half|int|long|uint|bool))|gpu|accelerat|\bmps\b|\bxpu\b"
)
"""What a text says that speaks of devices at all."""

_IF_ONE = r"if\s+torch\.cuda\.is_available\(\)"
_SEEDING = re.compile(
    rf"(?:\b{_IF_ONE}\s*:\s*)?\btorch\.cuda\.(?:manual_seed|manual_seed_all|seed|seed_all)\b(?:\([\w.]*\))?(?:\s+{_IF_ONE}\s+else\s+None)?|"
    rf"\b{_IF_ONE}\s*:\s*torch\.cuda\.empty_cache\b|\btorch\.cuda\.empty_cache\(\)\s+{_IF_ONE}\s+else\s+None|"
    r"\bPYTORCH_CUDA_ALLOC_CONF\b|"
    r"['\"]?\b(?:num_)?gpus?(?:_per_\w+)?['\"]?\s*[:=]\s*0(?:\.0)?(?=\s*[,})\]\n]|\Z)"
)
"""What programs say of GPUs by habit, whether they ever use one or not, and that they want none: `resources = {"cpu": 1, "gpu": 0}`."""


def speaks_of_devices(text: str) -> bool:
    """Whether a text speaks of devices, more than to seed them, or for how their memory is managed."""
    return _DEVICE_WORDS.search(_SEEDING.sub("", text)) is not None


_ACCELERATORS = re.compile(r"(?i)cuda|gpu|accelerat|\bmps\b|\bxpu\b|[hnt]pu\b|--device|get_default_device")
_DEVICE_SET = re.compile(r"\b\w*device\w* *(?:: *[\w.]+ *)?=(?!=) *([^\n#]*)")
_A_DEVICE = re.compile(r"(?:self\.)?\w*device")
_THE_CPU = re.compile(r"(?:\w+ *\. *)?(?:device *\( *)?['\"]cpu['\"]")


def speaks_of_accelerators(text: str) -> bool:
    """Whether a text names an accelerator, more than to seed it."""
    return _ACCELERATORS.search(_SEEDING.sub("", text)) is not None


def names_only_the_cpu(text: str) -> bool:
    """Whether a program has one device, which is the CPU: nothing in it speaks of an accelerator."""
    given = [match[1] for match in _DEVICE_SET.finditer(text)]
    chosen = any(_THE_CPU.match(value) for value in given)
    return (
        chosen
        and not speaks_of_accelerators(text)
        and all(_THE_CPU.match(value) or _A_DEVICE.match(value) for value in given)
    )
