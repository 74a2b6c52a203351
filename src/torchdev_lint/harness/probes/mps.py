"""Apple's GPU. Little of it is known for certain: no such machine was at hand."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from torchdev_lint.harness.probes.base import SAME, Device, probe

FLOAT64 = "MPS framework doesn't support float64"


@probe("torch.backends.mps", accelerator="mps")
def mps_is_available() -> None:
    assert torch.backends.mps.is_available()
    assert torch.backends.mps.is_built()
    assert not torch.cuda.is_available()


@probe("torch.accelerator", accelerator="mps", since=(2, 6))
def mps_is_the_accelerator() -> None:
    assert torch.accelerator.current_accelerator() == torch.device("mps")
    assert torch.accelerator.device_count() == 1


@probe("Tensor.to fills the index in", accelerator="mps")
def mps_device(x: Tensor, c: Tensor) -> None:
    assert str(x.device) == "mps:0"
    assert x.is_mps
    assert not c.is_mps
    assert x.type() == "torch.mps.FloatTensor"


@probe("ATen/native/mps: no float64", raises=FLOAT64, accelerator="mps")
def mps_double_transfer(c: Tensor, d: Device) -> None:
    c.double().to(d)


@probe("ATen/native/mps: no float64", raises=FLOAT64, accelerator="mps")
def mps_double_factory(d: Device) -> None:
    torch.zeros(2, dtype=torch.float64, device=d)


@probe("ATen/native/mps: no float64", raises=FLOAT64, accelerator="mps")
def mps_double_cast(x: Tensor) -> None:
    x.to(torch.float64)


@probe("ATen/native/mps: no float64", raises=FLOAT64, accelerator="mps")
def mps_double_from_numpy(d: Device) -> None:
    import numpy as np

    torch.tensor(np.ones(2), device=d)


@probe("TensorIterator", raises=SAME, accelerator="mps")
def mps_add_mixed(x: Tensor, c: Tensor) -> None:
    x + c


@probe(
    "ATen/native/mps", raises="Placeholder storage has not been allocated", accelerator="mps", confidence="M"
)
def mps_embedding_input(d: Device) -> None:
    nn.Embedding(3, 4).to(d)(torch.tensor([0, 1]))


@probe("torch/csrc/utils/tensor_numpy.cpp", raises="can't convert mps:0 device", accelerator="mps")
def mps_numpy(x: Tensor) -> None:
    x.numpy()


@probe("torch/cuda/__init__.py", raises="Torch not compiled with CUDA enabled", accelerator="mps")
def mps_has_no_cuda(c: Tensor) -> None:
    c.to("cuda")


@probe("one training step", accelerator="mps")
def mps_training(x: Tensor, d: Device) -> None:
    model = nn.Linear(4, 2).to(d)
    optimizer = torch.optim.AdamW(model.parameters())
    model(x).sum().backward()
    optimizer.step()
    assert model.weight.grad.is_mps
