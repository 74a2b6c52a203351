import torch
from torch import nn, Tensor
from typing import Dict, Optional, Tuple


class CausalBias(nn.Module):
    """Masks of each length and device are made once."""

    def __init__(self) -> None:
        super().__init__()
        self._cache: Dict[Tuple[int, torch.device], Tensor] = {}

    def forward(self, x: Tensor) -> Tensor:
        key = (x.size(1), x.device)
        if key not in self._cache:
            n = x.size(1)
            self._cache[key] = torch.full((n, n), float("-inf")).triu(1).to(x.device)
        return self._cache[key]


class Layer(nn.Module):
    def __init__(self, d: int):
        super().__init__()
        self.bias = CausalBias()
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)
        self.cached_rope: Optional[Tensor] = None

    def rope(self, x: Tensor) -> Tensor:
        if self.cached_rope is None or self.cached_rope.size(0) < x.size(1) or self.cached_rope.device != x.device:
            pos = torch.arange(max(16, x.size(1))).float()
            freq = 1.0 / 10000 ** (torch.arange(0, x.size(-1), 2) / x.size(-1))
            self.cached_rope = torch.outer(pos, freq).to(x.device)
        return self.cached_rope[: x.size(1)]

    def rotate(self, x: Tensor) -> Tensor:
        ang = self.rope(x)
        a, b = x[..., ::2], x[..., 1::2]
        return torch.cat([a * ang.cos() - b * ang.sin(), a * ang.sin() + b * ang.cos()], -1)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        w = self.rotate(q) @ self.rotate(k).transpose(1, 2) + self.bias(x)
        return x + self.out(w.softmax(-1) @ v)


class LM(nn.Module):
    def __init__(self, vocab: int = 20, d: int = 8):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.layers = nn.Sequential(Layer(d), Layer(d))

    def forward(self, ids: Tensor) -> Tensor:
        return self.layers(self.emb(ids)) @ self.emb.weight.t()


model = LM()
ids = torch.randint(0, 20, (2, 7))
print("host", model(ids).shape)
if torch.cuda.is_available():
    model.cuda()
    ids = ids.cuda()
loss = nn.functional.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
loss.backward()
print("device", loss.item(), model(ids[:, :4]).shape)
