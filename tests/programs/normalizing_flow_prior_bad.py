import torch
from torch import nn
from torch.distributions import MultivariateNormal


class AffineCoupling(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.mask = mask
        self.s = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
        self.t = nn.Linear(2, 2)

    def forward(self, x):
        xm = x * self.mask  # FAIL
        s, t = self.s(xm) * (1 - self.mask), self.t(xm) * (1 - self.mask)
        return xm + (1 - self.mask) * (x * torch.exp(s) + t), s.sum(1)


class RealNVP(nn.Module):
    def __init__(self, n):
        super().__init__()
        masks = [torch.tensor([0.0, 1.0]) if i % 2 else torch.tensor([1.0, 0.0]) for i in range(n)]
        self.flows = nn.ModuleList([AffineCoupling(m) for m in masks])

    def forward(self, x):
        logdet = x.new_zeros(x.size(0))
        for f in self.flows:
            x, ld = f(x)  # CALL
            logdet = logdet + ld
        return x, logdet


def train(device, steps=2):
    prior = MultivariateNormal(torch.zeros(2, device=device), torch.eye(2, device=device))
    flow = RealNVP(4).to(device)
    opt = torch.optim.Adam(flow.parameters())
    for _ in range(steps):
        x = torch.randn(10, 2).to(device)
        z, ld = flow(x)  # CALL
        loss = -(prior.log_prob(z) + ld).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    train(torch.device("cuda" if torch.cuda.is_available() else "cpu"))  # CALL
