from __future__ import annotations

import torch
from torch import Tensor, nn

from torchdev_lint.harness.probes.base import SAME, Device, probe


@probe("step on CPU unless capturable/fused")
def adam_state(x: Tensor, d: Device) -> None:
    m = nn.Linear(4, 2).to(d)
    o = torch.optim.AdamW(m.parameters())
    m(x).sum().backward()
    o.step()
    assert o.state[m.weight]["exp_avg"].is_cuda
    assert o.state[m.weight]["step"].is_cpu


@probe("stale optimizer state", raises=SAME)
def adam_then_to(x: Tensor, c: Tensor, d: Device) -> None:
    m = nn.Linear(4, 2)
    o = torch.optim.Adam(m.parameters())
    m(c).sum().backward()
    o.step()
    m.to(d)
    o.zero_grad()
    m(x).sum().backward()
    o.step()


@probe("copy_")
def state_dict_load(d: Device) -> None:
    m = nn.Linear(4, 2).to(d)
    m2 = nn.Linear(4, 2)
    m2.load_state_dict(m.state_dict())
    assert m2.weight.is_cpu
    m.load_state_dict(m2.state_dict())
    assert m.weight.is_cuda


@probe("cast to the param device")
def optim_load_state_dict(x: Tensor, d: Device) -> None:
    m = nn.Linear(4, 2).to(d)
    o = torch.optim.Adam(m.parameters())
    m(x).sum().backward()
    o.step()
    sd = o.state_dict()
    m2 = nn.Linear(4, 2)
    o2 = torch.optim.Adam(m2.parameters())
    o2.load_state_dict(sd)
    assert o2.state[m2.weight]["exp_avg"].is_cpu


@probe("torch/optim")
def all_optims(x: Tensor, d: Device) -> None:
    for kind in (
        torch.optim.SGD,
        torch.optim.RMSprop,
        torch.optim.Adagrad,
        torch.optim.NAdam,
        torch.optim.RAdam,
        torch.optim.Adamax,
        torch.optim.Adadelta,
    ):
        m = nn.Linear(4, 2).to(d)
        o = kind(m.parameters(), lr=0.1)
        m(x).sum().backward()
        o.step()
        o.step()


@probe("torch/optim")
def fused_adam(x: Tensor, d: Device) -> None:
    m = nn.Linear(4, 2).to(d)
    o = torch.optim.Adam(m.parameters(), fused=True)
    m(x).sum().backward()
    o.step()
