"""0-dim CPU tensors that are trained: their gradients come back to the CPU."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from torchdev_lint.harness.probes.base import probe

ENGINE = "torch/csrc/autograd/engine.cpp, validate_outputs: 0-dim gradients are moved"


@probe(ENGINE)
def cpu_temperature(x: Tensor) -> None:
    temperature = nn.Parameter(torch.tensor(2.0))
    optimizer = torch.optim.Adam([temperature], lr=0.1)
    (x / temperature).pow(2).sum().backward()
    assert temperature.grad.is_cpu
    optimizer.step()
    assert temperature.item() != 2.0


@probe(ENGINE)
def cpu_temperature_through_a_function(x: Tensor) -> None:
    log_variance = nn.Parameter(torch.zeros(()))
    (x * (-log_variance).exp() + log_variance).sum().backward()
    assert log_variance.grad.is_cpu


@probe(ENGINE)
def an_element_of_a_cpu_vector(x: Tensor) -> None:
    weights = torch.ones(3, requires_grad=True)
    (x * weights[0] + weights[1] * x).sum().backward()
    assert weights.grad.is_cpu
    torch.optim.SGD([weights], lr=0.1).step()


@probe(ENGINE)
def the_sum_of_a_cpu_vector(x: Tensor) -> None:
    weights = torch.ones(3, requires_grad=True)
    (x * weights.sum()).sum().backward()
    assert weights.grad.is_cpu


@probe(ENGINE)
def a_scalar_used_on_both_devices(x: Tensor, c: Tensor) -> None:
    scale = nn.Parameter(torch.tensor(1.0))
    ((x * scale).sum().cpu() + (c * scale).sum()).backward()
    assert scale.grad.is_cpu


@probe(ENGINE)
def a_scalar_in_where(x: Tensor) -> None:
    floor = nn.Parameter(torch.tensor(0.5))
    torch.where(x > 0, x, floor).sum().backward()
    assert floor.grad.is_cpu


@probe(ENGINE)
def two_steps_of_training(x: Tensor) -> None:
    scale = nn.Parameter(torch.tensor(1.0))
    optimizer = torch.optim.AdamW([scale])
    for _ in range(2):
        optimizer.zero_grad()
        (x * scale).sum().backward()
        optimizer.step()
    assert scale.grad.is_cpu


@probe("torch/utils/hooks.py: no warning about hooks, and copies work")
def a_used_scalar_can_be_copied_and_saved(x: Tensor) -> None:
    import copy
    import io
    import warnings

    module = nn.Module()
    module.scale = nn.Parameter(torch.tensor(1.0))
    (x * module.scale).sum().backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin = copy.deepcopy(module)
        torch.save(module.scale, io.BytesIO())
    (x * twin.scale).sum().backward()
    assert twin.scale.grad.is_cpu
