"""A configurable MLP for tabular data."""
from typing import Sequence

import numpy as np
import torch
from torch import nn


class TabularMLP(nn.Module):
    def __init__(self, cat_sizes: Sequence[int], n_cont: int, hidden: Sequence[int] = (16, 8)):
        super().__init__()
        self.embeds = [nn.Embedding(n, min(4, n)) for n in cat_sizes]  # CAUSE
        width = sum(e.embedding_dim for e in self.embeds) + n_cont
        layers = []
        for h in hidden:
            layers += [nn.Linear(width, h), nn.ReLU()]
            width = h
        layers.append(nn.Linear(width, 1))
        self.layers = nn.Sequential(*layers)

    def forward(self, cats, conts):
        embedded = [e(cats[:, i]) for i, e in enumerate(self.embeds)]  # FAIL
        x = torch.cat(embedded + [conts], dim=1)
        return self.layers(x).squeeze(1)


def make_frame(n, rng):
    cats = np.stack([rng.integers(0, 3, n), rng.integers(0, 7, n)], axis=1)
    conts = rng.normal(size=(n, 4)).astype(np.float32)
    y = (conts[:, 0] + cats[:, 1]).astype(np.float32)
    return cats, conts, y


def main():
    rng = np.random.default_rng(3)
    cats, conts, y = make_frame(64, rng)
    device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")

    model = TabularMLP([3, 7], 4)
    model = model.to(device)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        order = rng.permutation(len(y))
        for part in np.array_split(order, 4):
            xb = torch.from_numpy(cats[part]).to(device)
            cb = torch.from_numpy(conts[part]).to(device)
            yb = torch.from_numpy(y[part]).to(device)
            loss = (model(xb, cb) - yb).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch}  mse {loss.item():.3f}")


if __name__ == "__main__":
    main()
