import torch
from torch import nn

dev = "cuda" if torch.cuda.is_available() else "cpu"
with torch.device(dev):
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    x = torch.randn(2, 3)
    target = torch.zeros(2, 1)
loss = (net(x) - target).abs().mean()
loss.backward()
