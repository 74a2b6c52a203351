import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=7)
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
args = parser.parse_args([])


class Sampler:
    """Draws latents that are the same for every run."""

    def __init__(self, dim, seed, device):
        self.dim, self.device = dim, device
        self.generator = torch.Generator(device).manual_seed(seed)

    def draw(self, n):
        return torch.randn(n, self.dim, generator=self.generator, device=self.device)


class Decoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, 4))

    def forward(self, z):
        return self.net(z).tanh()


decoder = Decoder(6).to(args.device)
sampler = Sampler(6, args.seed, args.device)
opt = torch.optim.Adam(decoder.parameters())
for _ in range(args.steps):
    z = sampler.draw(10)
    loss = (decoder(z).mean(0) - 0.5).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
