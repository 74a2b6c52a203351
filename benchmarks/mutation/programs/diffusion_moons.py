"""Denoising diffusion on two-dimensional points: schedule, training, ancestral sampling."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def extract(a: Tensor, t: Tensor, shape: torch.Size) -> Tensor:
    out = a.gather(-1, t)
    return out.reshape(t.shape[0], *((1,) * (len(shape) - 1)))


class SinusoidalEmbedding(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, t: Tensor) -> Tensor:
        half = self.dim // 2
        freqs = torch.exp(-math.log(10000) * torch.arange(half, device=t.device) / (half - 1))
        args = t[:, None].float() * freqs[None]
        return torch.cat([args.sin(), args.cos()], dim=-1)


class Denoiser(nn.Module):
    def __init__(self, dim: int = 16) -> None:
        super().__init__()
        self.time = nn.Sequential(SinusoidalEmbedding(dim), nn.Linear(dim, 32), nn.SiLU())
        self.inp = nn.Linear(2, 32)
        self.blocks = nn.ModuleList([nn.Linear(32, 32), nn.Linear(32, 32)])
        self.out = nn.Linear(32, 2)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        h = self.inp(x) + self.time(t)
        for block in self.blocks:
            h = h + F.silu(block(h))
        return self.out(h)


class GaussianDiffusion(nn.Module):
    def __init__(self, model: nn.Module, timesteps: int = 20) -> None:
        super().__init__()
        self.model = model
        self.num_timesteps = timesteps
        betas = torch.linspace(1e-3, 0.2, timesteps)
        alphas = 1.0 - betas
        alphas_cumprod = torch.cumprod(alphas, dim=0)
        self.register_buffer("betas", betas)
        self.register_buffer("sqrt_alphas_cumprod", alphas_cumprod.sqrt())
        self.register_buffer("sqrt_one_minus_alphas_cumprod", (1.0 - alphas_cumprod).sqrt())
        self.register_buffer("sqrt_recip_alphas", alphas.rsqrt())

    def q_sample(self, x0: Tensor, t: Tensor, noise: Tensor) -> Tensor:
        mean = extract(self.sqrt_alphas_cumprod, t, x0.shape) * x0
        return mean + extract(self.sqrt_one_minus_alphas_cumprod, t, x0.shape) * noise

    def forward(self, x0: Tensor) -> Tensor:
        t = torch.randint(0, self.num_timesteps, (x0.shape[0],), device=x0.device)
        noise = torch.randn_like(x0)
        return F.mse_loss(self.model(self.q_sample(x0, t, noise), t), noise)

    @torch.no_grad()
    def sample(self, n: int) -> Tensor:
        device = self.betas.device
        x = torch.randn(n, 2, device=device)
        for i in reversed(range(self.num_timesteps)):
            t = torch.full((n,), i, device=device, dtype=torch.long)
            eps = self.model(x, t)
            x = extract(self.sqrt_recip_alphas, t, x.shape) * (
                x - extract(self.betas, t, x.shape) / extract(self.sqrt_one_minus_alphas_cumprod, t, x.shape) * eps
            )
            if i > 0:
                x = x + extract(self.betas, t, x.shape).sqrt() * torch.randn_like(x)
        return x


def moons(n: int) -> Tensor:
    angle = math.pi * torch.rand(n)
    flip = (torch.arange(n) % 2) * 2.0 - 1.0
    return torch.stack([angle.cos() + 0.5 * flip, flip * angle.sin()], dim=1)


if __name__ == "__main__":
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    diffusion = GaussianDiffusion(Denoiser()).to(device)
    optim = torch.optim.Adam(diffusion.parameters(), lr=2e-3)
    dataset = moons(64)
    for _ in range(12):
        batch = dataset[torch.randperm(64)[:32]].to(device)
        loss = diffusion(batch)
        optim.zero_grad()
        loss.backward()
        optim.step()
    points = diffusion.sample(8).cpu()
    print("samples", tuple(points.shape), bool(points.isfinite().all()))
