"""Cross attention between a question and a passage."""
from typing import Optional

import torch
import torch.nn as nn
from torch import Tensor


class CrossAttention(nn.Module):
    def __init__(self, dim: int, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(dim, dim)
        self.to_kv = nn.Linear(dim, 2 * dim)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x: Tensor, context: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        b, n, d = x.shape
        if mask is None:
            mask = torch.ones(context.shape[:2], dtype=torch.bool)  # CAUSE
        q = self.to_q(x).view(b, n, self.heads, -1).transpose(1, 2)
        k, v = self.to_kv(context).chunk(2, dim=-1)
        k = k.view(b, -1, self.heads, d // self.heads).transpose(1, 2)
        v = v.view(b, -1, self.heads, d // self.heads).transpose(1, 2)
        sim = q @ k.transpose(-1, -2) * (d // self.heads) ** -0.5
        sim = sim.masked_fill(~mask[:, None, None, :], -torch.finfo(sim.dtype).max)  # FAIL
        out = (sim.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, n, d)
        return self.to_out(out)


class Reader(nn.Module):
    def __init__(self, vocab: int = 50, dim: int = 16) -> None:
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.attn = nn.ModuleList(CrossAttention(dim) for _ in range(2))
        self.span = nn.Linear(dim, 2)

    def forward(self, question: Tensor, passage: Tensor, passage_mask: Optional[Tensor] = None) -> Tensor:
        q, p = self.emb(question), self.emb(passage)
        for layer in self.attn:
            q = q + layer(q, p, passage_mask)
        return self.span(q.mean(1))


def main() -> None:
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Reader().to(device)
    question = torch.randint(0, 50, (3, 4), device=device)
    passage = torch.randint(0, 50, (3, 9), device=device)
    mask = (torch.arange(9) < 6).expand(3, 9).to(device)
    print("masked  ", model(question, passage, mask).sum().item())
    print("unmasked", model(question, passage).sum().item())


if __name__ == "__main__":
    main()
