from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Batch:
    tokens: torch.Tensor
    mask: torch.Tensor
    labels: torch.Tensor

    def to(self, device):
        return Batch(self.tokens.to(device), self.mask.to(device), self.labels.to(device))


def collate(samples):
    longest = max(len(s) for s, _ in samples)
    tokens = torch.zeros(len(samples), longest, dtype=torch.long)
    mask = torch.zeros(len(samples), longest)
    for i, (s, _) in enumerate(samples):
        tokens[i, : len(s)] = torch.tensor(s)
        mask[i, : len(s)] = 1
    return Batch(tokens, mask, torch.tensor([y for _, y in samples]))


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, batch):
        h = self.embed(batch.tokens)
        pooled = (h * batch.mask.unsqueeze(-1)).sum(1) / batch.mask.sum(1, keepdim=True)
        return self.head(pooled)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
samples = [([1, 2, 3], 0), ([4, 5], 1), ([6, 7, 8, 9], 0), ([2], 1)]
loader = torch.utils.data.DataLoader(samples, batch_size=2, collate_fn=collate)
model = Bag().to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in loader:
    batch = batch.to(device)
    loss = nn.functional.cross_entropy(model(batch), batch.labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
