from functools import partial

import numpy as np
import torch
from torch import nn


def extract(a, t, shape):
    return a[t].view(-1, *[1] * (len(shape) - 1))  # FAIL


class Diffusion(nn.Module):
    def __init__(self, net, steps=30):
        super().__init__()
        self.net, self.steps = net, steps
        betas = np.linspace(1e-4, 0.02, steps)
        bar = np.cumprod(1 - betas)
        to_torch = partial(torch.tensor, dtype=torch.float32)
        self.register_buffer("sqrt_bar", to_torch(np.sqrt(bar)))
        self.sqrt_one_minus = to_torch(np.sqrt(1 - bar))  # CAUSE

    def q_sample(self, x, t, noise):
        return extract(self.sqrt_bar, t, x.shape) * x + extract(self.sqrt_one_minus, t, x.shape) * noise  # CALL

    def forward(self, x):
        t = torch.randint(0, self.steps, (len(x),), device=x.device)
        noise = torch.randn_like(x)
        noisy = self.q_sample(x, t, noise)
        time = (t.float() / self.steps).view(-1, 1)
        return (self.net(torch.cat([noisy, time], 1)) - noise).pow(2).mean()


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Diffusion(nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 4))).to(device)
opt = torch.optim.Adam(model.parameters())
for _ in range(3):
    loss = model(torch.randn(6, 4).to(device))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
