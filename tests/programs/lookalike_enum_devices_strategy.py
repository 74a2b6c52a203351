"""A strategy enum decides where things live; ask it instead of the flag."""
import enum

import torch
from torch import nn


class Placement(enum.Enum):
    HOST = "cpu"
    ACCELERATOR = "cuda"

    @property
    def device(self):
        return torch.device(self.value)

    @classmethod
    def best(cls):
        return cls.ACCELERATOR if torch.cuda.is_available() else cls.HOST

    def send(self, *values):
        out = tuple(v.to(self.device) for v in values)
        return out[0] if len(out) == 1 else out


class Embedder(nn.Module):
    """The table is large and stays on the host; the rest goes where the placement says."""

    def __init__(self, rows, dim, placement):
        super().__init__()
        self.placement = placement
        self.table = nn.EmbeddingBag(rows, dim, mode="sum")
        self.net = placement.send(nn.Sequential(nn.Linear(dim, 8), nn.ReLU(), nn.Linear(8, 2)))

    def forward(self, ids):
        pooled = self.table(ids.cpu())
        return self.net(self.placement.send(pooled))


placement = Placement.best()
model = Embedder(50, 4, placement)
optimizers = [torch.optim.SGD(model.table.parameters(), lr=0.1), torch.optim.Adam(model.net.parameters(), lr=1e-2)]
for step in range(4):
    ids, labels = torch.randint(0, 50, (6, 3)), torch.randint(0, 2, (6,))
    logits = model(ids)
    loss = nn.functional.cross_entropy(logits, placement.send(labels))
    for o in optimizers:
        o.zero_grad()
    loss.backward()
    for o in optimizers:
        o.step()
rows = ids.unique()
touched = model.table.weight.grad[rows].abs().sum(1)
a, b = Placement.HOST.send(logits.detach(), labels)
print(loss.item(), touched.mean() + a.argmax(1).eq(b).float().mean(), placement)
