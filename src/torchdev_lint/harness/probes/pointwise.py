from __future__ import annotations

import torch
from torch import Tensor

from torchdev_lint.harness.probes.base import SAME, probe


@probe("TensorIterator.cpp", raises=SAME + ", but found at least two devices, cuda:0 and cpu!")
def add_mixed(x: Tensor, c: Tensor) -> None:
    x + c


@probe(
    "common device = first non-CPU operand", raises=SAME + ", but found at least two devices, cuda:0 and cpu!"
)
def add_mixed_order(x: Tensor, c: Tensor) -> None:
    c + x


@probe("TensorIterator (device_check: NoCheck)", raises=SAME + ".*cuda:0 and cuda:1")
def add_two_gpus(x: Tensor, c: Tensor) -> None:
    x + c.to("cuda:1")


@probe("allow_cpu_scalars")
def add_0_dim_cpu(x: Tensor) -> None:
    assert (x + torch.tensor(2.0)).is_cuda
    assert (torch.tensor(2.0) * x).is_cuda


@probe("only CPU scalars are exempt", raises=SAME)
def add_0_dim_cuda_to_cpu(x: Tensor, c: Tensor) -> None:
    c + x.sum()


@probe("TensorIterator (device_check: NoCheck)", raises=SAME)
def p_0_dim_cuda_1(x: Tensor) -> None:
    x + torch.tensor(1.0, device="cuda:1")


@probe("1-dim is no scalar", raises=SAME)
def p_1_elem_cpu(x: Tensor) -> None:
    x + torch.tensor([2.0])


@probe("output operand is not exempt (running loss += loss)", raises=SAME)
def inplace_0_dim_out(x: Tensor) -> None:
    t = torch.zeros(())
    t += x.sum()


@probe("TensorIterator (device_check: NoCheck)")
def py_running_loss(x: Tensor) -> None:
    tot = 0.0
    tot += x.sum()
    tot += x.mean().item()
    assert tot.is_cuda


@probe("TensorIterator (device_check: NoCheck)")
def inplace_scalar_cpu_rhs(x: Tensor) -> None:
    x2 = x.clone()
    x2 += torch.tensor(1.0)


@probe("TensorIterator comparison", raises=SAME)
def compare(x: Tensor, c: Tensor) -> None:
    assert (x == c).any()


@probe("TensorIterator (device_check: NoCheck)", raises=SAME)
def compare_labels(x: Tensor) -> None:
    (x.argmax(1) == torch.tensor([0, 1, 2])).sum()


@probe("max_cpu_scalars_on_non_cpu = 1", raises="too many CPU scalars", confidence="M")
def addcmul_2_scalars(x: Tensor) -> None:
    torch.addcmul(x, torch.tensor(1.0), torch.tensor(2.0))


@probe("TensorIterator (device_check: NoCheck)", raises=SAME)
def where_mixed(x: Tensor, c: Tensor) -> None:
    torch.where(x > 0, x, c)


@probe("where_self_out moves 0-dim CPU tensors", confidence="M")
def where_scalar_tensors(x: Tensor) -> None:
    assert torch.where(x > 0, torch.tensor(1.0), torch.tensor(0.0)).is_cuda


@probe("TensorIterator (device_check: NoCheck)")
def where_py_scalar(x: Tensor) -> None:
    assert torch.where(x > 0, x, 0.0).is_cuda


@probe("TensorIterator (device_check: NoCheck)", raises=SAME)
def clamp_tensor(x: Tensor) -> None:
    torch.clamp(x, min=torch.zeros(4))


@probe("TensorIterator (device_check: NoCheck)", raises=SAME)
def maximum(x: Tensor, c: Tensor) -> None:
    torch.maximum(x, c)


@probe("TensorIterator (device_check: NoCheck)")
def pow_scalar(x: Tensor) -> None:
    assert (2**x).is_cuda
    assert torch.pow(x, 2).is_cuda


@probe("TensorIterator (device_check: NoCheck)", raises=SAME)
def lerp(x: Tensor, c: Tensor) -> None:
    torch.lerp(x, c, 0.5)


@probe(
    "strings in libtorch: expected self and mask to be on the same device, but got mask on",
    raises="expected self and mask to be on the same device|Expected all tensors to be on the same device",
    confidence="M",
)
def masked_fill_mask_cpu(x: Tensor, c: Tensor) -> None:
    x.masked_fill(c > 0, 0.0)


@probe("TensorIterator (device_check: NoCheck)")
def masked_fill_value_cpu_0_dim(x: Tensor) -> None:
    assert x.masked_fill(x > 0, torch.tensor(0.0)).is_cuda
