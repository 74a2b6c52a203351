import torch
from torch import nn
import torch.nn.functional as F


class Rotary(nn.Module):
    def __init__(self, dim, base=100.0):
        super().__init__()
        self.dim, self.base = dim, base
        self._len, self._cos, self._sin = 0, None, None

    def tables(self, n, like):
        if n > self._len or self._cos is None or self._cos.device != like.device or self._cos.dtype != like.dtype:
            inv = self.base ** (-torch.arange(0, self.dim, 2, device=like.device).float() / self.dim)
            ang = torch.outer(torch.arange(n, device=like.device).float(), inv)
            self._cos, self._sin, self._len = ang.cos().to(like.dtype), ang.sin().to(like.dtype), n
        return self._cos[:n], self._sin[:n]

    def forward(self, x, start=0):
        cos, sin = (t[start:] for t in self.tables(start + x.size(-2), x))
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        return self.g * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


class Attn(nn.Module):
    def __init__(self, d, heads, kv, window=None):
        super().__init__()
        self.h, self.kv, self.hd, self.window = heads, kv, d // heads, window
        self.q, self.k, self.v, self.o = (nn.Linear(d, n, bias=False) for n in (d, kv * self.hd, kv * self.hd, d))
        self.rope = Rotary(self.hd)

    def mask(self, t, s, device):
        i = torch.arange(s - t, s, device=device)[:, None]
        j = torch.arange(s, device=device)[None]
        ok = j <= i
        return ok & (i - j < self.window) if self.window else ok

    def forward(self, x, past=None):
        b, t, _ = x.shape
        split = lambda y, n: y.view(b, t, n, self.hd).transpose(1, 2)
        start = 0 if past is None else past[0].size(2)
        q, k, v = self.rope(split(self.q(x), self.h), start), self.rope(split(self.k(x), self.kv), start), split(self.v(x), self.kv)
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        rep = self.h // self.kv
        y = F.scaled_dot_product_attention(q, k.repeat_interleave(rep, 1), v.repeat_interleave(rep, 1), attn_mask=self.mask(t, k.size(2), x.device))
        return self.o(y.transpose(1, 2).reshape(b, t, -1)), (k, v)


class Model(nn.Module):
    def __init__(self, v=13, d=16):
        super().__init__()
        self.e = nn.Embedding(v, d)
        self.a = nn.ModuleList([Attn(d, 4, 2), Attn(d, 4, 1, window=4)])
        self.n = nn.ModuleList([RMSNorm(d) for _ in range(3)])

    def forward(self, ids, past=None):
        x, now = self.e(ids), []
        for i, (a, n) in enumerate(zip(self.a, self.n)):
            y, kv = a(n(x), past[i] if past else None)
            x = x + y
            now.append(kv)
        return self.n[-1](x) @ self.e.weight.T, now


device = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
m = Model()
m(torch.zeros(1, 2, dtype=torch.long))  # a first run on the host, which fills the tables there
m = m.to(device)
opt = torch.optim.Adam(m.parameters(), 1e-2)
for _ in range(3):
    ids = torch.randint(0, 13, (4, 9)).to(device)
    loss = F.cross_entropy(m(ids[:, :-1])[0].flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad():
    full = m(ids)[0][:, -1]
    _, past = m(ids[:, :-1])
    print(loss.item(), torch.allclose(full, m(ids[:, -1:], past)[0][:, -1], atol=1e-4))
