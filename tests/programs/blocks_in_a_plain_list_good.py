import argparse
import math

import torch
import torch.nn as nn


class Basis(nn.Module):
    kind = "generic"

    def __init__(self, backcast, forecast):
        super().__init__()
        self.backcast = backcast
        self.forecast = forecast

    @property
    def size(self):
        return self.backcast + self.forecast

    def forward(self, theta):
        return theta[:, :self.backcast], theta[:, self.backcast:]


class TrendBasis(Basis):
    kind = "trend"
    degree = 3

    def __init__(self, backcast, forecast):
        super().__init__(backcast, forecast)
        back = torch.arange(backcast) / backcast
        fore = torch.arange(forecast) / forecast
        self.register_buffer("back_t", torch.stack([back ** p for p in range(self.degree)]))
        self.register_buffer("fore_t", torch.stack([fore ** p for p in range(self.degree)]))

    @property
    def size(self):
        return 2 * self.degree

    def forward(self, theta):
        return theta[:, :self.degree] @ self.back_t, theta[:, self.degree:] @ self.fore_t


class SeasonalBasis(TrendBasis):
    kind = "seasonal"
    degree = 4

    def __init__(self, backcast, forecast):
        super().__init__(backcast, forecast)
        for name, n in (("back_t", backcast), ("fore_t", forecast)):
            t = 2 * math.pi * torch.arange(n) / n
            setattr(self, name, torch.stack([t.cos(), t.sin(), (2 * t).cos(), (2 * t).sin()]))


class Block(nn.Module):
    def __init__(self, basis, width):
        super().__init__()
        self.basis = basis
        self.mlp = nn.Sequential(nn.Linear(basis.backcast, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.theta = nn.Linear(width, basis.size)

    def forward(self, x):
        return self.basis(self.theta(self.mlp(x)))


class NBeats(nn.Module):
    def __init__(self, stacks, backcast, forecast, width, blocks_per_stack):
        super().__init__()
        self.forecast_length = forecast
        blocks = []
        for basis_cls in stacks:
            for _ in range(blocks_per_stack):
                blocks.append(Block(basis_cls(backcast, forecast), width))
        self.blocks = nn.ModuleList(blocks)
        self.level = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        residual = x - self.level
        total = self.level.expand(x.size(0), self.forecast_length)
        for block in self.blocks:
            back, fore = block(residual)
            residual = residual - back
            total = total + fore
        return total


def smape(pred, actual):
    return 200 * ((pred - actual).abs() / (pred.abs() + actual.abs() + 1e-6)).mean()


def sliding_windows(series, backcast, forecast, batch):
    total = backcast + forecast
    starts = torch.randint(0, len(series) - total, (batch,))
    windows = torch.stack([series[s:s + total] for s in starts.tolist()])
    return windows[:, :backcast], windows[:, backcast:]


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--backcast", type=int, default=16)
    p.add_argument("--forecast", type=int, default=4)
    p.add_argument("--width", type=int, default=24)
    p.add_argument("--iterations", type=int, default=5)
    p.add_argument("--gpu", type=int, default=0)
    return p.parse_args([])


if __name__ == "__main__":
    args = parse()
    torch.manual_seed(0)
    device = torch.device(f"cuda:{args.gpu}" if torch.cuda.is_available() else "cpu")
    t = torch.arange(200.0)
    series = 0.02 * t + torch.sin(t / 4) + 0.1 * torch.randn(200)
    net = NBeats([TrendBasis, SeasonalBasis, Basis], args.backcast, args.forecast, args.width, 2)
    net = net.to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for it in range(args.iterations):
        past, future = sliding_windows(series, args.backcast, args.forecast, 16)
        past, future = past.to(device), future.to(device)
        loss = smape(net(past), future)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"it {it} smape {loss.item():.2f}")
