"""Diffusion constants and layers made with `factory_kwargs`, `partial` and `new_*`."""
from functools import partial

import torch
from torch import nn


class LearnedNorm(nn.Module):
    def __init__(self, dim, device=None, dtype=None):
        factory_kwargs = {"device": device, "dtype": dtype}
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim, **factory_kwargs))
        self.bias = nn.Parameter(torch.zeros(dim, **factory_kwargs))
        self.proj = nn.Linear(dim, dim, **factory_kwargs)

    def forward(self, x):
        return self.proj((x - x.mean(-1, keepdim=True)) * self.weight + self.bias)


class Schedule:
    def __init__(self, steps, device):
        linspace = partial(torch.linspace, dtype=torch.float32, device=device)
        self.betas = linspace(1e-4, 0.02, steps)
        self.abar = (1 - self.betas).cumprod(0)
        self.steps = steps

    def pick(self, values, t, like):
        return values[t].view(-1, *[1] * (like.dim() - 1))

    def noise(self, x):
        t = torch.randint(self.steps, (len(x),), device=x.device)
        eps = x.new_empty(x.shape).normal_()
        a = self.pick(self.abar, t, x)
        return a.sqrt() * x + (1 - a).sqrt() * eps, eps, t


def main(device=None):
    torch.manual_seed(0)
    device = device or torch.device("cuda" if torch.cuda.is_available() else "cpu")
    opts = dict(device=device)
    net = LearnedNorm(6, **opts)
    schedule = Schedule(20, device)
    x = torch.randn(10, 6, **opts)
    for i in range(3):
        xt, eps, t = schedule.noise(x)
        loss = (net(xt) - eps).square().mean()
        loss.backward()
        print(i, loss.item(), t.max().item() < 20)


main()
