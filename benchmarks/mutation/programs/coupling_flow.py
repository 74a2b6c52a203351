"""A normalising flow of affine coupling layers (RealNVP) on correlated Gaussians."""
import math

import torch
from torch import nn
from torch.distributions import MultivariateNormal


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(1, dim))
        self.log_scale = nn.Parameter(torch.zeros(1, dim))
        self.register_buffer("initialized", torch.tensor(0, dtype=torch.uint8))

    def forward(self, x):
        if self.initialized.item() == 0:
            with torch.no_grad():
                self.loc.copy_(-x.mean(0, keepdim=True))
                self.log_scale.copy_(-x.std(0, keepdim=True).log())
                self.initialized.fill_(1)
        return (x + self.loc) * self.log_scale.exp(), self.log_scale.sum().expand(x.size(0))

    def inverse(self, z):
        return z * (-self.log_scale).exp() - self.loc


class Coupling(nn.Module):
    def __init__(self, mask, hidden=24):
        super().__init__()
        self.register_buffer("mask", mask)
        d = mask.numel()
        self.net = nn.Sequential(nn.Linear(d, hidden), nn.Tanh(), nn.Linear(hidden, 2 * d))

    def _params(self, masked):
        s, t = self.net(masked).chunk(2, dim=-1)
        return torch.tanh(s) * (1 - self.mask), t * (1 - self.mask)

    def forward(self, x):
        s, t = self._params(x * self.mask)
        return x * self.mask + (1 - self.mask) * (x * s.exp() + t), s.sum(-1)

    def inverse(self, z):
        s, t = self._params(z * self.mask)
        return z * self.mask + (1 - self.mask) * (z - t) * (-s).exp()


class Flow(nn.Module):
    def __init__(self, dim=2, depth=4):
        super().__init__()
        layers = []
        for i in range(depth):
            layers += [ActNorm(dim), Coupling(torch.arange(dim).add(i).remainder(2).float())]
        self.layers = nn.ModuleList(layers)
        self.register_buffer("base_mean", torch.zeros(dim))
        self.register_buffer("base_cov", torch.eye(dim))

    @property
    def base(self):
        return MultivariateNormal(self.base_mean, self.base_cov)

    def log_prob(self, x):
        total = x.new_zeros(x.size(0))
        for layer in self.layers:
            x, log_det = layer(x)
            total = total + log_det
        return self.base.log_prob(x) + total

    def sample(self, n):
        z = self.base.sample((n,))
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z


def main(steps=12):
    torch.manual_seed(31)
    accelerator = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    truth = MultivariateNormal(torch.tensor([1.0, -1.0]), torch.tensor([[1.0, 0.8], [0.8, 1.0]]))
    flow = Flow().to(accelerator)
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    for _ in range(steps):
        x = truth.sample((64,)).to(accelerator)
        loss = -flow.log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("bits per dimension finite:", math.isfinite(loss.item() / 2 / math.log(2)))
    with torch.no_grad():
        samples = flow.sample(100)
        cov = torch.cov(samples.T).cpu()
        gap = (cov - truth.covariance_matrix).abs().max().item()
    print("covariance gap finite:", math.isfinite(gap))


main()
