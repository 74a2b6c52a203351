import torch
from torch import nn

try:
    device = torch.device("cuda")
    torch.zeros(1, device=device)
except Exception:
    device = torch.device("cpu")
net = nn.Linear(2, 2).to(device)
print(net(torch.ones(1, 2, device=device)).shape)
