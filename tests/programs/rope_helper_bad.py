"""Rotary embeddings whose cache grows with the sequence."""
import torch
from torch import nn


def build_rope(length, dim, base=10000.0):
    inv = base ** (-torch.arange(0, dim, 2).float() / dim)
    angles = torch.outer(torch.arange(length).float(), inv)
    return torch.cat([angles, angles], dim=-1)


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([-b, a], dim=-1)


class RotaryAttention(nn.Module):
    def __init__(self, dim, max_len=4):
        super().__init__()
        self.dim = dim
        self.qkv = nn.Linear(dim, dim * 3, bias=False)
        self.register_buffer("rope", build_rope(max_len, dim), persistent=False)

    def _rope(self, length):
        if length > self.rope.shape[0]:
            self.rope = build_rope(2 * length, self.dim)  # CAUSE
        return self.rope[:length]

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        angles = self._rope(x.shape[1])
        cos, sin = angles.cos(), angles.sin()
        q = q * cos + rotate_half(q) * sin  # FAIL
        k = k * cos + rotate_half(k) * sin
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


class Model(nn.Module):
    def __init__(self, vocab=30, dim=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList([RotaryAttention(dim) for _ in range(2)])

    def forward(self, ids):
        h = self.emb(ids)
        for b in self.blocks:
            h = h + b(h)
        return h @ self.emb.weight.t()


if __name__ == "__main__":
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Model().to(device)
    ids = torch.tensor([[1, 2, 3]], device=device)
    with torch.no_grad():
        for _ in range(4):
            ids = torch.cat([ids, model(ids)[:, -1:].argmax(-1)], dim=1)
    print(ids.tolist())
