"""Brings gradients back to where their tensors are.

The autograd engine moves a 0-dim gradient to the device of the tensor it belongs to (validate_outputs in
torch/csrc/autograd/engine.cpp, pytorch/pytorch#65016); to the engine all our tensors are on the CPU, so a
hook does it. Without it a trainable temperature on the CPU gets an accelerator gradient, and
`optimizer.step()` raises falsely.
"""

from __future__ import annotations

import torch

from torchdev_lint.harness.simulator.tags import set_tag, tag_of


def _to_cpu(gradient: torch.Tensor) -> torch.Tensor | None:
    if tag_of(gradient) is None:
        return None
    with torch.no_grad():
        copy = gradient.clone()
    set_tag(copy, None)
    return copy


# torch.save warns that hooks get lost, unless they carry this attribute (torch/utils/hooks.py).
_to_cpu.__torch_unserializable__ = True  # type: ignore[attr-defined]


def send_home(tensor: torch.Tensor) -> None:
    """The 0-dim CPU `tensor` takes part in an accelerator's operation: its gradient shall come back to the
    CPU.
    """
    if not torch.is_grad_enabled():
        return
    hooks = tensor._backward_hooks
    if hooks and _to_cpu in hooks.values():
        return
    tensor.register_hook(_to_cpu)
