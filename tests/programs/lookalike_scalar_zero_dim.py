import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
net = nn.Linear(3, 1).to(device)
beta = torch.tensor(0.25)
eps = torch.as_tensor(1e-6)
total = torch.tensor(0.0)
for _ in range(3):
    out = net(torch.randn(5, 3, device=device))
    loss = (out * beta + eps).pow(2).mean()
    loss.backward()
    total += loss.item()
best = torch.tensor(float("inf"))
if loss < best:
    best = loss
clipped = torch.where(out > 0, out, torch.tensor(0.0))
print(torch.maximum(clipped, torch.tensor(0.5)).shape, total > 0)
