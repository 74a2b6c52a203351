from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from torchdev_lint.harness.probes.base import SAME, Device, probe


@probe(
    "torch/csrc/utils/tensor_numpy.cpp",
    raises="can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu",
)
def to_numpy(x: Tensor) -> None:
    x.numpy()


@probe("__array__", raises="can't convert cuda:0 device type tensor to numpy")
def np_array(x: Tensor) -> None:
    np.array(x)


@probe(
    "np.mean calls x.mean(axis=..., dtype, out): may raise another TypeError",
    raises="can't convert|.*",
    confidence="L",
)
def np_func(x: Tensor) -> None:
    np.mean(x)


@probe("torch/csrc/utils/tensor_numpy.cpp")
def cpu_numpy(x: Tensor) -> None:
    assert x.cpu().numpy().shape == (3, 4)
    assert x.detach().cpu().numpy() is not None


@probe("other-error", raises="Can't call numpy\\(\\) on Tensor that requires grad")
def numpy_grad(x: Tensor) -> None:
    x.clone().requires_grad_().cpu().numpy()


@probe("docs")
def numpy_force(x: Tensor) -> None:
    assert x.numpy(force=True).shape == (3, 4)


@probe("torch/csrc/utils/tensor_numpy.cpp")
def item_tolist_float(x: Tensor, i: Tensor) -> None:
    x.sum().item()
    x.tolist()
    float(x.sum())
    int(i[0])
    bool(x.sum() > -1000000000.0)
    f"{x.sum():.2f}"


@probe("each element goes through __array__", raises="can't convert cuda:0", confidence="M")
def np_array_of_list_of_cuda_scalars(x: Tensor) -> None:
    np.array([x.sum(), x.mean()])


@probe("torch/csrc/utils/tensor_numpy.cpp", raises=SAME)
def from_numpy(x: Tensor) -> None:
    assert torch.from_numpy(np.ones(3)).is_cpu
    torch.from_numpy(np.ones(4, dtype="float32")) + x


@probe("x * ndarray: TypeError unsupported operand / ndarray.__rmul__", raises=".*", confidence="L")
def numpy_cuda(x: Tensor) -> None:
    x * np.ones(4, dtype="float32")


@probe("torch/csrc/utils/tensor_numpy.cpp")
def np_scalar(x: Tensor) -> None:
    assert (x * np.float32(2)).is_cuda


@probe("torch/csrc/utils/tensor_numpy.cpp")
def printed_device(x: Tensor, c: Tensor) -> None:
    assert "device='cuda:0'" in repr(x)
    assert "device" not in repr(c)


@probe("torch/csrc/utils/tensor_numpy.cpp")
def iterate_len_in(x: Tensor) -> None:
    assert len(list(x)) == 3
    assert len(x) == 3
    assert all(r.is_cuda for r in x)


@probe("torch/csrc/utils/tensor_numpy.cpp")
def deepcopy(x: Tensor, d: Device) -> None:
    import copy

    assert copy.deepcopy(x).is_cuda
    assert copy.deepcopy(nn.Linear(2, 2).to(d)).weight.is_cuda
