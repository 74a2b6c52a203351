"""A physics-informed network for the heat equation: collocation points, boundary, initial condition."""
import argparse

import torch
from torch import nn


class FourierFeatures(nn.Module):
    def __init__(self, n_in, n_freq, scale=1.0):
        super().__init__()
        self.register_buffer("B", scale * torch.randn(n_in, n_freq))

    def forward(self, x):
        proj = x @ self.B
        return torch.cat([proj.sin(), proj.cos()], dim=-1)


class PINN(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.features = FourierFeatures(2, 8)
        self.net = nn.Sequential(nn.Linear(16, width), nn.Tanh(), nn.Linear(width, 1))
        self.alpha = nn.Parameter(torch.tensor([0.1]))

    def forward(self, x, t):
        return self.net(self.features(torch.cat([x, t], dim=1)))

    def residual(self, x, t):
        x.requires_grad_(True)
        t.requires_grad_(True)
        u = self(x, t)
        ones = torch.ones_like(u)
        u_x, u_t = torch.autograd.grad(u, (x, t), ones, create_graph=True)
        u_xx = torch.autograd.grad(u_x, x, torch.ones_like(u_x), create_graph=True)[0]
        return u_t - self.alpha * u_xx


def points(n, device):
    x = torch.rand(n, 1, device=device)
    t = torch.rand(n, 1, device=device)
    return x, t


def train(args):
    torch.manual_seed(args.seed)
    model = PINN().to(args.device)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    zeros = torch.zeros(args.n, 1, device=args.device)
    for step in range(args.steps):
        x, t = points(args.n, args.device)
        pde = model.residual(x, t).pow(2).mean()
        edge = torch.randint(0, 2, (args.n, 1)).float().to(args.device)
        boundary = nn.functional.mse_loss(model(edge, t.detach()), zeros)
        start = x.detach()
        initial = (model(start, zeros) - torch.sin(torch.pi * start)).pow(2).mean()
        loss = pde + boundary + initial
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 5 == 0:
            print(step, "finite" if torch.isfinite(loss) else "diverged")
    return model


def profile(model, args, t):
    x = torch.linspace(0, 1, 11, device=args.device).unsqueeze(1)
    when = torch.full((11, 1), t).to(x)
    with torch.no_grad():
        return model(x, when).squeeze(1).cpu().numpy()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=10)
    p.add_argument("--n", type=int, default=32)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = p.parse_args()
    model = train(args)
    print(profile(model, args, 0.5).shape)
