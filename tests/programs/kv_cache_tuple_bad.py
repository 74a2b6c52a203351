import torch
import torch.nn.functional as F
from torch import nn


class CachedAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x, past):
        k, v = self.k(x), self.v(x)
        if past is not None:
            k = torch.cat([past[0], k], dim=1)  # FAIL
            v = torch.cat([past[1], v], dim=1)
        y = F.scaled_dot_product_attention(self.q(x), k, v)
        return y, (k, v)


class Decoder(nn.Module):
    def __init__(self, vocab=14, dim=8, depth=2):
        super().__init__()
        self.dim = dim
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(CachedAttention(dim) for _ in range(depth))
        self.head = nn.Linear(dim, vocab)

    def empty_cache(self, batch):
        return [(torch.empty(batch, 0, self.dim), torch.empty(batch, 0, self.dim)) for _ in self.layers]  # CAUSE

    def forward(self, ids, cache):
        h, fresh = self.embed(ids), []
        for layer, past in zip(self.layers, cache):
            y, kept = layer(h, past)
            h = h + y
            fresh.append(kept)
        return self.head(h[:, -1]), fresh


@torch.inference_mode()
def generate(model, ids, steps):
    cache = model.empty_cache(ids.size(0))
    token, out = ids, [ids]
    for _ in range(steps):
        logits, cache = model(token, cache)
        token = logits.argmax(-1, keepdim=True)
        out.append(token)
    return torch.cat(out, dim=1)


device = "cuda" if torch.cuda.is_available() else "cpu"
model = Decoder().to(device).eval()
print(generate(model, torch.tensor([[1, 2, 3], [4, 5, 6]], device=device), 4).tolist())
