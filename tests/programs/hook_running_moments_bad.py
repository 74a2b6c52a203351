from contextlib import contextmanager

import torch
import torch.nn as nn
import torch.nn.functional as F


class ChannelMoments:
    """Accumulates the mean and second moment of what a layer gives."""

    def __init__(self, channels, device="cpu"):
        self.n = 0
        self.total = torch.zeros(channels, device=device)
        self.square = torch.zeros(channels, device=device)

    def update(self, x):
        x = x.detach().transpose(0, 1).flatten(1)
        self.n += x.size(1)
        self.total = self.total + x.sum(1)  # FAIL
        self.square = self.square + x.pow(2).sum(1)

    def mean(self):
        return self.total / self.n

    def std(self):
        return (self.square / self.n - self.mean().pow(2)).clamp(min=0).sqrt()


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.block1 = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())
        self.block2 = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        x = self.block2(self.block1(F.relu(self.stem(x))))
        return self.head(x.mean((-2, -1)))


@contextmanager
def recording(model, wanted, device):
    stats, handles = {}, []
    for name, layer in model.named_modules():
        if name in wanted:
            stats[name] = ChannelMoments(wanted[name])  # CAUSE

            def hook(_, __, output, name=name):
                stats[name].update(output)

            handles.append(layer.register_forward_hook(hook))
    try:
        yield stats
    finally:
        for h in handles:
            h.remove()


def data_dependent_scale(model, stats):
    """Divides each conv by the deviation of its output (LSUV-like)."""
    with torch.no_grad():
        for name, s in stats.items():
            conv = model.get_submodule(name)
            scale = s.std().clamp(min=1e-3)
            conv.weight.div_(scale.view(-1, 1, 1, 1))
            conv.bias.sub_(s.mean()).div_(scale)


def train(model, data, device, steps=3):
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    for i in range(steps):
        x, y = data(8)
        x, y = x.to(device), y.to(device)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def make_data(seed):
    g = torch.Generator().manual_seed(seed)

    def draw(n):
        y = torch.randint(0, 5, (n,), generator=g)
        x = torch.randn(n, 3, 8, 8, generator=g) + y.view(-1, 1, 1, 1) * 0.2
        return x, y

    return draw


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Backbone().to(device).eval()
    data = make_data(1)
    with recording(model, {"stem": 8, "block1.0": 8, "block2.0": 16}, device) as stats, torch.no_grad():
        for _ in range(2):
            model(data(16)[0].to(device))
    data_dependent_scale(model, stats)
    for name, s in stats.items():
        print(name, s.n, s.std().mean().item())
    print(train(model, data, device))


main()
