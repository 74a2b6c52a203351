"""A positional table kept as a plain attribute, moved to its input at every use, and a cache keyed by device."""
import torch
from torch import nn


class Sinusoid(nn.Module):
    def __init__(self, dim, length=32):
        super().__init__()
        pos = torch.arange(length)[:, None] / 10 ** (torch.arange(dim)[None] / dim)
        self.table = pos.sin()

    def forward(self, x):
        return x + self.table[: x.shape[1]].to(x.device)


class ALiBi(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.slopes = 2.0 ** -torch.arange(1, heads + 1)
        self._cache = {}

    def bias(self, n, device):
        key = (n, device)
        if key not in self._cache:
            rel = torch.arange(n)[None] - torch.arange(n)[:, None]
            bias = self.slopes[:, None, None] * rel.abs().neg()
            self._cache[key] = bias.to(device)
        return self._cache[key]

    def forward(self, scores):
        return scores + self.bias(scores.shape[-1], scores.device)


class Layer(nn.Module):
    def __init__(self, dim=8, heads=2):
        super().__init__()
        self.heads = heads
        self.pos, self.alibi = Sinusoid(dim), ALiBi(heads)
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.pos(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        att = self.alibi(q @ k.transpose(-1, -2)).softmax(-1)
        return (att @ v).transpose(1, 2).reshape(b, t, d)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
layer = Layer().to(device)
for n in (4, 6, 4):
    print(layer(torch.randn(2, n, 8, device=device)).shape)
