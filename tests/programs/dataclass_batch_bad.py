"""Speech-like data: padded frames with their lengths, gathered in a dataclass."""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


@dataclass
class Batch:
    frames: torch.Tensor  # (B, T, F)
    pad_mask: torch.Tensor  # (B, T), True where padding
    labels: torch.Tensor  # (B,)

    def to(self, device: torch.device) -> Batch:
        return Batch(
            frames=self.frames.to(device),
            pad_mask=self.pad_mask,  # CAUSE
            labels=self.labels.to(device),
        )


def collate(items: list[tuple[torch.Tensor, int]]) -> Batch:
    lengths = torch.tensor([len(f) for f, _ in items])
    frames = pad_sequence([f for f, _ in items], batch_first=True)
    pad_mask = torch.arange(frames.size(1))[None, :] >= lengths[:, None]
    return Batch(frames, pad_mask, torch.tensor([y for _, y in items]))


class AttentivePooling(nn.Module):
    def __init__(self, n_feats: int, n_classes: int) -> None:
        super().__init__()
        self.proj = nn.Linear(n_feats, 16)
        self.score = nn.Linear(16, 1)
        self.out = nn.Linear(16, n_classes)

    def forward(self, frames: torch.Tensor, pad_mask: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(self.proj(frames))
        s = self.score(h).squeeze(-1)
        w = s.masked_fill(pad_mask, float("-inf")).softmax(dim=1)  # FAIL
        return self.out((w.unsqueeze(-1) * h).sum(1))


def main() -> None:
    torch.manual_seed(0)
    data = [(torch.randn(n, 6), n % 2) for n in (5, 8, 3, 7, 9, 4, 6, 5)]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = AttentivePooling(6, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for batch in DataLoader(data, batch_size=4, collate_fn=collate):
            batch = batch.to(device)
            logits = model(batch.frames, batch.pad_mask)  # CALL
            loss = nn.functional.cross_entropy(logits, batch.labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
