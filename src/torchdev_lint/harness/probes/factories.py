from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from torchdev_lint.harness.probes.base import SAME, Device, probe


@probe("the documentation of the factory")
def factories(d: Device) -> None:
    for f in (torch.zeros, torch.ones, torch.rand, torch.randn, torch.empty):
        assert f(2, device=d).is_cuda
        assert not f(2).is_cuda


@probe("the documentation of the factory")
def factories2(c: Tensor, d: Device) -> None:
    for t in (
        torch.full((2,), 1.0, device=d),
        torch.arange(3, device=d),
        torch.linspace(0, 1, 3, device=d),
        torch.eye(2, device=d),
        torch.randint(0, 2, (2,), device=d),
        torch.randperm(3, device=d),
        torch.tensor([1.0], device=d),
        torch.as_tensor([1.0], device=d),
        torch.zeros_like(c, device=d),
        torch.tril_indices(3, 3, device=d),
    ):
        assert t.is_cuda


@probe("docs")
def likes_follow(x: Tensor) -> None:
    assert torch.zeros_like(x).is_cuda
    assert x.new_zeros(2).is_cuda
    assert x.new_tensor([1.0]).is_cuda
    assert torch.randn_like(x).is_cuda
    assert x.new_full((2,), 1.0).is_cuda
    assert x.new(2).is_cuda


@probe("docs")
def new_device_kw(x: Tensor, c: Tensor, d: Device) -> None:
    assert not x.new_zeros(2, device="cpu").is_cuda
    assert c.new_zeros(2, device=d).is_cuda


@probe("docs: device of data")
def tensor_of_cuda_tensor(x: Tensor) -> None:
    assert torch.tensor(x).is_cuda
    assert torch.as_tensor(x) is x
    assert torch.tensor(x, device="cpu").is_cpu


@probe("sequence path makes a CPU tensor", confidence="M")
def tensor_of_list_of_cuda_scalars(x: Tensor) -> None:
    assert torch.tensor([x.sum(), x.mean()]).is_cpu


@probe("torch.Tensor is a CPU FloatTensor", raises=SAME)
def legacy_ctor(x: Tensor) -> None:
    torch.Tensor([1.0, 2, 3, 4]) + x


@probe("the documentation of the factory", raises=SAME)
def floattensor(x: Tensor) -> None:
    torch.FloatTensor([1.0, 2, 3, 4]) + x


@probe("torch/csrc/utils/tensor_new.cpp, check_legacy_ctor_device", raises="legacy constructor expects")
def legacy_told_where(x: Tensor) -> None:
    torch.FloatTensor([1.0, 2, 3, 4], device=x.device)


@probe("torch/csrc/utils/tensor_new.cpp, check_legacy_ctor_device", raises="legacy constructor expects")
def new_told_where(x: Tensor, c: Tensor) -> None:
    c.new([1.0, 2, 3, 4], device=x.device)


@probe("the documentation of the factory")
def cuda_floattensor(x: Tensor, c: Tensor) -> None:
    assert (torch.cuda.FloatTensor([1.0, 2, 3, 4]) + x).is_cuda
    assert isinstance(x, torch.cuda.FloatTensor)
    assert not isinstance(c, torch.cuda.FloatTensor)


@probe("docs")
def x_type(x: Tensor, c: Tensor) -> None:
    assert x.type() == "torch.cuda.FloatTensor"
    assert c.type() == "torch.FloatTensor"
    assert c.type(torch.cuda.FloatTensor).is_cuda
    assert c.type_as(x).is_cuda


@probe("docs")
def default_device() -> None:
    torch.set_default_device("cuda")
    try:
        assert torch.zeros(2).is_cuda
        assert torch.tensor([1.0]).is_cuda
        assert nn.Linear(2, 2).weight.is_cuda
        assert torch.arange(3).is_cuda
        assert not torch.from_numpy(np.ones(2)).is_cuda
    finally:
        torch.set_default_device(None)


@probe("docs")
def device_ctx() -> None:
    with torch.device("cuda"):
        layer = nn.Linear(4, 2)
        z = torch.zeros(2)
        t = torch.tensor([1])
    assert layer.weight.is_cuda
    assert z.is_cuda
    assert t.is_cuda
    assert torch.zeros(2).is_cpu


@probe(
    "the DataLoader shuffle + set_default_device issue",
    raises="Expected a 'cuda' device type for generator but found 'cpu'",
)
def default_randperm_generator() -> None:
    torch.set_default_device("cuda")
    try:
        torch.randperm(4, generator=torch.Generator())
    finally:
        torch.set_default_device(None)


@probe(
    "the points of a Sobol engine are on the CPU (torch/quasirandom.py), whichever of them are drawn",
    raises=SAME,
)
def sobol_points(x: Tensor) -> None:
    engine = torch.quasirandom.SobolEngine(4)
    assert engine.draw(3).is_cpu
    x + engine.draw(3)
