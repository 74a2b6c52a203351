import torch
from torch import nn


class RunningStat:
    """created empty, takes the device of the first value"""

    def __init__(self):
        self.mean = self.var = None
        self.n = 0

    def push(self, x):
        if self.mean is None:
            self.mean, self.var = torch.zeros_like(x[0]), torch.ones_like(x[0])
        self.n += len(x)
        d = x.mean(0) - self.mean
        self.mean = self.mean + d * len(x) / self.n
        self.var = 0.9 * self.var + 0.1 * x.var(0, unbiased=False)
        return (x - self.mean) / (self.var.sqrt() + 1e-8)


class RewardScaler:
    def __init__(self, gamma=0.99):
        self.ret, self.gamma, self.stat = 0.0, gamma, RunningStat()

    def __call__(self, r):
        self.ret = self.gamma * self.ret + r
        self.stat.push(self.ret[None] if self.ret.dim() < 2 else self.ret)
        return r / (self.stat.var.sqrt() + 1e-8)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
obs_stat, scale, host_stat = RunningStat(), RewardScaler(), RunningStat()
net = nn.Linear(3, 1).to(device)
for t in range(4):
    raw = torch.randn(5, 3)
    host_stat.push(raw)
    o = obs_stat.push(raw.to(device))
    v = net(o).squeeze(1)
    r = scale(torch.rand(5, device=device))
    loss = (v - r).square().mean()
    loss.backward()
print(loss.item(), host_stat.mean.tolist(), obs_stat.mean.cpu().sub(host_stat.mean).abs().max().item())
