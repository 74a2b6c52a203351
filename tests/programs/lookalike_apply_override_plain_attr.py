import math
import torch
from torch import nn


class SinCos(nn.Module):
    """keeps its table out of the state dict, and moves it itself"""

    def __init__(self, dim, n=32):
        super().__init__()
        self.dim = dim
        self.table = self._build(n)

    def _build(self, n):
        pos = torch.arange(n).unsqueeze(1)
        div = torch.exp(torch.arange(0, self.dim, 2) * (-math.log(10000.0) / self.dim))
        t = torch.zeros(n, self.dim)
        t[:, 0::2] = torch.sin(pos * div)
        t[:, 1::2] = torch.cos(pos * div)
        return t

    def _apply(self, fn, recurse=True):
        super()._apply(fn)
        self.table = fn(self.table)
        return self

    def forward(self, x):
        return x + self.table[: x.size(1)]


class Rope(nn.Module):
    def __init__(self, d, base=100.0):
        super().__init__()
        self.inv = 1.0 / base ** (torch.arange(0, d, 2).float() / d)
        self.cached = None

    def forward(self, x):
        n = x.size(-2)
        if self.cached is None or self.cached[0].size(0) < n or self.cached[0].device != x.device:
            f = torch.outer(torch.arange(n).float(), self.inv)
            self.cached = f.cos().to(x), f.sin().to(x)
        c, s = (t[:n] for t in self.cached)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)


class Enc(nn.Module):
    def __init__(self, v=10, d=8):
        super().__init__()
        self.e, self.p, self.r = nn.Embedding(v, d), SinCos(d), Rope(d)
        self.q, self.o = nn.Linear(d, 2 * d), nn.Linear(d, v)

    def forward(self, ids):
        x = self.p(self.e(ids))
        q, k = self.q(x).chunk(2, -1)
        w = (self.r(q) @ self.r(k).transpose(1, 2)).softmax(-1)
        return self.o(w @ x)


enc = Enc()
print(enc(torch.tensor([[1, 2]])).shape)
enc = enc.to("cuda") if torch.cuda.is_available() else enc
dev = enc.e.weight.device
for n in (4, 7, 3):
    ids = torch.randint(10, (2, n), device=dev)
    enc(ids).mean().backward()
enc.cpu()
print(enc(torch.tensor([[1, 2, 3]])).shape)
