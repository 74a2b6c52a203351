import torch
from torch import nn


class Attn(nn.Module):
    def __init__(self, d=4):
        super().__init__()
        self.q, self.k = nn.Linear(d, d), nn.Linear(d, d)
        self.cache = None

    def mask(self, n, device):
        if self.cache is None or self.cache.size(0) < n or self.cache.device != device:
            self.cache = torch.tril(torch.ones(n, n, device=device)).bool()
        return self.cache[:n, :n]

    def forward(self, x):
        att = self.q(x) @ self.k(x).transpose(1, 2)
        return att.masked_fill(~self.mask(x.size(1), x.device), float("-inf")).softmax(-1) @ x


dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
attn = Attn()
print(attn(torch.randn(1, 3, 4)).shape)
attn.to(dev)
print(attn(torch.randn(1, 5, 4, device=dev)).shape)
