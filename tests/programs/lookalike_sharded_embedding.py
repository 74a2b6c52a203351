"""A large embedding stays in host memory; only the rows that are needed travel."""
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class HostEmbedding(nn.Module):
    """Never moved: `_apply` does nothing."""

    def __init__(self, n, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, dim) * 0.1)

    def _apply(self, fn, recurse=True):
        return self

    def forward(self, ids):
        ids = ids.cpu()
        rows, inverse = ids.unique(return_inverse=True)
        return self.weight[rows].to(device)[inverse]


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = HostEmbedding(200, 8)
        self.mlp = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, a, b):
        return self.mlp(torch.cat([self.items(a), self.items(b)], dim=-1)).squeeze(-1)


model = Recommender().to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    a, b = torch.randint(0, 200, (2, 12))
    label = ((a - b).abs() < 60).float().to(device)
    loss = nn.functional.binary_cross_entropy_with_logits(model(a, b), label)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
