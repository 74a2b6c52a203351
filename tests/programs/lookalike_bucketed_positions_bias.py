import math
import torch
from torch import nn


class RelativeBias(nn.Module):
    def __init__(self, heads, buckets=8):
        super().__init__()
        self.emb = nn.Embedding(buckets, heads)
        self.buckets = buckets

    @staticmethod
    def bucket(rel, n):
        half = n // 2
        ret = (rel > 0).long() * half
        rel = rel.abs()
        exact = half // 2
        big = exact + (torch.log(rel.float().clamp(min=1) / exact) / math.log(16 / exact) * (half - exact)).long()
        big = torch.min(big, torch.full_like(big, half - 1))
        return ret + torch.where(rel < exact, rel, big)

    def forward(self, q, k):
        dev = self.emb.weight.device
        ctx, mem = torch.arange(q, device=dev)[:, None], torch.arange(k, device=dev)[None]
        return self.emb(self.bucket(mem - ctx, self.buckets)).permute(2, 0, 1)


class Alibi(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.register_buffer("slopes", torch.tensor([2 ** -(8 * (i + 1) / heads) for i in range(heads)]).view(-1, 1, 1), persistent=False)

    def forward(self, q, k):
        pos = torch.arange(k) - torch.arange(q)[:, None]
        return self.slopes * -pos.abs().to(self.slopes)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
for cls in (RelativeBias, Alibi):
    bias = cls(2).to(device)
    x = torch.randn(2, 2, 6, 4, device=device)
    att = (x @ x.transpose(-1, -2) / 2 + bias(6, 6)).softmax(-1)
    print(cls.__name__, (att @ x).std().item())
