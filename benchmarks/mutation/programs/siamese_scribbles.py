"""Siamese network with a contrastive loss: are two scribbles by the same hand?"""
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class PairDataset(Dataset):
    def __init__(self, n_writers=4, length=40):
        self.styles = torch.randn(n_writers, 24)
        self.length = length
        self.rng = random.Random(9)

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        a = self.rng.randrange(len(self.styles))
        b = a if index % 2 else (a + 1) % len(self.styles)
        first = self.styles[a] + 0.2 * torch.randn(24)
        second = self.styles[b] + 0.2 * torch.randn(24)
        return first, second, torch.tensor(float(a != b))


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward_once(self, x):
        return self.net(x)

    def forward(self, a, b):
        return self.forward_once(a), self.forward_once(b)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.register_buffer("margin", torch.tensor([margin]))

    def forward(self, a, b, differs):
        distance = (a - b).pow(2).sum(1).add(1e-6).sqrt()
        gap = torch.maximum(self.margin - distance, torch.zeros_like(distance))
        return ((1 - differs) * distance.pow(2) + differs * gap.pow(2)).mean()


torch.manual_seed(9)
dev = "cuda" if torch.cuda.is_available() else "cpu"
net = Tower().to(dev)
criterion = ContrastiveLoss().to(dev)
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
loader = DataLoader(PairDataset(), batch_size=10)
history = []
for epoch in range(4):
    for batch in loader:
        img0, img1, label = [t.to(dev) for t in batch]
        optimizer.zero_grad()
        out0, out1 = net(img0, img1)
        loss = criterion(out0, out1, label)
        loss.backward()
        optimizer.step()
    history.append(loss.item())
print("losses:", len(history))

with torch.no_grad():
    x0, x1, label = next(iter(DataLoader(PairDataset(), batch_size=6)))
    e0, e1 = net(x0.to(dev), x1.to(dev))
    distance = nn.functional.pairwise_distance(e0, e1)
    threshold = torch.tensor(1.0, device=dev)
    verdicts = (distance > threshold).cpu() == label.bool()
print("compared:", verdicts.numel())
