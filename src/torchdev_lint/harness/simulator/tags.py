"""The simulated device of a tensor: a tag on the Python object of its storage.

Every tensor is an ordinary CPU tensor. PyTorch keeps a storage's Python object exactly as long as the C++
storage, and views, `detach`, `.data =`, Parameters, in-place operations, deepcopy and pickle share or copy
the storage: so the tag goes where the device would. No tag means the CPU.
"""

from __future__ import annotations

from typing import Any, Final

import torch

from torchdev_lint.harness.simulator.machine import is_simulated

TAG: Final = "_torchdev_lint_device"


class _Wild:
    """The device of a tensor that C++ made from another tensor's options, and C++ sees only the CPU.

    `one_hot`, the backward of `prod`, masks of attention: on a real accelerator such a tensor would be there.
    It takes the device of whatever it meets; at worst a mismatch is missed, never invented.
    """

    type = "cpu"
    index = None

    def __repr__(self) -> str:
        return "WILD"


WILD: Final = _Wild()

real_device = torch._C.TensorBase.device.__get__
"""The device that C++ sees."""

untyped_storage = torch._C.TensorBase.untyped_storage

_COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def holder(tensor: torch.Tensor) -> Any:
    """The Python object that carries the tag: the storage, or the nearest thing to it."""
    try:
        return untyped_storage(tensor)
    except Exception:
        # Sparse tensors and functorch's wrappers have no storage; uninitialised parameters refuse the call.
        return _unusual_holder(tensor)


def _unusual_holder(tensor: torch.Tensor) -> Any:
    with torch._C.DisableTorchFunctionSubclass():
        try:
            return untyped_storage(tensor)
        except Exception:
            pass
        layout = tensor.layout
        if layout is torch.sparse_coo or layout in _COMPRESSED:
            values = torch._C.TensorBase._values if layout is torch.sparse_coo else torch._C.TensorBase.values
            with torch._C._DisableTorchDispatch():
                return holder(values(tensor.detach() if tensor.requires_grad else tensor))
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return holder(torch._C._functorch.get_unwrapped(tensor))
    return tensor


def tag_of(tensor: torch.Tensor) -> Any:
    """None (CPU), a torch.device with an index, or WILD."""
    try:
        return untyped_storage(tensor).__dict__.get(TAG)
    except Exception:
        return getattr(holder(tensor), "__dict__", {}).get(TAG)


def set_tag(tensor: torch.Tensor, tag: Any) -> None:
    """Put the tensor, and all that shares its storage, on a device; None is the CPU."""
    attributes = getattr(holder(tensor), "__dict__", None)
    if attributes is None:
        return
    if tag is None:
        attributes.pop(TAG, None)
    else:
        attributes[TAG] = tag


def tag_for(device: torch.device) -> torch.device | None:
    """The tag of a tensor on that (resolved) device."""
    return device if is_simulated(device) else None


def device_of(tensor: torch.Tensor) -> torch.device:
    """The device that the program sees."""
    tag = tag_of(tensor)
    if tag is None or tag is WILD or not is_simulated(tag):
        return real_device(tensor)
    return tag
