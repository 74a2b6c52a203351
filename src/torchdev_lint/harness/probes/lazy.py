"""Lazy modules, whose parameters get their shape and their device at the first call."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from torchdev_lint.harness.probes.base import SAME, Device, probe


@probe("torch/nn/parameter.py: `to` is allowed on uninitialised parameters")
def lazy_linear(x: Tensor, d: Device) -> None:
    layer = nn.LazyLinear(2).to(d)
    assert layer(x).is_cuda
    assert layer.weight.is_cuda
    assert isinstance(layer, nn.Linear)


@probe("torch/nn/parameter.py")
def lazy_cuda_and_back(c: Tensor) -> None:
    layer = nn.LazyLinear(2).cuda().cpu()
    assert layer(c).is_cpu


@probe("torch/nn/modules/lazy.py: shapes from the input, device from the parameter", raises=SAME)
def lazy_linear_that_stayed(x: Tensor) -> None:
    nn.LazyLinear(2)(x)


@probe("torch/nn/parameter.py")
def lazy_batch_norm_and_conv(d: Device) -> None:
    model = nn.Sequential(nn.LazyConv2d(2, 1), nn.LazyBatchNorm2d()).to(d)
    assert model(torch.ones(1, 3, 2, 2, device=d)).is_cuda
    assert model[1].running_mean.is_cuda


@probe("torch/nn/parameter.py: initialised after the move")
def lazy_training(x: Tensor, d: Device) -> None:
    model = nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(1)).to(d)
    model(x)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(x).sum().backward()
    optimizer.step()


@probe("typing of legacy tensor types")
def legacy_types_in_annotations() -> None:
    assert torch.LongTensor | None
    assert torch.cuda.FloatTensor | int

    def annotated(ids: torch.LongTensor | None = None) -> torch.FloatTensor | None:
        return None

    assert annotated() is None
