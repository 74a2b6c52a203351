"""Reproducible augmentation on the device: every random number comes from a generator of our own."""
from __future__ import annotations

import torch
from torch import nn


class Augment(nn.Module):
    def __init__(self, seed: int, device: torch.device) -> None:
        super().__init__()
        self.rng = torch.Generator(device).manual_seed(seed)
        self.register_buffer("tint", torch.tensor([1.0, 0.9, 0.8]).view(1, 3, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        noise = torch.randn(x.shape, generator=self.rng, device=x.device)
        flip = torch.rand(x.size(0), 1, 1, 1, generator=self.rng, device=x.device) < 0.5
        x = torch.where(flip, x.flip(-1), x)
        return x * self.tint + 0.05 * noise


class CutOut:
    def __init__(self, size: int, generator: torch.Generator) -> None:
        self.size, self.generator = size, generator

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        h = x.size(-1)
        where = torch.randint(0, h - self.size, (x.size(0), 1), generator=self.generator, device=x.device)
        columns = torch.arange(h, device=x.device)
        hole = (columns >= where) & (columns < where + self.size)
        return x.masked_fill(hole[:, None, None, :], 0)


def epochs(x, y, batch, device, seed):
    shuffle = torch.Generator(device=device)
    for epoch in range(3):
        shuffle.manual_seed(seed + epoch)
        order = torch.randperm(len(x), generator=shuffle, device=device)
        for chunk in order.split(batch):
            yield x[chunk], y[chunk]


def digest(seed: int) -> tuple[float, ...]:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(seed)
    data = torch.Generator().manual_seed(seed)
    x = torch.rand(36, 3, 8, 8, generator=data).to(device)
    y = (x.mean(dim=(1, 2, 3)) > 0.5).long()
    cut = CutOut(2, torch.Generator(device=device).manual_seed(seed))
    augment = Augment(seed, device).to(device)
    model = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(216, 2)).to(device)
    smoothing = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for xb, yb in epochs(x, y, 12, device, seed):
        loss = smoothing(model(cut(augment(xb))), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return tuple(losses)


first, second = digest(5), digest(5)
print("batches", len(first), "reproducible:", first == second)
