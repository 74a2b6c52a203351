import torch
from torch import nn


class Rotary(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.seq_len_cached = None
        self.cos_cached = None
        self.sin_cached = None
        self.inv_freq = 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim))

    def forward(self, x):
        n = x.shape[1]
        if n != self.seq_len_cached:
            self.seq_len_cached = n
            t = torch.arange(n, device=x.device).type_as(self.inv_freq)
            freqs = torch.outer(t.to(x.device), self.inv_freq.to(x.device))
            emb = torch.cat((freqs, freqs), -1)
            self.cos_cached = emb.cos()[None]
            self.sin_cached = emb.sin()[None]
        return self.cos_cached, self.sin_cached


def rotate_half(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(8, 8), nn.Linear(8, 8)
        self.rot = Rotary(8)
        self._mask = None

    def mask(self, n, device):
        if self._mask is None or self._mask.shape[0] < n:
            self._mask = torch.ones(n, n, device=device).tril().bool()
        return self._mask[:n, :n]

    def forward(self, x):
        cos, sin = self.rot(x)
        q, k = self.q(x), self.k(x)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        s = q @ k.transpose(1, 2)
        return s.masked_fill(~self.mask(x.shape[1], x.device), -1e9).softmax(-1) @ x


m = Model()
if torch.cuda.is_available():
    m = m.cuda()
dev = next(m.parameters()).device
for n in (4, 6, 3):
    print(m(torch.randn(2, n, 8).to(dev)).mean().item())
