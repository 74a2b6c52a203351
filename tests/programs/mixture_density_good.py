import math
import torch
from torch import nn, optim


class MDN(nn.Module):
    def __init__(self, n_hidden=20, n_gauss=5):
        super().__init__()
        self.z_h = nn.Sequential(nn.Linear(1, n_hidden), nn.Tanh())
        self.z_pi = nn.Linear(n_hidden, n_gauss)
        self.z_mu = nn.Linear(n_hidden, n_gauss)
        self.z_sigma = nn.Linear(n_hidden, n_gauss)

    def forward(self, x):
        h = self.z_h(x)
        return torch.softmax(self.z_pi(h), -1), self.z_mu(h), torch.exp(self.z_sigma(h))


ONEOVERSQRT2PI = 1.0 / math.sqrt(2 * math.pi)


def gaussian(y, mu, sigma):
    res = (y.expand_as(mu) - mu) * torch.reciprocal(sigma)
    return torch.exp(-0.5 * res * res) * torch.reciprocal(sigma) * ONEOVERSQRT2PI


def mdn_loss(pi, mu, sigma, y):
    return -torch.log((gaussian(y, mu, sigma) * pi).sum(1)).mean()


def sample(pi, mu, sigma):
    k = torch.multinomial(pi, 1).squeeze(1)
    rows = torch.arange(pi.size(0))
    eps = torch.randn(pi.size(0), device=pi.device)
    return mu[rows, k] + sigma[rows, k] * eps


use_gpu = torch.cuda.is_available()
dev = torch.device("cuda" if use_gpu else "cpu")
y = torch.linspace(-10, 10, 64).unsqueeze(1)
x = torch.sin(0.75 * y) + 0.05 * y
x, y = x.to(dev), y.to(dev)
net = MDN().to(dev)
opt = optim.Adam(net.parameters())
for epoch in range(4):
    pi, mu, sigma = net(x)
    loss = mdn_loss(pi, mu, sigma, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    pts = sample(*net(x))
print(loss.item(), pts.shape)
