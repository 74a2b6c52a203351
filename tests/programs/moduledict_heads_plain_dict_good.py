import torch
from torch import nn


class MultiTask(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.trunk = nn.Linear(8, 8)
        self.heads = nn.ModuleDict({name: nn.Linear(8, n) for name, n in tasks.items()})

    def forward(self, x):
        h = torch.relu(self.trunk(x))
        return {name: head(h) for name, head in self.heads.items()}


tasks = {"colour": 3, "shape": 4}
device = "cuda" if torch.cuda.is_available() else "cpu"
model = MultiTask(tasks).to(device)
out = model(torch.randn(2, 8).to(device))
loss = sum(o.mean() for o in out.values())
loss.backward()
print(sorted(out))
