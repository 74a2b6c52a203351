"""`with torch.device(...)` for construction, explicit moves for data."""
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Mixer(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.token = nn.Linear(tokens, tokens)
        self.channel = nn.Linear(dim, dim)
        self.scale = torch.full((dim,), 0.5)
        self.positions = torch.arange(tokens).float().unsqueeze(1)

    def forward(self, x):
        x = x + self.positions * 0.01
        x = x + self.token(x.transpose(1, 2)).transpose(1, 2)
        return x + self.channel(x) * self.scale


def build():
    with torch.device(device):
        model = Mixer(4, 6)
        table = torch.eye(6)
    return model, table


model, table = build()
x = torch.randn(3, 4, 6)
out = model(x.to(device)) @ table
print(out.mean().item())

with torch.device("cpu"):
    reference = torch.zeros(3, 4, 6)
    with torch.device(device):
        noise = torch.randn(3, 4, 6)
    reference += x
noisy = model(noise)
delta = reference - noisy.cpu()
print(delta.abs().max(), (noisy - out).norm().item())
