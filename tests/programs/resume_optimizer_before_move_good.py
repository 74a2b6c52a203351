import io

import torch
from torch import nn


class Centers(nn.Module):
    """Center loss with its own optimizer."""

    def __init__(self, classes, dim):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(classes, dim))

    def forward(self, features, labels):
        return (features - self.centers[labels]).pow(2).sum(1).mean()


def save(**modules):
    stream = io.BytesIO()
    torch.save({k: m.state_dict() for k, m in modules.items()}, stream)
    return stream.getvalue()


def resume(blob, device):
    state = torch.load(io.BytesIO(blob), map_location=device)
    backbone = nn.Linear(5, 4).to(device)
    centers = Centers(3, 4).to(device)
    backbone.load_state_dict(state["backbone"])
    centers.load_state_dict(state["centers"])
    return backbone, centers


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
backbone, centers = nn.Linear(5, 4).to(device), Centers(3, 4).to(device)
x, y = torch.randn(12, 5, device=device), torch.randint(0, 3, (12,), device=device)
for phase in range(2):
    opt = torch.optim.SGD([*backbone.parameters(), *centers.parameters()], lr=0.05)
    for _ in range(2):
        loss = centers(backbone(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(phase, loss.item())
    backbone, centers = resume(save(backbone=backbone, centers=centers), device)
