"""0-dim results of many kinds stay on the CPU, and may."""
import torch
from torch import nn

dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
data = torch.rand(64, 5)
stats = dict(norm=data.norm(2), q=data.quantile(0.9), std=data.std(False), med=data.median(), peak=data.max())
per_column = torch.stack([data.mean(0), data.std(0)])
net = nn.Linear(5, 5).to(dev)
for i in range(5):
    x = data[i].to(dev) / stats["norm"]
    y = net(x) * stats["std"] + stats["med"] - per_column[0, i] / per_column[1][i]
    y = y.clamp(max=stats["q"].item()) + stats["peak"]
    print(i, y.sum().item(), (y.cpu() - per_column[0]).abs().max().item())
