import torch
from torch import nn


class GaussianNoise(nn.Module):
    def __init__(self, sigma=0.1, is_relative_detach=True):
        super().__init__()
        self.sigma = sigma
        self.is_relative_detach = is_relative_detach
        self.register_buffer("noise", torch.tensor(0.))

    def forward(self, x):
        if self.training and self.sigma != 0:
            scale = self.sigma * x.detach() if self.is_relative_detach else self.sigma * x
            sampled_noise = self.noise.repeat(*x.size()).normal_() * scale
            x = x + sampled_noise
        return x


def make(n_in, n_out, depth=2):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(n_in, n_in), GaussianNoise(), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(n_in, n_out))


net = make(5, 1)
if torch.cuda.is_available():
    net.cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for it in range(3):
    x = torch.randn(12, 5)
    if torch.cuda.is_available():
        x = x.cuda()
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("%d %.4f" % (it, loss.item()))
