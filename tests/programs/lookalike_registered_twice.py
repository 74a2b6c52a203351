"""Modules kept in a plain list that are registered as well, and parameters in a ParameterList."""
import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.order = []
        for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
            layer = nn.Linear(a, b)
            self.add_module(f"fc{i}", layer)
            self.order.append(layer)
        self.gains = nn.ParameterList([nn.Parameter(torch.ones(b)) for b in sizes[1:]])
        self.register_buffer("offset", torch.full((sizes[-1],), 0.1), persistent=False)

    def forward(self, x):
        for layer, gain in zip(self.order, self.gains):
            x = torch.tanh(layer(x)) * gain
        return x + self.offset


class Experts(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.gate = nn.Linear(dim, n)
        experts = [Tower([dim, dim]) for _ in range(n)]
        self.experts = nn.ModuleList(experts)
        self.by_name = {f"expert{i}": e for i, e in enumerate(experts)}

    def forward(self, x):
        w = self.gate(x).softmax(-1)
        outs = [e(x) for e in self.by_name.values()]
        return (torch.stack(outs, -1) * w.unsqueeze(-2)).sum(-1)


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Sequential(Tower([4, 8, 6]), Experts(3, 6)).to(device)
out = net(torch.randn(5, 4, device=device))
print(out.shape, sum(p.numel() for p in net.parameters()))
