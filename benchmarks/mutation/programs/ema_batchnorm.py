"""An exponential moving average of weights and buffers, kept as a second network."""
from copy import deepcopy

import torch
import torch.nn as nn


class ModelEMA:
    def __init__(self, model, decay=0.9, device=None):
        self.module = deepcopy(model).eval()
        self.decay = decay
        self.device = device
        if device is not None:
            self.module.to(device=device)
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        live = model.state_dict()
        for name, value in self.module.state_dict().items():
            incoming = live[name].to(value.device)
            if value.dtype.is_floating_point:
                value.mul_(self.decay).add_(incoming, alpha=1 - self.decay)
            else:
                value.copy_(incoming)


class Welford(nn.Module):
    """Normalises features by their running mean and variance."""

    def __init__(self, dim):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("m2", torch.ones(dim))

    def forward(self, x):
        if self.training:
            self.count += x.size(0)
            delta = x.mean(0) - self.mean
            self.mean = self.mean + delta * x.size(0) / self.count
            self.m2 = 0.9 * self.m2 + 0.1 * x.var(0)
        return (x - self.mean) / (self.m2.sqrt() + 1e-5)


def build(dim):
    return nn.Sequential(Welford(dim), nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, 1))


def main():
    torch.manual_seed(7)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = build(6).to(device)
    ema = ModelEMA(net, device=device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    inputs = torch.randn(80, 6) * 3 + 1
    targets = inputs.sum(dim=1, keepdim=True)
    inputs, targets = inputs.to(device), targets.to(device)
    for _ in range(5):
        for chunk_x, chunk_y in zip(inputs.split(20), targets.split(20)):
            loss = nn.functional.l1_loss(net(chunk_x), chunk_y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema.update(net)
    net.eval()
    with torch.no_grad():
        gap = (net(inputs) - ema.module(inputs)).abs().mean()
    print("seen", int(net[0].count.item()), "gap", bool(gap.item() > 0))
    print(sorted(ema.module.state_dict())[:2])


if __name__ == "__main__":
    main()
