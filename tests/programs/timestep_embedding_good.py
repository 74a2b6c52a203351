"""A denoiser with sinusoidal time embeddings, classifier-free guidance in the sampler."""
import math

import torch
from torch import nn


def timestep_embedding(t, dim, max_period=10000):
    half = dim // 2
    freqs = torch.exp(-math.log(max_period) * torch.arange(half, dtype=torch.float32, device=t.device) / half)
    args = t[:, None].float() * freqs[None]
    return torch.cat([torch.cos(args), torch.sin(args)], dim=-1)


class Denoiser(nn.Module):
    def __init__(self, n_classes=4, dim=16):
        super().__init__()
        self.dim = dim
        self.null = n_classes
        self.label = nn.Embedding(n_classes + 1, dim)
        self.time = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.net = nn.Sequential(nn.Linear(2 + dim, 32), nn.SiLU(), nn.Linear(32, 2))

    def forward(self, x, t, y=None):
        if y is None:
            y = torch.full_like(t, self.null)
        c = self.time(timestep_embedding(t, self.dim)) + self.label(y)
        return self.net(torch.cat([x, c], dim=1))


class FlowMatching:
    def __init__(self, net):
        self.net = net

    def loss(self, x1, y, drop=0.2):
        t = torch.rand(len(x1), device=x1.device)
        x0 = torch.randn_like(x1)
        xt = (1 - t)[:, None] * x0 + t[:, None] * x1
        y = torch.where(torch.rand_like(t) < drop, torch.full_like(y, self.net.null), y)
        v = self.net(xt, (t * 1000).long(), y)
        return (v - (x1 - x0)).square().mean()

    @torch.no_grad()
    def sample(self, y, steps=4, guidance=2.0):
        x = torch.randn(len(y), 2, device=y.device)
        for i in range(steps):
            t = torch.full_like(y, int(1000 * i / steps))
            cond, free = self.net(x, t, y), self.net(x, t)
            x = x + (free + guidance * (cond - free)) / steps
        return x


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    fm = FlowMatching(Denoiser().to(device))
    opt = torch.optim.Adam(fm.net.parameters(), lr=1e-3)
    for step in range(3):
        y = torch.randint(0, 4, (32,), device=device)
        corners = torch.tensor([[1.0, 1], [1, -1], [-1, 1], [-1, -1]], device=device)
        loss = fm.loss(corners[y], y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, f"{loss.item():.3f}")
    print(fm.sample(torch.arange(4, device=device)).tolist())
