"""A measurement that warms up with a constant of the module."""

import torch
from torch import nn

DUMMY_MASK = torch.ones(1, 1, 4, 4)


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)

    def forward(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = self.query(hidden) @ self.key(hidden).transpose(-1, -2)
        return (scores * mask).softmax(-1)


def measure(block: Block, device: torch.device, dtype: torch.dtype, steps: int = 3) -> float:
    mask = DUMMY_MASK.to(dtype)
    inputs = torch.randn(1, 1, 4, 8, device=device, dtype=dtype)
    total = 0.0
    for _ in range(steps):
        total += block(inputs, mask).sum().item()
    return total / steps


if __name__ == "__main__":
    where = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(f"{measure(Block(8).to(where), where, torch.float32):.3f}")
