"""Properties, cached properties and a descriptor that gives tensors where the owner is."""
from functools import cached_property

import torch
from torch import nn


class Constant:
    """A descriptor: the value is stored once on the host and copied once for every device."""

    def __init__(self, value):
        self.value = torch.tensor(value)
        self.copies = {}

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        device = obj.anchor.device
        if device not in self.copies:
            self.copies[device] = self.value.to(device)
        return self.copies[device]


class Normalize(nn.Module):
    mean = Constant([0.4, 0.5, 0.6])
    std = Constant([0.2, 0.2, 0.3])

    def __init__(self):
        super().__init__()
        self.anchor = nn.Parameter(torch.ones(1), requires_grad=False)

    def forward(self, x):
        return (x - self.mean[:, None, None]) / self.std[:, None, None] * self.anchor


class Grid:
    def __init__(self, size, device):
        self.size, self.device = size, device

    @cached_property
    def coords(self):
        ys, xs = torch.meshgrid(torch.arange(self.size), torch.arange(self.size), indexing="ij")
        return torch.stack([ys, xs], -1).float().to(self.device)

    @property
    def centre(self):
        return self.coords.mean((0, 1))


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
normalize = Normalize()
before = normalize(torch.rand(2, 3, 4, 4))
normalize.to(device)
after = normalize(torch.rand(2, 3, 4, 4, device=device))
grid = Grid(4, device)
distance = (grid.coords - grid.centre).norm(dim=-1)
weighted = (after.mean(1) * distance).sum()
print(before.mean(), weighted.item(), Normalize.mean.value)
