"""Plain tensor attributes that follow the module because `_apply` is overridden."""
import torch
from torch import nn


class RunningStats(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.mean = torch.zeros(n)
        self.var = torch.ones(n)
        self.count = 0

    def _apply(self, fn, *args, **kwargs):
        super()._apply(fn, *args, **kwargs)
        self.mean = fn(self.mean)
        self.var = fn(self.var)
        return self

    @torch.no_grad()
    def update(self, x):
        self.count += x.size(0)
        w = x.size(0) / self.count
        self.mean = (1 - w) * self.mean + w * x.mean(0)
        self.var = (1 - w) * self.var + w * x.var(0, unbiased=False)

    def forward(self, x):
        if self.training:
            self.update(x)
        return (x - self.mean) / (self.var + 1e-5).sqrt()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = RunningStats(3)
        self.body = nn.Linear(3, 2)

    def forward(self, x):
        return self.body(self.norm(x))


if __name__ == "__main__":
    torch.manual_seed(0)
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    agent = Agent().to(dev)
    for _ in range(3):
        print(agent(torch.randn(5, 3, device=dev) * 4 + 1).mean().item())
    agent.eval()
    agent.cpu()
    print(agent(torch.zeros(1, 3)))
