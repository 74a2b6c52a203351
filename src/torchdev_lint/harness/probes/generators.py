from __future__ import annotations

import torch
from torch import Tensor

from torchdev_lint.harness.probes.base import Device, probe


@probe("check_generator", raises="Expected a 'cuda' device type for generator but found 'cpu'")
def gen_cpu_on_cuda(d: Device) -> None:
    torch.randn(2, device=d, generator=torch.Generator())


@probe(
    "ATen/core/Generator.h, check_generator",
    raises="Expected a 'cpu' device type for generator but found 'cuda'",
)
def gen_cuda_on_cpu(d: Device) -> None:
    torch.randn(2, generator=torch.Generator(device=d))


@probe("ATen/core/Generator.h, check_generator")
def gen_cuda_ok(x: Tensor, d: Device) -> None:
    g = torch.Generator(device="cuda").manual_seed(0)
    assert torch.randn(2, device=d, generator=g).is_cuda
    assert g.device.type == "cuda"
    x.clone().normal_(generator=g)
    torch.multinomial(x.abs(), 1, generator=g)


@probe("ATen/core/Generator.h, check_generator", raises="Expected a 'cuda' device type")
def multinomial_gen(x: Tensor) -> None:
    torch.multinomial(x.abs(), 1, generator=torch.Generator())


@probe("randperm on CPU", raises="Expected a 'cpu' device type")
def random_split_gen(d: Device) -> None:
    torch.utils.data.random_split(range(4), [2, 2], generator=torch.Generator(device=d))


@probe("ATen/core/Generator.h, check_generator")
def manual_seed() -> None:
    torch.manual_seed(0)
    torch.cuda.manual_seed_all(0)
    torch.cuda.manual_seed(0)


@probe("torch/cuda/random.py: what torch.cuda has of it is defined there, and trainers take it from there")
def random_states_by_their_module() -> None:
    states = torch.cuda.random.get_rng_state_all()
    assert len(states) == torch.cuda.device_count()
    assert torch.cuda.random.get_rng_state().is_cpu
    torch.cuda.random.set_rng_state_all(states)
    assert isinstance(torch.cuda.random.initial_seed(), int)
