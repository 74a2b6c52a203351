from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class TrainConfig:
    dim: int = 8
    depth: int = 1
    heads: int = 2
    lr: float = 1e-3
    device: torch.device = field(default_factory=lambda: torch.device("cuda" if torch.cuda.is_available() else "cpu"))


class PatchEmbed(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Conv2d(3, dim, 4, stride=4)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class ViT(nn.Module):
    def __init__(self, cfg: TrainConfig):
        super().__init__()
        self.patch = PatchEmbed(cfg.dim)
        self.cls = torch.zeros(1, 1, cfg.dim)
        self.pos = nn.Parameter(torch.randn(1, 5, cfg.dim) * 0.02)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(cfg.dim, cfg.heads, 16, batch_first=True) for _ in range(cfg.depth))
        self.head = nn.Linear(cfg.dim, 3)

    def forward(self, img):
        x = self.patch(img)
        x = torch.cat([self.cls.expand(x.size(0), -1, -1), x], dim=1) + self.pos  # FAIL
        for blk in self.blocks:
            x = blk(x)
        return self.head(x[:, 0])


def fit(cfg: TrainConfig):
    net = ViT(cfg).to(cfg.device)
    opt = torch.optim.AdamW(net.parameters(), lr=cfg.lr)
    for _ in range(2):
        img = torch.rand(2, 3, 8, 8, device=cfg.device)
        loss = nn.functional.cross_entropy(net(img), torch.tensor([0, 2], device=cfg.device))  # CALL
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    fit(TrainConfig())  # CALL
