from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.optim import AdamW

PAD = 0


def pad_to(seqs: list[list[int]], length: int) -> Tensor:
    return torch.tensor([s + [PAD] * (length - len(s)) for s in seqs])


class RewardModel(nn.Module):
    def __init__(self, vocab: int, dim: int) -> None:
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.v = nn.Linear(dim, 1)

    def forward(self, ids: Tensor) -> Tensor:
        h = self.tok(ids).cumsum(1)  # FAIL
        last = (ids != PAD).sum(1) - 1
        return self.v(h[torch.arange(ids.size(0)), last]).squeeze(-1)


class RewardTrainer:
    def __init__(self, model: RewardModel, lr: float = 1e-3) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = model.to(self.device)
        self.opt = AdamW(model.parameters(), lr=lr)

    def step(self, chosen: list[list[int]], rejected: list[list[int]]) -> float:
        width = max(map(len, chosen + rejected))
        good = pad_to(chosen, width).to(self.device)
        bad = pad_to(rejected, width)
        loss = -nn.functional.logsigmoid(self.model(good) - self.model(bad)).mean()  # CALL
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


if __name__ == "__main__":
    trainer = RewardTrainer(RewardModel(20, 8))
    for _ in range(2):
        trainer.step([[3, 4, 5], [6, 7]], [[3, 4], [8, 9, 10, 11]])  # CALL
