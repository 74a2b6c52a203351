"""Rating prediction; batches are dataclasses that know how to move and pin themselves."""
from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Iterator

import torch
from torch import Tensor, nn


@dataclass
class Ratings:
    users: Tensor
    items: Tensor
    stars: Tensor

    def to(self, device: torch.device) -> Ratings:
        return replace(self, **{f.name: getattr(self, f.name).to(device) for f in fields(self)})

    def __len__(self) -> int:
        return self.users.numel()


@dataclass(frozen=True)
class Settings:
    n_users: int = 30
    n_items: int = 40
    rank: int = 6
    lr: float = 0.02
    device: torch.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class MatrixFactorisation(nn.Module):
    def __init__(self, cfg: Settings, average: float) -> None:
        super().__init__()
        self.user = nn.Embedding(cfg.n_users, cfg.rank)
        self.item = nn.Embedding(cfg.n_items, cfg.rank)
        self.item_bias = nn.Parameter(torch.zeros(cfg.n_items))
        self.register_buffer("average", torch.tensor([average]))

    def forward(self, batch: Ratings) -> Tensor:
        score = (self.user(batch.users) * self.item(batch.items)).sum(-1)
        return score + self.item_bias[batch.items] + self.average


def simulate(cfg: Settings, n: int) -> Ratings:
    users = torch.randint(0, cfg.n_users, (n,))
    items = torch.randint(0, cfg.n_items, (n,))
    return Ratings(users, items, (3 + (users % 3) - (items % 2)).float())


def batches(data: Ratings, size: int) -> Iterator[Ratings]:
    order = torch.randperm(len(data))
    for chunk in order.split(size):
        yield Ratings(data.users[chunk], data.items[chunk], data.stars[chunk])


@torch.no_grad()
def rmse(model: nn.Module, data: Ratings, cfg: Settings) -> float:
    data = data.to(cfg.device)
    return (model(data) - data.stars).pow(2).mean().sqrt().item()


def main(cfg: Settings) -> None:
    torch.manual_seed(3)
    train, test = simulate(cfg, 256), simulate(cfg, 64)
    model = MatrixFactorisation(cfg, train.stars.mean().item()).to(cfg.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    before = rmse(model, test, cfg)
    for _ in range(4):
        for batch in batches(train, 64):
            batch = batch.to(cfg.device)
            loss = (model(batch) - batch.stars).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print("better than before:", rmse(model, test, cfg) < before)
    everything = torch.arange(cfg.n_items, device=cfg.device)
    one_user = Ratings(torch.zeros_like(everything), everything, torch.empty(0, device=cfg.device))
    top = model(one_user).topk(3).indices
    print("recommended:", len(top.cpu().numpy()))


if __name__ == "__main__":
    main(Settings())
