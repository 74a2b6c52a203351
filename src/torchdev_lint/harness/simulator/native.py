"""What PyTorch itself declares about the device checks of its operators.

`native_functions.yaml` is shipped in the wheel (torchgen/packaged). Its `device_check` and `dispatch` entries
decide which check the code generator puts before a CUDA kernel; torchgen/dest/register_dispatch_key.py and
torchgen/model.py (DeviceCheckType) say how.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

_FUNCTION = re.compile(r"- func: ([\w.]+)\(")
_CUDA_KEY = re.compile(r"(?:^|[ ,])CUDA")
_CPU_KEY = re.compile(r"(?:^|[ ,])CPU")


@dataclass(slots=True)
class Declaration:
    """One operator overload of native_functions.yaml."""

    unchecked: bool = False
    """`device_check: NoCheck`: the kernel (mostly a TensorIterator) checks for itself."""
    has_cuda_kernel: bool = False
    has_cpu_kernel: bool = False
    structured: bool = False
    """Structured kernels have another name in the generated message."""


def path() -> Path:
    """Where the declarations are; FileNotFoundError when this torch does not ship them."""
    spec = importlib.util.find_spec("torchgen")
    for location in (spec.submodule_search_locations or ()) if spec is not None else ():
        candidate = Path(location, "packaged/ATen/native/native_functions.yaml")
        if candidate.is_file():
            return candidate
    raise FileNotFoundError("torchgen/packaged/ATen/native/native_functions.yaml is not in this installation")


def parse(text: str) -> dict[str, Declaration]:
    """The declarations by name with overload (`add.Tensor`).

    Read line by line: a YAML parser would be a dependency and takes seconds for 17,000 lines.
    """
    declarations: dict[str, Declaration] = {}
    current: Declaration | None = None
    in_dispatch = False
    for line in text.splitlines():
        if line.startswith("- func:"):
            match = _FUNCTION.match(line)
            current = Declaration() if match else None
            if match and current is not None:
                declarations[match[1]] = current
            in_dispatch = False
            continue
        stripped = line.strip()
        if current is None or not line.startswith("  ") or stripped.startswith("#"):
            continue
        if line.startswith("    ") and in_dispatch:
            keys = stripped.split(":", 1)[0]
            current.has_cuda_kernel |= _CUDA_KEY.search(keys) is not None
            current.has_cpu_kernel |= _CPU_KEY.search(keys) is not None
            continue
        in_dispatch = stripped.startswith("dispatch:")
        if stripped.startswith("device_check: NoCheck"):
            current.unchecked = True
        elif stripped.startswith("structured_delegate:"):
            current.has_cuda_kernel = current.structured = True
        elif stripped.startswith("structured: True"):
            current.structured = True
    return declarations


def load() -> dict[str, Declaration]:
    """The declarations of the installed torch."""
    return parse(path().read_text(encoding="utf-8"))
