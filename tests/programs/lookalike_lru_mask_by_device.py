import functools
import math

import torch
import torch.nn as nn


@functools.lru_cache(maxsize=None)
def causal(n, device):
    return torch.ones(n, n, device=device).tril().bool()


@functools.lru_cache(maxsize=8)
def alibi(heads, n, device_name):
    slopes = torch.tensor([2 ** (-8 * (i + 1) / heads) for i in range(heads)])
    dist = torch.arange(n)[None, :] - torch.arange(n)[:, None]
    return (slopes[:, None, None] * dist[None]).to(device_name)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.h = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        att = q @ k.transpose(-1, -2) / math.sqrt(d // self.h)
        att = att + alibi(self.h, n, str(x.device))
        att = att.masked_fill(~causal(n, x.device), float("-inf"))
        out = att.softmax(-1) @ v
        return self.proj(out.transpose(1, 2).reshape(b, n, d))


class LM(nn.Module):
    def __init__(self, vocab=11, dim=8, depth=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Attention(dim, 2) for _ in range(depth))
        self.norms = nn.ModuleList([nn.LayerNorm(dim) for _ in range(depth)])

    def forward(self, ids):
        x = self.emb(ids)
        for a, n in zip(self.layers, self.norms):
            x = x + a(n(x))
        return x @ self.emb.weight.t()


def warm_up():
    LM()(torch.arange(5)[None])


warm_up()
dev = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")
lm = LM().to(dev)
opt = torch.optim.Adam(lm.parameters(), lr=3e-3)
text = torch.randint(0, 11, (4, 13))
for _ in range(3):
    ids = text.to(dev)
    logits = lm(ids[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
print(loss.item())
