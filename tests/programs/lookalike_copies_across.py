"""Copies between devices that PyTorch makes by itself."""
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

big = torch.zeros(6, 4, device=device)
row = torch.arange(4.0)
big[2] = row
big[3:5] = torch.ones(2, 4)
big[:, 1] = torch.linspace(0, 1, 6)
big[5, 0] = torch.tensor(7.0)
big[0].copy_(row)

host = torch.empty(6, 4)
host.copy_(big)
host[:3] = big[3:]
print(host)

a, b = nn.Linear(4, 4), nn.Linear(4, 4).to(device)
b.load_state_dict(a.state_dict())
with torch.no_grad():
    for p, q in zip(a.parameters(), b.parameters()):
        p.copy_(q)
    b.weight.data.copy_(torch.eye(4))
    b.bias[:2] = torch.tensor([0.5, -0.5])
print(b(big).sum(1).tolist())
print((a.weight - torch.eye(4)).abs().max().item())
